"""No person, one or several: YOLOv8 against the boxes that people drew.

"One" is one box, or a second largest of at most half the area of the largest (Lyu section 5.1), on
both sides; a human box around a crowd is several people. Says how thresholds matter, too.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter

from PIL import Image
from shared_data import data, heading, table

from pytest_t2i.adapters.detectors.clip_enhance import ClipEnhance
from pytest_t2i.adapters.finders.locating import largest_first
from pytest_t2i.adapters.finders.yolo import CONFIDENCE, OVERLAP, YoloPersons
from pytest_t2i.data import Box, Undetected

KINDS = ("none", "one", "several")
REASONS = {Undetected.NO_PERSON: "none", Undetected.MULTIPLE_PEOPLE: "several", None: "one"}
LOWEST = 0.1


def kind(boxes):
    """none, one or several by the rule of clip-enhance."""
    rule = ClipEnhance(None, None, None)
    return REASONS[rule.reason(largest_first(boxes), 0)]


def drawn(entry):
    """What people drew."""
    people = [item for item in entry["objects"] if item["label"] == "person"]
    if any(item["crowd"] for item in people):
        return "several"
    return kind([Box(*item["box"]) for item in people])


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", default=str(data("weights", "yolov8n_int8.tflite")))
    parser.add_argument("--overlaps", type=float, nargs="*", default=[OVERLAP, 0.7])
    chosen = parser.parse_args()
    entries = json.loads(data("people", "labels.json").read_text(encoding="utf-8"))
    images = [Image.open(data("people", item["file"])).convert("RGB") for item in entries]
    truth = [drawn(entry) for entry in entries]
    rows = []
    for overlap in dict.fromkeys([OVERLAP, *chosen.overlaps]):
        # Suppression goes from the surest box down: a later cut equals a higher threshold.
        result = YoloPersons(chosen.weights, confidence=LOWEST, overlap=overlap).persons(images)
        for confidence in (CONFIDENCE, 0.35, 0.45, 0.55):
            said = [kind([b for b in boxes if b.score >= confidence]) for boxes in result]
            agree = sum(a == b for a, b in zip(said, truth, strict=True))
            rows.append((f"{confidence:g}", overlap, agree, len(truth), agree / len(truth)))
            if (confidence, overlap) == (CONFIDENCE, OVERLAP):
                counts = Counter(zip(truth, said, strict=True))
    print(heading("ultralytics", "ai-edge-litert"))
    lines = [(item, *(counts[item, other] for other in KINDS)) for item in KINDS]
    print(table(("people drew", *(f"YOLO: {item}" for item in KINDS)), lines))
    print(table(("confidence", "overlap", "agree", "pictures", "agreement"), rows))


if __name__ == "__main__":
    main()
