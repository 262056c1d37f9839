"""Ranks of several models by how evenly they show groups, with confidence bounds."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pytest_t2i.statistics.baseline.change import FEWEST_IMAGES
from pytest_t2i.statistics.baseline.ranking import Rank, ranks_between
from pytest_t2i.statistics.groups.fixed_words_reference_distance import bounding_mean
from pytest_t2i.statistics.groups.model_reference_distance import parts_of


def group_ranking(
    counts: npt.ArrayLike,
    *,
    level: float,
    seed: int,  # noqa: ARG001 - nothing is drawn
    draws: int = 0,  # noqa: ARG001
) -> list[Rank]:
    """Return the ranks of models by their mean distance from even shares on the same prompts.

    As in ``ranking`` of model bias scores, each distance lies between the expectations of two means
    of functions of the counts, for any prompts (``bounding_distance``). A model certainly ranks
    behind another where its lower mean lies above the other's upper mean; every other order is
    plausible.

    Prompts without two images with a label of every model are left out.

    Args:
        counts: images by model, prompt and group, [n_models, n_prompts, n_groups], two models and
            two groups or more.
        level: confidence level of all ranks together, in (0, 1).
        seed: unused, as nothing is drawn.
        draws: unused.

    Returns:
        One Rank for each model, in order; the least biased is the one nearest to even shares.

    Raises:
        ValueError: counts have another shape, no prompt can be compared, or an option is out of
            range.

    >>> even, uneven = [[7, 7, 6]] * 20, [[18, 1, 1]] * 20
    >>> [rank.low for rank in group_ranking([even, uneven], level=0.95, seed=0)]
    [1, 2]
    """
    shown = np.asarray(counts)
    if shown.ndim != 3 or len(shown) < 2 or shown.shape[2] < 2:  # noqa: PLR2004 - models, groups
        raise ValueError(
            "counts must be [n_models, n_prompts, n_groups] with two models and groups or more, "
            f"got counts.shape={shown.shape}"
        )
    used = (shown.sum(axis=2) >= FEWEST_IMAGES).all(axis=0)
    if not used.any():
        raise ValueError(f"no prompt of {used.size} has two images with a label of every model")
    even = np.full(shown.shape[2], 1.0 / shown.shape[2])
    known = [parts_of(model[used], even) for model in shown]
    ends = [(bounding_mean(parts, "below"), bounding_mean(parts, "above")) for parts in known]
    return ranks_between(ends, level=level)
