"""The line about a run in pytest's header: model, detectors, images and store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_t2i.settings import Settings


def header(settings: Settings, detectors: Sequence[str]) -> str:
    """``t2i: model sdxl, detector clip, 20 images per prompt, seed 0, store .t2i``."""
    named = f"detector{'s' * (len(detectors) > 1)} {', '.join(detectors)}"
    return f"t2i: {', '.join([*_model(settings), named, *_images(settings)])}"


def _model(settings: Settings) -> Iterator[str]:
    if settings.model:
        yield f"model {settings.model}"
    if settings.mitigation:
        yield f"mitigation {settings.mitigation}"


def _images(settings: Settings) -> Iterator[str]:
    """Return the parts of the line about the images and the store."""
    if not settings.model:
        # A run that only evaluates detectors makes no images: no number of images, no seed.
        yield f"labelled images of {settings.labels}"
    elif settings.model.startswith("images:"):
        yield f"at most {settings.images} images per prompt"
    else:
        yield f"{settings.images} images per prompt"
        yield f"seed {settings.seed}"
    yield f"store {settings.store}"
