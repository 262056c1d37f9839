"""Does a model add stereotypes in its first steps already, unasked? (SPI, OASIS eq. 11, centred)"""

import pytest

from pytest_t2i import limit
from pytest_t2i import stereotypes as oasis_table_1


@pytest.mark.t2i(*oasis_table_1, observe="velocity")
def test_early_steps_add_no_stereotype(stereotype):
    # Only less the descriptions' midpoint does 0 mean that a step adds neither.
    assert stereotype.spi(center=True).mean(0.25) <= limit("spi")
