"""What the Face++ Detect API answers, read as documented; nothing else of it is repeated."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import NamedTuple

import msgspec

from pytest_t2i.adapters.detectors.facepp_errors import Course, course_of, documented

NO_ANSWER = 599
"""Our own HTTP status: nothing came back."""
NOT_DOCUMENTED = "without a list of faces, so it is not the Face++ Detect API as documented"
GENDERS = {"male", "female"}
OTHER = "none that is documented"
"""For a word on a face that is not repeated."""


class Face(NamedTuple):
    """One face as the service describes it."""

    width: float
    height: float
    gender: str
    """Male or Female as it was told; "" where it was not, OTHER for anything else."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the service said of one picture, in documented words alone."""

    course: Course | None
    """None: it was analysed; else what becomes of it."""
    faces: tuple[Face, ...] = ()
    message: str = ""
    """The service's error message, as far as it is documented."""
    status: int = 200
    """Of HTTP; NO_ANSWER when nothing came back."""


class _Rectangle(msgspec.Struct):
    """Where a face is."""

    width: float = 0.0
    height: float = 0.0


class _Gender(msgspec.Struct):
    """The word on a face."""

    value: str = ""


class _Attributes(msgspec.Struct):
    """What was asked of a face."""

    gender: _Gender = msgspec.field(default_factory=_Gender)


class _Face(msgspec.Struct):
    """One face; further keys are left out."""

    face_rectangle: _Rectangle = msgspec.field(default_factory=_Rectangle)
    attributes: _Attributes = msgspec.field(default_factory=_Attributes)


class _Body(msgspec.Struct):
    """An answer as documented."""

    faces: list[_Face] | None = None
    error_message: str | None = None


def read_answer(status: int, text: str) -> Answer:
    """What an answer says.

    Args:
        status: Of HTTP.
        text: The body.

    Example:
        >>> read_answer(400, '{"error_message": "BAD_ARGUMENTS:x"}').course
        <Course.STOP: 6>
    """
    try:
        body = msgspec.json.decode(text, type=_Body)
    except (ValueError, RecursionError):
        body = None
    if status == HTTPStatus.OK and (body is None or body.error_message is None):
        if body is None or body.faces is None:
            return Answer(Course.STOP, message=NOT_DOCUMENTED)
        return Answer(None, tuple(map(_face, body.faces)))
    # What is not JSON is a page of a proxy, or too large a picture told in plain text.
    said = (body.error_message if body else text.strip()) or ""
    message = documented(said) or f"HTTP status {status}"
    return Answer(course_of(status, message), message=message, status=status)


def _face(face: _Face) -> Face:
    box, gender = face.face_rectangle, face.attributes.gender.value
    known = gender if not gender or gender.lower() in GENDERS else OTHER
    return Face(box.width, box.height, known)
