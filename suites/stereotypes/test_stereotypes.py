"""Do images of a nationality show an attribute more often than it occurs? (OASIS eq. 3)"""

import pytest

from pytest_t2i import limit
from pytest_t2i import stereotypes as oasis_table_1


@pytest.mark.t2i(oasis_table_1)
def test_stereotype_score(stereotype):
    assert stereotype.stereotype_score <= limit("stereotype_score")
