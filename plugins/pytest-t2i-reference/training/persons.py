"""Stage ``persons``: a YOLOv8n that finds the drawn people and what they hold and wear, by ultralytics' own training.

Nothing is fetched: the network starts from ``yolov8n.yaml``, which the library brings, and random weights.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from diffusers import AutoencoderKL
from numpy.typing import NDArray
from PIL import Image
from pytest_t2i.adapters.finders.ultralytics_guard import ultralytics

from pytest_t2i_reference.drawing import SIZE, Drawing, draw_scene
from pytest_t2i_reference.drawing.attributes import HEADWEAR, HELD, Scene
from pytest_t2i_reference.worlds import draw_scene_of, load_concepts, load_world, plain_scene
from training.autoencoder import as_pixels
from training.progress import Progress
from training.settings import WEIGHTS, Settings, device, mixed_precision, use_threads

CLASSES = ("person", *HELD[1:], *HEADWEAR[1:])
"""Class number to name."""
SHARES = {"one": 0.3, "concept": 0.2, "two": 0.25, "none": 0.15, "behind": 0.1}
"""Kinds of scenes; ``concept`` is one person of a word of the balanced world."""
RESTORED = 0.4
"""Share of pictures that went through the autoencoder, as every generated picture did."""
IMAGES = {"train": 3600, "val": 300}
BATCH = 32
FOLDER = WEIGHTS / "yolo"
NAME = "person.pt"
KEPT = ("imgsz", "task", "single_cls")
"""Training arguments that a checkpoint needs; the others name folders of the machine."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is drawn and trained; tests make it small."""

    images: dict[str, int]
    hours: float
    epochs: int = 1000
    """Ends a training before its time."""


def train_persons(settings: Settings) -> None:
    """Draw the scenes, train, write the shipped weights; what is there already is kept."""
    folder = settings.work / "persons"
    if not (folder / "data.yaml").exists():
        autoencoder = AutoencoderKL.from_pretrained(WEIGHTS / "reference" / "vae").to(device()).eval()
        write_scenes(folder, IMAGES, settings.seed, autoencoder)
    best = train(folder, Plan(IMAGES, settings.time("persons") / 3600), settings)
    ship(best, FOLDER / NAME)


def scenes(count: int, rng: random.Random) -> Iterator[Scene]:
    """Scenes of every kind by ``SHARES``."""
    concepts, world = load_concepts(), load_world("balanced")
    for kind in rng.choices(list(SHARES), list(SHARES.values()), k=count):
        yield draw_scene_of(rng.choice(concepts), world, rng) if kind == "concept" else plain_scene(kind, rng)


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


def write_scenes(folder: Path, images: dict[str, int], seed: int, autoencoder: AutoencoderKL | None) -> None:
    """A data set in ultralytics' layout: images/, labels/, data.yaml."""
    for split, count in images.items():
        rng = random.Random(f"{seed}-{split}")
        progress = Progress(f"scenes for {split}", count)
        for part in ("images", "labels"):
            (folder / part / split).mkdir(parents=True, exist_ok=True)
        for number, scene in enumerate(scenes(count, rng)):
            drawing = draw_scene(scene, rng.randrange(2**31))
            restored = autoencoder is not None and rng.random() < RESTORED
            picture = _restored(drawing.image, autoencoder) if restored else drawing.image
            Image.fromarray(picture).save(folder / "images" / split / f"{number:05}.png")
            text = "\n".join(labels(drawing))
            (folder / "labels" / split / f"{number:05}.txt").write_text(text, encoding="utf-8")
            progress.at(number + 1)
    names = "".join(f"  {number}: {name}\n" for number, name in enumerate(CLASSES))
    described = f"path: {folder.resolve()}\ntrain: images/train\nval: images/val\nnames:\n{names}"
    (folder / "data.yaml").write_text(described, encoding="utf-8")


@torch.no_grad()
def _restored(image: NDArray[np.uint8], autoencoder: Any) -> NDArray[np.uint8]:
    with mixed_precision():
        latent = autoencoder.encode(as_pixels(image[None])).latent_dist.mode()
        picture = autoencoder.decode(latent).sample[0].float().cpu()
    as_bytes = ((picture.clamp(-1, 1) + 1) * 127.5).round().to(torch.uint8)
    found: NDArray[np.uint8] = as_bytes.permute(1, 2, 0).numpy()
    return found


def train(folder: Path, plan: Plan, settings: Settings) -> Path:
    """Train from random weights; the path of the best checkpoint."""
    model = ultralytics().YOLO("yolov8n.yaml", task="detect")
    return fit(model, "persons", folder, plan, settings, batch=BATCH, imgsz=SIZE, lr0=2e-3, warmup_epochs=1.0)


def fit(model: Any, what: str, folder: Path, plan: Plan, settings: Settings, *, batch: int, **own: Any) -> Path:
    """Train any YOLO on drawn scenes; ``own`` are the options that are not shared. The best checkpoint."""
    # The library sets a number of threads of its own.
    model.add_callback("on_train_start", lambda trainer: use_threads(settings.threads))
    model.add_callback("on_fit_epoch_end", lambda trainer: _report(what, trainer))
    model.train(
        data=str(folder / "data.yaml"),
        epochs=plan.epochs,
        time=plan.hours or None,
        patience=plan.epochs,
        batch=batch,
        nbs=batch,
        workers=0,
        cache="ram",
        device=device().type,
        seed=settings.seed,
        pretrained=False,
        amp=False,
        optimizer="AdamW",
        cos_lr=True,
        # Scenes are as large as they will be met: no mosaic of four, little zoom.
        mosaic=0.0,
        close_mosaic=0,
        scale=0.15,
        translate=0.06,
        hsv_s=0.4,
        hsv_v=0.3,
        plots=False,
        verbose=False,
        project=str(folder),
        name="run",
        exist_ok=True,
        **own,
    )
    return Path(model.trainer.best)


def _report(what: str, trainer: Any) -> None:
    measured = {name.removeprefix("metrics/"): round(float(value), 3) for name, value in trainer.metrics.items()}
    print(f"{what}: epoch {trainer.epoch + 1}", measured, flush=True)


def ship(best: Path, target: Path) -> None:
    """Write the checkpoint in half precision, without the optimizer and without folders of this machine."""
    library = ultralytics()
    from ultralytics.nn.tasks import load_checkpoint

    model, _ = load_checkpoint(str(best))
    arguments = {name: model.args[name] for name in KEPT}
    model.half()
    model.args, model.pt_path, model.criterion = arguments, target.name, None
    model.yaml = {**model.yaml, "yaml_file": "yolov8n.yaml"}
    for weight in model.parameters():
        weight.requires_grad = False
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_suffix(".partial")
    described = {
        "epoch": -1,
        "model": model,
        "train_args": arguments,
        "version": library.__version__,
        "license": "AGPL-3.0 (made with ultralytics)",
    }
    torch.save(described, partial)
    shutil.move(partial, target)
    print(f"persons: {target.name}, {target.stat().st_size / 1e6:.1f} MB", flush=True)
