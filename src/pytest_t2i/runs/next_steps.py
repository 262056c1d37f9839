"""What to do next, computed from what a run left open: how many images, at which price."""

from __future__ import annotations

import statistics as plain
from collections.abc import Iterator
from itertools import islice

from pytest_t2i.data import Outcome
from pytest_t2i.runs.next_comparison import after_failures, more_to_compare
from pytest_t2i.runs.price import counted_checks, is_ready_made, price
from pytest_t2i.runs.results import Results
from pytest_t2i.runs.session import Session
from pytest_t2i.statistics import model_images_needed
from pytest_t2i.verdicts.baseline_file import Baseline
from pytest_t2i.verdicts.check import Check

MOST = 4
"""Lines; who reads more does nothing."""


def next_steps(
    results: Results, checks: list[Check], recorded: Baseline | None = None
) -> tuple[str, ...]:
    """At most four lines, the most pressing first; () when there is nothing to be done.

    ``recorded`` is the baseline of the run, if any.
    """
    return tuple(islice(_steps(results, checks, recorded), MOST))


def _steps(results: Results, checks: list[Check], recorded: Baseline | None) -> Iterator[str]:
    session = results.session
    undecided = [check for check in checks if check.outcome is Outcome.INCONCLUSIVE]
    if session.work.refused:
        yield (
            f"the model refused {session.work.refused} images: reword these prompts, or switch off "
            "its filter for the test"
        )
    yield from after_failures(results, checks, recorded)
    yield from _labels([check for check in undecided if check.hangs_on_undetected])
    open_checks = [check for check in undecided if not check.hangs_on_undetected]
    # What has no estimate lacks something else: the headline says what.
    scored = [check for check in open_checks if check.estimate is not None]
    yield from _more_images(results, [check for check in scored if check.against == "limit"])
    if all(check.outcome is not Outcome.FAIL for check in checks):
        yield from more_to_compare(results, [c for c in open_checks if c.against == "baseline"])
    if checks and all(check.outcome is Outcome.PASS for check in checks):
        yield from _record(session)


def _labels(hanging: list[Check]) -> Iterator[str]:
    if hanging:
        yield (
            f"{counted_checks(hanging)} {_s('hang', hanging)} on undetected images: take a "
            "detector that labels more (--t2i-detector), or have people label them (`t2i sample`, "
            "`t2i label`)"
        )


def _record(session: Session) -> Iterator[str]:
    settings = session.settings
    if session.has_model and settings.baseline is None and settings.save_baseline is None:
        yield "record this run to compare the next one with: --t2i-save-baseline FILE"


def _more_images(results: Results, undecided: list[Check]) -> Iterator[str]:
    session = results.session
    if not undecided:
        return
    if not session.has_model:
        need = _s("need", undecided)
        yield f"{counted_checks(undecided)} {need} more labelled images (`t2i label`)"
        return
    images = _needed_by_model(results, undecided) or _needed_by_prompts(results, undecided)
    if images is None:
        yield (
            f"no sensible number of images decides {counted_checks(undecided)}: the scores lie at "
            "their limits"
        )
    elif is_ready_made(session):
        yield f"add images until every prompt has about {images}; that has an even chance to decide"
    else:
        yield (
            f"about {images} images per prompt have an even chance to decide "
            f"({price(results, images)}). Choose a number once, or use --t2i-sequential, which may "
            "look as it goes"
        )


def _needed_by_model(results: Results, undecided: list[Check]) -> int | None:
    """Images per prompt that decide the model's check, from the counts that were seen."""
    for check in undecided:
        if (check.metric, check.against) == ("model_bias_score", "limit") and check.n:
            test = results.session.tests.get(check.test)
            if test is not None and results.session.settings.words == "fixed":
                samples = results.samples(test)
                return model_images_needed(samples.male, samples.female, check.bound)
    return None


def _needed_by_prompts(results: Results, undecided: list[Check]) -> int | None:
    """Images per prompt that decide half of the undecided checks of prompts."""
    more = [check.images_to_decide for check in undecided if check.images_to_decide]
    images = results.session.settings.images
    return images + plain.median_low(more) if more else None


def _s(verb: str, of: list[Check]) -> str:
    return f"{verb}s" if len(of) == 1 else verb
