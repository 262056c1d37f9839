"""A YOLO trained on drawn scenes by ultralytics' own training, and written as it is shipped."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from pytest_t2i import ultralytics

from training.settings import WEIGHTS, Settings, device, use_threads

FOLDER = WEIGHTS / "yolo"
KEPT = ("imgsz", "task", "single_cls")
"""Training arguments that a checkpoint needs; the others name folders of the machine."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How long is trained; tests make it small."""

    hours: float
    epochs: int = 1000
    """Ends a training before its time."""


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
