"""``t2i sample --per-prompt``: copy some images of every prompt, under numbers as names."""

from __future__ import annotations

import random
from pathlib import Path
from typing import NamedTuple

from pytest_t2i.adapters.models.manifest import REVISED
from pytest_t2i.cli.support.sample_manifest import Manifest
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.generation.store.self_describing_png import nameless
from pytest_t2i.runs.picture_folders import exists
from pytest_t2i.runs.record import ImageRecord, PromptRecord, RunRecord


def sample_images(record: RunRecord, source: Path, folder: Path, per_prompt: int, seed: int) -> int:
    """Copy randomly chosen images of every prompt; return how many."""
    chosen = choose(record, per_prompt, seed)
    if not chosen:
        raise ConfigurationError(f"{source} names no image that is still there")
    copy(chosen, folder)
    return len(chosen)


class Chosen(NamedTuple):
    """An image that is copied."""

    file: Path
    prompt: str
    seed: int
    revised_prompt: str | None
    """The prompt that a service says it used instead."""


def choose(record: RunRecord, per_prompt: int, seed: int) -> list[Chosen]:
    """Return randomly chosen images, in random order.

    The choice must depend neither on the image nor on its detections, as the correction of a run by
    labels assumes.
    """
    rng = random.Random(seed)  # noqa: S311 - a sample, no secret
    chosen = []
    for prompt in record.prompts:
        if prompt.variant == "neutral":
            there = [of_image(prompt, image) for image in images_there(prompt)]
            chosen += rng.sample(there, min(per_prompt, len(there)))
    rng.shuffle(chosen)
    return chosen


def images_there(prompt: PromptRecord) -> list[ImageRecord]:
    """Return the images of a prompt whose file is still there."""
    return [image for image in prompt.images if image.file and exists(image.file)]


def of_image(prompt: PromptRecord, image: ImageRecord) -> Chosen:
    """Return what is copied of an image whose file is there."""
    return Chosen(Path(str(image.file)), prompt.text, image.seed, image.revised_prompt)


def copy(chosen: list[Chosen], folder: Path) -> None:
    """Copy the images under numbers, and write the manifest of their prompts and seeds."""
    revised = [REVISED] if any(one.revised_prompt for one in chosen) else []
    manifest = Manifest(folder, ("prompt", "seed", *revised), len(chosen))
    with manifest.written():
        for one in chosen:
            drawn = [one.revised_prompt or ""] if revised else []
            row = (one.prompt, one.seed, *drawn)
            manifest.add(one.file.suffix, row).write_bytes(nameless(one.file))
