"""Next steps after a model failed: which prompts explain it, and what would settle it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from pytest_t2i.audits.build_samples import samples_of
from pytest_t2i.audits.context import AuditContext
from pytest_t2i.audits.parity.change import PROMPT_MARGIN
from pytest_t2i.audits.parity.worsened_prompts import (
    GrownPrompt,
    failed_growth,
    grown_prompts,
    is_model_bias,
    score,
)
from pytest_t2i.data import Outcome
from pytest_t2i.errors import some
from pytest_t2i.statistics.planning import Design, images_needed, prompt_change_power
from pytest_t2i.verdicts.baseline_file import Baseline
from pytest_t2i.verdicts.check import Check

TRIED = (10, 20, 30, 40, 50, 65, 80, 100, 130, 160, 200, 250, 300)
"""Numbers of images per prompt to try; the power for more takes seconds to compute."""
EVEN_CHANCE = 0.5


def after_failures(context: AuditContext, recorded: Baseline | None) -> Iterator[str]:
    """Yield advice about a model that failed against its baseline or its limit."""
    failed = [check for check in context.checks if check.outcome is Outcome.FAIL]
    growth = failed_growth(failed)
    beyond = [c for c in failed if c.against == "limit" and is_model_bias(c)]
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
    images = images_needed(
        lambda n: prompt_change_power(before, now - before, PROMPT_MARGIN, n, design),
        EVEN_CHANCE,
        TRIED,
    )
    have = min(len(prompt.sample.seeds) for prompt in grown)
    if images is None:
        yield f"{TRIED[-1]} images of each would not show which prompts grew, only that they did"
    elif images <= have:
        yield (
            "these images show, one by one, about half of those that grew: let a test compare "
            'sample.prompt_bias_score with baseline("prompt_bias_score")'
        )
    else:
        yield (
            f"about {images} images per prompt show, one by one, half of those that grew: take "
            f"them {context.price_of_both(images)}"
        )


def _prompts_behind_excess(context: AuditContext, check: Check) -> str:
    """Return the most biased prompts that account for the excess of the score over its limit."""
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
