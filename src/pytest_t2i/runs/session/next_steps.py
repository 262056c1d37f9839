"""The next steps after a run: advice for failed and inconclusive checks, with its price."""

from __future__ import annotations

import math
import shlex
import statistics as plain
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal

from pytest_t2i.audits.next_step import AFTER_FAILURE, Step
from pytest_t2i.data import Outcome, Request, Undetected
from pytest_t2i.errors import some
from pytest_t2i.generation.identities import NamedComponent
from pytest_t2i.generation.plan import DetectorRef, Plan
from pytest_t2i.generation.store import Store
from pytest_t2i.runs.record.record import PromptRecord, RunRecord
from pytest_t2i.runs.session import calibration
from pytest_t2i.runs.session.earlier_looks import fresh_seed
from pytest_t2i.runs.session.results import Results
from pytest_t2i.runs.session.selection import SelectedTest
from pytest_t2i.runs.session.session import Session
from pytest_t2i.verdicts.caveats.undetected import lack_labels
from pytest_t2i.verdicts.check import Check
from pytest_t2i.verdicts.images_to_decide import change_range, middle_range, more_by_interval

LABELS = 200
"""Number of images that people label: it shows an accuracy of 0.9 to within about 0.05."""
TOPIC = "failure"
GONE = "the store has none of the baseline's"


def _steps_after_failures(results: Results, then: Mapping[str, object]) -> Iterator[Step]:
    """Yield the pictures to look at, and the advice to have people label a sample of images."""
    failed = [check for check in results.checks if check.outcome is Outcome.FAIL]
    beyond = [check for check in failed if check.against == "limit"]
    if beyond:
        look = f"look at the pictures of {some(_subjects(beyond))} in the report"
        yield Step(AFTER_FAILURE, look, TOPIC)
        if not any(check.is_change and check.is_of_model for check in failed):
            yield from (Step(AFTER_FAILURE, text) for text in _have_people_label(results))
    elif failed:
        subjects = _subjects(failed)
        then_too = [subject for subject in subjects if subject in then]
        where = "then and now, in the report" if then_too else f"in the report ({GONE})"
        yield Step(
            AFTER_FAILURE, f"look at the pictures of {some(then_too or subjects)} {where}", TOPIC
        )


def _have_people_label(results: Results) -> Iterator[str]:
    session = results.session
    if session.has_model and session.settings.labels is None:
        images = session.images_wanted()
        count = max(1, min(LABELS // len(images), *images.values()))
        command = f"t2i label export {results.run_file} labels --per-prompt {count}"
        yield (
            "a detector's error looks like a model's: have people look at "
            f"{count * len(images)} images (`{command}`, `t2i label page`)"
        )


def _subjects(checks: Sequence[Check]) -> list[str]:
    return list(dict.fromkeys(check.subject for check in checks))


NO_PICTURE = (Undetected.REFUSED, Undetected.BLACK_IMAGE, Undetected.UNREADABLE)
"""Reasons that neither another detector nor people can remedy."""
Reasons = Counter[Undetected]
"""Reason -> number of images."""


def _undetected_of(session: Session, prompts: Sequence[PromptRecord]) -> Reasons:
    """Count the images without a label by the deciding detector, per reason."""
    reasons: Reasons = Counter()
    for prompt in prompts:
        for counts in list(prompt.counts.values())[:1]:
            reasons.update(counts.undetected)
    if not prompts:  # a run of triplets or stereotypes alone has no detections, only these counts
        reasons[Undetected.REFUSED] = session.work.refused
        reasons[Undetected.UNREADABLE] = session.work.unreadable
    return reasons


def _unreadable(prompts: Sequence[PromptRecord]) -> list[str]:
    """List what is said of the images that cannot be read: their files, where these are known."""
    firsts = (next(iter(i.detections.values()), None) for p in prompts for i in p.images)
    unreadable = (first for first in firsts if first and first.undetected is Undetected.UNREADABLE)
    details = (first.detail.removeprefix(f"{Undetected.UNREADABLE}: ") for first in unreadable)
    return list(dict.fromkeys(filter(None, details)))


def _no_pictures(session: Session, reasons: Reasons, files: Sequence[str]) -> Iterator[str]:
    ready = session.has_ready_pictures
    refused, black, unreadable = (reasons[reason] for reason in NO_PICTURE)
    if refused:
        yield (
            f"the model refused {_images(refused)}: reword these prompts, or switch off its "
            "filter for the test"
        )
    if black and ready:
        yield f"{_images(black)} of the folder {_are(black)} black: have them made again"
    elif black:
        yield (
            f"{_images(black)} {_are(black)} black, as filters and numbers that overflow leave "
            "them: switch the filter off, or try --t2i-dtype float32"
        )
    if unreadable:
        example = f" ({some(files, 1)})" if files else ""
        yield f"{_images(unreadable)} cannot be read{example}: replace the files, or delete them"


def _more_labels(session: Session, hanging: Sequence[Check], reasons: Reasons) -> Iterator[str]:
    visible = reasons.total() - sum(reasons[reason] for reason in NO_PICTURE)
    if not hanging or (reasons and visible * 2 < reasons.total()):
        return
    people = (
        ", or have people label them (`t2i label export`, `t2i label page`)"
        if session.has_model
        else ""
    )
    yield (
        f"undetected images could turn {_counted(hanging)}: take a detector that labels more "
        f"(--t2i-detector NAME){people}"
    )


def _images(count: int) -> str:
    return "1 image" if count == 1 else f"{count} images"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


Looked = Callable[[Sequence[str]], Collection[str]]
"""Selects, among keys of images, those that a part has processed."""


def out_of_domain(
    results: Results, reasons: Reasons, prompts: Sequence[PromptRecord]
) -> Iterator[str]:
    session = results.session
    if unlike := reasons[Undetected.OUT_OF_DOMAIN]:
        total = sum(len(prompt.images) for prompt in prompts)
        detector = session.components.detector(DetectorRef(session.detectors[0]))
        yield _line(unlike, total, detector, "detector with --t2i-detector")
    if session.needs_model:
        yield from _of_plan(results, results.make_plan())


def _of_plan(results: Results, plan: Plan) -> Iterator[str]:
    session, store = results.session, results.session.store
    for name, requests in _asked(plan, "finders").items():
        finder = session.components.finder(name)
        objects = partial(store.objects, finder=finder.fingerprint)
        yield from _unlike(results, finder, requests, objects, "object detector with --t2i-objects")
    for name, requests in _asked(plan, "encoders").items():
        encoder = session.components.encoder(name)
        encoded = partial(_encoded, store, encoder.fingerprint)
        part_kind = "detector with --t2i-detector" if name == session.encoder else "encoder"
        yield from _unlike(results, encoder, requests, encoded, part_kind)


def _asked(plan: Plan, kind: Literal["finders", "encoders"]) -> Mapping[str, list[Request]]:
    by_name: dict[str, list[Request]] = {}
    for request, needs in plan.needs.items():
        for name in sorted(getattr(needs, kind)):
            by_name.setdefault(name, []).append(request)
    return by_name


def _encoded(store: Store, name: str, keys: Sequence[str]) -> Collection[str]:
    """Return the keys with features; an image outside the encoder's domain has an empty array."""
    return [k for k, array in store.arrays(keys, name).items() if store.open_array(array).size]


def _unlike(
    results: Results,
    part: NamedComponent[Any],
    requests: Sequence[Request],
    in_domain: Looked,
    part_kind: str,
) -> Iterator[str]:
    if not part.made_for:
        return
    images = results.session.store.images(results.session.components.keys(requests))
    visible = [key for key, image in images.items() if image.undetected is None]
    unlike = len(visible) - len(in_domain(visible))
    if unlike:
        yield _line(unlike, len(visible), part, part_kind)


def _line(unlike: int, total: int, part: NamedComponent[Any], part_kind: str) -> str:
    made_for = f" ({part.made_for})" if part.made_for else ""
    return (
        f"{unlike} of {total} pictures are unlike what {part.name} was made for{made_for}: "
        f"choose another {part_kind}"
    )


MOST_SENSIBLE = 2000
"""Images per prompt beyond which none are proposed."""
TO_HALVE = 4
"""Factor of the number of images that halves an interval."""
WHY = (
    "Do not just raise --t2i-images: images that were judged once are no new evidence, and "
    "verdicts would be wrong more often than stated"
)
"""Why images of a fresh seed are proposed."""
NOTHING = "nothing to do"
MOST = 4
"""Largest number of lines: a reader follows a short list."""


def next_steps(results: Results, record: RunRecord) -> tuple[str, ...]:
    """Return at most four lines, the most pressing first; () if there is nothing to do."""
    parts = ((audit, record.part(audit.name)) for audit in results.audits)
    of_audits = [
        step for audit, part in parts if part.rows for step in audit.next_steps(part, results)
    ]
    then = {} if record.baseline is None else record.baseline.pictures
    command = str(record.provenance.get("command", ""))
    return _most_pressing(_own(results, record.prompts, then, command), of_audits)


def _most_pressing(steps_of_run: Iterable[Step], of_audits: Iterable[Step]) -> tuple[str, ...]:
    """Return at most four lines; steps of audits replace the run's own on the same topic.

    >>> own = [Step(40, "look at the pictures", "failure"), Step(50, "label images")]
    >>> _most_pressing(own, [Step(40, "look at Iran", "failure"), Step(90, "read the page")])
    ('look at Iran', 'label images', 'read the page')
    """
    of_audits = list(of_audits)
    topics = {step.topic for step in of_audits if step.topic}
    of_run = [step for step in steps_of_run if step.topic not in topics]
    steps = sorted([*of_audits, *of_run], key=lambda step: step.priority)
    return tuple(step.text for step in steps[:MOST])


def _own(
    results: Results, prompts: Sequence[PromptRecord], then: Mapping[str, object], command: str
) -> Iterator[Step]:
    session, checks = results.session, results.checks
    inconclusive = [check for check in checks if check.outcome is Outcome.INCONCLUSIVE]
    reasons = _undetected_of(session, prompts)
    if unknown := calibration.calibration_warning(session):
        advice = f"{unknown}. Take words that it knows (`t2i init` names them), or another model"
        yield Step(10, advice)
    yield from (Step(20, text) for text in out_of_domain(results, reasons, prompts))
    yield from (Step(30, text) for text in _no_pictures(session, reasons, _unreadable(prompts)))
    yield from _steps_after_failures(results, then)
    hanging = [check for check in inconclusive if lack_labels(check.caveats)]
    yield from (Step(50, text) for text in _more_labels(session, hanging, reasons))
    still_open = [check for check in inconclusive if not lack_labels(check.caveats)]
    asking = [(check, _needs_images(session, check)) for check in still_open]
    open_checks = [check for check, needs_images in asking if needs_images]
    labelled = _more_labelled([check for check, needs_images in asking if not needs_images])
    yield from (Step(60, text) for text in labelled)
    by_people = [check for check in open_checks if check.is_by_people]
    yield from (Step(60, text) for text in _more_by_people(by_people))
    # More images do not help a check without an estimate; the headline says what it lacks.
    scored = [c for c in open_checks if c.estimate is not None and not c.is_by_people]
    limited = [check for check in scored if check.against == "limit"]
    within = _more_images(results, limited, command)
    yield from (Step(70, text) for text in within)
    if all(check.outcome is not Outcome.FAIL for check in checks):
        compared = [check for check in open_checks if check.against == "baseline"]
        yield from (Step(80, text) for text in _more_to_compare(results, compared))
    if session.has_model and checks and all(check.outcome is Outcome.PASS for check in checks):
        yield Step(90, _after_pass(session, command))


def _after_pass(session: Session, command: str) -> str:
    settings = session.settings
    if settings.baseline is not None or settings.save_baseline is not None:
        return NOTHING
    again = _again(command, save_baseline="baseline.json")
    return f"{NOTHING}. To compare the next version with this one, record it: `{again}`"


def _again(command: str, **options: object) -> str:
    """Return the run's command with other values of options of the plugin.

    >>> _again("pytest 'my suites' --t2i-images=20 --t2i-model sdxl", images=40, seed=1)
    "pytest 'my suites' --t2i-model sdxl --t2i-images 40 --t2i-seed 1"
    >>> _again("t2i run --images 20", images=40)
    't2i run --t2i-images 40'
    >>> _again("", images=40)
    'pytest ... --t2i-images 40'
    """
    names = [name.replace("_", "-") for name in options]
    replaced = {f"--{prefix}{name}" for name in names for prefix in ("t2i-", "")}
    words, words_kept = iter(shlex.split(command) or ["pytest", "..."]), []
    for word in words:
        if word in replaced:
            next(words, None)
        elif word.partition("=")[0] not in replaced:
            words_kept.append(word if word == "..." else shlex.quote(word))
    added = (f"--t2i-{name} {value}" for name, value in zip(names, options.values(), strict=True))
    return " ".join([*words_kept, *added])


def _counted(checks: Sequence[Check]) -> str:
    """Return a text such as ``1 check`` or ``2 checks``."""
    return "1 check" if len(checks) == 1 else f"{len(checks)} checks"


def _needs_images(session: Session, check: Check) -> bool:
    test = session.tests.get(check.test)
    return session.has_model and (test is None or test.selection.needs_model)


def _more_labelled(inconclusive: list[Check]) -> Iterator[str]:
    """Yield the advice for detector evaluations, which need more labels of people."""
    if inconclusive:
        need = "needs" if len(inconclusive) == 1 else "need"
        yield f"{_counted(inconclusive)} {need} more labelled images (`t2i label page`)"


def _more_by_people(inconclusive: list[Check]) -> Iterator[str]:
    """Yield the advice for scores that labels correct: more images show no detector errors."""
    if inconclusive:
        rests = "rests" if len(inconclusive) == 1 else "rest"
        yield (
            f"{_counted(inconclusive)} {rests} on people's labels: more of them decide "
            "(`t2i label export`, `t2i label page`), and more images once all are labelled"
        )


def _more_images(results: Results, inconclusive: list[Check], command: str) -> Iterator[str]:
    session = results.session
    if not inconclusive:
        return
    images = _images_to_decide(results, inconclusive)
    if images is None or not 0 < images <= MOST_SENSIBLE:
        images = TO_HALVE * session.settings.images
        yield (
            f"{_counted(inconclusive)} of scores that are near to their limits: about {images} "
            "images per prompt halve the intervals"
        )
    if session.has_ready_pictures:
        yield (
            f"judge a folder of {images} new pictures per prompt, with --t2i-images {images}: more "
            "pictures beside those that were judged would be no new evidence. If there are none, "
            "fewer words or another limit can be decided (`t2i plan`)"
        )
    else:
        seed = fresh_seed(results)
        yield (
            f"run `{_again(command, seed=seed, images=images)}` "
            f"({results.price_of_fresh(images)}; the chance to decide is about even). {WHY}"
        )


def _images_to_decide(results: Results, checks: Sequence[Check]) -> int | None:
    """Return the images per prompt that the checks' audit computes, else that decide half of them.

    Returns 0 or None where no number suffices.
    """
    counts = (audit.images_to_decide(results, checks) for audit in results.session.audits)
    computed = next((images for images in counts if images is not None), None)
    if computed is not None:
        return computed
    pairs = [(results.session.tests[check.test], check) for check in checks]
    needed = [test.images + more for test, check in pairs if (more := _more_images_of(check, test))]
    return plain.median_low(needed) if needed else None


def _more_images_of(check: Check, test: SelectedTest) -> int | None:
    """Return how many more images per prompt decide; those of a change follow from its interval."""
    if check.is_change and check.interval is not None:
        return more_by_interval(check.interval, check.bound, "higher", test.images)
    more = check.images_to_decide
    if more is None or not check.is_of_model:
        return more
    return math.ceil(more / len(test.selection.all_prompts))


def _more_to_compare(results: Results, inconclusive: Sequence[Check]) -> Iterator[str]:
    """Yield the advice for a comparison with a baseline: the images per prompt that decide it."""
    if not inconclusive or results.recorded is None:
        return
    # The checks of the model decide the run; those of single prompts matter if no other is open.
    of_model = [check for check in inconclusive if check.is_of_model]
    first = of_model or list(inconclusive)
    images = _images_to_decide(results, first)
    if not images or images > MOST_SENSIBLE:
        images = TO_HALVE * results.session.settings.images
        yield (
            f"{_counted(first)} against the baseline of changes near to what is tolerated: about "
            f"{images} images per prompt, {results.price_of_both(images)}, halve the intervals"
        )
        return
    whom = "the model" if of_model else f"half of {_counted(first)}"
    yield (
        f"take about {images} images per prompt for the next version, "
        f"{results.price_of_both(images)}: they decide {whom} against the baseline if changes are "
        f"as measured{_may_take(first, images)}. Do not compare this version a second time: "
        "verdicts would be wrong more often than stated"
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
    return f" (else {middle_range(ranges).words('per prompt')})" if ranges else ""
