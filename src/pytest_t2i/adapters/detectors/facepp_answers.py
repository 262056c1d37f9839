"""Parse answers of the Face++ Detect API; no undocumented text is repeated."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import NamedTuple

import msgspec

from pytest_t2i.adapters.detectors.facepp_errors import Course, course_of, documented

NO_ANSWER = 599
"""HTTP status that stands for a missing answer."""
NOT_DOCUMENTED = "without a list of faces, so it is not the Face++ Detect API as documented"
GENDERS = {"male", "female"}
OTHER = "none that is documented"
"""Stands for an undocumented gender, which is not repeated."""


class Face(NamedTuple):
    """One face in an answer."""

    width: float
    height: float
    gender: str
    """Male or Female as answered; "" where it is absent, OTHER for any other text."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The service's answer for one picture, with documented texts only."""

    course: Course | None
    """How to go on after an error; None where the picture was analysed."""
    faces: tuple[Face, ...] = ()
    message: str = ""
    """The service's error message, as far as the message is documented."""
    status: int = 200
    """HTTP status; NO_ANSWER without an answer."""


class _Rectangle(msgspec.Struct):
    """Size of a face."""

    width: float = 0.0
    height: float = 0.0


class _Gender(msgspec.Struct):
    """Gender of a face."""

    value: str = ""


class _Attributes(msgspec.Struct):
    """Requested attributes of a face."""

    gender: _Gender = msgspec.field(default_factory=_Gender)


class _Face(msgspec.Struct):
    """One face; other keys are ignored."""

    face_rectangle: _Rectangle = msgspec.field(default_factory=_Rectangle)
    attributes: _Attributes = msgspec.field(default_factory=_Attributes)


class _Body(msgspec.Struct):
    """Body of an answer."""

    faces: list[_Face] | None = None
    error_message: str | None = None


BODY = msgspec.json.Decoder(_Body)
"""Built once, before several threads read their first answer at the same time."""


def read_answer(status: int, text: str) -> Answer:
    """Parse an answer.

    Args:
        status: HTTP status.
        text: body of the answer.

    Example:
        >>> read_answer(400, '{"error_message": "BAD_ARGUMENTS:x"}').course
        <Course.STOP: 6>
    """
    try:
        body = BODY.decode(text)
    except (ValueError, RecursionError):
        body = None
    if status == HTTPStatus.OK and (body is None or body.error_message is None):
        if body is None or body.faces is None:
            return Answer(Course.STOP, message=NOT_DOCUMENTED)
        return Answer(None, tuple(map(_face, body.faces)))
    # A body that is no JSON is a proxy's page, or the plain text that refuses a large picture.
    said = (body.error_message if body else text.strip()) or ""
    message = documented(said) or f"HTTP status {status}"
    return Answer(course_of(status, message), message=message, status=status)


def _face(face: _Face) -> Face:
    box, gender = face.face_rectangle, face.attributes.gender.value
    known = gender if not gender or gender.lower() in GENDERS else OTHER
    return Face(box.width, box.height, known)
