"""Change points in a series of runs: the model bias score monitored over versions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from pytest_t2i.data import Interval
from pytest_t2i.metrics import inputs
from pytest_t2i.statistics.change import FEW_PROMPTS, FEWEST_IMAGES, spread_table
from pytest_t2i.statistics.shares import check_level

Whole = npt.NDArray[np.int64]
SPENDING = 6.0 / math.pi**2
"""1 / sum of 1 / k^2, the share of the error that is spent at the first look."""


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """The runs between which a series changed."""

    run: int
    """First run after the change, counted from 0."""
    seen_at: int
    """Run with which the change was detected; at or after ``run``."""
    change: Interval
    """Model bias score after minus before, over the runs up to ``seen_at``."""
    p_value: float
    """Two-sided p-value against "all runs so far are of one model", adjusted for looks and cuts."""


def change_points(
    male: npt.ArrayLike, female: npt.ArrayLike, *, level: float = 0.95
) -> list[ChangePoint]:
    """Return the runs at which the model bias score changed, as detected with each new run.

    Every run is scored by tables of its counts that have the same expectation at equal shares, for
    any number of images (``linear_scores.spread_table``). After every run, the runs since the last
    change are cut in two in all ways: the mean scores on either side, weighted by their images, are
    compared by a normal test, whose variance is that of one model with the shares of all these runs
    together. (With the variance of each run's own counts, one prompt gave a false alarm in 18 % of
    series.) The smallest p-value, times the number of cuts (Bonferroni), is
    compared with the part of the error that this look may spend,

    .. math:: (1 - level) (6 / pi^2) / k^2      at the k-th look since the last change,

    so that over a series of any length a model that never changes has a false alarm with
    probability at most ``1 - level``, up to the normal approximation
    (tests/simulations/history.md). Prompts without two clear images in every run are left out.
    """
    men, women = _runs("male", male), _runs("female", female)
    if men.shape != women.shape:
        raise ValueError(f"male and female must be of one shape, got {men.shape} and {women.shape}")
    check_level(level)
    used = (men + women >= FEWEST_IMAGES).all(axis=0)
    if not used.any():
        return []
    scores = _Scores.of(men[:, used], women[:, used])
    changes: list[ChangePoint] = []
    start = 0
    for now in range(1, len(men)):
        looks = now - start
        variances = scores.variances(start, now)
        cuts = [scores.cut(start, place, now, variances) for place in range(start + 1, now + 1)]
        best = min(cuts, key=lambda cut: cut.p_value)
        spent = best.p_value * len(cuts) * looks**2 / SPENDING
        if spent <= 1.0 - level:
            changes.append(ChangePoint(best.place, now, best.change, spent))
            start = best.place
    return changes


def _runs(name: str, counts: npt.ArrayLike) -> Whole:
    rows: Sequence[npt.ArrayLike] = list(np.atleast_2d(np.asarray(counts)))
    return np.stack([inputs.whole_counts(name, row) for row in rows])


class _Cut(NamedTuple):
    p_value: float
    place: int
    change: Interval


@dataclass(frozen=True)
class _Scores:
    """The counts, the score and the number of images of each run."""

    means: inputs.Floats
    images: inputs.Floats
    men: Whole
    """[n_runs, n_prompts]."""
    sizes: Whole
    """Clear images, [n_runs, n_prompts]."""

    @classmethod
    def of(cls, men: Whole, women: Whole) -> _Scores:
        sizes = men + women
        fewest, prompts = sizes.min(axis=0), men.shape[1]
        family = max(FEW_PROMPTS, prompts)
        means = np.zeros(len(men))
        for run in range(len(men)):
            each = np.stack([men[run], sizes[run], fewest], axis=1).tolist()
            means[run] = np.mean([spread_table(n, least, family)[k] for k, n, least in each])
        return cls(means, sizes.sum(axis=1).astype(np.float64), men, sizes)

    def variances(self, start: int, now: int) -> inputs.Floats:
        """Return the variance of each run's score, if one model made the runs of this window."""
        window, prompts = slice(start, now + 1), self.men.shape[1]
        shares = (self.men[window].sum(axis=0) + 0.5) / (self.sizes[window].sum(axis=0) + 1.0)
        fewest, family = self.sizes.min(axis=0), max(FEW_PROMPTS, prompts)
        found = np.zeros(len(self.men))
        known: dict[tuple[int, int], float] = {}
        for run in range(start, now + 1):
            for prompt, n in enumerate(self.sizes[run].tolist()):
                if (prompt, n) not in known:
                    table = spread_table(n, int(fewest[prompt]), family)
                    known[prompt, n] = _variance(table, n, float(shares[prompt]))
                found[run] += known[prompt, n] / prompts**2
        return found

    def cut(self, start: int, place: int, now: int, variances: inputs.Floats) -> _Cut:
        """Compare the runs from ``place`` to ``now`` with those from ``start`` up to ``place``."""
        before, variance_before = self._mean(slice(start, place), variances)
        after, variance_after = self._mean(slice(place, now + 1), variances)
        change, error = after - before, math.sqrt(variance_before + variance_after)
        half = float(scipy.stats.norm.isf(0.025)) * error
        low, high = max(-1.0, change - half), min(1.0, change + half)
        interval = Interval(change, low, high, 0.95, "fixed-words", self.men.shape[1])
        p_value = 2.0 * float(scipy.stats.norm.sf(abs(change) / error))
        return _Cut(p_value, place, interval)

    def _mean(self, runs: slice, variances: inputs.Floats) -> tuple[float, float]:
        weights = self.images[runs] / self.images[runs].sum()
        return float(weights @ self.means[runs]), float(weights**2 @ variances[runs])


def _variance(table: inputs.Floats, n: int, share: float) -> float:
    """Return the variance of a table's score of n images at a share."""
    chances = scipy.stats.binom.pmf(np.arange(n + 1), n, share)
    return float(chances @ table**2 - (chances @ table) ** 2)
