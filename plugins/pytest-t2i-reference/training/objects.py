"""Stage ``objects``: a YOLOv8n-seg that finds the drawn people and things with their masks, by ultralytics' training.

Nothing is fetched: the network is ``yolov8n-seg.yaml``, which the library brings, and starts from the shipped person
finder, whose features and classes it shares; only the masks and a few further classes are new.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from pytest_t2i import ultralytics

from pytest_t2i_reference.drawing import SIZE, Drawing, Part, Person, Scene
from training.persons import CLASSES as PERSON_CLASSES
from training.settings import Settings
from training.yolo_data import Data, scenes_for
from training.yolo_training import FOLDER, Plan, fit, ship

WORN = ("dress", "suit", "beard")
"""Known to this finder besides the person and what is held and put on."""
CLASSES = (*PERSON_CLASSES, *WORN)
"""Class number to name."""
RARE: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    "woman": ({"headwear": "hijab"}, {"garment": "dress"}),
    "man": ({"facial_hair": "beard"}, {"garment": "suit"}),
}
OFTEN = 0.2
"""How many more people wear each."""
IMAGES = {"train": 3000, "val": 150}
SIDE = 192
"""Pixels that pictures are enlarged to: masks have a quarter of it."""
BATCH = 16
NAME = "objects.pt"
LEAST_PIXELS = 12
"""Smaller visible parts are no objects."""
FINE = 4
"""A mask is enlarged so much before its outline is taken, which then lies at the pixels' edge."""


def train_objects(settings: Settings) -> None:
    """Draw the scenes, train, write the shipped weights; what is there already is kept."""
    data = Data(IMAGES, CLASSES, labels, with_rare_clothes)
    folder = scenes_for("objects", data, f"objects-{settings.seed}", settings)
    best = train(folder, Plan(settings.time("objects") / 3600), settings)
    ship(best, FOLDER / NAME)


def with_rare_clothes(scene: Scene, rng: random.Random) -> Scene:
    """A scene in which some people wear what few scenes show, or what is hard to see."""
    return replace(scene, people=tuple(_in_rare_clothes(person, rng) for person in scene.people))


def _in_rare_clothes(person: Person, rng: random.Random) -> Person:
    for change in RARE[person.gender]:
        if rng.random() < OFTEN:
            person = replace(person, **change)
    return person


def masks(drawing: Drawing) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Name and exact mask of everything that the finder should find."""
    for number, person in enumerate(drawing.scene.people):
        parts = {
            "person": None,
            person.held: Part.HELD,
            person.headwear: Part.HEADWEAR,
            person.garment: Part.GARMENT,
            person.facial_hair: Part.FACIAL_HAIR,
        }
        for name, part in parts.items():
            mask = drawing.mask(part, number)
            if name in CLASSES and mask.sum() >= LEAST_PIXELS:
                yield name, mask


def outline(mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    """One polygon around all of a mask, as shares of the picture, [points, 2]."""
    fine: NDArray[np.uint8] = np.kron(mask.astype(np.uint8), np.ones((FINE, FINE), np.uint8)).astype(np.uint8)
    # Parts that others divide are joined, as one polygon is all that a label has.
    contours, _ = cv2.findContours(fine, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_TC89_L1)
    whole = [contour[:, 0] for contour in contours if cv2.contourArea(contour) >= LEAST_PIXELS]
    points = [*whole, *(part[:1] for part in reversed(whole[:-1]))]
    return np.concatenate(points or [contours[0][:, 0]]) / (FINE * SIZE)


def labels(drawing: Drawing) -> list[str]:
    """Lines of a YOLO label file: class, then the points of a polygon."""
    return [
        f"{CLASSES.index(name)} " + " ".join(f"{value:.4f}" for value in outline(mask).ravel())
        for name, mask in masks(drawing)
    ]


def train(folder: Path, plan: Plan, settings: Settings) -> Path:
    """Train on from the shipped person finder; the path of the best checkpoint."""
    model = ultralytics().YOLO("yolov8n-seg.yaml", task="segment")
    model.add_callback("on_pretrain_routine_end", _start_from_persons)
    # A hat lies over a face, a cup over a body: masks of a picture overlap.
    own = {"lr0": 1e-3, "warmup_epochs": 0.3, "mask_ratio": 2, "overlap_mask": False}
    return fit(model, "objects", folder, plan, settings, batch=BATCH, imgsz=SIDE, **own)


def _start_from_persons(trainer: Any) -> None:
    """All weights that the person finder has too; of the classes, those that both know."""
    from ultralytics.nn.tasks import load_checkpoint

    # Where it was trained before, it goes on.
    shipped = FOLDER / NAME if (FOLDER / NAME).is_file() else FOLDER / "person.pt"
    known, _ = load_checkpoint(str(shipped))
    old = known.float().state_dict()
    for model in (trainer.model, trainer.ema.ema):
        state = model.state_dict()
        for name, weight in old.items():
            target = state.get(name)
            if target is None or target.shape[1:] != weight.shape[1:]:
                continue
            rows = min(len(target), len(weight)) if target.ndim else None
            target[:rows].copy_(weight[:rows]) if rows else target.copy_(weight)
