"""Stage ``evaluate-finder``: what the object detector sees in drawn scenes, against their exact masks."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from pytest_t2i import FoundObject, ObjectFinder

from pytest_t2i_reference.drawing import Drawing, draw_scene
from training.finder import object_finder
from training.objects import masks
from training.settings import RESULTS, Settings
from training.yolo_data import scenes

RESULT = RESULTS / "finder.json"
SCENES, BATCH = 600, 50
LIMITS = (0.3, 0.4, 0.5)
"""Least scores of an object; the finder tells of none below the first."""
LEAST_OVERLAP = 0.3
"""IoU of masks from which an object is the drawn one."""
MOST = 5
"""Names that are told, of those missed most often."""


@dataclass(slots=True)
class Counts:
    """Objects that were found, of those drawn."""

    right: int = 0
    wrong: int = 0
    missed: Counter[str] = field(default_factory=Counter)
    """By name."""
    overlaps: list[float] = field(default_factory=list)
    """IoU of the masks of those that are right."""

    @property
    def precision(self) -> float:
        """The share of what was found that is right."""
        return self.right / (self.right + self.wrong)

    @property
    def recall(self) -> float:
        """The share of what is drawn that was found."""
        return self.right / (self.right + self.missed.total())

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        return 2 * self.right / (2 * self.right + self.wrong + self.missed.total())


def evaluate_finder(settings: Settings) -> None:
    """Write results/finder.json."""
    rng = random.Random("scenes that no finder was trained on")
    drawings = [draw_scene(scene, rng.randrange(2**31)) for scene in scenes(SCENES, rng)]
    seen = list(objects_in(drawings, object_finder()))
    by_limit = {limit: counted(drawings, seen, limit) for limit in LIMITS}
    result = {
        "scenes": SCENES,
        "objects": sum(len(list(masks(drawing))) for drawing in drawings),
        "by least score": {
            str(limit): {
                "precision": round(counts.precision, 3),
                "recall": round(counts.recall, 3),
                "F1 of names": round(counts.f1, 3),
                "mask IoU": round(float(np.mean(counts.overlaps)), 3),
                "missed most often": dict(counts.missed.most_common(MOST)),
            }
            for limit, counts in by_limit.items()
        },
    }
    RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(f"finder: {result}", flush=True)


def objects_in(drawings: Sequence[Drawing], finder: ObjectFinder) -> Iterator[tuple[FoundObject, ...]]:
    """What the finder sees in each."""
    for start in range(0, len(drawings), BATCH):
        yield from finder.objects([Image.fromarray(drawing.image) for drawing in drawings[start : start + BATCH]])


def counted(drawings: Sequence[Drawing], seen: Sequence[Sequence[FoundObject]], limit: float) -> Counts:
    """Objects found with at least this score; right are those of a drawn name whose mask overlaps the drawn one."""
    counts = Counts()
    for drawing, all_seen in zip(drawings, seen, strict=True):
        left = [each for each in all_seen if each.box.score is None or each.box.score >= limit]
        for name, mask in masks(drawing):
            fits = [(overlap(each.mask.pixels(), mask), each) for each in left if each.name == name and each.mask]
            best, match = max(fits, key=lambda fit: fit[0], default=(0.0, None))
            if match is None or best <= LEAST_OVERLAP:
                counts.missed[name] += 1
                continue
            counts.right += 1
            counts.overlaps.append(best)
            left.remove(match)
        counts.wrong += len(left)
    return counts


def overlap(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> float:
    """Intersection over union of two masks."""
    return float((first & second).sum() / (first | second).sum())
