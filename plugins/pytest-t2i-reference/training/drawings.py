"""Stage ``draw``: the training pictures, drawn once, and the records that say what is in each."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pytest_t2i_reference.captions import describe
from pytest_t2i_reference.drawing import SIZE, Drawing, Part, Person, Scene, draw_scene
from pytest_t2i_reference.worlds import draw_scene_of, load_concepts, load_world, plain_scene
from training.progress import Progress
from training.settings import (
    CAPTIONS_PER_PLAIN_IMAGE,
    IMAGES_PER_CONCEPT,
    IMAGES_PER_NATIONALITY,
    PLAIN_IMAGES,
    Settings,
)


@dataclass(frozen=True, slots=True)
class Record:
    """One training picture."""

    pool: str
    """``concept``, ``balanced`` or ``biased`` (nationalities as in that world), or ``plain``."""
    concept: int
    """Index in ``load_concepts()``; -1 when there is none."""
    scene: Scene
    captions: tuple[str, ...]
    """Descriptions of this very picture."""


@dataclass(frozen=True, slots=True)
class Drawings:
    """The training set."""

    images: NDArray[np.uint8]
    """[count, SIZE, SIZE, 3], memory-mapped."""
    boxes: NDArray[np.uint8]
    """[count, 2, 4]: left, top, right, bottom of the main face and of the held object; zeros where there is none."""
    records: tuple[Record, ...]


def plan(settings: Settings) -> Iterator[Record]:
    """All records, in a fixed order."""
    rng = random.Random(settings.seed)
    for index, concept in enumerate(load_concepts()):
        pools = ("balanced", "biased") if concept.axis == "nationality" else ("concept",)
        count = IMAGES_PER_NATIONALITY if concept.axis == "nationality" else IMAGES_PER_CONCEPT
        for pool in pools:
            world = load_world("biased" if pool == "biased" else "balanced")
            for gender in ("woman", "man"):
                for _ in range(count):
                    yield _record(pool, index, draw_scene_of(concept, world, rng, gender), rng)
    for kind, count in PLAIN_IMAGES.items():
        for _ in range(count):
            yield _record("plain", -1, plain_scene(kind, rng), rng)


def _record(pool: str, concept: int, scene: Scene, rng: random.Random) -> Record:
    count = CAPTIONS_PER_PLAIN_IMAGE if pool == "plain" else 1
    return Record(pool, concept, scene, tuple(describe(scene, rng) for _ in range(count)))


def _draw_one(scene: Scene, seed: int) -> tuple[NDArray[np.uint8], list[list[int]]]:
    drawing = draw_scene(scene, seed)
    return drawing.image, [_corners(drawing, Part.FACE), _corners(drawing, Part.HELD)]


def _corners(drawing: Drawing, part: Part) -> list[int]:
    for box in drawing.boxes():
        if box.part == part.name.lower() and box.person == 0:
            return [box.left, box.top, box.right, box.bottom]
    return [0, 0, 0, 0]


def draw_all(settings: Settings) -> None:
    """Write images.npy, boxes.npy and records.jsonl; nothing when they are there."""
    if (settings.work / "records.jsonl").exists():
        return
    records = list(plan(settings))
    images = np.lib.format.open_memmap(
        settings.work / "images.npy", mode="w+", dtype=np.uint8, shape=(len(records), SIZE, SIZE, 3)
    )
    boxes = np.zeros((len(records), 2, 4), dtype=np.uint8)
    progress = Progress("draw", len(records))
    with ProcessPoolExecutor(settings.threads) as pool:
        drawn = pool.map(_draw_one, (record.scene for record in records), range(len(records)), chunksize=200)
        for index, (image, corners) in enumerate(drawn):
            images[index], boxes[index] = image, corners
            progress.at(index + 1)
    images.flush()
    np.save(settings.work / "boxes.npy", boxes)
    lines = (json.dumps(asdict(record)) for record in records)
    (settings.work / "records.jsonl").write_text("\n".join(lines), encoding="utf-8")


def load_drawings(work: Path) -> Drawings:
    """Read what ``draw_all`` wrote."""
    lines = (work / "records.jsonl").read_text(encoding="utf-8").splitlines()
    records = tuple(_parse(json.loads(line)) for line in lines)
    return Drawings(np.load(work / "images.npy", mmap_mode="r"), np.load(work / "boxes.npy"), records)


def _parse(fields: dict[str, object]) -> Record:
    scene = dict(fields["scene"])  # type: ignore[call-overload]
    scene["people"] = tuple(Person(**person) for person in scene["people"])
    return Record(str(fields["pool"]), int(str(fields["concept"])), Scene(**scene), tuple(fields["captions"]))  # type: ignore[arg-type]
