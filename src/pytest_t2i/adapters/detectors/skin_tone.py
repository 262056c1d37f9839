"""skin-tone: the tone of a single face, measured from the pixels of cheeks and forehead.

The places follow the five landmarks of a face finder: a disc on each cheek, between eye and corner
of the mouth, and an ellipse on the forehead. Pixels whose colour lies far from the median, such as
hair, glasses and highlights, are left out. The median in CIELAB (D65) gives the individual typology
angle, ITA (Chardon et al. 1991), and the nearest of the ten Monk tones by CIEDE2000.

A picture shows skin under its own light, and no program can know that light. So the detector says
how the skin looks in the picture. Where light is uneven, the face is small or the picture is not in
colour, it says why there is no label.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pytest_t2i.adapters.detectors.parts import face_part, with_role
from pytest_t2i.adapters.detectors.screening import look_for_faces, screened
from pytest_t2i.adapters.loading import needs
from pytest_t2i.data import Box, Detection, Undetected, digest
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.protocols import FaceDetector, LoadOptions

with needs("the detector skin-tone", "skin-tone"):
    from skimage.color import deltaE_ciede2000, rgb2lab
    from skimage.draw import ellipse

if TYPE_CHECKING:
    from PIL.Image import Image

MONK = (
    "#f6ede4", "#f3e7db", "#f7ead0", "#eadaba", "#d7bd96",
    "#a07e56", "#825c43", "#604134", "#3a312a", "#292420",
)  # fmt: skip
"""The Monk skin tone scale, lightest first (Monk 2019, https://skintone.google)."""
TONES = tuple(f"monk-{number}" for number in range(1, len(MONK) + 1))
GROUPS = ("light", "medium", "dark")
GROUP_OF = ("light",) * 4 + ("medium",) * 3 + ("dark",) * 3
"""The group of each tone."""
FINDER = "yunet"
LANDMARKS = 5
SMALLEST = 16.0
"""Least distance of the eyes in pixels: a cheek has then about 25 pixels."""
UNEVEN = 12.0
"""Largest difference of both cheeks (CIEDE2000); a tone of the middle lies about as far off."""
GREY = 2.0
"""Chroma in CIELAB up to which a pixel has no colour that people see."""
SPREAD = 2.5
"""How many robust standard deviations a pixel of skin may lie from the median."""
FITTING = 15.0
"""Largest difference of forehead and cheeks (CIEDE2000); beyond it, hair or a hat covers it."""


def load(options: LoadOptions) -> SkinTone:
    """Load the detector of the skin tone of a single face.

    Args:
        options: ``source`` is "" or the name of a face finder that gives landmarks, such as
            ``mtcnn`` or ``yunet:PATH``; ``tones`` before it gives the ten Monk tones as labels in
            place of light, medium and dark: ``skin-tone:tones:mtcnn``.

    Raises:
        MissingExtraError: scikit-image, or the library of the finder, is not installed.
        UnknownNameError: no such finder.
    """
    first, _, rest = options.source.partition(":")
    finder, labels = (rest, TONES) if first == "tones" else (options.source, GROUPS)
    return SkinTone(face_part(replace(options, source=""), finder or FINDER), labels)


class Skin(NamedTuple):
    """The colour of a face's skin."""

    lab: tuple[float, float, float]
    """Median in CIELAB."""
    left: tuple[float, float, float]
    """Median of the cheek that is left in the picture."""
    right: tuple[float, float, float]

    @property
    def ita(self) -> float:
        """The individual typology angle in degrees; large for light skin."""
        return math.degrees(math.atan2(self.lab[0] - 50.0, self.lab[2]))

    @property
    def tone(self) -> int:
        """The number of the nearest Monk tone, 1 to 10."""
        return nearest_tone(self.lab)

    @property
    def unevenness(self) -> float:
        """The difference of both cheeks."""
        return float(deltaE_ciede2000(self.left, self.right))


def nearest_tone(lab: Sequence[float]) -> int:
    """Return the number of the Monk tone nearest to a colour in CIELAB.

    >>> nearest_tone(_lab([[0x82, 0x5C, 0x43]])[0])
    7
    """
    scale = _lab([[int(tone[at : at + 2], 16) for at in (1, 3, 5)] for tone in MONK])
    return int(np.argmin(deltaE_ciede2000(np.broadcast_to(lab, scale.shape), scale))) + 1


def skin_of(picture: Image, face: Box) -> Skin | None:
    """Return the skin of a face with five landmarks; None where a cheek is out of the picture."""
    pixels = np.asarray(picture.convert("RGB"))
    eyes, mouth = np.array(face.landmarks[:2]), np.array(face.landmarks[3:5])
    middle = eyes.mean(axis=0)
    apart, down = eyes[1] - eyes[0], mouth.mean(axis=0) - middle
    width, turn = float(np.hypot(*apart)), math.atan2(-apart[1], apart[0])

    def at(centre: np.ndarray, high: float, wide: float) -> np.ndarray:
        size = pixels.shape[:2]
        places = ellipse(centre[1], centre[0], high * width, wide * width, size, turn)
        return _kept(_lab(pixels[places]))

    outwards = 0.08 * apart
    left = at(eyes[0] - outwards + 0.55 * down, 0.17, 0.17)
    right = at(eyes[1] + outwards + 0.55 * down, 0.17, 0.17)
    cheeks = np.concatenate([left, right])
    if not len(left) or not len(right):
        return None
    forehead = at(middle - 0.6 * down, 0.12, 0.35)
    if len(forehead) and deltaE_ciede2000(_median(forehead), _median(cheeks)) <= FITTING:
        cheeks = _kept(np.concatenate([cheeks, forehead]))
    return Skin(_median(cheeks), _median(left), _median(right))


def _lab(colours: object) -> np.ndarray:
    """RGB, 0 to 255 [n, 3], in CIELAB."""
    lab: np.ndarray = rgb2lab(np.asarray(colours, np.uint8)[None])[0]
    return lab


def _median(lab: np.ndarray) -> tuple[float, float, float]:
    lightness, redness, yellowness = np.median(lab, axis=0).tolist()
    return lightness, redness, yellowness


def _kept(lab: np.ndarray) -> np.ndarray:
    """The pixels that are near the median in each of the three values."""
    if not len(lab):
        return lab
    off = np.abs(lab - np.median(lab, axis=0))
    # The median of the distances is .6745 standard deviations of a normal distribution.
    near = off <= SPREAD * np.maximum(np.median(off, axis=0) / 0.6745, 1.0)
    near_pixels: np.ndarray = lab[near.all(axis=1)]
    return near_pixels


class SkinTone:
    """A Detector of the skin tone of a single face.

    The scores are ``ita`` in degrees, the number of the ``monk`` tone, and ``uneven``, the
    difference of both cheeks.
    """

    def __init__(self, faces: FaceDetector, labels: tuple[str, ...] = GROUPS) -> None:
        """Args: a finder of faces with landmarks, and three or ten labels."""
        self._faces, self.labels = faces, labels
        self.needs_device = getattr(faces, "needs_device", True)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of finder, labels, limits and library."""
        limits = [SMALLEST, UNEVEN, GREY, SPREAD, FITTING, version("scikit-image")]
        return digest(["skin-tone", self._faces.fingerprint, self.labels, MONK, limits])

    @property
    def provenance(self) -> Mapping[str, str]:
        """The facts behind the fingerprint, readable."""
        return {**with_role("face", self._faces), "scikit-image": version("scikit-image")}

    def look_ahead(self, images: Sequence[Image]) -> None:
        look_for_faces(self._faces, images)

    def detect(self, images: Sequence[Image]) -> list[Detection]:
        """One detection per picture, in order."""
        return screened(images, self._look)

    def _look(self, pictures: Sequence[Image]) -> list[Detection]:
        boxes = self._faces.faces(pictures)
        return [self._decide(*pair) for pair in zip(pictures, boxes, strict=True)]

    def _decide(self, picture: Image, faces: Sequence[Box]) -> Detection:
        if not faces:
            return Detection(None, Undetected.NO_FACE, detail="no face")
        if len(faces) > 1:
            return Detection(None, Undetected.MULTIPLE_PEOPLE, detail=f"{len(faces)} faces")
        (face,) = faces
        if len(face.landmarks) != LANDMARKS:
            raise ConfigurationError(
                "skin-tone needs a face finder that gives five landmarks, got one with "
                f"{len(face.landmarks)}. Write skin-tone:yunet or skin-tone:mtcnn."
            )
        return self._measure(picture, face)

    def _measure(self, picture: Image, face: Box) -> Detection:
        apart = math.dist(*face.landmarks[:2])
        if apart < SMALLEST:
            return _unsure(f"the face is small: its eyes are {apart:.0f} pixels apart")
        colours = rgb2lab(np.asarray(picture.convert("RGB").resize((64, 64))))[..., 1:]
        if np.quantile(np.hypot(*np.moveaxis(colours, -1, 0)), 0.99) <= GREY:
            return _unsure("the picture is not in colour")
        skin = skin_of(picture, face)
        if skin is None:
            return _unsure("a cheek lies outside the picture")
        scores = {"ita": skin.ita, "monk": float(skin.tone), "uneven": skin.unevenness}
        if skin.unevenness > UNEVEN:
            return _unsure(f"light is uneven: the cheeks differ by {skin.unevenness:.0f}", scores)
        labels = TONES if self.labels == TONES else GROUP_OF
        detail = f"Monk tone {skin.tone}, ITA {skin.ita:.0f} degrees"
        return Detection(labels[skin.tone - 1], None, scores, detail)


def _unsure(why: str, scores: Mapping[str, float] | None = None) -> Detection:
    return Detection(None, Undetected.LOW_CONFIDENCE, scores or {}, why)
