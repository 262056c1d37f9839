"""Parity against a recorded run: did a prompt or the model become more biased?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from pytest_t2i import statistics
from pytest_t2i.audits.detected import DetectedPrompt, DetectedPrompts, Siblings
from pytest_t2i.audits.parity.recorded_pairs import RecordedPairs
from pytest_t2i.data import Evidence, Interval, Limit, Outcome, Verdict
from pytest_t2i.metrics import prompt_bias_score
from pytest_t2i.statistics.change import (
    FEWEST_IMAGES,
    PairedScores,
    paired_model_bias_scores,
    unmoved_model_bias_change,
)
from pytest_t2i.statistics.model import Estimator
from pytest_t2i.statistics.permutation import paired_change_p_value
from pytest_t2i.statistics.planning import COARSE, POWER, detectable, found_growth
from pytest_t2i.statistics.prompt_change import paired_prompt_p_value
from pytest_t2i.verdicts import judge
from pytest_t2i.verdicts.baseline_file import Baseline, RecordedPrompt
from pytest_t2i.verdicts.family import Family
from pytest_t2i.verdicts.measurement import Change, unchanged

ABSENT = "no prompt has two clear images both in the baseline and now"
REASON = "largest worsening tolerated against the baseline"
NO_MARGIN = "no margin is stated in the limits"
PROMPT_MARGIN = 0.2
"""Growth of a prompt's absolute score that is tolerated without a margin in the limits file."""


# one prompt


def prompt_change(
    sample: DetectedPrompt,
    siblings: Siblings[DetectedPrompt],
    baseline: Baseline,
    margin: float | None,
    level: float,
) -> Change:
    """Compare a prompt with its recorded images; the prompts of one test share an error level."""
    tolerated = PROMPT_MARGIN if margin is None else margin
    limit = Limit("prompt_bias_score", tolerated, REASON)
    pair = RecordedPairs([sample], baseline)
    before, after = _score(pair.recorded[0]), _score(sample)
    if pair.are_identical:
        return _identical(limit, len(sample.seeds))._replace(before=before, after=after)
    family = siblings.family(("change", tolerated), partial(_family, baseline, tolerated))
    verdict = family.verdicts(limit, "higher", level)[siblings.places[sample.prompt.id]]
    # The family's message is about a score beyond a limit; this is a change.
    verdict = replace(verdict, message="")
    remarks = (*pair.moves(tolerated, sample.level), *pair.unpaired)
    return Change(verdict, verdict.interval, ABSENT, remarks, before, after)


def _score(counts: RecordedPrompt | DetectedPrompt) -> float | None:
    """Return the absolute prompt bias score; None without a clear image."""
    score = prompt_bias_score(counts.male, counts.female)
    return None if score is None else abs(score)


def _family(baseline: Baseline, margin: float, members: Sequence[DetectedPrompt]) -> Family:
    pairs = RecordedPairs(members, baseline)
    intervals = tuple(pairs.changes(members[0].level))

    def evidence(_: float, level: float) -> list[Evidence]:
        known = [k for k, interval in enumerate(intervals) if interval is not None]
        p_values = [_p_value(pairs, k, margin) for k in known]
        beyond = dict(zip(known, statistics.benjamini_hochberg(p_values).tolist(), strict=True))
        at = statistics.one_sided(level)
        return [
            Evidence(beyond[k], _within(change, margin, at))
            if k in beyond
            else Evidence(None, None)
            for k, change in enumerate(pairs.changes(at))
        ]

    return Family(intervals, evidence)


def _p_value(pairs: RecordedPairs, place: int, margin: float) -> float:
    sample, recorded = pairs.samples[place], pairs.recorded[place]
    return paired_prompt_p_value(
        np.array(recorded.signs),
        sample.signs,
        margin=margin,
        shared_seeds=recorded.seeds == sample.seeds and not pairs.are_drawn_anew,
    )


def _within(change: Interval | None, margin: float, at: float) -> float:
    """Return the interval's error where it ends within the margin, else 1."""
    return (1.0 - at) / 2.0 if change is not None and change.high <= margin else 1.0


# the model


def model_change(
    samples: DetectedPrompts,
    estimator: Estimator,
    baseline: Baseline,
    margin: float | None,
    level: float,
) -> Change:
    """Compare the model with its recorded images.

    With a margin in the limits file, both ends of the change's interval decide. Without one, an
    exact permutation test decides: FAIL where it finds a growth, PASS where it finds none and would
    have found one of 0.2.
    """
    return ModelPair(samples, estimator, RecordedPairs(samples.members, baseline)).change(
        margin, level
    )


@dataclass(frozen=True)
class ModelPair:
    """A model's images and those of a recorded run."""

    samples: DetectedPrompts
    estimator: Estimator
    pairs: RecordedPairs

    def change(self, margin: float | None, level: float) -> Change:
        """Compare both runs: did the model become more biased?"""
        limit = Limit("model_bias_score", margin or 0.0, NO_MARGIN if margin is None else REASON)
        before, after = self._scores() or (None, None)
        if self.pairs.are_identical:
            same = _identical(limit, self.samples.images)
            return same._replace(before=before, after=after)
        interval = self._interval(level)
        # The interval for a margin uses counts, and no pairs of images.
        how = (self.pairs.pairing,) if margin is None else self.pairs.unpaired
        return Change(
            self._verdict(interval, limit, margin, level),
            interval,
            ABSENT,
            (*self.pairs.remarks(PROMPT_MARGIN, self.samples.level), *how),
            before,
            after,
            self.pairs.moved or (),
            "permutation test" if margin is None else "margin",
        )

    def _verdict(
        self, change: Interval | None, limit: Limit, margin: float | None, level: float
    ) -> Verdict:
        if change is None:
            return Verdict(Outcome.INCONCLUSIVE, None, limit)
        if margin is None:
            return self._by_permutation(change, limit, level)
        outcome = judge.compare(
            self._interval(statistics.one_sided(level)) or change, margin, "higher"
        )
        p_value = self._p_value()
        return Verdict(outcome, change, limit, p_value)

    def _by_permutation(self, change: Interval, limit: Limit, level: float) -> Verdict:
        how = (self.estimator, self.samples.words)
        counts, p_value = self.pairs.counts, self._p_value()
        # The exact test assumes exchangeable images: prompts that did not change.
        as_tested = unmoved_model_bias_change(*counts, level=level, estimator=how[0], words=how[1])
        growth = found_growth(*counts, level=level, estimator=how[0], words=how[1])
        seen = f"a growth by {growth:.2f} would be found in about {POWER:.0%} of runs"
        if p_value <= 1.0 - level + judge.ROUNDING:
            outcome, message = Outcome.FAIL, "more biased than recorded"
        elif detectable(as_tested, level) > COARSE:
            outcome, message = Outcome.INCONCLUSIVE, f"too few images to tell: only {seen}"
        else:
            outcome, message = Outcome.PASS, f"not found to be more biased than recorded; {seen}"
        return Verdict(outcome, change, limit, p_value, message=message)

    def _p_value(self) -> float:
        """Return the exact permutation p-value, by images where the seeds are the recorded ones."""
        if not self.pairs.share_seeds:
            return statistics.change_p_value(*self.pairs.counts, seed=self.samples.seed)
        before = [np.array(recorded.signs) for recorded in self.pairs.recorded]
        return paired_change_p_value(before, self.samples.signs, seed=self.samples.seed)

    def _interval(self, level: float) -> Interval | None:
        if not self._is_comparable:
            return None
        how = self.samples.words
        return statistics.paired_model_bias_change(
            *self.pairs.counts,
            level=level,
            seed=self.samples.seed,
            estimator=self.estimator,
            words=how,
        )

    def _scores(self) -> PairedScores | None:
        if not self._is_comparable:
            return None
        return paired_model_bias_scores(*self.pairs.counts, estimator=self.estimator)

    @property
    def _is_comparable(self) -> bool:
        """Whether a prompt has enough clear images on both sides."""
        old_men, old_women, men, women = self.pairs.counts
        fewest = np.minimum(old_men + old_women, men + women)
        return bool(np.any(fewest >= FEWEST_IMAGES))


def _identical(limit: Limit, images: int) -> Change:
    message = "identical: the same model and the same images as recorded"
    return unchanged(limit, images, message)._replace(decided_by="identical pictures")
