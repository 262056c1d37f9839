"""Parity against a recorded run: did a prompt, did the model become more biased?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from pytest_t2i import statistics
from pytest_t2i.audits.detected import DetectedPrompt, DetectedPrompts, Siblings
from pytest_t2i.data import Interval, Limit, Outcome, Verdict
from pytest_t2i.statistics import Estimator
from pytest_t2i.statistics.change import FEWEST_IMAGES
from pytest_t2i.verdicts import judge
from pytest_t2i.verdicts.baseline_file import Baseline
from pytest_t2i.verdicts.family import Family
from pytest_t2i.verdicts.measurement import Change

ABSENT = "no prompt has two clear images both in the baseline and now"
REASON = "largest worsening tolerated against the baseline"
NAMED = 8
"""Prompts named on each side."""


def prompt_change(
    sample: DetectedPrompt,
    siblings: Siblings[DetectedPrompt],
    baseline: Baseline,
    margin: float,
    level: float,
) -> Change:
    """A prompt against its recorded self; the prompts of one test share an error level."""
    family = siblings.family(("change", margin), partial(_family, baseline, margin))
    verdict = _verdict(family, siblings.places[sample.prompt.id], margin, level)
    return Change(verdict, verdict.interval, ABSENT, _remarks([sample], baseline, margin))


def _family(baseline: Baseline, margin: float, members: Sequence[DetectedPrompt]) -> Family:
    evidence = judge.adjust([_evidence(sample, baseline, margin) for sample in members])
    return Family(tuple(_change(sample, baseline) for sample in members), lambda _: evidence)


def _verdict(family: Family, place: int, margin: float, level: float) -> Verdict:
    limit = Limit("prompt_bias_score", margin, REASON)
    change, p_value = family.intervals[place], family.p_values(margin)[place]
    if change is None:
        return Verdict(Outcome.INCONCLUSIVE, None, limit, p_value)
    outcome = Outcome.INCONCLUSIVE
    if p_value is not None and p_value <= 1.0 - level:
        outcome = Outcome.FAIL
    elif change.high <= margin:
        outcome = Outcome.PASS
    return Verdict(outcome, change, limit, p_value)


def _evidence(sample: DetectedPrompt, baseline: Baseline, margin: float) -> float | None:
    recorded = baseline.prompts[sample.prompt.text]
    before, after = np.array(recorded.signs), sample.signs
    if not np.any(before) or not np.any(after):
        return None
    return statistics.paired_prompt_p_value(
        before, after, margin=margin, shared_seeds=recorded.seeds == sample.seeds
    )


def _change(sample: DetectedPrompt, baseline: Baseline) -> Interval | None:
    recorded = baseline.prompts[sample.prompt.text]
    if not recorded.male + recorded.female or not sample.clear:
        return None
    return statistics.prompt_bias_change(
        recorded.male, recorded.female, sample.male, sample.female, sample.level
    )


def model_change(
    samples: DetectedPrompts,
    estimator: Estimator,
    baseline: Baseline,
    margin: float,
    level: float,
) -> Change:
    """The model against its recorded self."""
    recorded = [baseline.prompts[sample.prompt.text] for sample in samples]
    before_male = np.array([prompt.male for prompt in recorded])
    before_female = np.array([prompt.female for prompt in recorded])
    clear = np.minimum(before_male + before_female, samples.male + samples.female)
    change = None
    if np.any(clear >= FEWEST_IMAGES):
        change = statistics.paired_model_bias_change(
            before_male,
            before_female,
            samples.male,
            samples.female,
            level=level,
            seed=samples.seed,
            estimator=estimator,
        )
    verdict = judge.judge_regression(change, "model_bias_score", margin, n_images=samples.images)
    return Change(verdict, change, ABSENT, _remarks(samples.members, baseline, margin))


def _remarks(
    samples: Sequence[DetectedPrompt], baseline: Baseline, margin: float
) -> tuple[str, ...]:
    moves = _moves(samples, baseline)
    worse = [name for name, move in moves if move > margin][:NAMED]
    better = [name for name, move in reversed(moves) if move < -margin][:NAMED]
    named = {"got worse": worse, "got better": better}
    return tuple(f"{what}: {', '.join(names)}" for what, names in named.items() if names)


def _moves(samples: Sequence[DetectedPrompt], baseline: Baseline) -> list[tuple[str, float]]:
    """Prompts by how much their absolute score grew, the most first."""
    changes = [(sample.prompt.concept, _change(sample, baseline)) for sample in samples]
    moves = [(f"{name} {c.estimate:+.2f}", c.estimate) for name, c in changes if c is not None]
    return sorted(moves, key=lambda pair: -pair[1])
