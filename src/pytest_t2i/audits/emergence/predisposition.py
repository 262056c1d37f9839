"""Predisposition: what the finished image is predicted to show at each step (OASIS 4.6)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_t2i import statistics
from pytest_t2i.audits.engine.context import AskedTest, AuditContext
from pytest_t2i.audits.engine.observations import Observations
from pytest_t2i.data import FORESEEN, Attribute, Detection, Interval, Prompt
from pytest_t2i.generation.plan import DetectorRef, Need
from pytest_t2i.generation.traces import preview_key, unpacked_strip
from pytest_t2i.sections.words import several
from pytest_t2i.statistics.curves import settled_step

if TYPE_CHECKING:
    from PIL.Image import Image


PRESENT = "present"
"""Label of a detector that looks for an attribute, where the attribute is present."""


def needs(context: AuditContext, test: AskedTest) -> Iterator[Need]:
    """Yield the need for denoising previews, and for every detector on previews and images."""
    if FORESEEN not in test.selection.observe:
        return
    detectors = {DetectorRef(name) for name in context.detectors}
    # Without an attribute, only the detectors' own labels are used.
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
    """The label whose share is taken: "present" for an attribute, else a label of the detector."""
    observations: Observations
    level: float

    def __repr__(self) -> str:
        return f"<Predisposition of {self.id}: {several(len(self.seeds), 'image')}>"

    @property
    def id(self) -> str:
        """The prompt's id with the attribute or label."""
        return f"{self.prompt.id}-{self.looked_for}"

    @property
    def looked_for(self) -> str:
        """The attribute, or the detector's label."""
        return self.ref.attribute.name if self.ref.attribute else self.label

    @cached_property
    def said(self) -> list[list[Detection]]:
        """Detections of each image at each step, and last that of the finished image."""
        images = self.observations.images(self.prompt, self.seeds)
        strips = self.observations.arrays(self.prompt, self.seeds, FORESEEN)
        final = self.observations.detections(self.prompt, self.seeds, self.ref)
        store = self.observations.store
        fingerprint = self.observations.components.detector(self.ref).fingerprint
        detections = []
        for image, strip, finished in zip(images, strips, final, strict=True):
            if strip is not None:
                count = int.from_bytes(strip[:4].tobytes(), "big")
                keys = [preview_key(image.sha256, step) for step in range(count)]
                by_key = store.detections(keys, fingerprint)
                detections.append([*(by_key[key] for key in keys), finished])
        return detections

    @property
    def steps(self) -> int:
        """Number of denoising steps; 0 where the model gives no previews."""
        return len(self.said[0]) - 1 if self.said else 0

    @cached_property
    def shares(self) -> list[Interval | None]:
        """Share of the label at each step, last of the finished images; None without any label."""
        return [self._share([image[step] for image in self.said]) for step in range(self.steps + 1)]

    @property
    def undetected(self) -> list[int]:
        """Number of undetected images at each step, last of the finished images."""
        return [
            sum(image[step].label is None for image in self.said) for step in range(self.steps + 1)
        ]

    @property
    def settles(self) -> int | None:
        """The step from which the share stays within the finished images' interval.

        None where a step has no label at all, or the model gives no previews.
        """
        shares = [share for share in self.shares if share is not None]
        if not self.said or len(shares) < len(self.shares):
            return None
        return settled_step([share.estimate for share in shares], shares[-1])

    def strip(self, place: int) -> list[Image]:
        """Return the denoising previews of one image, by its position; [] where there are none."""
        strip = self.observations.arrays(self.prompt, [self.seeds[place]], FORESEEN)[0]
        return [] if strip is None else unpacked_strip(strip)

    def _share(self, detections: Sequence[Detection]) -> Interval | None:
        labels = [detection.label for detection in detections if detection.label is not None]
        if not labels:
            return None
        return statistics.share_interval(labels.count(self.label), len(labels), self.level)


def of_attribute(detector: str, attribute: Attribute) -> tuple[DetectorRef, str]:
    """Return the detector that looks for an attribute, and its label for "present"."""
    return DetectorRef(detector, attribute), PRESENT
