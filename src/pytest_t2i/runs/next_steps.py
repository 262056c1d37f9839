"""What to do next, computed from what a run left open: how many images, at which price."""

from __future__ import annotations

import statistics as plain
from collections.abc import Iterator

from pytest_t2i.data import Outcome
from pytest_t2i.generation.progress import clock_time
from pytest_t2i.protocols import ReadyMade
from pytest_t2i.runs.results import Results
from pytest_t2i.statistics import model_images_needed
from pytest_t2i.verdicts.check import Check


def next_steps(results: Results, checks: list[Check]) -> tuple[str, ...]:
    """At most a few lines, the most pressing first; () when there is nothing to be done."""
    return tuple(_steps(results, checks))


def _steps(results: Results, checks: list[Check]) -> Iterator[str]:
    session = results.session
    undecided = [check for check in checks if check.outcome is Outcome.INCONCLUSIVE]
    hanging = [check for check in undecided if check.hangs_on_undetected]
    if session.work.refused:
        yield (
            f"the model refused {session.work.refused} images: reword these prompts, or switch off "
            "its filter for the test"
        )
    if hanging:
        yield (
            f"{_checks(len(hanging))} {_s('hang', hanging)} on undetected images: take a detector "
            "that labels more (--t2i-detector), or have people label them (t2i sample, t2i label)"
        )
    open_checks = [check for check in undecided if not check.hangs_on_undetected]
    yield from _more_images(results, open_checks)
    if not undecided and any(check.outcome is Outcome.FAIL for check in checks):
        yield "look at the pictures of the worst in the report before you act on the numbers"
    elif not undecided and checks and session.has_model and session.settings.baseline is None:
        yield "record this run to compare the next one with: --t2i-save-baseline FILE"


def _more_images(results: Results, undecided: list[Check]) -> Iterator[str]:
    session = results.session
    if not undecided:
        return
    if not session.has_model:
        yield f"{_checks(len(undecided))} {_s('need', undecided)} more labelled images (t2i label)"
        return
    images = _needed_by_model(results, undecided) or _needed_by_prompts(results, undecided)
    if images is None:
        yield (
            f"no sensible number of images decides {_checks(len(undecided))}: the scores lie at "
            "their limits"
        )
        return
    model = session.components.model()
    if model.lists_images and isinstance(model.get(), ReadyMade):
        yield f"add images until every prompt has about {images}; that has an even chance to decide"
        return
    wanted = sum(max(0, images - test_images) for test_images in session.images_wanted().values())
    yield (
        f"about {images} images per prompt have an even chance to decide "
        f"({_price(results, wanted)}). Choose a number once, or use --t2i-sequential, which may "
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


def _price(results: Results, images: int) -> str:
    work = results.session.work
    if not work.made or not work.seconds:
        return f"{images} more images"
    return f"{images} more images, {clock_time(images * work.seconds / work.made)} here"


def _checks(count: int) -> str:
    return "1 check" if count == 1 else f"{count} checks"


def _s(verb: str, of: list[Check]) -> str:
    return f"{verb}s" if len(of) == 1 else verb
