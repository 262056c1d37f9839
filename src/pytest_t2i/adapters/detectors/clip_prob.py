"""CLIP-Prob: a face check, then CLIP with a least probability (Seshadri 2023; Lyu section 3).

A picture counts when a face detector finds a face in it and the softmax probability of the label,
p = exp(s cos_l) / sum_k exp(s cos_k) with CLIP's own scale s, is at least 0.9.

This is Lyu's reading: any number of faces, "a photo of a male/female". Faces are found by dlib's
HOG detector, which needs no weights and is fast on a CPU, but finds frontal faces only, so that a
profile is undetected. An alias in the catalogue's ``faces`` can select another detector.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_t2i.adapters.detectors.clip import GENDER, ClipDetector
from pytest_t2i.adapters.detectors.parts import clip_part, face_part, with_role
from pytest_t2i.adapters.detectors.screening import look_for_faces, passed_on, screened
from pytest_t2i.data import Attribute, Detection, Undetected, digest
from pytest_t2i.protocols import FaceDetector, LoadOptions

if TYPE_CHECKING:
    from PIL.Image import Image

FACES = "dlib-hog"
LEAST = 0.9


def load(options: LoadOptions) -> ClipProb:
    """Load the detector.

    Args:
        options: ``source`` is a CLIP, as for the detector clip.

    Raises:
        MissingExtraError: dlib or transformers is not installed.
        ModelLoadError: the weights are absent, gated or damaged.
    """
    return ClipProb(face_part(options, FACES), ClipDetector(clip_part(options), GENDER))


class ClipProb:
    """A detector that keeps confident labels of pictures with a face.

    It is a Detector, an OpenSet and a MadeFor. The scores are those of the detector clip and the
    number of ``faces``.
    """

    def __init__(self, faces: FaceDetector, clip: ClipDetector, *, least: float = LEAST) -> None:
        """Combine the parts."""
        self.faces, self.clip, self._least = faces, clip, least

    @property
    def labels(self) -> tuple[str, ...]:
        return self.clip.labels

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the parts and the thresholds."""
        parts = [self.faces.fingerprint, self.clip.fingerprint]
        return digest(["clip-prob", *parts, self._least])

    @property
    def provenance(self) -> Mapping[str, str]:
        return {
            **self.clip.provenance,
            **with_role("face", self.faces),
            "least probability": str(self._least),
        }

    def for_attribute(self, attribute: Attribute) -> ClipProb:
        """The same face check, then present or absent, without a least probability.

        OASIS eq. 5 takes the nearer description, however near the other is.
        """
        return ClipProb(self.faces, self.clip.for_attribute(attribute), least=0.0)

    @property
    def made_for(self) -> str:
        """The kind of pictures that the CLIP was made for; "" for any."""
        return self.clip.made_for

    def in_domain(self, images: Sequence[Image]) -> list[bool]:
        return self.clip.in_domain(images)

    def look_ahead(self, images: Sequence[Image]) -> None:
        """Find the faces, where that is the processor's work; ``detect`` finds them again."""
        look_for_faces(self.faces, images)

    def detect(self, images: Sequence[Image]) -> list[Detection]:
        """One detection per picture, in order."""
        return screened(images, self._look)

    def _look(self, pictures: list[Image]) -> list[Detection]:
        faces = self.faces.faces(pictures)
        no_face = Detection(None, Undetected.NO_FACE, {"faces": 0.0}, "no face")
        dropped = {place: no_face for place, boxes in enumerate(faces) if not boxes}
        answers = passed_on(pictures, dropped, self.clip.detect)
        return [
            answer if place in dropped else self._sure(answer, len(faces[place]))
            for place, answer in enumerate(answers)
        ]

    def _sure(self, answer: Detection, faces: int) -> Detection:
        scores = {**answer.scores, "faces": float(faces)}
        if answer.label is None:
            return Detection(None, answer.undetected, scores, answer.detail)
        probability = answer.scores[f"p({answer.label})"]
        detail = f"p({answer.label}) = {probability:.3f}"
        if probability < self._least:
            return Detection(None, Undetected.LOW_CONFIDENCE, scores, detail)
        return Detection(answer.label, None, scores, detail)
