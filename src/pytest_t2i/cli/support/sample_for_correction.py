"""``t2i sample --for-correction``: copy the images whose labels narrow the corrected score most.

Images are drawn at random. The probability of each is kept beside the pictures; it is higher where
the detector and the other images of the prompt say less about the image.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pytest_t2i.audits.log_odds import log_odds
from pytest_t2i.cli.support.sample_images import Chosen, copy, images_there, of_image
from pytest_t2i.data import Detection
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.files import checksum
from pytest_t2i.generation.store.self_describing_png import nameless
from pytest_t2i.labels import write_draw
from pytest_t2i.runs.record import ImageRecord, RunRecord
from pytest_t2i.statistics.active_correction import LEAST_DRAWN, choice_probabilities, doubts, drawn


class Image(NamedTuple):
    """An image that can be drawn."""

    chosen: Chosen
    doubt: float


def sample_for_correction(
    record: RunRecord, source: Path, folder: Path, count: int, seed: int
) -> int:
    """Copy images drawn by how unsure the detector is, and write their probabilities.

    Returns the number of copies: ``count``, or all images where the run has fewer.

    Raises:
        ConfigurationError: ``count`` is too small, no image is there, or the run's detector has
            no labels male and female.
    """
    if count < LEAST_DRAWN:
        raise ConfigurationError(
            f"--for-correction {count}: expected at least {LEAST_DRAWN}. Fewer labels "
            "cannot show how often the detector errs"
        )
    images = images_of(record)
    if not images:
        raise ConfigurationError(f"{source} names no image that is still there")
    count = min(count, len(images))
    chances = choice_probabilities([image.doubt for image in images], count)
    places = drawn(chances, seed)
    order = np.random.default_rng([seed, 1]).permutation(places)
    copy([images[place].chosen for place in order], folder)
    taken = set(places.tolist())
    write_draw(
        folder,
        (
            (checksum(nameless(image.chosen.file)), float(chance), place in taken)
            for place, (image, chance) in enumerate(zip(images, chances, strict=True))
        ),
    )
    return count


def images_of(record: RunRecord) -> list[Image]:
    """Return the images of all neutral prompts that are there, each with its remaining doubt.

    Raises ConfigurationError where the deciding detector labels no image male or female.
    """
    prompts = [
        (prompt, there)
        for prompt in record.prompts
        if prompt.variant == "neutral" and (there := images_there(prompt))
    ]
    known = [np.array([_log_odds(image) for image in there]) for _, there in prompts]
    if known and not any(np.isfinite(odds).any() for odds in known):
        raise ConfigurationError(
            "--for-correction: the run's detector labels no image male or female, but only the "
            "model bias score can be corrected. Use --per-prompt for other labels"
        )
    return [
        Image(of_image(prompt, image), float(doubt))
        for (prompt, there), of in zip(prompts, doubts(known), strict=True)
        for image, doubt in zip(there, of, strict=True)
    ]


def _log_odds(image: ImageRecord) -> float:
    said: Sequence[Detection] = tuple(image.detections.values())
    return log_odds(said[0]) if said else math.nan
