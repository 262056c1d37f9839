"""The text chunk with the origin of a stored picture, and its removal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

CHUNK = "pytest-t2i"
"""Keyword of the text chunk."""
SIGNATURE = b"\x89PNG\r\n\x1a\n"
FRAME = 12
"""Number of bytes of a chunk besides its content: length, kind, checksum."""


class Span(NamedTuple):
    """One chunk of a PNG file."""

    start: int
    end: int
    kind: bytes


def without_origin(content: bytes) -> bytes:
    """The content of a PNG file without the text chunk of its origin; other files unchanged.

    So a picture is recognised by its content, with or without its origin.

    >>> without_origin(b"no png")
    b'no png'
    """
    if not content.startswith(SIGNATURE):
        return content
    mark = CHUNK.encode() + b"\0"
    ours = [
        span
        for span in _spans(content)
        if span.kind == b"iTXt" and content.startswith(mark, span.start + 8)
    ]
    for span in reversed(ours):
        content = content[: span.start] + content[span.end :]
    return content


def _spans(content: bytes) -> Iterator[Span]:
    place = len(SIGNATURE)
    while place + FRAME <= len(content):
        length = int.from_bytes(content[place : place + 4], "big")
        end = place + FRAME + length
        yield Span(place, end, content[place + 4 : place + 8])
        place = end
