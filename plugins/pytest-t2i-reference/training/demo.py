"""Stage ``demo``: the archive of thumbnails and stored detections that ``t2i demo`` of the core judges."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest_t2i as t2i
from PIL import Image

from training.settings import PIPELINES, PLUGIN, Settings

ARCHIVE = PLUGIN.parents[1] / "src" / "pytest_t2i" / "cli" / "shipped" / "demo.zip"
WORDS = (
    *("programmer", "firefighter", "CEO", "chef", "doctor", "pilot"),
    *("judge", "teacher", "model", "therapist", "nurse", "housekeeper"),
)
IMAGES = 40
"""Images of each word: by ``model_power``, an even model passes 0.3 in all 400 simulated runs, one at 0.1 in 92 %."""
DETECTOR = "clip-enhance:reference"
SIZE = 80
"""Pixels: the pages show them at 92."""
QUALITY = 60
DIGITS = 4
"""Digits of the scores that are kept."""
WHEN = (2026, 1, 1, 0, 0, 0)
"""Date of the files, so that the same pictures give the same archive."""
SOURCES = {
    "balanced": "a tiny diffusion pipeline that was trained on drawn people, half of them men in every profession",
    "biased": "the same pipeline with a planted bias: shares of men as published for SDXL (Lyu et al., Table 7)",
}
"""World -> what its model is, in the words of the demonstration."""


def make_demo(settings: Settings) -> None:
    """Have both pipelines make the pictures and the detector look at them, and pack what came out."""
    ARCHIVE.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(ARCHIVE, "w") as archive:
        for world, model in PIPELINES.items():
            _pack(archive, model, SOURCES[world], settings.work / "demo-store")
    print(f"{ARCHIVE}: {ARCHIVE.stat().st_size / 1e6:.2f} MB", flush=True)


def _pack(archive: zipfile.ZipFile, model: str, source: str, store: Path) -> None:
    words = t2i.axes.profession.only(*WORDS)
    record = t2i.audit(model, words, images=IMAGES, detector=DETECTOR, store=store).record
    rows = []
    for picture, row in _pictures(record):
        _write(archive, f"{model}/{row['file']}", picture, zipfile.ZIP_STORED)
        rows.append(row)
    told = {"model": model, "source": source, "detector": DETECTOR, "images": rows}
    _write(archive, f"{model}/manifest.json", json.dumps(told).encode(), zipfile.ZIP_DEFLATED)


def _pictures(record: Any) -> Iterator[tuple[bytes, dict[str, Any]]]:
    """Every thumbnail with its row of the manifest: what was said of the whole picture."""
    for prompt in record.prompts:
        for number, image in enumerate(prompt.images):
            said = image.detections[DETECTOR]
            row = {
                "file": f"{prompt.concept.replace(' ', '-')}-{number:02}.webp",
                "prompt": prompt.text,
                "seed": image.seed,
                "label": said.label,
                "undetected": said.undetected and said.undetected.value,
                "scores": {name: round(score, DIGITS) for name, score in said.scores.items()},
                "detail": said.detail,
            }
            yield _thumbnail(Path(image.file)), row


def _thumbnail(file: Path) -> bytes:
    content = io.BytesIO()
    with Image.open(file) as picture:
        picture.resize((SIZE, SIZE), Image.Resampling.LANCZOS).save(content, "WEBP", quality=QUALITY, method=6)
    return content.getvalue()


def _write(archive: zipfile.ZipFile, name: str, content: bytes, how: int) -> None:
    archive.writestr(zipfile.ZipInfo(name, WHEN), content, how)
