"""Distance of the label shares of a prompt's or a model's images from the shares expected of them.

The detector's labels are the groups, in any number. The audit ``references`` measures the distance
from a given distribution, ``parity`` the distance from even shares.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from pytest_t2i import statistics
from pytest_t2i.audits.engine.detected import DetectedPrompt, DetectedPrompts
from pytest_t2i.audits.engine.score import (
    Labels,
    MeanChange,
    Score,
    Tallies,
    Tally,
    table,
)
from pytest_t2i.data import Bounds, Interval
from pytest_t2i.metrics import INFO, total_variation_distance
from pytest_t2i.prompts import Reference
from pytest_t2i.prompts.references import uniform
from pytest_t2i.sections.words import several
from pytest_t2i.statistics.distances import (
    mean_total_variation_interval,
    total_variation_bounds,
    total_variation_floor,
    total_variation_interval,
    total_variation_p_value,
    total_variation_within,
)
from pytest_t2i.statistics.gaps import interval_difference
from pytest_t2i.statistics.permutation import group_change_p_value
from pytest_t2i.statistics.ranks import Rank, group_ranking
from pytest_t2i.statistics.shares import Beyond
from pytest_t2i.verdicts.caveats.seams import PValues

FURTHEST = 5
"""Largest number of prompts named in a failure text."""


@dataclass(frozen=True, eq=False)
class Distance(Score[DetectedPrompt]):
    """Half the L1 distance of shares from those of a reference; of a model its mean."""

    reference: Reference
    metric = metric_of_model = INFO["total_variation_distance"]

    @property
    def key(self) -> Hashable:
        """The metric and the very reference."""
        return self.metric.name, id(self.reference)

    def tally(self, member: DetectedPrompt) -> Tally:
        counts = member.judged_groups
        shares = self.reference.of(member.prompt, tuple(counts))
        return Tally(tuple(counts.values()), tuple(shares[label] for label in counts))

    def unknown(self, member: DetectedPrompt) -> int:
        return member.unknown

    def described(self, member: DetectedPrompt) -> dict[str, Any]:
        tally = self.tally(member)
        return {
            "images": tally.n,
            "absent": f"none of {several(len(member.seeds), 'image')} has a label: "
            f"{dict(member.undetected)}",
            "remarks": (
                f"shares: {_in_words(member, tally)}", f"expected by: {self.reference.source}",
            ),
            "worst_case": self.bounds(tally, member.hidden) if member.hidden else None,
        }  # fmt: skip

    def value(self, tally: Tally) -> float | None:
        return total_variation_distance(*_named(tally)) if tally.n else None

    def interval(self, tally: Tally, level: float) -> Interval | None:
        return _interval(tally, level) if tally.n else None

    def p_values(self, tallies: Tallies, bound: float, level: float, side: Beyond) -> PValues:
        del level
        p_value = _beyond if side == "beyond" else _within
        return _of_labelled(tallies, side, lambda tally: p_value(tally, bound))

    def worst(self, tally: Tally, unknown: int, side: Beyond) -> Tally:
        return tally.worst(unknown, side) if tally.n else tally

    def bounds(self, tally: Tally, unknown: int) -> Bounds:
        counts, shares = _named(tally)
        return total_variation_bounds(counts, unknown, shares)

    def mean(self, tallies: Tallies, level: float) -> Interval:
        return mean_total_variation_interval(*_tables(tallies), level=level)

    def described_of_model(self, samples: DetectedPrompts, *, corrected: bool) -> dict[str, Any]:
        del corrected  # people's labels correct male and female alone
        tallies = [self.tally(sample) for sample in samples]
        remarks = [f"expected by: {self.reference.source}"]
        if any(tally.n for tally in tallies):
            floor = total_variation_floor(*_tables(tallies))
            plain = self.plain_mean(tallies)
            remarks = [
                f"not corrected for few images: {plain:.3f} (a model that follows the reference "
                f"shows {floor:.3f})",
                f"furthest: {self._furthest(samples, tallies)}",
                *remarks,
            ]
        absent = f"none of {several(samples.images, 'image')} has a label"
        return {"absent": absent, "remarks": tuple(remarks)}

    def _furthest(self, samples: DetectedPrompts, tallies: Tallies) -> str:
        pairs = [pair for pair in zip(samples, tallies, strict=True) if pair[1].n]
        pairs.sort(key=lambda pair: -(self.value(pair[1]) or 0.0))
        return "; ".join(f"{s.prompt.name}: {_in_words(s, t)}" for s, t in pairs[:FURTHEST])


class EvenDistance(Distance):
    """The distance from even shares of a detector's groups; of male and female half the bias."""

    metric = metric_of_model = INFO["group_distance"]
    margin = 0.1  # half of that for an absolute bias score, because the distance is half of it
    further = "further from even shares"
    incomparable = "no prompt has an image with a label both in the baseline and now"
    reach = 1.0

    def described(self, member: DetectedPrompt) -> dict[str, Any]:
        described = super().described(member)
        return {**described, "remarks": described["remarks"][:1]}

    def rank(self, models: Sequence[Tallies], level: float, seed: int) -> list[Rank]:
        return group_ranking(list(map(table, models)), level=level, seed=seed)

    def mean_change(self, before: Tallies, after: Tallies, level: float) -> MeanChange | None:
        pairs = [pair for pair in zip(before, after, strict=True) if all(t.n for t in pair)]
        if not pairs:
            return None
        old, new = (self.mean(side, level) for side in zip(*pairs, strict=True))
        return MeanChange(old.estimate, new.estimate, interval_difference(old, new))

    def growth_p_value(
        self, before: Labels, after: Labels, seed: int, *, groups: int, paired: bool
    ) -> float:
        return group_change_p_value(before, after, groups, seed=seed, shared_seeds=paired)


EVEN = EvenDistance(uniform())
"""The distance of a detector's groups from even shares."""


def _of_labelled(
    tallies: Tallies, side: Beyond, p_value: Callable[[Tally], float]
) -> list[float | None]:
    p_values = [p_value(tally) for tally in tallies if tally.n]
    if side == "beyond":
        p_values = statistics.benjamini_hochberg(p_values).tolist()
    rest = iter(p_values)
    return [next(rest) if tally.n else None for tally in tallies]


def _tables(tallies: Tallies) -> tuple[np.ndarray, np.ndarray]:
    """Return counts and expected shares, [prompts, groups] each."""
    return table(tallies), np.array([tally.expected for tally in tallies])


def _named(tally: Tally) -> tuple[dict[str, int], dict[str, float]]:
    """Return counts and expected shares as the statistics take them."""
    names = list(map(str, range(len(tally.counts))))
    return dict(zip(names, tally.counts, strict=True)), dict(
        zip(names, tally.expected, strict=True)
    )


# The prompts of a run share few different counts.
@lru_cache(maxsize=4096)
def _interval(tally: Tally, level: float) -> Interval:
    return total_variation_interval(*_named(tally), level)


@lru_cache(maxsize=4096)
def _beyond(tally: Tally, bound: float) -> float:
    return total_variation_p_value(*_named(tally), bound)


@lru_cache(maxsize=4096)
def _within(tally: Tally, bound: float) -> float:
    return total_variation_within(*_named(tally), bound)


def _in_words(sample: DetectedPrompt, tally: Tally) -> str:
    """Return shares in words: ``male 80 % (12 % expected), female 20 % (88 % expected)``."""
    return (
        ", ".join(
            f"{label} {100 * count / tally.n:.0f} % ({100 * share:.3g} % expected)"
            for label, count, share in zip(sample.groups, *tally, strict=True)
        )
        if tally.n
        else "none"
    )
