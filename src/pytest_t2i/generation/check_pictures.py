"""Check the picture that a model returned, before it is stored and detected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_t2i.adapters.black_or_unreadable import gate
from pytest_t2i.adapters.endpoints.aspects import aspect_problem, requested_size, size_words
from pytest_t2i.data import Generated, Request, Undetected
from pytest_t2i.errors import ConfigurationError, GenerationError, shown, some
from pytest_t2i.generation.run_counts import Work

if TYPE_CHECKING:
    from PIL.Image import Image

MODES = ("RGB", "L", "RGBA", "P", "1")
"""Pillow's modes that become RGB without losing what they show."""


def as_generated(pictures: Any) -> Iterator[Generated]:
    """Yield what a model returned for a batch; a plain PIL image is taken as a picture.

    >>> list(as_generated(["a nurse"]))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    pytest_t2i.errors.ConfigurationError: generate: expected a pytest_t2i.Generated ...
    """
    if not isinstance(pictures, Iterable):
        raise ConfigurationError(
            f"generate: expected a list of pictures, one for each request, got {shown(pictures)}"
        )
    for picture in pictures:
        if hasattr(picture, "image"):
            yield picture
        elif hasattr(picture, "convert") and hasattr(picture, "size"):
            yield Generated(picture)
        else:
            raise ConfigurationError(
                "generate: expected a pytest_t2i.Generated or a PIL image for each request, got "
                f"{shown(picture)}: return Generated(image)"
            )


@dataclass
class SizeCheck:
    """Compares the sizes of pictures with those that were requested."""

    work: Work
    error: GenerationError | None = None
    """The error of the first picture of another aspect; no further picture is requested."""
    _others: dict[str, str] = field(default_factory=dict)
    """Key of a picture of another size -> its size and the requested one."""
    _compared: set[str] = field(default_factory=set)
    """Keys of all pictures that were compared."""

    def is_aspect(self, request: Request, generated: Generated, model: str) -> bool:
        """Whether a picture has the aspect of the requested size, and is kept."""
        size = getattr(generated.image, "size", None)
        if (
            size is None
            or self.work.is_ready_made
            or not (problem := aspect_problem(request, size))
        ):
            return True
        self.error = self.error or GenerationError(
            f"{model}: {problem}. What was made before is kept."
        )
        return False

    def compare(self, key: str, request: Request, size: tuple[int, int]) -> None:
        """Note the size of a stored picture."""
        requested = requested_size(request)
        if requested is None or not all(size) or self.work.is_ready_made:
            return
        self._compared.add(key)
        if size != requested:
            self._others[key] = f"{size_words(size)} instead of {size_words(requested)}"

    @property
    def words(self) -> str:
        """How many pictures have another size; "" where none has."""
        if not self._others:
            return ""
        counts = Counter(self._others.values()).most_common()
        sizes = some([f"{words} ({count})" for words, count in counts])
        return (
            f"{len(self._others)} of {len(self._compared)} pictures have another size than that of "
            f"--t2i-size: {sizes}"
        )


def picture_for_detectors(request: Request, generated: Generated, model: str) -> Image | Undetected:
    """The picture for detectors, or why there is none; GenerationError for anything else."""
    image: Any = generated.image
    if image is None:
        return Undetected.REFUSED
    if not all(hasattr(image, name) for name in ("convert", "size", "mode")):
        expected = "a PIL picture, or None for a refusal"
    elif image.mode not in MODES or not all(image.size):
        expected = f"a picture of mode {' or '.join(MODES)} with at least one pixel"
    else:
        return _decoded(image)
    description = (
        f"{type(image).__name__} {getattr(image, 'mode', '')} {getattr(image, 'size', '')}"
    )
    raise GenerationError(
        f"model {model!r}: expected {expected}, got {description.strip()} for "
        f"{request.prompt!r}, seed {request.seed}"
    )


def _decoded(image: Image) -> Image | Undetected:
    """Return the picture as detectors get it; a model may give one that is not read yet."""
    try:
        return gate(image)
    except Exception:  # noqa: BLE001 - each decoder of Pillow raises its own
        return Undetected.UNREADABLE
