"""Make the pictures of one prompt, plain and mitigated, from the same seeds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from pytest_t2i import (
    Detection,
    Loaded,
    PipelineMitigation,
    PromptMitigation,
    Request,
    T2IError,
)

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True)
class Pair:
    """The plain and the mitigated picture of one seed."""

    request: Request
    """The request of the mitigated picture."""
    plain: Image | None
    """The picture without the mitigation; None where the model refused it."""
    mitigated: Image | None
    text: str = ""
    """The text of the mitigated picture, where a mitigation changed the prompt."""
    weight: float | None = None
    """The drawn weight, from the masculine (0) to the feminine (1) counterpart, or None."""
    search: Any = None
    """The search of a path (``interpolation.pictures.Search``), or None."""
    said: tuple[Detection, ...] = field(default=())
    """The detections of the plain picture, the mitigated picture, and the path in order."""

    @property
    def path(self) -> Sequence[Image]:
        """The pictures of the search, from masculine to feminine; () without a search."""
        return () if self.search is None else cast("Sequence[Image]", self.search.pictures)


def pairs(loaded: Loaded, prompt: str, seeds: Sequence[int]) -> Iterator[Pair]:
    """Yield the pictures of each seed as soon as they are made and detected.

    Raises T2IError for a prompt that names a gender or has no counterparts, and where the
    mitigation does not fit the model.
    """
    if loaded.mitigation is None:
        raise T2IError("expected a mitigation; t2i list mitigations lists them")
    asked = [loaded.request(prompt, seed) for seed in seeds]
    for request in asked:
        made = _made(loaded, request)
        said = loaded.detect([made.plain, made.mitigated, *made.path])
        yield replace(made, said=tuple(said))


def _made(loaded: Loaded, request: Request) -> Pair:
    plain = _picture(loaded.generate([replace(request, variation=None)]))
    mitigation: Any = loaded.mitigation
    if isinstance(mitigation, PromptMitigation):
        texts = request.variation.texts if request.variation else ()
        text = mitigation.prompt(request.prompt, request.seed, texts)
        return Pair(request, plain, _picture(loaded.generate([request])), text)
    return _made_inside(loaded, mitigation, request, plain)


def _made_inside(
    loaded: Loaded, mitigation: PipelineMitigation, request: Request, plain: Image | None
) -> Pair:
    pipeline = getattr(loaded.model, "pipeline", None)
    with mitigation.applied(pipeline, [request]) as searches:
        made = _picture(loaded.model.generate([replace(request, variation=None)]))
    search = searches[0] if isinstance(searches, list) and searches else None
    weight_of = getattr(mitigation, "weight_of", None)
    weight = weight_of(request) if search is None and weight_of is not None else None
    return Pair(request, plain, made, weight=weight, search=search)


def _picture(made: Any) -> Image | None:
    (one,) = made
    picture: Image | None = one.image
    return picture
