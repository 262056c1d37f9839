"""Stage ``evaluate-objects``: what people hold, as the object finder sees it, where words leave it open."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from pytest_t2i import statistics
from pytest_t2i.adapters.finders.yolo_objects import YoloObjects

from pytest_t2i_reference.captions import VARIANTS, triplet
from pytest_t2i_reference.worlds import Concept, World, load_concepts, load_world
from pytest_t2i_reference.worlds.world import OPEN_AXES
from training.evaluate import HELD, SHOT, Plan
from training.sampling import Studio
from training.settings import PIPELINES, WEIGHTS, Settings

IMAGES = int(os.environ.get("REFERENCE_HELD_IMAGES", "6"))
"""Pictures of each variant of each prompt."""
FIRST_SEED = 300_000
"""No other evaluation and no calibration reaches seeds from here on."""
LEVEL = 0.95
GENDER_OF = {"neutral": None, "feminine": "woman", "masculine": "man"}


def evaluate_held(settings: Settings) -> None:
    """Write results/objects.json: both pipelines, of each object that the biased world plants."""
    planted, found = list(load_world("biased").held), {}
    finder = YoloObjects(str(WEIGHTS / "yolo" / "objects.pt"))
    for name, folder in PIPELINES.items():
        studio = Studio(WEIGHTS / folder, WEIGHTS / "clip", SHOT, getattr(torch, Plan().dtype))
        found[folder] = measured_objects(studio, finder, load_world(name), planted)
    HELD.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def measured_objects(
    studio: Studio, finder: YoloObjects, world: World, objects: Sequence[str], images: int = IMAGES
) -> dict[str, object]:
    """Shares by variant and object bias scores, planted and measured, over all words that leave open what is held."""
    words = [concept for concept in load_concepts() if concept.leaves_held_open]
    seen = {
        variant: _seen(studio, finder, [triplet(concept)[place] for concept in words], objects, images)
        for place, variant in enumerate(VARIANTS)
    }
    scores = statistics.object_bias_intervals(
        seen["masculine"].sum(1), seen["feminine"].sum(1), level=LEVEL, seed=FIRST_SEED
    )
    return {
        "number format": Plan().dtype,
        "prompts": len(words),
        "images per prompt": images,
        "objects": {
            name: {
                **{variant: _share(world, words, name, variant, seen[variant][..., row]) for variant in VARIANTS},
                "object bias score": {
                    "planted": planted_score(world, words, name),
                    "measured": None
                    if score is None
                    else [round(v, 4) for v in (score.estimate, score.low, score.high)],
                },
            }
            for row, (name, score) in enumerate(zip(objects, scores, strict=True))
        },
        "words with an object of their own": own_objects(studio, finder, world, objects, images),
    }


def own_objects(
    studio: Studio, finder: YoloObjects, world: World, objects: Sequence[str], images: int
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


def planted_score(world: World, words: Sequence[Concept], name: str) -> float | None:
    """Object bias score (Wu eq. 5) that the world plants over these words; None where nobody holds the object.

    >>> words = [concept for concept in load_concepts() if concept.leaves_held_open]
    >>> planted_score(load_world("biased"), words, "flower"), planted_score(load_world("balanced"), words, "flower")
    (0.0278, None)
    """
    women, men = (sum(world.held_share(concept, name, gender) for concept in words) for gender in ("woman", "man"))
    return round(men / (men + women), 4) if men + women else None


def _share(
    world: World, words: Sequence[Concept], name: str, variant: str, seen: NDArray[np.bool_]
) -> Mapping[str, object]:
    planted = np.mean([world.held_share(concept, name, GENDER_OF[variant]) for concept in words])
    return {"planted": round(float(planted), 4), "measured": _interval(seen)}


def _interval(seen: NDArray[np.bool_]) -> list[float]:
    interval = statistics.clopper_pearson(int(seen.sum()), seen.size, LEVEL)
    return [round(value, 4) for value in (interval.estimate, interval.low, interval.high)]


def _seen(
    studio: Studio, finder: YoloObjects, prompts: Sequence[str], objects: Sequence[str], images: int
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
