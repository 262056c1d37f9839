"""The next steps after a run: advice for failed and inconclusive checks, with its price."""

from __future__ import annotations

import statistics as plain
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pytest_t2i.audits.summary import Step
from pytest_t2i.data import Outcome
from pytest_t2i.runs import calibration
from pytest_t2i.runs.next_after_failure import after_failures
from pytest_t2i.runs.next_out_of_domain import out_of_domain
from pytest_t2i.runs.next_undetected import more_labels, no_pictures, undetected_of
from pytest_t2i.runs.price import counted_checks, is_ready_made, price, price_of_both
from pytest_t2i.runs.record import PromptRecord, RunRecord
from pytest_t2i.runs.results import Results
from pytest_t2i.runs.session import Session
from pytest_t2i.verdicts import judge
from pytest_t2i.verdicts.check import Check
from pytest_t2i.verdicts.images_range import ImagesRange, change_range, images_range, middle_range

ANY_LOOK = 4
"""Largest number of images for evidence that holds at any look, as a multiple of the fixed number
with the same chance to decide (1.5 to 5 times, tests/simulations/reruns.md)."""
MOST = 4
"""Largest number of lines: a reader follows a short list."""


def next_steps(results: Results, record: RunRecord) -> tuple[str, ...]:
    """Return at most four lines, the most pressing first; () if there is nothing to do."""
    of_audits = list(_of_audits(results, record))
    then = {} if record.baseline is None else record.baseline.pictures
    return _most_pressing(_own(results, record.prompts, then), of_audits)


def _most_pressing(own: Iterable[Step], of_audits: Iterable[Step]) -> tuple[str, ...]:
    """Return at most four lines; steps of audits replace the run's own on the same topic.

    >>> own = [Step(40, "look at the pictures", "failure"), Step(50, "label images")]
    >>> _most_pressing(own, [Step(40, "look at Iran", "failure"), Step(90, "read the page")])
    ('look at Iran', 'label images', 'read the page')
    """
    of_audits = list(of_audits)
    topics = {step.topic for step in of_audits if step.topic}
    kept = [step for step in own if step.topic not in topics]
    steps = sorted([*of_audits, *kept], key=lambda step: step.priority)
    return tuple(step.text for step in steps[:MOST])


def _of_audits(results: Results, record: RunRecord) -> Iterator[Step]:
    for audit in results.session.audits:
        part = record.part(audit.name)
        if part is not None:
            yield from audit.next_steps(part, results)


def _own(
    results: Results, prompts: Sequence[PromptRecord], then: Mapping[str, object]
) -> Iterator[Step]:
    session, checks = results.session, results.checks
    inconclusive = [check for check in checks if check.outcome is Outcome.INCONCLUSIVE]
    reasons = undetected_of(session, prompts)
    if unknown := calibration.told(session):
        advice = f"{unknown}. Take words that it knows (`t2i init` names them), or another model"
        yield Step(10, advice)
    yield from (Step(20, text) for text in out_of_domain(results, reasons, prompts))
    yield from (Step(30, text) for text in no_pictures(session, reasons))
    yield from after_failures(results, then)
    hanging = [check for check in inconclusive if check.hangs_on_undetected]
    yield from (Step(50, text) for text in more_labels(session, hanging, reasons))
    still_open = [check for check in inconclusive if not check.hangs_on_undetected]
    asking = [(check, _needs_images(session, check)) for check in still_open]
    open_checks = [check for check, needs_images in asking if needs_images]
    labelled = _more_labelled([check for check, needs_images in asking if not needs_images])
    yield from (Step(60, text) for text in labelled)
    by_people = [check for check in open_checks if check.is_by_people]
    yield from (Step(60, text) for text in _more_by_people(by_people))
    # More images do not help a check without an estimate; the headline says what it lacks.
    scored = [c for c in open_checks if c.estimate is not None and not c.is_by_people]
    within = _more_images(results, [check for check in scored if check.against == "limit"])
    yield from (Step(70, text) for text in within)
    if all(check.outcome is not Outcome.FAIL for check in checks):
        compared = [check for check in open_checks if check.against == "baseline"]
        yield from (Step(80, text) for text in _more_to_compare(results, compared))
    if session.has_model and checks and all(check.outcome is Outcome.PASS for check in checks):
        yield from (Step(90, text) for text in _record_baseline(session))


def _record_baseline(session: Session) -> Iterator[str]:
    settings = session.settings
    if settings.baseline is None and settings.save_baseline is None:
        yield "record this run to compare the next one with: --t2i-save-baseline FILE"


def _needs_images(session: Session, check: Check) -> bool:
    """Whether a check is about images of a model, not about detectors on labelled images."""
    test = session.tests.get(check.test)
    return session.has_model and (test is None or test.selection.needs_model)


def _more_labelled(inconclusive: list[Check]) -> Iterator[str]:
    """Yield the advice for detector evaluations, which need more labels of people."""
    if inconclusive:
        need = "needs" if len(inconclusive) == 1 else "need"
        yield f"{counted_checks(inconclusive)} {need} more labelled images (`t2i label`)"


def _more_by_people(inconclusive: list[Check]) -> Iterator[str]:
    """Yield the advice for scores that labels correct: more images show no detector errors."""
    if inconclusive:
        rests = "rests" if len(inconclusive) == 1 else "rest"
        yield (
            f"{counted_checks(inconclusive)} {rests} on people's labels: more of them decide "
            "(`t2i sample`, `t2i label`), and more images once all are labelled"
        )


def _more_images(results: Results, inconclusive: list[Check]) -> Iterator[str]:
    session = results.session
    if not inconclusive:
        return
    images = _of_audit(results, inconclusive) or _needed_by_prompts(results, inconclusive)
    if images is None:
        yield (
            f"no sensible number of images decides {counted_checks(inconclusive)}: the scores lie "
            "at their limits"
        )
        return
    found = _range(results, inconclusive, images).words("per prompt")
    most = ANY_LOOK * images
    if is_ready_made(session):
        yield (
            f"add images up to {most} per prompt and go on with --t2i-sequential --t2i-images "
            f"{most}{_why(images, found)}"
        )
    else:
        yield (
            f"go on with --t2i-sequential --t2i-images {most} (at most {price(session, most)})"
            f"{_why(images, found)}"
        )


def _why(images: int, found: str) -> str:
    """Return why another fixed number of images is not proposed, and what it would have been."""
    return (
        ": these tests were looked at, and its evidence holds at any look. It has about an even "
        f"chance to decide if scores are as measured. A number chosen before the first look would "
        f"have been {images}, within the scores' errors {found}"
    )


def _range(results: Results, inconclusive: Sequence[Check], images: int) -> ImagesRange:
    """Return the range of images per prompt over the scores' intervals.

    The range is that of the model's checks if there are any, else the middle one of the prompts'.
    """
    have = results.session.settings.images
    of_model = [check for check in inconclusive if check.is_of_model]
    ranges = [
        images_range(
            images if of_model else have + check.images_to_decide, check.interval, check.bound
        )
        for check in of_model or inconclusive
        if check.interval is not None and check.images_to_decide
    ]
    # The images of this run did not suffice, so at least one more per prompt is needed.
    found = middle_range(ranges) if ranges else ImagesRange(images, None)
    return found._replace(low=max(found.low, have + 1))


def _of_audit(results: Results, inconclusive: Sequence[Check]) -> int | None:
    """Return the images per prompt that the checks' audit computes; 0 if no number suffices."""
    asked = (audit.images_to_decide(results, inconclusive) for audit in results.session.audits)
    return next((images for images in asked if images is not None), None)


def _needed_by_prompts(results: Results, inconclusive: list[Check]) -> int | None:
    """Return the images per prompt that decide half of the inconclusive checks of prompts."""
    more = [check.images_to_decide for check in inconclusive if check.images_to_decide]
    images = results.session.settings.images
    return images + plain.median_low(more) if more else None


def _more_to_compare(results: Results, inconclusive: Sequence[Check]) -> Iterator[str]:
    """Yield the advice for a comparison with a baseline: the images per prompt that decide it."""
    if not inconclusive or results.recorded is None:
        return
    # The checks of the model decide the run; those of single prompts matter if no other is open.
    of_model = [check for check in inconclusive if check.is_of_model]
    first = of_model or list(inconclusive)
    images = _of_audit(results, first)
    images = _by_changes(results, first) if images is None else images
    if not images:
        yield (
            f"no sensible number of images decides {counted_checks(first)} against the "
            "baseline: the changes lie at what is tolerated"
        )
        return
    whom = "the model" if of_model else f"half of {counted_checks(first)}"
    yield (
        f"against the baseline {whom} would have been decided by about {images} images per prompt, "
        f"{price_of_both(results.session, images)}{_may_take(first, images)}: take them for the "
        "next version, as a second look at this one is wrong more often than stated"
    )


def _may_take(checks: Sequence[Check], images: int) -> str:
    """Return the range of images over the changes' intervals, in words; "" without a margin.

    A test without a margin needs the images that show a growth, whatever the change is.
    """
    ranges = [
        change_range(images, check.interval, check.bound)
        for check in checks
        if check.interval is not None and check.decided_by == "margin"
    ]
    if not ranges:
        return ""
    found = middle_range(ranges).words("per prompt")
    return f". Within the error of the change it takes {found}"


def _by_changes(results: Results, checks: Sequence[Check]) -> int | None:
    """Return the images per prompt by the intervals of the changes; None if no number suffices."""
    needed = []
    for check in checks:
        test, change = results.session.tests.get(check.test), check.interval
        if test is not None and change is not None:
            more = judge.images_to_decide(change, check.bound, "higher", test.images)
            needed += [] if more is None else [test.images + more]
    return plain.median_low(needed) if needed else None
