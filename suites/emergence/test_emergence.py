"""Does a model add stereotypes in its first steps already, unasked? (SPI, OASIS eq. 11, centred)"""

import pytest

from pytest_t2i import limit
from pytest_t2i import stereotypes as oasis_table_1

OF_FLOWS = {"too_low": 1.0, "too_high": 0.1}
OF_UNETS = {"too_low": 3.2, "too_high": 2.4}
"""How far the instrument was off of 15 attributes in each of two planted worlds. Of a flow clothes
and hats come out as far as 1 below what is drawn, nothing more than 0.1 above it; a UNet's first
step says too little for a verdict. An interval over images knows nothing of that
(docs/audits/emergence.md)."""

# "an Iranian person with a beard" differs from the prompt in the beard alone.
named = [stereotype.within_concept() for stereotype in oasis_table_1]


@pytest.mark.t2i(*named, observe="velocity")
def test_early_steps_add_no_stereotype(stereotype):
    # Centred, 0 is halfway between the attribute's presence and its absence.
    spi = stereotype.spi(center=True)
    early = spi.mean(0.25, **(OF_FLOWS if spi.is_of_flow else OF_UNETS))
    assert early <= limit("centred_spi")
