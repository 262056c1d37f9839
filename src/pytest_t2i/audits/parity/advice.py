"""Advice on parity: before images are made, and after a verdict."""

from __future__ import annotations

import math
import statistics as plain
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from pytest_t2i import statistics
from pytest_t2i.audits.engine.bias import Bias
from pytest_t2i.audits.engine.build_samples import sample_of, samples_of
from pytest_t2i.audits.engine.context import AskedTest, AuditContext
from pytest_t2i.audits.engine.detected import DetectedPrompt
from pytest_t2i.audits.parity.change import Pairs
from pytest_t2i.data import TIE, Interval, Outcome
from pytest_t2i.errors import some
from pytest_t2i.settings import Settings
from pytest_t2i.statistics.change import paired_prompt_p_value, prompt_bias_change
from pytest_t2i.statistics.families import fewest_images
from pytest_t2i.statistics.planning import (
    Design,
    change_images_needed,
    images_needed,
    model_images_needed,
    prompt_power,
    simulated_power,
)
from pytest_t2i.verdicts import judge
from pytest_t2i.verdicts.baseline_file import Baseline
from pytest_t2i.verdicts.check import Check

TRIED = (10, 20, 30, 40, 50, 65, 80, 100, 130, 160, 200, 250, 300)
"""Numbers of images per prompt to try; the power for more takes seconds to compute."""
EVEN_CHANCE, ALIKE = 0.5, 200
"""Chance to find a prompt that grew, and number of simulated ones."""


def after_failures(context: AuditContext, recorded: Baseline | None) -> Iterator[str]:
    """Yield advice about a model that failed against its baseline or its limit."""
    failed = [check for check in context.checks if check.outcome is Outcome.FAIL]
    growth = failed_growth(failed)
    beyond = [c for c in failed if c.against == "limit" and _is_model_bias(c)]
    if growth is not None and recorded is not None:
        yield from _regression(context, growth, recorded)
    elif beyond and (names := _prompts_behind_excess(context, beyond[0])):
        yield f"if these prompts were even, the model would be within its limit: {names}"


def _regression(context: AuditContext, check: Check, recorded: Baseline) -> Iterator[str]:
    """Yield which prompts grew, how many images show them one by one, and what to record."""
    settings = context.settings
    grown = grown_prompts(context, check, recorded)
    if grown:
        names = some([prompt.sample.prompt.name for prompt in grown])
        yield (
            f"{names} grew most: `t2i compare {settings.baseline} {context.run_file}` shows each "
            "prompt then and now"
        )
        yield from _images_to_show_prompts(
            context, grown, len(context.test(check.test).selection.prompts)
        )
    yield (
        f"if the growth is intended, record it with --t2i-save-baseline {settings.baseline}; if "
        "not, keep the baseline"
    )


def _images_to_show_prompts(
    context: AuditContext, grown: Sequence[GrownPrompt], prompts: int
) -> Iterator[str]:
    """Yield how many images the tests of single prompts need to find half of those that grew."""
    _, before, now = grown[len(grown) // 2]
    # Where half of m grown prompts of n are found, Benjamini-Hochberg needs alpha m / (2 n).
    share = math.ceil(2 * prompts / len(grown))
    design = Design(share, context.settings.confidence)
    world = [np.full(ALIKE, before), np.full(ALIKE, now)]
    images = images_needed(
        lambda n: simulated_power([world], _prompts_grow(design), n, design._replace(repeats=1)),
        EVEN_CHANCE,
        TRIED,
    )
    have = min(len(prompt.sample.seeds) for prompt in grown)
    if images is None:
        yield f"{TRIED[-1]} images per prompt would not name the prompts that grew"
    elif images <= have:
        yield (
            "to fail the prompts that grew by name, compare sample.prompt_bias_score with "
            'baseline("prompt_bias_score") in a test: these images name about half of them'
        )
    else:
        yield (
            f"to name half of the prompts that grew, take about {images} images per prompt "
            f"{context.price_of_both(images)}"
        )


def _prompts_grow(design: Design) -> Callable[..., float]:
    @cache
    def p_value(*counts: int) -> float:
        labels = (np.repeat([1, -1], side) for side in (counts[:2], counts[2:]))
        return paired_prompt_p_value(*labels, margin=Bias.margin, shared_seeds=False)

    def grown(*pair: np.ndarray) -> float:
        p_values = [p_value(*row) for row in np.stack(pair, axis=1).tolist()]
        return float(np.mean(np.array(p_values) * design.prompts <= 1.0 - design.level + TIE))

    return grown


def _prompts_behind_excess(context: AuditContext, check: Check) -> str:
    if check.estimate is None:
        return ""
    members = samples_of(context, context.test(check.test)).members
    clear = [sample for sample in members if sample.clear]
    excess = (check.estimate - check.bound) * len(clear)
    names = []
    for sample in sorted(clear, key=score, reverse=True):
        if excess <= 0.0:
            break
        excess -= score(sample)
        names.append(sample.prompt.name)
    return f"{some(names)} ({len(names)} of {len(clear)})" if names else ""


MOST = 0.5
"""Chance of a PASS for a perfectly even prompt that the warning calls "most"."""


def too_few(cases: Sequence[AskedTest], bound: float, level: float) -> Iterator[str]:
    """Yield a line where none of the prompts of a test function can be decided."""
    images = max(test.planned for test in cases)
    fewest = fewest_images(bound, level, len(cases))
    counts = [n for n in fewest if n is not None]
    if not counts or images >= min(counts):
        return
    design = Design(len(cases), level)
    most = images_needed(lambda n: prompt_power(0.0, bound, n, design), MOST)
    name = cases[0].function.rpartition("::")[2]
    enough = f"; {most} let most even prompts pass" if most else ""
    yield (
        f"with {images} images no prompt can be decided against {bound:g} ({name}): from "
        f"{min(counts)} on some can{enough}. Inconclusive prompts show on which side "
        "of the limit their estimate lies"
    )


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
        if check.metric == MODEL and check.n:
            samples = samples_of(context, context.test(check.test))
            counts = samples.male, samples.female, check.bound
            return model_images_needed(*counts, level=context.settings.confidence) or 0
    return None


def _for_change(context: AuditContext, check: Check) -> int | None:
    change, recorded = check.interval, context.recorded
    if change is None or recorded is None:
        return None
    pairs = Pairs(Bias(), samples_of(context, context.test(check.test)).members, recorded)
    rule = _model_rule(context.settings, check)
    return _simulated(pairs, rule, MOST_TIMES, changed=_is_changed(change))


def _for_prompts(context: AuditContext, checks: Sequence[Check]) -> int:
    """Return the number of images that decides half of the prompts; 0 without one."""
    intervals = [check.interval for check in checks if check.interval is not None]
    if not intervals or context.recorded is None:
        return 0
    samples = [sample_of(context, context.test(check.test)) for check in checks]
    pairs = Pairs(Bias(), samples, context.recorded)
    level = statistics.one_sided(context.settings.confidence)
    most_changed = sum(map(_is_changed, intervals)) * 2 > len(intervals)
    rule = _prompts_rule(checks[0].bound, level)
    return _simulated(pairs, rule, HALF, changed=most_changed) or 0


def _simulated(
    pairs: Pairs, decided: Callable[..., float], power: float, *, changed: bool
) -> int | None:
    """Return the number of images, undetected ones included, with enough clear ones to decide."""
    clear = change_images_needed(pairs.counts, decided, changed=changed, power=power)
    if clear is None:
        return None
    images = sum(len(before.seeds) + len(sample.seeds) for before, sample in pairs)
    return math.ceil(clear * images / int(np.sum(pairs.counts)))


def _model_rule(settings: Settings, check: Check) -> Callable[..., float]:
    """Return the rule whether two runs decide the model's check, as ``change`` does."""
    level = statistics.one_sided(settings.confidence)

    def decided(*pair: np.ndarray) -> float:
        change = statistics.paired_model_bias_change(*pair, level=level, seed=settings.seed)
        return float(judge.compare(change, check.bound, "higher") is not Outcome.INCONCLUSIVE)

    return decided


def _prompts_rule(margin: float, level: float) -> Callable[..., float]:
    @cache
    def is_open(before_men: int, before_women: int, men: int, women: int) -> bool:
        change = prompt_bias_change(before_men, before_women, men, women, level)
        return judge.compare(change, margin, "higher") is Outcome.INCONCLUSIVE

    def decided(*pair: np.ndarray) -> float:
        rows = np.stack(pair, axis=1).tolist()
        return 1.0 - float(np.mean([is_open(*row) for row in rows]))

    return decided


def _is_changed(change: Interval) -> bool:
    """Return whether the interval excludes 0; else the change may be chance and counts as none."""
    return change.low > 0.0 or change.high < 0.0


class GrownPrompt(NamedTuple):
    """A prompt with its absolute scores then and now."""

    sample: DetectedPrompt
    before: float
    now: float


def _is_model_bias(check: Check) -> bool:
    return check.metric == "model_bias_score" and check.is_of_model


def failed_growth(checks: Iterable[Check]) -> Check | None:
    """Return the first check that fails because the model is more biased than its baseline."""
    failed = (c for c in checks if c.outcome is Outcome.FAIL and c.against == "baseline")
    return next(filter(_is_model_bias, failed), None)


def grown_prompts(context: AuditContext, check: Check, recorded: Baseline) -> list[GrownPrompt]:
    """Return a check's prompts that grew by more than the prompt margin, the most first."""
    pairs = Pairs(Bias(), samples_of(context, context.test(check.test)).members, recorded)
    scored = [
        GrownPrompt(
            sample,
            abs(before.male - before.female) / (before.male + before.female),
            score(sample),
        )
        for before, sample in pairs
        if before.male + before.female and sample.clear
    ]
    grown = [prompt for prompt in scored if prompt.now - prompt.before > Bias.margin]
    return sorted(grown, key=lambda prompt: prompt.before - prompt.now)


def score(sample: DetectedPrompt) -> float:
    """Return |male - female| / (male + female) of a prompt with clear images."""
    return abs(sample.male - sample.female) / sample.clear
