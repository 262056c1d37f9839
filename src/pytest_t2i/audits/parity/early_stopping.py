"""Prompts, and groups of prompts, whose images were stopped early."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from pytest_t2i import statistics
from pytest_t2i.audits.detected import DetectedPrompt, DetectedPrompts
from pytest_t2i.audits.early_stopping import Shown, State, Stopping, StoppingRule, evidence
from pytest_t2i.audits.evidence import ALTERNATIVES, SIDES, Beyond, by_ends
from pytest_t2i.data import Evidence, Interval
from pytest_t2i.settings import Settings
from pytest_t2i.statistics.distances import mean_total_variation_interval
from pytest_t2i.statistics.group_sequential import SequentialTest, stopped_share_interval
from pytest_t2i.statistics.sequences import (
    bias_sequence_p_value,
    group_distance_sequence,
    group_distance_sequence_p_value,
    prompt_bias_sequence,
)
from pytest_t2i.statistics.undetected import worst_case_labels
from pytest_t2i.verdicts.measurement import Family


def evidence_of(
    members: Sequence[DetectedPrompt], bound: float, level: float
) -> list[Evidence] | None:
    """Return the evidence of a test's prompts; None where they had no boundaries of their own."""
    stops = [sample.stopping for sample in members if sample.stopping is not None]
    tests = [stop.test for stop in stops if stop.test is not None]
    rules = [stop.rule for stop in stops]
    has_own = len(tests) == len(members) and "again" not in rules
    if not has_own or any((test.bound, test.level) != (bound, level) for test in tests):
        return None
    pairs = list(zip(members, stops, strict=True))
    family_evidence = evidence([_prompt_looks(*pair) for pair in pairs], tests, rules)
    if not any(sample.unknown for sample in members):
        return family_evidence
    alone = evidence([_prompt_looks(*pair, labelled=True) for pair in pairs], tests, rules)
    return [
        member_evidence._replace(labelled=(part.beyond, part.within))
        if sample.unknown
        else member_evidence
        for sample, member_evidence, part in zip(members, family_evidence, alone, strict=True)
    ]


class PromptStopping(StoppingRule):
    """A prompt stops by its own images."""

    def metrics(self, settings: Settings) -> Collection[str]:
        """Return both scores of a prompt."""
        del settings
        return "prompt_bias_score", "group_distance"

    def test(self, selection: Any, metric: str, test: SequentialTest) -> SequentialTest | None:
        """Return the test of a share; a distance of groups has intervals for every look."""
        del selection
        return test if metric == "prompt_bias_score" else None

    def state(self, value: DetectedPrompt) -> State | None:
        """Return the state that the prompt's own images have reached."""
        stop = value.stopping
        if stop is None or stop.test is None or stop.rule == "again":
            return None
        return _prompt_looks(value, stop).state(stop.test)


class ModelStopping(StoppingRule):
    """All prompts together stop by the interval of a look."""

    def metrics(self, settings: Settings) -> Collection[str]:
        """Return the scores of the model; none where labels correct all images of a run."""
        if settings.labels is not None:
            return ()
        # The paper's score rises as images get fewer.
        paper = settings.estimator == "paper"
        return ("group_distance",) if paper else ("model_bias_score", "group_distance")


def interval_of(sample: DetectedPrompt) -> Interval:
    """Return the interval of the prompt bias score after early stopping.

    It is exact where the prompt stopped by its own images, and all were clear and distinct. Else it
    holds at every look.
    """
    stop = sample.stopping
    test = None if stop is None else stop.own_test
    if stop is None or test is None or sample.undetected or sample.repeats.repeated:
        return prompt_bias_sequence(sample.male, sample.female, sample.level)
    share = stopped_share_interval(test, stop.looks, sample.male, sample.level)
    middle, low, high = (2.0 * x - 1.0 for x in (share.estimate, share.low, share.high))
    return Interval(middle, low, high, share.level, share.method, share.n)


def _prompt_looks(sample: DetectedPrompt, stop: Stopping, *, labelled: bool = False) -> Shown:
    """Return what a prompt's images showed at each look; ``labelled`` omits undetected ones."""
    if sample.has_no_verdict:
        return Shown((), 0, 0)
    signs = sample.signs
    looks: list[tuple[int, int]] = []
    here = (0, 0, 0)
    for images in stop.looks:
        here = _counted(sample, signs[: sample.distinct_among(images)], labelled=labelled)
        while looks and looks[-1][0] >= here[0]:
            looks.pop()
        if here[0]:
            looks.append((here[0], images))
    fresh = None
    if stop.fresh:
        before = sample.distinct_among(stop.looks[-1])
        count, least, _ = _counted(sample, signs[before:], labelled=labelled)
        fresh = (least, count)
    return Shown(tuple(looks), here[1], here[2], fresh)


def _counted(sample: DetectedPrompt, signs: np.ndarray, *, labelled: bool) -> tuple[int, int, int]:
    """Return the images that count and the range of |male - female| over undetected ones."""
    lean, clear = abs(int(signs.sum())), int(np.count_nonzero(signs))
    unknown = len(signs) - clear
    if labelled or unknown <= sample.alike * len(signs):
        unknown = 0
    n = clear + unknown
    return n, lean - unknown if lean >= unknown else n % 2, lean + unknown


def at_any_look(
    male: np.ndarray, female: np.ndarray, bound: float, level: float, alternative: Beyond
) -> list[float]:
    """Return p-values that hold at any look, from confidence sequences and e-values."""
    pairs = list(zip(male.tolist(), female.tolist(), strict=True))
    if alternative == "beyond":
        p_values = [bias_sequence_p_value(m, f, bound) if m + f else 1.0 for m, f in pairs]
        return list(map(float, statistics.benjamini_hochberg(p_values)))
    at = statistics.one_sided(level)
    inside = (bool(m + f) and abs(prompt_bias_sequence(m, f, at)).high <= bound for m, f in pairs)
    return [1.0 - level if within else 1.0 for within in inside]


Counts = tuple[int, ...]
Alternative = Literal["greater", "less"]


def group_interval_of(sample: DetectedPrompt) -> Interval | None:
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

    return Family(tuple(map(group_interval_of, members)), evidence)


def _p_values(members: Sequence[Counts], bound: float, alternative: Alternative) -> list[float]:
    p_values = [_p_value(n, bound, alternative) if any(n) else 1.0 for n in members]
    if alternative == "less":
        return p_values
    return list(map(float, statistics.benjamini_hochberg(p_values)))


@lru_cache(maxsize=4096)
def _p_value(counts: Counts, bound: float, alternative: Alternative) -> float:
    groups = {str(place): count for place, count in enumerate(counts)}
    return group_distance_sequence_p_value(groups, bound, alternative)


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
    sides = [_look(samples, counts, unknown, side)(bound, level) for side in SIDES]
    labelled = None
    if any(unknown):
        alone = _look(samples, counts, [0] * len(counts), SIDES[0])(bound, level)
        labelled = (alone.beyond, alone.within)
    return Evidence(sides[0].beyond, sides[1].within, labelled)


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
