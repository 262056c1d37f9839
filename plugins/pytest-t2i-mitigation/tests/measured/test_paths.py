"""What is told of two strategies."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import paths
import pytest

CLAIM = paths.Claim("smoothness", "pre-attention", "text")


@pytest.mark.parametrize(
    ("text", "word"),
    [([0.9, 0.8, 0.85], "same"), ([0.1, 0.2, 0.15], "other"), ([0.5, 0.6, 0.4], "cannot be told")],
)
def test_an_order_is_told_where_the_interval_leaves_out_0(text, word):
    found = {
        "text": {"smoothness": np.array(text)},
        "pre-attention": {"smoothness": np.array([0.5, 0.51, 0.52])},
    }
    told, mean, low, high = paths.told(CLAIM, found)
    assert told == word
    assert low < mean < high
    assert mean == pytest.approx(np.mean(text) - 0.51)


def test_pictures_between_are_measured_to_the_nearer_end():
    distances = np.array([[0, 1, 4, 6], [1, 0, 3, 5], [4, 3, 0, 2], [6, 5, 2, 0]], float)
    search = SimpleNamespace(distances=distances, consistency=2.0, smoothness=0.9)
    assert paths.measures(search)["to the nearer end"] == (1 + 2) / 2


def test_tables_name_every_claim():
    names = {claim.measure for claim in paths.CLAIMS}
    one = {name: np.array([0.1, 0.2, 0.4]) for name in names}
    lines = list(paths.table(dict.fromkeys(paths.STRATEGIES, one)))
    assert sum(line.endswith("| cannot be told |") for line in lines) == len(paths.CLAIMS)
