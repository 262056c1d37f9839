"""Predisposition: what the finished image is taken to be at each step of its making (OASIS 4.6)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_t2i import statistics
from pytest_t2i.audits.context import AskedTest, AuditContext
from pytest_t2i.audits.observations import Observations
from pytest_t2i.data import FORESEEN, Attribute, Detection, Interval, Prompt
from pytest_t2i.generation.plan import DetectorRef, Need
from pytest_t2i.generation.traces import preview_key, unpacked

if TYPE_CHECKING:
    from PIL.Image import Image


PRESENT = "present"
"""What a detector that looks for an attribute says where it finds it."""


def needs(context: AuditContext, test: AskedTest) -> Iterator[Need]:
    """What it asks for: denoising previews, and every detector on them and on the finished ones."""
    if FORESEEN not in test.selection.observe:
        return
    detectors = {DetectorRef(name) for name in context.detectors}
    # Without an attribute, detectors' own labels are asked alone.
    unattributed = [(prompt, None) for prompt in test.selection.prompts]
    for prompt, attribute in test.selection.subjects or unattributed:
        looking = {DetectorRef(context.detectors[0], attribute)} if attribute else set()
        seeds = context.seeds(prompt, test.images)
        yield Need(prompt, seeds, frozenset(detectors | looking), observe=frozenset({FORESEEN}))


@dataclass(frozen=True, repr=False)
class Predisposition:
    """What one detector says of the denoising previews of one prompt's images."""

    prompt: Prompt
    seeds: tuple[int, ...]
    ref: DetectorRef
    label: str
    """Whose share is taken: "present" of an attribute, a label of the detector otherwise."""
    observations: Observations
    level: float

    def __repr__(self) -> str:
        return f"<Predisposition of {self.id}: {len(self.seeds)} images>"

    @property
    def id(self) -> str:
        """The prompt's id with what is looked for."""
        return f"{self.prompt.id}-{self.looked_for}"

    @property
    def looked_for(self) -> str:
        """The attribute, or the detector's label."""
        return self.ref.attribute.name if self.ref.attribute else self.label

    @cached_property
    def said(self) -> list[list[Detection]]:
        """Detections of each image at each step; the last one is of the finished image."""
        images = self.observations.images(self.prompt, self.seeds)
        strips = self.observations.arrays(self.prompt, self.seeds, FORESEEN)
        final = self.observations.detections(self.prompt, self.seeds, self.ref)
        store = self.observations.store
        fingerprint = self.observations.components.detector(self.ref).fingerprint
        told = []
        for image, strip, finished in zip(images, strips, final, strict=True):
            if strip is not None:
                count = int.from_bytes(strip[:4].tobytes(), "big")
                keys = [preview_key(image.sha256, step) for step in range(count)]
                known = store.detections(keys, fingerprint)
                told.append([*(known[key] for key in keys), finished])
        return told

    @property
    def steps(self) -> int:
        """Steps of the making; 0 where the model shows none."""
        return len(self.said[0]) - 1 if self.said else 0

    @cached_property
    def shares(self) -> list[Interval | None]:
        """P(label | step) with its interval, the finished images' last; None without any label."""
        return [self._share([image[step] for image in self.said]) for step in range(self.steps + 1)]

    @property
    def undetected(self) -> list[int]:
        """How many images of each step have no label."""
        return [
            sum(image[step].label is None for image in self.said) for step in range(self.steps + 1)
        ]

    @property
    def settles(self) -> int | None:
        """The step from which the share stays within the finished images' interval.

        None where a step has no label at all, or the model shows none.
        """
        known = [share for share in self.shares if share is not None]
        if not self.said or len(known) < len(self.shares):
            return None
        return statistics.settled_step([share.estimate for share in known], known[-1])

    def strip(self, place: int) -> list[Image]:
        """The denoising previews of one image; [] where there are none."""
        strip = self.observations.arrays(self.prompt, [self.seeds[place]], FORESEEN)[0]
        return [] if strip is None else unpacked(strip)

    def _share(self, said: Sequence[Detection]) -> Interval | None:
        labels = [detection.label for detection in said if detection.label is not None]
        if not labels:
            return None
        return statistics.share_interval(labels.count(self.label), len(labels), self.level)


def of_attribute(detector: str, attribute: Attribute) -> tuple[DetectorRef, str]:
    """Which detector looks for an attribute, and which of its labels says that it is there."""
    return DetectorRef(detector, attribute), PRESENT
