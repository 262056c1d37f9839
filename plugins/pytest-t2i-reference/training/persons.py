"""Stage ``persons``: a YOLOv8n that finds the drawn people and what they hold and wear, by ultralytics' own training.

Nothing is fetched: the network starts from ``yolov8n.yaml``, which the library brings, and random weights.
"""

from __future__ import annotations

from pathlib import Path

from pytest_t2i import ultralytics

from pytest_t2i_reference.drawing import SIZE, Drawing
from pytest_t2i_reference.drawing.attributes import HEADWEAR, HELD
from training.settings import Settings
from training.yolo_data import Data, scenes_for
from training.yolo_training import FOLDER, Plan, fit, ship

CLASSES = ("person", *HELD[1:], *HEADWEAR[1:])
"""Class number to name."""
IMAGES = {"train": 3600, "val": 300}
BATCH = 32
NAME = "person.pt"


def train_persons(settings: Settings) -> None:
    """Draw the scenes, train, write the shipped weights; what is there already is kept."""
    folder = scenes_for("persons", Data(IMAGES, CLASSES, labels), f"{settings.seed}", settings)
    best = train(folder, Plan(settings.time("persons") / 3600), settings)
    ship(best, FOLDER / NAME)


def labels(drawing: Drawing) -> list[str]:
    """Lines of a YOLO label file: class, then middle and size as shares of the picture."""
    lines = []
    for box in drawing.boxes():
        person = drawing.scene.people[box.person]
        name = {"person": "person", "held": person.held, "headwear": person.headwear}.get(box.part, "none")
        if name in CLASSES:
            middle = (box.left + box.right) / 2, (box.top + box.bottom) / 2
            shares = [value / SIZE for value in (*middle, box.right - box.left, box.bottom - box.top)]
            lines.append(f"{CLASSES.index(name)} " + " ".join(f"{share:.5f}" for share in shares))
    return lines


def train(folder: Path, plan: Plan, settings: Settings) -> Path:
    """Train from random weights; the path of the best checkpoint."""
    model = ultralytics().YOLO("yolov8n.yaml", task="detect")
    return fit(model, "persons", folder, plan, settings, batch=BATCH, imgsz=SIZE, lr0=2e-3, warmup_epochs=1.0)
