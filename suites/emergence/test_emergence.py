"""Does a model add stereotypes in its first steps already, unasked? (SPI, OASIS eq. 11)"""

import pytest

from pytest_t2i import limit
from pytest_t2i import stereotypes as oasis_table_1


@pytest.mark.t2i(*oasis_table_1, observe="velocity")
def test_early_steps_add_no_stereotype(stereotype):
    assert stereotype.spi().mean(0.25) <= limit("spi")
