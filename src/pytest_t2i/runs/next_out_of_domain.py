"""Next steps for pictures outside the domain of a detector, object detector or encoder."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal

from pytest_t2i.data import Request, Undetected
from pytest_t2i.generation.named_component import NamedComponent
from pytest_t2i.generation.plan import DetectorRef, Plan
from pytest_t2i.generation.store import Store
from pytest_t2i.runs.next_undetected import Reasons
from pytest_t2i.runs.record import PromptRecord
from pytest_t2i.runs.results import Results

Looked = Callable[[Sequence[str]], Collection[str]]
"""Selects, among keys of images, those that a part has processed."""


def out_of_domain(
    results: Results, reasons: Reasons, prompts: Sequence[PromptRecord]
) -> Iterator[str]:
    """Yield a line for each part that skipped pictures of a kind that it was not made for."""
    session = results.session
    if unlike := reasons[Undetected.OUT_OF_DOMAIN]:
        total = sum(len(prompt.images) for prompt in prompts)
        detector = session.components.detector(DetectorRef(session.detectors[0]))
        yield _line(unlike, total, detector, "detector with --t2i-detector")
    if session.needs_model:
        yield from _of_plan(results, results.make_plan())


def _of_plan(results: Results, plan: Plan) -> Iterator[str]:
    """Yield the lines of every object detector and encoder in the plan."""
    session, store = results.session, results.session.store
    for name, requests in _asked(plan, "finders").items():
        finder = session.components.finder(name)
        found = partial(store.objects, finder=finder.fingerprint)
        yield from _unlike(results, finder, requests, found, "object detector with --t2i-objects")
    for name, requests in _asked(plan, "encoders").items():
        encoder = session.components.encoder(name)
        encoded = partial(_encoded, store, encoder.fingerprint)
        other = "detector with --t2i-detector" if name == session.encoder else "encoder"
        yield from _unlike(results, encoder, requests, encoded, other)


def _asked(plan: Plan, kind: Literal["finders", "encoders"]) -> Mapping[str, list[Request]]:
    """Return the requests of each finder or encoder in the plan, by its name."""
    asked: dict[str, list[Request]] = {}
    for request, needs in plan.needs.items():
        for name in sorted(getattr(needs, kind)):
            asked.setdefault(name, []).append(request)
    return asked


def _encoded(store: Store, name: str, keys: Sequence[str]) -> Collection[str]:
    """Return the keys with features; an image outside the encoder's domain has an empty array."""
    return [k for k, array in store.arrays(keys, name).items() if store.open_array(array).size]


def _unlike(
    results: Results,
    part: NamedComponent[Any],
    requests: Sequence[Request],
    looked: Looked,
    other: str,
) -> Iterator[str]:
    """Yield a line about the images outside the part's domain, if it has one."""
    if not part.made_for:
        return
    fingerprint = results.observations.model_fingerprint
    images = results.session.store.images([request.key(fingerprint) for request in requests])
    shown = [key for key, image in images.items() if image.undetected is None]
    unlike = len(shown) - len(looked(shown))
    if unlike:
        yield _line(unlike, len(shown), part, other)


def _line(unlike: int, total: int, part: NamedComponent[Any], other: str) -> str:
    made_for = f" ({part.made_for})" if part.made_for else ""
    return (
        f"{unlike} of {total} pictures are unlike what {part.name} was made for{made_for}: "
        f"choose another {other}"
    )
