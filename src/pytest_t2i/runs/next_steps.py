"""What to do next, computed from what a run left open: how many images, at which price."""

from __future__ import annotations

import statistics as plain
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from pytest_t2i.audits.audit import Step
from pytest_t2i.data import Outcome
from pytest_t2i.runs import calibration
from pytest_t2i.runs.next_after_failure import after_failures
from pytest_t2i.runs.next_comparison import more_to_compare
from pytest_t2i.runs.next_out_of_domain import out_of_domain
from pytest_t2i.runs.next_undetected import more_labels, no_pictures, undetected_of
from pytest_t2i.runs.price import counted_checks, is_ready_made, price
from pytest_t2i.runs.record import PromptRecord
from pytest_t2i.runs.results import Results
from pytest_t2i.runs.session import Session
from pytest_t2i.statistics import model_images_needed
from pytest_t2i.verdicts.baseline_file import Baseline
from pytest_t2i.verdicts.check import Check

STRIDE = 10
"""Between the priorities of the run's own lines."""
MOST = 4
"""Lines; who reads more does nothing."""


def next_steps(
    results: Results,
    checks: list[Check],
    recorded: Baseline | None = None,
    prompts: Sequence[PromptRecord] = (),
) -> tuple[str, ...]:
    """At most four lines, the most pressing first; () when there is nothing to be done.

    ``recorded`` is the baseline of the run, if any; ``prompts`` are those that were detected.
    """
    return tuple(islice(_steps(results, checks, recorded, prompts), MOST))


def most_pressing(own: Sequence[str], of_audits: Iterable[Step]) -> tuple[str, ...]:
    """At most four lines of the run's own and of what audits advise, the most pressing first.

    The run's own have the priorities 10, 20, 30, ... in their order.

    >>> most_pressing(["label images"], [Step(5, "look at Iran"), Step(50, "read the page")])
    ('look at Iran', 'label images', 'read the page')
    """
    ranked = [Step(STRIDE * place, text) for place, text in enumerate(own, start=1)]
    steps = sorted([*ranked, *of_audits], key=lambda step: step.priority)
    return tuple(step.text for step in steps[:MOST])


def _steps(
    results: Results,
    checks: list[Check],
    recorded: Baseline | None,
    prompts: Sequence[PromptRecord],
) -> Iterator[str]:
    session = results.session
    undecided = [check for check in checks if check.outcome is Outcome.INCONCLUSIVE]
    reasons = undetected_of(session, prompts)
    if unknown := calibration.told(session):
        yield f"{unknown}. Take words that it knows (`t2i init` names them), or another model"
    yield from out_of_domain(results, reasons, prompts)
    yield from no_pictures(session, reasons)
    yield from after_failures(results, checks, recorded)
    hanging = [check for check in undecided if check.hangs_on_undetected]
    yield from more_labels(session, hanging, reasons)
    still_open = [check for check in undecided if not check.hangs_on_undetected]
    asking = [(check, _needs_images(session, check)) for check in still_open]
    open_checks = [check for check, needs_images in asking if needs_images]
    yield from _more_labelled([check for check, needs_images in asking if not needs_images])
    # What has no estimate lacks something else: the headline says what.
    scored = [check for check in open_checks if check.estimate is not None]
    yield from _more_images(results, [check for check in scored if check.against == "limit"])
    if all(check.outcome is not Outcome.FAIL for check in checks):
        compared = [check for check in open_checks if check.against == "baseline"]
        yield from more_to_compare(results, compared, recorded)
    if session.has_model and checks and all(check.outcome is Outcome.PASS for check in checks):
        yield from _record(session)


def _record(session: Session) -> Iterator[str]:
    settings = session.settings
    if settings.baseline is None and settings.save_baseline is None:
        yield "record this run to compare the next one with: --t2i-save-baseline FILE"


def _needs_images(session: Session, check: Check) -> bool:
    """Whether images of a model are what it is about, and not people's labels."""
    test = session.tests.get(check.test)
    return session.has_model and (test is None or test.selection.needs_model)


def _more_labelled(undecided: list[Check]) -> Iterator[str]:
    """Where detectors alone are on trial, people's labels are what there is too little of."""
    if undecided:
        need = "needs" if len(undecided) == 1 else "need"
        yield f"{counted_checks(undecided)} {need} more labelled images (`t2i label`)"


def _more_images(results: Results, undecided: list[Check]) -> Iterator[str]:
    session = results.session
    if not undecided:
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
