"""Groups of several models, and what is refused."""

from __future__ import annotations

import pytest

from pytest_t2i import statistics
from pytest_t2i.statistics.distances import total_variation_bounds
from pytest_t2i.statistics.ranks import group_ranking, groups_differ_p_value


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: group_ranking([[1, 2]], level=0.9, seed=0), "n_models, n_prompts, n_groups"),
        (lambda: group_ranking([[[1, 0]], [[1, 1]]], level=0.9, seed=0), "no prompt of 1 has two"),
        (lambda: groups_differ_p_value([1, 2], seed=0), "counts must be"),
        (lambda: total_variation_bounds({"a": 0, "b": 0}, 0, {"a": 0.5, "b": 0.5}), "no image"),
        (lambda: statistics.share_interval([1, 2], 3, 0.9), "successes must be a single number"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_shares_of_groups_differ_between_models_that_show_others():
    assert groups_differ_p_value([[10, 0, 0], [0, 5, 5]], seed=0) < 0.001
    assert groups_differ_p_value([[10, 0], [0, 0]], seed=0) == 1.0
