"""What the Face++ Detect API answers, read as documented and cleared of key and secret."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import NamedTuple

import msgspec

from pytest_t2i.adapters.detectors.facepp_errors import Course, course_of

NO_ANSWER = 599
"""Our own HTTP status: nothing came back."""
NOT_DOCUMENTED = "without a list of faces, so it is not the Face++ Detect API as documented"
LONGEST = 200
"""Characters of what the service says that are kept."""


class Face(NamedTuple):
    """One face as the service describes it."""

    width: float
    height: float
    gender: str
    """As it was told; "" where it was not."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the service said of one picture, cleared of key and secret."""

    course: Course | None
    """None: it was analysed; else what becomes of it."""
    faces: tuple[Face, ...] = ()
    message: str = ""
    """The service's error message."""
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


def read_answer(status: int, text: str, hide: Callable[[str], str]) -> Answer:
    """What an answer says.

    Args:
        status: Of HTTP.
        text: The body.
        hide: Clears a text of key and secret.

    Example:
        >>> read_answer(400, '{"error_message": "BAD_ARGUMENTS:x"}', str).course
        <Course.STOP: 6>
    """
    try:
        body = msgspec.json.decode(text, type=_Body)
    except (ValueError, RecursionError):
        body = None
    if status == HTTPStatus.OK and (body is None or body.error_message is None):
        if body is None or body.faces is None:
            return Answer(Course.STOP, message=NOT_DOCUMENTED)
        return Answer(None, tuple(_face(face, hide) for face in body.faces))
    # What is not JSON is a proxy's page: its first line is enough.
    said = (body.error_message if body else text) or ""
    lines = hide(said).strip().splitlines()
    message = lines[0][:LONGEST] if lines else f"HTTP status {status}"
    return Answer(course_of(status, message), message=message, status=status)


def _face(face: _Face, hide: Callable[[str], str]) -> Face:
    box = face.face_rectangle
    return Face(box.width, box.height, hide(face.attributes.gender.value)[:LONGEST])
