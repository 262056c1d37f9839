"""Compare the aspect of a picture with that of the size that was requested."""

from __future__ import annotations

from pytest_t2i.data import Request

MOST_STRETCH = 1.1
"""Ratio of the two aspects up to which a picture is taken."""
Size = tuple[int, int]
"""Width and height in pixels."""


def requested_size(request: Request) -> Size | None:
    """The requested size; None where none was requested."""
    width, height = request.settings.width, request.settings.height
    return (width, height) if width and height else None


def aspect_problem(request: Request, size: Size) -> str:
    """What is wrong with a picture of this size; "" where its aspect is that of the request.

    A picture of another aspect shows another section of a scene, or is distorted.

    >>> from pytest_t2i.data import GenerationSettings
    >>> request = Request("a nurse", 7, GenerationSettings(width=64, height=64))
    >>> aspect_problem(request, (32, 33)), "got 640 x 480" in aspect_problem(request, (640, 480))
    ('', True)
    """
    wanted = requested_size(request)
    if wanted is None:
        return ""
    one, other = size[0] * wanted[1], size[1] * wanted[0]
    if max(one, other) <= MOST_STRETCH * min(one, other):
        return ""
    return (
        f"expected a picture of {size_words(wanted)} pixels, as --t2i-size says, got "
        f"{size_words(size)} for {request.prompt!r}, seed {request.seed}: its aspect differs by "
        "more than a tenth. Ask for a size that the model makes, or take such pictures with "
        "--t2i-other-size"
    )


def size_words(size: Size) -> str:
    """A size in words, such as ``64 x 64``."""
    return f"{size[0]} x {size[1]}"
