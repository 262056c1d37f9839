"""Numbers of images that would decide open checks, of the model and against a baseline."""

from __future__ import annotations

import math
import statistics as plain
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from pytest_t2i import statistics
from pytest_t2i.audits.build_samples import sample_of, samples_of
from pytest_t2i.audits.context import AuditContext
from pytest_t2i.audits.parity.recorded_pairs import RecordedPairs
from pytest_t2i.data import Interval, Outcome
from pytest_t2i.settings import Settings
from pytest_t2i.statistics.change import unmoved_model_bias_change
from pytest_t2i.statistics.planning import (
    COARSE,
    Pair,
    change_images_needed,
    detectable,
    model_images_needed,
)
from pytest_t2i.statistics.prompt_change import prompt_bias_change
from pytest_t2i.verdicts import judge
from pytest_t2i.verdicts.check import Check

PROMPT, MODEL = "prompt_bias_score", "model_bias_score"
HALF, MOST_TIMES = 0.5, 0.8
"""Share of prompts to decide, and share of runs in which the model is to be decided."""


def images_to_decide(context: AuditContext, checks: Sequence[Check]) -> int | None:
    """Return how many images per prompt would decide open checks against the same bound.

    Returns 0 where no number would decide them, and None where they are not of parity or their own
    texts name the number.
    """
    first = checks[0]
    if first.against == "limit":
        return _for_model_within(context, checks)
    if first.metric == PROMPT:
        return _for_prompts(context, checks)
    of_model = [check for check in checks if check.metric == MODEL]
    needed = [n for n in (_for_change(context, check) for check in of_model) if n]
    if not of_model:
        return None
    return plain.median_low(needed) if needed else 0


def _for_model_within(context: AuditContext, checks: Sequence[Check]) -> int | None:
    """Return the number for the model from its counts; None for prompts, whose checks name it."""
    for check in checks:
        if check.metric == MODEL and check.n and context.settings.words == "fixed":
            samples = samples_of(context, context.test(check.test))
            return model_images_needed(samples.male, samples.female, check.bound) or 0
    return None


def _for_change(context: AuditContext, check: Check) -> int | None:
    change, recorded = check.interval, context.recorded
    if change is None or recorded is None:
        return None
    pairs = RecordedPairs(samples_of(context, context.test(check.test)).members, recorded)
    rule = _model_rule(context.settings, check)
    return _simulated(pairs, rule, MOST_TIMES, changed=_is_changed(change))


def _for_prompts(context: AuditContext, checks: Sequence[Check]) -> int:
    """Return the number of images that decides half of the prompts; 0 without one."""
    intervals = [check.interval for check in checks if check.interval is not None]
    if not intervals or context.recorded is None:
        return 0
    samples = [sample_of(context, context.test(check.test)) for check in checks]
    pairs = RecordedPairs(samples, context.recorded)
    level = statistics.one_sided(context.settings.confidence)
    most_changed = sum(map(_is_changed, intervals)) * 2 > len(intervals)
    rule = _prompts_rule(checks[0].bound, level)
    return _simulated(pairs, rule, HALF, changed=most_changed) or 0


def _simulated(
    pairs: RecordedPairs, decided: Callable[[Pair], float], power: float, *, changed: bool
) -> int | None:
    """Return the number of images, undetected ones included, with enough clear ones to decide."""
    counts = pairs.counts
    clear = change_images_needed(
        counts[0], counts[1], counts[2], counts[3], decided, changed=changed, power=power
    )
    if clear is None:
        return None
    made = sum(len(before.seeds) + len(sample.seeds) for before, sample in pairs)
    return math.ceil(clear * made / int(np.sum(counts)))


# what decides


def _model_rule(settings: Settings, check: Check) -> Callable[[Pair], float]:
    """Return the rule whether two runs decide the model's check, as ``change`` does."""
    by_test = check.decided_by == "permutation test"
    level = settings.confidence if by_test else statistics.one_sided(settings.confidence)

    def decided(pair: Pair) -> float:
        if by_test:
            as_tested = unmoved_model_bias_change(
                *pair, level=level, estimator=settings.estimator, words=settings.words
            )
            return float(detectable(as_tested, level) <= COARSE)
        change = statistics.paired_model_bias_change(
            *pair, level=level, seed=settings.seed, estimator=settings.estimator,
            words=settings.words,
        )  # fmt: skip
        return float(judge.compare(change, check.bound, "higher") is not Outcome.INCONCLUSIVE)

    return decided


def _prompts_rule(margin: float, level: float) -> Callable[[Pair], float]:
    """Return the rule for the share of prompts that are decided one by one."""

    @cache
    def is_open(before_men: int, before_women: int, men: int, women: int) -> bool:
        change = prompt_bias_change(before_men, before_women, men, women, level)
        return judge.compare(change, margin, "higher") is Outcome.INCONCLUSIVE

    def decided(pair: Pair) -> float:
        rows = np.stack(pair, axis=1).tolist()
        return 1.0 - float(np.mean([is_open(*row) for row in rows]))

    return decided


def _is_changed(change: Interval) -> bool:
    """Return whether the interval excludes 0; else the change may be chance and counts as none."""
    return change.low > 0.0 or change.high < 0.0
