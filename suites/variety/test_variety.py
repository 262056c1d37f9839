"""Does a low stereotype score come with less variety?

Variety along an attribute must not drop (WALS, OASIS eq. 7).
"""

import pytest

from pytest_t2i import stereotypes as oasis_table_1


@pytest.mark.t2i(oasis_table_1, observe="features")
def test_variety_did_not_drop(stereotype, baseline):
    assert stereotype.wals("text", center=True) >= baseline("wals")
