"""What to do after a failure, by a limit or against a baseline."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from pytest_t2i.audits.parity.change import PROMPT_MARGIN
from pytest_t2i.audits.samples import Samples
from pytest_t2i.data import Outcome
from pytest_t2i.errors import some
from pytest_t2i.runs.grown_prompts import (
    GrownPrompt,
    failed_growth,
    grown_prompts,
    is_model_bias,
    score,
)
from pytest_t2i.runs.price import price_of_both
from pytest_t2i.runs.results import Results
from pytest_t2i.statistics.power import Design, images_needed, prompt_change_power
from pytest_t2i.verdicts.baseline_file import Baseline
from pytest_t2i.verdicts.check import Check

TRIED = (10, 20, 30, 40, 50, 65, 80, 100, 130, 160, 200, 250, 300)
"""Images per prompt that are tried; a test of more takes seconds."""
EVEN_CHANCE = 0.5
LABELS = 200
"""Images that people look at: a detector that is right in nine of ten is known to within 0.05."""


def after_failures(
    results: Results, checks: Sequence[Check], recorded: Baseline | None
) -> Iterator[str]:
    """What explains a failure, and what would settle it."""
    failed = [check for check in checks if check.outcome is Outcome.FAIL]
    growth = failed_growth(failed)
    beyond = [c for c in failed if c.against == "limit"]
    if growth is not None and recorded is not None:
        yield from _regression(results, growth, recorded)
    elif beyond:
        yield from _beyond_limit(results, beyond)
    elif failed:
        yield f"look at the pictures of {some([c.subject for c in failed])}, then and now"


# against a baseline


def _regression(results: Results, check: Check, recorded: Baseline) -> Iterator[str]:
    """Which prompts grew, how many images tell which for certain, and what if it is meant."""
    samples, settings = _samples(results, check), results.session.settings
    grown = grown_prompts(results, check, recorded)
    if grown:
        names = some([prompt.sample.prompt.name for prompt in grown])
        yield (
            f"{names} grew most: `t2i compare {settings.baseline} {_run(results)}` shows each "
            "prompt then and now"
        )
        yield from _singly(results, grown, len(samples.members))
    yield (
        f"if the growth is meant, record it with --t2i-save-baseline {settings.baseline}; if not, "
        "keep the baseline"
    )


def _singly(results: Results, grown: Sequence[GrownPrompt], prompts: int) -> Iterator[str]:
    """How many images a test of each prompt takes to find half of those that grew."""
    _, before, now = grown[len(grown) // 2]
    # Where half of m grown prompts of n are found, Benjamini-Hochberg asks for alpha m / (2 n).
    share = math.ceil(2 * prompts / len(grown))
    design = Design(share, results.session.settings.confidence)
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
            "these images show singly about half of those that grew: let a test compare "
            'sample.prompt_bias_score with baseline("prompt_bias_score")'
        )
    else:
        yield (
            f"about {images} images per prompt show singly half of those that grew: take them "
            f"{price_of_both(results, images)}"
        )


# against a limit


def _beyond_limit(results: Results, failed: Sequence[Check]) -> Iterator[str]:
    """What would have to change, and whether people see what the detector says."""
    of_model = [check for check in failed if is_model_bias(check)]
    names = _needed_to_pass(results, of_model[0]) if of_model else ""
    if names:
        yield f"the model would be within its limit were these prompts even: {names}"
    else:
        yield f"look at the pictures of {some(_subjects(failed))} in the report"
    session = results.session
    if session.has_model and session.settings.labels is None:
        wanted = session.images_wanted()
        each = max(1, min(LABELS // len(wanted), *wanted.values()))
        command = f"t2i sample {_run(results)} labels --per-prompt {each}"
        yield (
            "a detector's error looks like a model's: have people look at "
            f"{each * len(wanted)} images (`{command}`, `t2i label`)"
        )


def _needed_to_pass(results: Results, check: Check) -> str:
    """The most biased prompts whose bias is what the model's score exceeds its limit by."""
    if check.estimate is None:
        return ""
    samples = _samples(results, check)
    clear = [sample for sample in samples.members if sample.clear]
    excess = (check.estimate - check.bound) * len(clear)
    names = []
    for sample in sorted(clear, key=score, reverse=True):
        if excess <= 0.0:
            break
        excess -= score(sample)
        names.append(sample.prompt.name)
    return f"{some(names)} ({len(names)} of {len(clear)})" if names else ""


# words


def _samples(results: Results, check: Check) -> Samples:
    return results.samples(results.session.tests[check.test])


def _run(results: Results) -> str:
    """The record of this run, as one types it here."""
    file = results.session.settings.report.absolute() / "run.json"
    return str(file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file)


def _subjects(checks: Sequence[Check]) -> list[str]:
    return list(dict.fromkeys(check.subject for check in checks))
