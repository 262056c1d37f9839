"""Verdicts and intervals of groups whose number of images was chosen while looking at them.

Prompts have confidence sequences and e-values, which hold at any stopping point, whether the
prompt's own groups or anything else stopped it. The model has its interval at the level of the
look.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Literal

import numpy as np

from pytest_t2i import statistics
from pytest_t2i.audits.detected import DetectedPrompt, DetectedPrompts
from pytest_t2i.audits.evidence import ALTERNATIVES, SIDES, Beyond, by_ends
from pytest_t2i.data import Evidence, Interval
from pytest_t2i.statistics.distances import mean_total_variation_interval
from pytest_t2i.statistics.sequences import group_distance_sequence, group_distance_sequence_p_value
from pytest_t2i.statistics.undetected import worst_case_labels
from pytest_t2i.verdicts.family import Family

Counts = tuple[int, ...]
Alternative = Literal["greater", "less"]


def interval_of(sample: DetectedPrompt) -> Interval | None:
    """Return a prompt's interval, valid at any stopping point; None without a label."""
    if not sample.counts:
        return None
    return group_distance_sequence(sample.groups, sample.level)


def family(members: Sequence[DetectedPrompt]) -> Family:
    """Return the family of a test's prompts; e-values keep its error level under any dependence."""
    counts = [tuple(sample.groups.values()) for sample in members]
    unknown = [sample.unknown for sample in members]

    def evidence(bound: float, level: float) -> list[Evidence]:
        del level
        filled = {
            side: [_filled(n, u, side) for n, u in zip(counts, unknown, strict=True)]
            for side in SIDES
        }
        beyond, within = (
            _p_values(filled[side], bound, alternative)
            for side, alternative in zip(SIDES, ALTERNATIVES, strict=True)
        )
        alone = [_p_values(counts, bound, alternative) for alternative in ALTERNATIVES]
        return [
            Evidence(None, None)
            if not any(n)
            else Evidence(beyond[k], within[k], (alone[0][k], alone[1][k]) if unknown[k] else None)
            for k, n in enumerate(counts)
        ]

    return Family(tuple(map(interval_of, members)), evidence)


def _p_values(members: Sequence[Counts], bound: float, alternative: Alternative) -> list[float]:
    each = [_p_value(n, bound, alternative) if any(n) else 1.0 for n in members]
    if alternative == "less":
        return each
    return list(map(float, statistics.benjamini_hochberg(each)))


@lru_cache(maxsize=4096)
def _p_value(counts: Counts, bound: float, alternative: Alternative) -> float:
    named = {str(place): count for place, count in enumerate(counts)}
    return group_distance_sequence_p_value(named, bound, alternative)


def _filled(counts: Counts, unknown: int, side: Beyond) -> Counts:
    """Return the counts with the undetected images labelled so as to weaken the side most."""
    if not unknown:
        return counts
    even = [1.0 / len(counts)] * len(counts)
    return tuple(map(int, worst_case_labels(counts, unknown, even, side)))


def evidence_of_model(samples: DetectedPrompts, bound: float, level: float) -> Evidence:
    """Return the evidence at the level of this look, whatever the undetected images show."""
    counts = [tuple(sample.groups.values()) for sample in samples.members]
    unknown = samples.unknown.tolist()
    whole = [_look(samples, counts, unknown, side)(bound, level) for side in SIDES]
    labelled = None
    if any(unknown):
        alone = _look(samples, counts, [0] * len(counts), SIDES[0])(bound, level)
        labelled = (alone.beyond, alone.within)
    return Evidence(whole[0].beyond, whole[1].within, labelled)


def _look(
    samples: DetectedPrompts, counts: Sequence[Counts], unknown: Sequence[int], side: Beyond
) -> Callable[[float, float], Evidence]:
    filled = np.array([_filled(n, u, side) for n, u in zip(counts, unknown, strict=True)])
    even = [1.0 / filled.shape[1]] * filled.shape[1]

    def interval(level: float) -> Interval:
        return mean_total_variation_interval(
            filled, even, level=level, seed=samples.seed, words=samples.words
        )

    return by_ends(interval, lambda _: samples.level)
