"""Does a model add stereotypes in its first steps already, unasked? (SPI, OASIS eq. 11, centred)"""

import pytest

from pytest_t2i import limit
from pytest_t2i import stereotypes as oasis_table_1

# "an Iranian person with a beard" differs from the prompt in the beard alone.
named = [stereotype.within_concept() for stereotype in oasis_table_1]


@pytest.mark.t2i(*named, observe="velocity")
def test_early_steps_add_no_stereotype(stereotype):
    # Centred, 0 is halfway between the attribute's presence and its absence.
    assert stereotype.spi(center=True).mean(0.25) <= limit("centred_spi")
