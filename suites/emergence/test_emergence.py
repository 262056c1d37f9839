"""Does a model add stereotypes in its first denoising steps? (SPI, OASIS eq. 11, centred)"""

import pytest

from pytest_t2i import limit
from pytest_t2i import stereotypes as oasis_table_1

OF_FLOWS = {"too_low": 1.0, "too_high": 0.1}
OF_UNETS = {"too_low": 3.2, "too_high": 2.4}
"""Largest errors of the instrument for 15 attributes in each of two planted worlds.

For a flow, the index of clothes and hats is up to 1 too low, and none is over 0.1 too high.
For a UNet, the first step says too little for a verdict. An interval over images does not contain
these errors (docs/metrics/stereotypes.md).
"""

# "an Iranian person with a beard" differs from the prompt only in the beard.
named = [stereotype.within_concept() for stereotype in oasis_table_1]


@pytest.mark.t2i(*named, observe="velocity")
def test_early_steps_add_no_stereotype(stereotype):
    # Centred, 0 is halfway between the attribute's presence and its absence.
    spi = stereotype.spi(center=True)
    early = spi.mean(0.25, **(OF_FLOWS if spi.is_of_flow else OF_UNETS))
    assert early <= limit("centred_spi")
