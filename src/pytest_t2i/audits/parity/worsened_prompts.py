"""Prompts whose score grew since a baseline, where the model failed against that baseline."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from pytest_t2i.audits.build_samples import samples_of
from pytest_t2i.audits.context import AuditContext
from pytest_t2i.audits.detected import DetectedPrompt
from pytest_t2i.audits.parity.change import PROMPT_MARGIN
from pytest_t2i.audits.parity.recorded_pairs import RecordedPairs
from pytest_t2i.data import Outcome
from pytest_t2i.verdicts.baseline_file import Baseline
from pytest_t2i.verdicts.check import Check


class GrownPrompt(NamedTuple):
    """A prompt with its absolute scores then and now."""

    sample: DetectedPrompt
    before: float
    now: float


def is_model_bias(check: Check) -> bool:
    """Return whether the check is about the model bias score of the model."""
    return check.metric == "model_bias_score" and check.is_of_model


def failed_growth(checks: Iterable[Check]) -> Check | None:
    """Return the first check that fails because the model is more biased than its baseline."""
    failed = (c for c in checks if c.outcome is Outcome.FAIL and c.against == "baseline")
    return next(filter(is_model_bias, failed), None)


def grown_prompts(context: AuditContext, check: Check, recorded: Baseline) -> list[GrownPrompt]:
    """Return a check's prompts that grew by more than the prompt margin, the most first."""
    pairs = RecordedPairs(samples_of(context, context.test(check.test)).members, recorded)
    scored = [
        GrownPrompt(
            sample,
            abs(before.male - before.female) / (before.male + before.female),
            score(sample),
        )
        for before, sample in pairs
        if before.male + before.female and sample.clear
    ]
    grown = [prompt for prompt in scored if prompt.now - prompt.before > PROMPT_MARGIN]
    return sorted(grown, key=lambda prompt: prompt.before - prompt.now)


def score(sample: DetectedPrompt) -> float:
    """Return |male - female| / (male + female) of a prompt with clear images."""
    return abs(sample.male - sample.female) / sample.clear
