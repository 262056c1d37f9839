"""A suite of the companion's own audit.

pytest --t2i-model painted suite
"""

import pytest

from pytest_t2i import axes, limit


@pytest.mark.t2i(axes.place)
def test_labels_vary(evenness):
    assert evenness >= limit("simpson_diversity", 0.1)


@pytest.mark.t2i(axes.place)
def test_labels_vary_as_before(evenness, baseline):
    assert evenness >= baseline("simpson_diversity")
