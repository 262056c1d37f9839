"""Face parts: how often a face is found, how long it takes, how far they agree; and on groups.

dlib's CNN takes long on a CPU at FairFace's 800 pixels with one upsampling, by dlib (dlib-cnn) more
than by torch (mmod), so ``--cnn-images`` says how many they look at. ``cnn`` compares the two on
smaller pictures.
"""

from __future__ import annotations

import argparse
import itertools
import time

from PIL import Image
from shared_data import data, heading, table

from pytest_t2i.adapters.detectors.clip_enhance import ClipEnhance
from pytest_t2i.adapters.finders import yolo
from pytest_t2i.adapters.registry import Registry
from pytest_t2i.data import Undetected
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.protocols import LoadOptions

CNN = ("dlib-cnn", "mmod")
WEIGHTS = "yolov8n_int8.tflite"
RULE = ClipEnhance(None, None, None)
REASONS = (None, Undetected.MULTIPLE_PEOPLE, Undetected.NO_PERSON)


def parts():
    """Every face part that is installed, by name."""
    registry, made = Registry("face"), {}
    for name in registry.names():
        source = str(data("weights", "yunet_n_640_640.onnx")) if name == "yunet" else ""
        try:
            made[name] = registry.get(name)(LoadOptions(source=source, device="cpu"))
        except ConfigurationError as error:
            print(f"left out: {error}")
    return made


def pictures(folder, count):
    """The first pictures of a folder."""
    files = sorted(data(folder).glob("*.jpg"))[:count]
    return [Image.open(file).convert("RGB") for file in files]


def overlap(a, b):
    """Intersection over union of two boxes."""
    width = min(a.right, b.right) - max(a.left, b.left)
    height = min(a.bottom, b.bottom) - max(a.top, b.top)
    shared = max(0.0, width) * max(0.0, height)
    return shared / (a.area + b.area - shared)


def same(a, b):
    """Both find no face, or the same largest one."""
    if not a or not b:
        return not a and not b
    return overlap(a[0], b[0]) >= 0.4


def look(finders, folder, count, few):
    """Found rate and seconds, then agreement, on one folder."""
    result, rows = {}, []
    for name, finder in finders.items():
        images = pictures(folder, few if name in CNN else count)
        started = time.perf_counter()
        result[name] = finder.faces(images)
        seconds = (time.perf_counter() - started) / max(1, len(images))
        entry = sum(len(boxes) >= 1 for boxes in result[name]) / max(1, len(images))
        several = sum(len(boxes) > 1 for boxes in result[name]) / max(1, len(images))
        rows.append((name, len(images), entry, several, seconds))
    print(f"### {folder}\n")
    print(table(("part", "pictures", "face found", "several", "seconds per picture"), rows))
    agreeing = [
        (f"{a} and {b}", min(len(result[a]), len(result[b])), agreement(result[a], result[b]))
        for a, b in itertools.combinations(finders, 2)
    ]
    print(table(("parts", "pictures", "same largest face, or none"), agreeing))


def agreement(a, b):
    """Share of pictures on which two parts agree."""
    pairs = list(zip(a, b, strict=False))
    return sum(same(x, y) for x, y in pairs) / max(1, len(pairs))


def portraits(people):
    """Single portraits that count as several people, by the overlap that boxes may have."""
    images, rows = pictures("portraits", None), []
    for overlap in (people.OVERLAP, 0.7):
        finder = people.YoloPersons(str(data("weights", WEIGHTS)), overlap=overlap)
        reasons = [RULE.reason(boxes, 0) for boxes in finder.persons(images)]
        rows.append((f"{overlap:g}", len(images), *(reasons.count(entry) for entry in REASONS)))
    print("### portraits by YOLO\n")
    print(table(("overlap", "pictures", "one person", "several", "no person"), rows))


def groups(people):
    """What YOLO and the 50 % rule of clip-enhance say of a few group photos."""
    finder, rows = people.YoloPersons(str(data("weights", WEIGHTS))), []
    for file in sorted(data("groups").glob("*.jpg")):
        boxes = finder.persons([Image.open(file)])[0]
        second = boxes[1].area / boxes[0].area if len(boxes) > 1 else 0.0
        rows.append((file.name, len(boxes), second, RULE.reason(boxes, 0) or "one person"))
    print("### groups\n")
    print(table(("picture", "people", "second beside first", "verdict"), rows))


def cnn(count):
    """dlib's CNN by dlib and by torch, on pictures of 300 pixels without upsampling."""
    from pytest_t2i.adapters.finders.dlib_cnn import DlibCnnFaces
    from pytest_t2i.adapters.finders.face_finder import CnnSettings
    from pytest_t2i.adapters.finders.mmod import MmodFaces
    from pytest_t2i.adapters.finders.packaged import packaged

    images = [*pictures("faces", count), *pictures("people", count), *pictures("portraits", count)]
    result, rows = {}, []
    for name, kind in zip(CNN, (DlibCnnFaces, MmodFaces), strict=True):
        started = time.process_time()
        result[name] = kind(packaged(), CnnSettings(longest=300, upsampling=0)).faces(images)
        rows.append((name, len(images), (time.process_time() - started) / len(images)))
    print("### the CNN by dlib and by torch\n")
    print(table(("part", "pictures", "processor seconds per picture"), rows))
    pairs = list(zip(*result.values(), strict=True))
    alike = [
        ("a face or none", sum(bool(a) == bool(b) for a, b in pairs)),
        ("the number of faces", sum(len(a) == len(b) for a, b in pairs)),
        ("the largest face", sum(same(a, b) for a, b in pairs)),
    ]
    print(table(("both see", "pictures", "share"), [(n, k, k / len(pairs)) for n, k in alike]))


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=500)
    parser.add_argument("--cnn-images", type=int, default=3)
    parser.add_argument("--cnn-pairs", type=int, default=40)
    chosen = parser.parse_args()
    finders = parts()
    print(heading("dlib-bin", "facenet-pytorch", "opencv-python", "ultralytics"))
    for folder in ("faces", "portraits"):
        look(finders, folder, chosen.images, chosen.cnn_images)
    portraits(yolo)
    groups(yolo)
    cnn(chosen.cnn_pairs)


if __name__ == "__main__":
    main()
