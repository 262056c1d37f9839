"""``t2i sample --for-correction``: images whose labels narrow the corrected model score most.

Chance chooses, with a probability for each image that is kept beside the pictures: the higher,
the less the detector's word and the other images of the prompt tell of it.
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
from pytest_t2i.statistics.correction.choice import choice_probabilities, drawn
from pytest_t2i.statistics.correction.likely import doubts
from pytest_t2i.statistics.correction.weighted import LEAST_DRAWN


class Image(NamedTuple):
    """One that could be drawn."""

    chosen: Chosen
    doubt: float


def sample_for_correction(
    record: RunRecord, source: Path, folder: Path, count: int, seed: int
) -> int:
    """Copy images drawn by how unsure the detector is, and write their probabilities.

    Returns how many: all where the run has fewer.

    Raises:
        ConfigurationError: too few are asked for, no image is there, or no detector of the run
            says male and female.
    """
    if count < LEAST_DRAWN:
        raise ConfigurationError(
            f"--for-correction {count}: expected at least {LEAST_DRAWN}. Fewer labels say too "
            "little of how often the detector errs"
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
    """Those of every neutral prompt that are there, with the doubt that is left of each.

    Raises ConfigurationError where the deciding detector says neither male nor female.
    """
    prompts = [
        (prompt, there)
        for prompt in record.prompts
        if prompt.variant == "neutral" and (there := images_there(prompt))
    ]
    known = [np.array([_log_odds(image) for image in there]) for _, there in prompts]
    if known and not any(np.isfinite(odds).any() for odds in known):
        raise ConfigurationError(
            "--for-correction: the run's detector says male or female of no image, and only a "
            "model bias score is corrected so. Use --per-prompt for other labels"
        )
    return [
        Image(of_image(prompt, image), float(doubt))
        for (prompt, there), of in zip(prompts, doubts(known), strict=True)
        for image, doubt in zip(there, of, strict=True)
    ]


def _log_odds(image: ImageRecord) -> float:
    said: Sequence[Detection] = tuple(image.detections.values())
    return log_odds(said[0]) if said else math.nan
