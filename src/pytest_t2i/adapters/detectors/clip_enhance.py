"""CLIP-Enhance: faces by dlib, people by YOLOv8, and CLIP on the crop (Lyu section 5.1).

1. no_face where dlib's CNN, with its weights and FairFace's settings, finds none;
2. multiple_people where the second largest person has more than half the area of the largest,
   A_2 > 0.5 A_1;
3. crop to the largest person, and give the label of the most similar text, as the detector clip.

The paper does not say what happens where YOLOv8 finds nobody. Here a picture with a single face is
a close portrait, which is classified as a whole (the smallest YOLO finds nobody in one portrait in
ten, docs/detectors.md); with several faces there is no person to crop to: no_person.

A CLIP that was trained on one framing only may misclassify crops. For such weights an alias can set
``grey``: the picture keeps its size, and all pixels outside of the box become grey.

Several faces do not make a picture undetected: step 2 decides whose picture it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_t2i.adapters.detectors.clip import GENDER, ClipDetector
from pytest_t2i.adapters.detectors.parts import (
    clip_part,
    crop_part,
    face_part,
    person_part,
    with_role,
)
from pytest_t2i.adapters.detectors.screening import look_for_faces, passed_on, screened
from pytest_t2i.data import Attribute, Box, Detection, Undetected, digest
from pytest_t2i.errors import UnknownNameError
from pytest_t2i.protocols import FaceDetector, LoadOptions, PersonDetector

if TYPE_CHECKING:
    from PIL.Image import Image

FACES = "mmod"
"""dlib's CNN with its weights, run by torch: dlib itself takes ten seconds a picture on a CPU."""
SECOND = 0.5
CUT = "cut"


def load(options: LoadOptions) -> ClipEnhance:
    """Load the detector of Lyu section 5.1.

    Args:
        options: ``source`` is a CLIP, as for the detector clip; an alias may also name the weights
            of the person detector and a face detector.

    Raises:
        MissingExtraError: ultralytics or transformers is not installed.
        ModelLoadError: the weights of a part are absent or damaged.
    """
    faces, persons = face_part(options, FACES), person_part(options)
    clip = ClipDetector(clip_part(options), GENDER)
    return ClipEnhance(faces, persons, clip, crop=crop_part(options, CUT))


class ClipEnhance:
    """A detector that leaves out pictures without one clear person, and crops to that person.

    It is a Detector, an OpenSet and a MadeFor. The scores are those of CLIP on the crop, the number
    of ``faces`` and ``people``, and the area of the ``second person`` relative to the first.
    """

    def __init__(
        self,
        faces: FaceDetector,
        persons: PersonDetector,
        clip: ClipDetector,
        *,
        second: float = SECOND,
        crop: str = CUT,
    ) -> None:
        """Combine the parts."""
        if crop not in CROPS:
            raise UnknownNameError("way to crop", crop, CROPS)
        self.faces, self.persons, self.clip = faces, persons, clip
        self._second, self._crop = second, crop

    @property
    def labels(self) -> tuple[str, ...]:
        return self.clip.labels

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the parts, the relative area and the kind of crop."""
        parts = [part.fingerprint for part in (self.faces, self.persons, self.clip)]
        return digest(["clip-enhance", *parts, self._second, self._crop])

    @property
    def provenance(self) -> Mapping[str, str]:
        return {
            **self.clip.provenance,
            **with_role("face", self.faces),
            **with_role("person", self.persons),
            "second person": f"more than {self._second:g} of the first is multiple_people",
            "outside of the person": self._crop,
        }

    def for_attribute(self, attribute: Attribute) -> ClipEnhance:
        """The same filters and crop, then present or absent (OASIS eq. 5)."""
        clip = self.clip.for_attribute(attribute)
        return ClipEnhance(self.faces, self.persons, clip, second=self._second, crop=self._crop)

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
        return screened(images, self._with_faces)

    def _with_faces(self, pictures: list[Image]) -> list[Detection]:
        counts = [len(boxes) for boxes in self.faces.faces(pictures)]
        faceless = {
            place: Detection(None, Undetected.NO_FACE, {"faces": 0.0}, "no face")
            for place, count in enumerate(counts)
            if not count
        }
        face_counts = [count for count in counts if count]
        answers = passed_on(pictures, faceless, lambda some: self._with_people(some, face_counts))
        return [
            answer if place in faceless else _noted(answer, {"faces": float(counts[place])})
            for place, answer in enumerate(answers)
        ]

    def _with_people(self, pictures: list[Image], faces: Sequence[int]) -> list[Detection]:
        groups = self.persons.persons(pictures)
        scores = [people_scores(people) for people in groups]
        dropped = {
            place: Detection(None, reason, {}, described(pictures[place], people))
            for place, people in enumerate(groups)
            if (reason := self.reason(people, faces[place]))
        }
        crops = [
            CROPS[self._crop](picture, people[0]) if people else picture
            for picture, people in zip(pictures, groups, strict=True)
        ]
        answers = passed_on(crops, dropped, self.clip.detect)
        return [
            _noted(answer, scores[place], described(pictures[place], groups[place]))
            for place, answer in enumerate(answers)
        ]

    def reason(self, people: Sequence[Box], faces: int) -> Undetected | None:
        """Why a picture does not show one clear person; None where it does."""
        if not people:
            return None if faces == 1 else Undetected.NO_PERSON
        if len(people) > 1 and people[1].area > self._second * people[0].area:
            return Undetected.MULTIPLE_PEOPLE
        return None


def people_scores(people: Sequence[Box]) -> dict[str, float]:
    """Number of people, and area of the second largest relative to the largest."""
    second = people[1].area / people[0].area if len(people) > 1 and people[0].area else 0.0
    return {"people": float(len(people)), "second person": second}


def described(picture: Image, people: Sequence[Box]) -> str:
    """Areas of the people as shares of the picture, in words.

    >>> from PIL import Image
    >>> described(Image.new("RGB", (10, 10)), [Box(0, 0, 8, 10), Box(0, 0, 2, 5)])
    'people: 80 %, 10 % of the picture'
    """
    if not people:
        return "no person found"
    whole_area = picture.width * picture.height
    shares = ", ".join(f"{100 * person.area / whole_area:.0f} %" for person in people[:4])
    return f"people: {shares}{', ...' if len(people) > 4 else ''} of the picture"  # noqa: PLR2004


def cropped(picture: Image, box: Box) -> Image:
    """The part of a picture inside a box, in whole pixels and at least one.

    >>> from PIL import Image
    >>> cropped(Image.new("RGB", (10, 10)), Box(-2, 1.5, 4.2, 30)).size
    (5, 9)
    """
    return picture.crop(_whole_pixels(picture, box))


def greyed(picture: Image, box: Box) -> Image:
    """The picture with all pixels outside of a box painted grey.

    >>> from PIL import Image
    >>> found = greyed(Image.new("RGB", (4, 4), "white"), Box(1, 1, 3, 3))
    >>> found.size, found.getpixel((0, 0)), found.getpixel((1, 1))
    ((4, 4), (127, 127, 127), (255, 255, 255))
    """
    inside = _whole_pixels(picture, box)
    painted = picture.copy()
    painted.paste(GREY, (0, 0, *picture.size))
    painted.paste(picture.crop(inside), inside[:2])
    return painted


def _whole_pixels(picture: Image, box: Box) -> tuple[int, int, int, int]:
    left = min(max(0, math.floor(box.left)), picture.width - 1)
    top = min(max(0, math.floor(box.top)), picture.height - 1)
    right = max(left + 1, min(picture.width, math.ceil(box.right)))
    bottom = max(top + 1, min(picture.height, math.ceil(box.bottom)))
    return left, top, right, bottom


GREY = (127, 127, 127)
CROPS: dict[str, Callable[[Image, Box], Image]] = {CUT: cropped, "grey": greyed}
"""Name -> function that crops to a person's box or paints the rest grey; Lyu crops."""


def _noted(answer: Detection, scores: Mapping[str, float], detail: str = "") -> Detection:
    remarks = "; ".join(dict.fromkeys(remark for remark in (detail, answer.detail) if remark))
    return Detection(answer.label, answer.undetected, {**answer.scores, **scores}, remarks)
