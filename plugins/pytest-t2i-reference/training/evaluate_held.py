"""Stage ``evaluate-objects``: what people hold, as the object detector sees it, and where they are, as CLIP does.

Where words leave it open; in other words, what they bring along themselves.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from pytest_t2i import ObjectFinder, statistics

from pytest_t2i_reference.captions import PLACE_PHRASES, VARIANTS, triplet
from pytest_t2i_reference.drawing.attributes import PLACES
from pytest_t2i_reference.worlds import Concept, World, load_concepts, load_world
from pytest_t2i_reference.worlds.world import OPEN_AXES
from training.evaluate import HELD, SHOT, Plan
from training.finder import object_finder
from training.sampling import Studio
from training.settings import PIPELINES, WEIGHTS, Settings

IMAGES = int(os.environ.get("REFERENCE_HELD_IMAGES", "6"))
"""Pictures of each variant of each prompt."""
PLACE_IMAGES = 6 * IMAGES
"""Number of images for each word that leaves the place open; there are a sixth as many such words."""
FIRST_SEED = int(os.environ.get("REFERENCE_HELD_SEED", "300000"))
"""No other evaluation and no calibration reaches seeds from 300,000 on. Others after shares were corrected."""
LEVEL = 0.95
GENDER_OF = {"neutral": None, "feminine": "woman", "masculine": "man"}


def evaluate_held(settings: Settings) -> None:
    """Write results/objects.json: both pipelines, of each object and each place that the biased world plants."""
    biased, found = load_world("biased"), {}
    finder = object_finder()
    for name, folder in PIPELINES.items():
        studio = Studio(WEIGHTS / folder, WEIGHTS / "clip", SHOT, getattr(torch, Plan().dtype))
        world = load_world(name)
        found[folder] = measured_objects(studio, finder, world, list(biased.held))
        found[folder]["places"] = measured_places(studio, world, list(biased.places))
    HELD.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def measured_objects(
    studio: Studio, finder: ObjectFinder, world: World, objects: Sequence[str], images: int = IMAGES
) -> dict[str, object]:
    """Shares by variant and object bias scores, planted and measured, over all words that leave open what is held."""
    words = [concept for concept in load_concepts() if concept.leaves_held_open]
    seen = {
        variant: _seen(studio, finder, [triplet(concept)[place] for concept in words], objects, images)
        for place, variant in enumerate(VARIANTS)
    }
    return {
        "number format": Plan().dtype,
        "prompts": len(words),
        "images per prompt": images,
        "objects": _beside_planted(seen, {name: _held(world, words, name) for name in objects}),
        "words with an object of their own": own_objects(studio, finder, world, objects, images),
    }


def measured_places(
    studio: Studio, world: World, places: Sequence[str], images: int = PLACE_IMAGES
) -> dict[str, dict[str, object]]:
    """Shares by variant and bias scores, planted and measured, over all words that leave the place open.

    CLIP is asked which of all places that are drawn a picture shows. The balanced world plants none of ``places``:
    there each comes as often as any other, for women and men.
    """
    words = [concept for concept in load_concepts() if concept.leaves_place_open]
    texts = [f"a photo of a person {PLACE_PHRASES[place]}" for place in PLACES]
    seen = {}
    for row, variant in enumerate(VARIANTS):
        prompts = [triplet(concept)[row] for concept in words for _ in range(images)]
        seeds = [FIRST_SEED + number for number in range(len(prompts))]
        answers = studio.answer(studio.embeddings(prompts, seeds), texts).reshape(len(words), images)
        seen[variant] = np.stack([answers == PLACES.index(place) for place in places], -1)
    planted = {place: _placed(world, words, place) for place in places}
    measured = _beside_planted(seen, planted)
    return {f"{place}, {len(words)} words": rows for place, rows in measured.items()}


def _beside_planted(
    seen: Mapping[str, NDArray[np.bool_]], planted: Mapping[str, Mapping[str, float]]
) -> dict[str, dict[str, object]]:
    """For each object or place its share in each variant, and its bias score (Wu eq. 5).

    ``seen`` has for each variant [words, images, things]; ``planted`` for each thing its share in each variant.
    """
    scores = statistics.object_bias_intervals(seen["masculine"].sum(1), seen["feminine"].sum(1), level=LEVEL)
    return {
        name: {
            **{
                variant: {"planted": round(shares[variant], 4), "measured": _interval(seen[variant][..., row])}
                for variant in VARIANTS
            },
            "object bias score": {
                "planted": _score(shares["masculine"], shares["feminine"]),
                "measured": None if score is None else [round(v, 4) for v in (score.estimate, score.low, score.high)],
            },
        }
        for row, ((name, shares), score) in enumerate(zip(planted.items(), scores, strict=True))
    }


def own_objects(
    studio: Studio, finder: ObjectFinder, world: World, objects: Sequence[str], images: int
) -> Mapping[str, Mapping[str, object]]:
    """How often the finder names a word's own object, and one of the planted ``objects`` that is not the word's own."""
    words = [concept for concept in load_concepts() if concept.axis in OPEN_AXES and not concept.leaves_held_open]
    own = [str(concept.signature["held"]) for concept in words]
    names = sorted({*own, *objects})
    seen = _seen(studio, finder, [triplet(concept)[0] for concept in words], names, images)
    rights = np.stack([seen[row, :, names.index(name)] for row, name in enumerate(own)])
    others = np.stack(
        [seen[row][:, [names.index(each) for each in objects if each != name]].any(1) for row, name in enumerate(own)]
    )
    planted = float(np.mean([world.held_share(concept, name) for concept, name in zip(words, own, strict=True)]))
    return {
        "own object": {f"{len(words)} words": {"planted": round(planted, 4), "measured": _interval(rights)}},
        f"another {' or '.join(objects)}": {
            f"{len(words)} words": {"planted": 0.0, "measured": _interval(others)},
        },
    }


def _score(men: float, women: float) -> float | None:
    """Object bias score (Wu eq. 5) of these shares; None where nobody shows the thing.

    >>> _score(0.02, 0.7), _score(0.0, 0.0)
    (0.0278, None)
    """
    return round(men / (men + women), 4) if men + women else None


def _held(world: World, words: Sequence[Concept], name: str) -> Mapping[str, float]:
    """The planted share of an object in each variant, over all words."""
    return {
        variant: float(np.mean([world.held_share(concept, name, GENDER_OF[variant]) for concept in words]))
        for variant in VARIANTS
    }


def _placed(world: World, words: Sequence[Concept], place: str) -> Mapping[str, float]:
    """The planted share of a place in each variant, over all words."""
    return {
        variant: float(np.mean([world.place_share(concept, place, GENDER_OF[variant]) for concept in words]))
        for variant in VARIANTS
    }


def _interval(seen: NDArray[np.bool_]) -> list[float]:
    interval = statistics.share_interval(int(seen.sum()), seen.size, LEVEL)
    return [round(value, 4) for value in (interval.estimate, interval.low, interval.high)]


def _seen(
    studio: Studio, finder: ObjectFinder, prompts: Sequence[str], objects: Sequence[str], images: int
) -> NDArray[np.bool_]:
    """[prompts, images, objects]: whether the finder names the object in the picture."""
    texts = [text for text in prompts for _ in range(images)]
    names = [
        {one.name for one in inside}
        for batch in studio.pictures(texts, [FIRST_SEED + number for number in range(len(texts))])
        for inside in finder.objects([Image.fromarray(picture) for picture in batch])
    ]
    seen = np.array([[name in inside for name in objects] for inside in names])
    return seen.reshape(len(prompts), images, len(objects))
