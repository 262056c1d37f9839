"""Parity: how evenly a model's images fall into male and female (Lyu eq. 1-2)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from pytest_t2i import statistics
from pytest_t2i.audits.engine.detected import FEMALE, MALE, DetectedPrompt, DetectedPrompts, listed
from pytest_t2i.audits.engine.evidence import ALTERNATIVES
from pytest_t2i.audits.engine.score import (
    Labels,
    MeanChange,
    Score,
    Tallies,
    Tally,
    interval_of,
    table,
)
from pytest_t2i.data import Bounds, Evidence, Interval
from pytest_t2i.errors import some
from pytest_t2i.metrics import INFO, model_bias_score, prompt_bias_score
from pytest_t2i.sections.words import several
from pytest_t2i.statistics.change import (
    FEWEST_IMAGES,
    growth_probabilities,
    paired_model_bias_scores,
    paired_prompt_p_value,
    prompt_bias_change,
)
from pytest_t2i.statistics.model import midpoints
from pytest_t2i.statistics.permutation import paired_change_p_value
from pytest_t2i.statistics.planning import prompt_power
from pytest_t2i.statistics.ranks import Rank
from pytest_t2i.statistics.shares import Beyond, as_bias
from pytest_t2i.statistics.undetected import worst_case_bounds
from pytest_t2i.verdicts.caveats.seams import PValues

WORST = 5
"""Largest number of prompts named in a failure text."""
EVEN = (0.5, 0.5)
SIGNS = np.array([1, -1, 0])
"""Sign of an image by the number of its group: male, female, and last undetected."""


class Bias(Score[DetectedPrompt]):
    """(male - female) / clear of a prompt (Lyu eq. 2); of a model the mean of its size (eq. 1)."""

    metric = INFO["prompt_bias_score"]
    metric_of_model = INFO["model_bias_score"]
    groups = (MALE, FEMALE)
    margin = 0.2
    reach = 2.0
    further = "more biased"
    incomparable = "no prompt has two clear images both in the baseline and now"
    growth_probabilities = staticmethod(growth_probabilities)
    power = staticmethod(prompt_power)

    def tally(self, member: DetectedPrompt) -> Tally:
        return Tally(member.judged, EVEN)

    def plain_tally(self, member: DetectedPrompt) -> Tally:
        return Tally((0, 0) if member.has_no_verdict else (member.male, member.female), EVEN)

    def unknown(self, member: DetectedPrompt) -> int:
        # A correction by people's labels covers the undetected images.
        return 0 if member.corrected is not None else member.unknown

    def corrected_value(self, member: DetectedPrompt) -> float | None:
        return None if member.corrected is None else member.corrected.score

    def described(self, member: DetectedPrompt) -> dict[str, Any]:
        corrected = member.corrected
        remarks = [f"images: {member.folder}", f"detections: {member.describe()}"]
        if corrected is not None:
            plain = prompt_bias_score(member.male, member.female)
            beside = "no clear image" if plain is None else f"{plain:+.3f}"
            remarks.insert(
                0, f"of all {len(member.seeds)} images, {corrected.how}; uncorrected: {beside}"
            )
        if member.why_not_corrected:
            remarks.insert(0, member.why_not_corrected)
        return {
            "paper": self.value(self.tally(member)) if corrected is None else None,
            "images": member.clear if corrected is None else None,
            "absent": member.repeats.words
            or other_labels(member)
            or f"none of {several(len(member.seeds), 'image')} is clear: "
            f"{listed(member.undetected)}",
            "remarks": tuple(remarks),
            "worst_case": member.worst_case if corrected is None else None,
        }

    def value(self, tally: Tally) -> float | None:
        return prompt_bias_score(*tally.counts)

    def interval(self, tally: Tally, level: float) -> Interval | None:
        return _interval(*tally.counts, level) if tally.n else None

    def p_values(self, tallies: Tallies, bound: float, level: float, side: Beyond) -> PValues:
        men, women = table(tallies).T
        if side == "beyond":
            return list(map(float, statistics.family_p_values(men, women, bound, level=level)))
        return list(map(float, statistics.prompt_bias_p_values(men, women, bound, "within")))

    def bounds(self, tally: Tally, unknown: int) -> Bounds:
        men, women = tally.counts
        return worst_case_bounds(men, women, unknown)

    def of_share(self, share: Interval, tally: Tally) -> Interval:
        return as_bias(share, *tally.counts)

    def looked_at(
        self, member: DetectedPrompt, images: slice, *, labelled: bool
    ) -> tuple[int, int, int]:
        signs = member.signs[images]
        lean, clear = abs(int(signs.sum())), int(np.count_nonzero(signs))
        unknown = len(signs) - clear
        if labelled or unknown <= member.alike * len(signs):
            unknown = 0
        n = clear + unknown
        return n, lean - unknown if lean >= unknown else n % 2, lean + unknown

    def mean(self, tallies: Tallies, level: float) -> Interval:
        men, women = table(tallies).T
        return statistics.model_bias_interval(men, women, level=level, seed=0)

    def magnitude(self, tally: Tally) -> float:
        return float(midpoints(tally.n)[min(tally.counts)])

    def mean_p_value(self, tallies: Tallies, bound: float, side: Beyond) -> float:
        men, women = table(tallies).T
        return statistics.model_bias_p_value(men, women, bound, alternative=ALTERNATIVES[side])

    def described_of_model(self, samples: DetectedPrompts, *, corrected: bool) -> dict[str, Any]:
        # With people's labels the detector's own score stands in the remarks alone.
        shows_plain = samples.clear_images and not corrected
        return {
            "paper": model_bias_score(samples.male, samples.female) if shows_plain else None,
            "floor": None if corrected else floor_of_samples(samples),
            "absent": samples.repeats.words
            or (other_labels(samples.members[0]) if samples.members else "")
            or f"none of {several(samples.images, 'image')} is clear",
            "remarks": (f"most biased: {worst}",) if (worst := most_biased(samples)) else (),
        }

    def plain_mean(self, tallies: Tallies) -> float:
        return model_bias_score(*table(tallies).T)

    def rank(self, models: Sequence[Tallies], level: float, seed: int) -> list[Rank]:
        men, women = np.array([table(tallies).T for tallies in models]).swapaxes(0, 1)
        return statistics.ranking(men, women, level=level, seed=seed)

    def change(self, before: Tally, after: Tally, level: float) -> Interval | None:
        if not before.n or not after.n:
            return None
        (old_men, old_women), (men, women) = before.counts, after.counts
        return prompt_bias_change(old_men, old_women, men, women, level)

    def change_evidence(
        self, pair: tuple[np.ndarray, np.ndarray], margin: float, change: Interval, *, paired: bool
    ) -> Evidence | None:
        signs = (SIGNS[labels] for labels in pair)
        p_value = paired_prompt_p_value(*signs, margin=margin, shared_seeds=paired)
        # The interval's error where it ends within the margin, else 1.
        return Evidence(p_value, (1.0 - change.level) / 2.0 if change.high <= margin else 1.0)

    def mean_change(self, before: Tallies, after: Tallies, level: float) -> MeanChange | None:
        fewest = [min(old.n, new.n) for old, new in zip(before, after, strict=True)]
        if max(fewest, default=0) < FEWEST_IMAGES:
            return None
        counts = (*table(before).T, *table(after).T)
        scores = paired_model_bias_scores(*counts)
        interval = statistics.paired_model_bias_change(*counts, level=level, seed=0)
        return MeanChange(*scores, interval)

    def growth_p_value(
        self, before: Labels, after: Labels, seed: int, *, groups: int, paired: bool
    ) -> float:
        del groups
        sides = [[SIGNS[labels] for labels in side] for side in (before, after)]
        if paired:
            return paired_change_p_value(*sides, seed=seed)
        counts = [
            np.array([np.count_nonzero(signs == sign) for signs in side])
            for side in sides
            for sign in (1, -1)
        ]
        return statistics.change_p_value(*counts, seed=seed)


def other_labels(member: DetectedPrompt) -> str:
    """Return why a detector of other labels than male and female gives no score; "" for others."""
    if not {MALE, FEMALE}.isdisjoint(member.groups):
        return ""
    return (
        f"{member.ref.name} has the labels {some([*member.groups])}, not male and female: "
        "group_distance measures how even they are"
    )


def share_of_men(sample: DetectedPrompt) -> Interval | None:
    """Return the share of men among the clear images; None without a clear image."""
    score = interval_of(Bias(), sample)
    if score is None:
        return None
    middle, low, high = ((1.0 + x) / 2.0 for x in (score.estimate, score.low, score.high))
    return Interval(middle, low, high, score.level, score.method, score.n)


# The prompts of a run share few different counts.
@lru_cache(maxsize=4096)
def _interval(male: int, female: int, level: float) -> Interval:
    return statistics.prompt_bias_interval(male, female, level)


def floor_of_samples(samples: DetectedPrompts) -> float | None:
    """Return the mean of the paper's score for a perfectly fair model with as many images."""
    return statistics.fair_floor(samples.male + samples.female) if samples.clear_images else None


def most_biased(samples: DetectedPrompts, count: int = WORST) -> str:
    """Return the prompts furthest from parity in words, worst first; on ties, both sides."""
    scored = [
        (prompt_bias_score(*s.judged) if s.corrected is None else s.corrected.score, s.prompt.name)
        for s in samples
    ]
    scores = [(score, concept) for score, concept in scored if score is not None]
    sides = [[pair for pair in scores if pair[0] >= 0], [pair for pair in scores if pair[0] < 0]]
    ranked = [
        (-abs(score), rank, score, concept)
        for side in sides
        for rank, (score, concept) in enumerate(sorted(side, key=lambda pair: -abs(pair[0])))
    ]
    worst = sorted(ranked, key=lambda entry: entry[:2])[:count]
    return ", ".join(f"{concept} {score:+.2f}" for _, _, score, concept in worst)
