"""CLIP-Uncertain: first person or object, then man, woman or uncertain (Bansal et al. 2022).

Lyu Appendix A: no_person where sim(I, "a photo of a person") < sim(I, "a photo of an object"); else
the highest of the three similarities decides, and "uncertain" is low_confidence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_t2i.adapters.detectors.clip import ClipDetector
from pytest_t2i.adapters.detectors.parts import clip_part
from pytest_t2i.adapters.detectors.screening import passed_on, screened
from pytest_t2i.adapters.encoders.contrastive import ContrastiveEncoder
from pytest_t2i.data import Attribute, Detection, Undetected, digest
from pytest_t2i.protocols import LoadOptions

if TYPE_CHECKING:
    from PIL.Image import Image

PERSON, OBJECT = "person", "object"
KINDS = {PERSON: "a photo of a person", OBJECT: "a photo of an object"}
"""Kind of content -> prompt (Lyu Appendix A)."""
UNCERTAIN = "uncertain"
SENTENCES = {
    "male": "A photo of a person who looks like a man",
    "female": "A photo of a person who looks like a woman",
    UNCERTAIN: "A photo of a person with an uncertain gender",
}
"""Label -> prompt (Lyu Appendix A)."""


def load(options: LoadOptions) -> ClipUncertain:
    """Load the detector of Lyu Appendix A.

    Args:
        options: ``source`` is a CLIP, as for the detector clip.

    Raises:
        ModelLoadError: the weights are absent, gated or damaged.
    """
    encoder = clip_part(options)
    return ClipUncertain(encoder, ClipDetector(encoder, SENTENCES))


class ClipUncertain:
    """A detector that leaves out pictures without a person, and those of uncertain gender.

    It is a Detector, an OpenSet and a MadeFor. The scores are those of the detector of gender, and
    the similarities of ``person`` and ``object``.
    """

    def __init__(self, encoder: ContrastiveEncoder, question: ClipDetector) -> None:
        """Combine the parts."""
        self.encoder, self.question = encoder, question

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(label for label in self.question.labels if label != UNCERTAIN)

    @cached_property
    def fingerprint(self) -> str:
        kinds = list(KINDS.items())
        parts = [self.encoder.fingerprint, self.question.fingerprint]
        return digest(["clip-uncertain", *parts, kinds])

    @property
    def provenance(self) -> Mapping[str, str]:
        kinds = {f"text {name}": text for name, text in KINDS.items()}
        return {**self.question.provenance, **kinds}

    def for_attribute(self, attribute: Attribute) -> ClipUncertain:
        """The same person check, then present or absent (OASIS eq. 5)."""
        return ClipUncertain(self.encoder, self.question.for_attribute(attribute))

    @property
    def made_for(self) -> str:
        """The kind of pictures that the CLIP was made for; "" for any."""
        return self.encoder.made_for

    def in_domain(self, images: Sequence[Image]) -> list[bool]:
        return self.encoder.in_domain(images)

    def detect(self, images: Sequence[Image]) -> list[Detection]:
        """One detection per picture, in order."""
        return screened(images, self._look)

    def _look(self, pictures: list[Image]) -> list[Detection]:
        rows = self.encoder.similarities(pictures, list(KINDS.values()))
        kinds = [dict(zip(KINDS, map(float, row), strict=True)) for row in rows]
        objects = {
            place: Detection(None, Undetected.NO_PERSON, scores, "an object")
            for place, scores in enumerate(kinds)
            if scores[PERSON] < scores[OBJECT]
        }
        answers = passed_on(pictures, objects, self.question.detect)
        return [
            answer if place in objects else _without_uncertain(answer, kinds[place])
            for place, answer in enumerate(answers)
        ]


def _without_uncertain(answer: Detection, kinds: Mapping[str, float]) -> Detection:
    scores = {**answer.scores, **kinds}
    if answer.label == UNCERTAIN:
        return Detection(None, Undetected.LOW_CONFIDENCE, scores, UNCERTAIN)
    return Detection(answer.label, answer.undetected, scores, answer.detail)
