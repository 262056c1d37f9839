"""What to do about pictures unlike those that a detector, encoder or object finder was made for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from pytest_t2i.data import Prompt, Undetected
from pytest_t2i.generation.named_component import NamedComponent
from pytest_t2i.generation.plan import DetectorRef
from pytest_t2i.runs.next_undetected import Reasons
from pytest_t2i.runs.record import PromptRecord
from pytest_t2i.runs.results import Results
from pytest_t2i.runs.session import distinct

Looked = Callable[[Prompt, Sequence[int]], Sequence[Any]]
"""What was found in each image of a prompt; None where nothing was looked for."""


def out_of_domain(
    results: Results, reasons: Reasons, prompts: Sequence[PromptRecord]
) -> Iterator[str]:
    """A line for each part that was not asked about pictures of another kind."""
    session = results.session
    if unlike := reasons[Undetected.OUT_OF_DOMAIN]:
        total = sum(len(prompt.images) for prompt in prompts)
        detector = session.components.detector(DetectorRef(session.detectors[0]))
        yield _told(unlike, total, detector, "detector with --t2i-detector")
    selections = [test.selection for test in session.tests.values()]
    if any(one.finds for one in selections):
        finder = session.components.finder(session.finder)
        seen = partial(results.observations.objects, finder=finder.name)
        yield from _unlike(results, finder, seen, "object finder with --t2i-objects")
    if any(one.triplets and "image" in (one.asked("spaces") or ()) for one in selections):
        encoder = session.components.encoder(session.encoder)
        encoded = partial(results.observations.arrays, name=encoder.fingerprint)
        yield from _unlike(results, encoder, encoded, "detector with --t2i-detector")


def _unlike(
    results: Results, part: NamedComponent[Any], looked: Looked, other: str
) -> Iterator[str]:
    """About the images of triplets, where the part was made for one kind of pictures."""
    if not part.made_for:
        return
    missing = [
        found is None
        for prompt, seeds in _images_of_triplets(results)
        for image, found in zip(
            results.observations.images(prompt, seeds), looked(prompt, seeds), strict=True
        )
        if image.undetected is None
    ]
    if any(missing):
        yield _told(sum(missing), len(missing), part, other)


def _images_of_triplets(results: Results) -> Iterable[tuple[Prompt, tuple[int, ...]]]:
    """Each prompt once, with the most of its images."""
    most: dict[str, tuple[Prompt, tuple[int, ...]]] = {}
    for test in distinct(results.session.tests.values()):
        for three in test.selection.triplets:
            seeds = results.session.seeds(three.neutral, test.images)
            for prompt in three:
                if len(seeds) > len(most.get(prompt.text, (prompt, ()))[1]):
                    most[prompt.text] = prompt, seeds
    return most.values()


def _told(unlike: int, total: int, part: NamedComponent[Any], other: str) -> str:
    made_for = f" ({part.made_for})" if part.made_for else ""
    return (
        f"{unlike} of {total} pictures are unlike what {part.name} was made for{made_for}: "
        f"choose another {other}"
    )
