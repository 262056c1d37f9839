"""CLIP-Prob: a face check, then CLIP with a least probability (Seshadri 2023; Lyu section 3).

A picture counts when a face detector finds a face in it and the softmax probability of the label,
p = exp(s cos_l) / sum_k exp(s cos_k) with CLIP's own scale s, is at least 0.9.

There are two presets. ``clip-prob`` is Lyu's: any number of faces, "a photo of a male/female".
``clip-prob-seshadri`` is the original's: exactly one face, at least a tenth of the picture wide and
high, "a photo of a man/woman". The original finds faces by MediaPipe's full-range model at 0.5.
MediaPipe's wheel no longer contains its models, so both presets use dlib's HOG detector instead: it
needs no weights and is fast on a CPU, but finds frontal faces only, so that a profile is
undetected. The face detector ``mediapipe`` is the original's model; an alias in the catalogue's
``faces`` can select it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_t2i.adapters.detectors.clip import GENDER, ClipDetector
from pytest_t2i.adapters.detectors.parts import clip_part, face_part, named, whole
from pytest_t2i.adapters.detectors.screening import look_for_faces, passed_on, screened
from pytest_t2i.data import Attribute, Box, Detection, Undetected, digest
from pytest_t2i.protocols import FaceDetector, LoadOptions

if TYPE_CHECKING:
    from PIL.Image import Image

MAN_WOMAN = {"male": "a photo of a man", "female": "a photo of a woman"}
"""Label -> prompt (Seshadri et al. 2023)."""
FACES = "dlib-hog"
LEAST = 0.9
SMALLEST = 0.1


def load(options: LoadOptions) -> ClipProb:
    """Load Lyu's preset.

    Args:
        options: ``source`` is a CLIP, as for the detector clip.

    Raises:
        MissingExtraError: dlib or transformers is not installed.
        ModelLoadError: the weights are absent, gated or damaged.
    """
    with whole("the detector clip-prob", "clip,faces"):
        return ClipProb(face_part(options, FACES), ClipDetector(clip_part(options), GENDER))


def load_seshadri(options: LoadOptions) -> ClipProb:
    """Load the original's preset; arguments and errors are those of ``load``."""
    with whole("the detector clip-prob-seshadri", "clip,faces"):
        clip = ClipDetector(clip_part(options), MAN_WOMAN)
        return ClipProb(face_part(options, FACES), clip, single=True, smallest=SMALLEST)


class ClipProb:
    """A detector that keeps confident labels of pictures with a face.

    It is a Detector, an OpenSet and a MadeFor. The scores are those of the detector clip and the
    number of ``faces``.
    """

    def __init__(
        self,
        faces: FaceDetector,
        clip: ClipDetector,
        *,
        least: float = LEAST,
        single: bool = False,
        smallest: float = 0.0,
    ) -> None:
        """Combine the parts."""
        self.faces, self.clip = faces, clip
        self._least, self._single, self._smallest = least, single, smallest

    @property
    def labels(self) -> tuple[str, ...]:
        """Every label that the detector may give."""
        return self.clip.labels

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the parts and the thresholds."""
        parts = [self.faces.fingerprint, self.clip.fingerprint]
        return digest(["clip-prob", *parts, self._least, self._single, self._smallest])

    @property
    def provenance(self) -> Mapping[str, str]:
        """Parts and thresholds."""
        return {
            **self.clip.provenance,
            **named("face", self.faces),
            "least probability": str(self._least),
            "several faces": "multiple_people" if self._single else "kept",
            "least share of a face": str(self._smallest),
        }

    def for_attribute(self, attribute: Attribute) -> ClipProb:
        """The same face check, then present or absent, without a least probability.

        OASIS eq. 5 takes the nearer description, however near the other is.
        """
        clip = self.clip.for_attribute(attribute)
        how = {"single": self._single, "smallest": self._smallest}
        return ClipProb(self.faces, clip, least=0.0, **how)  # type: ignore[arg-type]

    @property
    def made_for(self) -> str:
        """The kind of pictures that the CLIP was made for; "" for any."""
        return self.clip.made_for

    def in_domain(self, images: Sequence[Image]) -> list[bool]:
        """Whether each picture is of the kind that the CLIP was made for."""
        return self.clip.in_domain(images)

    def look_ahead(self, images: Sequence[Image]) -> None:
        """Find the faces, where that is the processor's work; ``detect`` finds them again."""
        look_for_faces(self.faces, images)

    def detect(self, images: Sequence[Image]) -> list[Detection]:
        """One detection per picture, in order."""
        return screened(images, self._look)

    def _look(self, pictures: list[Image]) -> list[Detection]:
        faces = self.faces.faces(pictures)
        dropped = {
            place: reason
            for place, (picture, boxes) in enumerate(zip(pictures, faces, strict=True))
            if (reason := self._dropped(picture, boxes))
        }
        answers = passed_on(pictures, dropped, self.clip.detect)
        return [
            answer if place in dropped else self._sure(answer, len(faces[place]))
            for place, answer in enumerate(answers)
        ]

    def _dropped(self, picture: Image, boxes: Sequence[Box]) -> Detection | None:
        scores = {"faces": float(len(boxes))}
        if not boxes:
            return Detection(None, Undetected.NO_FACE, scores, "no face")
        if self._single and len(boxes) > 1:
            return Detection(None, Undetected.MULTIPLE_PEOPLE, scores, f"{len(boxes)} faces")
        wide, high = boxes[0].width / picture.width, boxes[0].height / picture.height
        if min(wide, high) < self._smallest:
            detail = f"the face has {wide:.0%} of the width and {high:.0%} of the height"
            return Detection(None, Undetected.NO_FACE, scores, detail)
        return None

    def _sure(self, answer: Detection, faces: int) -> Detection:
        scores = {**answer.scores, "faces": float(faces)}
        if answer.label is None:
            return Detection(None, answer.undetected, scores, answer.detail)
        probability = answer.scores[f"p({answer.label})"]
        detail = f"p({answer.label}) = {probability:.3f}"
        if probability < self._least:
            return Detection(None, Undetected.LOW_CONFIDENCE, scores, detail)
        return Detection(answer.label, None, scores, detail)
