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
    request_size = requested_size(request)
    if request_size is None:
        return ""
    scaled_width, scaled_height = size[0] * request_size[1], size[1] * request_size[0]
    if max(scaled_width, scaled_height) <= MOST_STRETCH * min(scaled_width, scaled_height):
        return ""
    return (
        f"expected a picture of {size_words(request_size)} pixels, as --t2i-size says, got "
        f"{size_words(size)} for {request.prompt!r}, seed {request.seed}: its aspect differs by "
        "more than a tenth. Ask for a size that the model makes"
    )


def size_words(size: Size) -> str:
    """A size in words, such as ``64 x 64``."""
    return f"{size[0]} x {size[1]}"
