"""Evaluation of the two spaces: distance correlation, retrieval and linear probes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from pytest_t2i import Interval, T2IError, metrics, statistics
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

Spaces = tuple[np.ndarray, np.ndarray]
"""The embeddings of content and of style of the same pictures, [n, d] each."""


@dataclass(frozen=True)
class How:
    """The settings of the computations."""

    level: float = 0.95
    seed: int = 0
    neighbours: int = 5
    """The number of nearest pictures (thesis section 2.5.6)."""
    permutations: int = 999


class Dependence(NamedTuple):
    """How far two spaces depend on each other."""

    printed: Interval
    """The distance correlation as printed, thesis eq. 2.9-2.12."""
    corrected: Interval
    """The distance correlation, U-centred and squared."""
    p_value: float
    """The p-value against independence, by permutations."""


class Retrieval(NamedTuple):
    """How often the nearest pictures in a space have the same label."""

    precision: Interval
    """The precision among the nearest few."""
    average: Interval
    """The mean average precision."""


def dependence(spaces: Spaces, clusters: Sequence[Hashable], how: How) -> Dependence:
    """Return the dependence of content and style, with intervals by clusters."""
    printed, corrected = (
        statistics.distance_correlation_interval(
            *spaces, level=how.level, clusters=clusters, corrected=corrected
        )
        for corrected in (False, True)
    )
    p_value = statistics.distance_correlation_p_value(
        *spaces, seed=how.seed, permutations=how.permutations
    )
    return Dependence(printed, corrected, p_value)


def retrieval(
    space: np.ndarray, labels: Sequence[str], clusters: Sequence[Hashable], how: How
) -> Retrieval:
    """Return how often the nearest pictures have the same label."""
    k = min(how.neighbours, len(labels) - 1)
    precisions = metrics.retrieval_precisions(space, list(labels), k)
    averages = metrics.average_precisions(space, list(labels))
    return Retrieval(*(_mean(values, clusters, how) for values in (precisions, averages)))


def probe(
    space: np.ndarray, labels: Sequence[str], clusters: Sequence[Hashable], how: How
) -> Interval:
    """Return the accuracy of a linear classifier on pictures that it was not fitted on.

    The clusters are split into halves, and each half is predicted by a classifier fitted on the
    other. Where a label occurs in one cluster only, as a content does, the pictures of each label
    are split instead.
    """
    names, half = np.array(labels), _halves(labels, clusters, how.seed)
    right = np.zeros(len(names))
    for side in (0, 1):
        learned, told = half == side, half != side
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=200, C=0.1))
        model.fit(space[learned], names[learned])
        right[told] = model.predict(space[told]) == names[told]
    return _mean(right, clusters, how)


def _halves(labels: Sequence[str], clusters: Sequence[Hashable], seed: int) -> np.ndarray:
    homes: dict[str, set[Hashable]] = {}
    for label, cluster in zip(labels, clusters, strict=True):
        homes.setdefault(label, set()).add(cluster)
    shared = all(len(of) > 1 for of in homes.values())
    units = list(clusters) if shared else list(labels)
    rng = np.random.default_rng(seed)
    half = np.zeros(len(labels), dtype=int)
    if shared:
        kinds = sorted(set(map(str, units)))
        chosen = set(rng.permutation(kinds)[: len(kinds) // 2].tolist())
        half[[str(unit) in chosen for unit in units]] = 1
    else:
        for label in sorted(set(labels)):
            places = np.flatnonzero([unit == label for unit in units])
            half[rng.permutation(places)[: len(places) // 2]] = 1
    for label, count in Counter(labels).items():
        here = {int(side) for side, name in zip(half, labels, strict=True) if name == label}
        if len(here) < 2:  # noqa: PLR2004 - both halves need one
            raise T2IError(f"too few pictures of {label!r} for a probe: {count}")
    return half


def _mean(values: np.ndarray, clusters: Sequence[Hashable], how: How) -> Interval:
    """Return the mean over pictures, with clusters as units."""
    groups: dict[Hashable, list[float]] = {}
    for value, cluster in zip(values.tolist(), clusters, strict=True):
        groups.setdefault(cluster, []).append(value)
    several = [np.array(group) for group in groups.values()]
    return statistics.mean_interval(several, level=how.level, bounds=(0.0, 1.0))


def chance(labels: Sequence[str]) -> float:
    """Return the share of the most common label, the accuracy of always guessing it.

    >>> chance(["a", "a", "b"])
    0.6666666666666666
    """
    return max(Counter(labels).values()) / len(labels)
