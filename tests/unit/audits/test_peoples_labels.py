"""How well a detector is known by people's labels."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from PIL import Image

from pytest_t2i import Detection, Outcome
from pytest_t2i.audits.detector_validation.trials import try_detectors
from pytest_t2i.audits.peoples_labels import accuracy_of, fillings, told_accuracy
from pytest_t2i.data import Limit
from pytest_t2i.labels import UNSETTLED, load_labelled_set
from pytest_t2i.verdicts.limit import verdict_of

NAN = float("nan")


def test_accuracy_is_of_images_that_both_gave_a_group():
    words = [np.array([1, 1, -1, 0, 1.0]), np.array([-1, -1.0])]
    people = [np.array([1, -1, -1, 1, NAN]), np.array([1, NAN])]
    found = accuracy_of(words, people, {"male": 1.0, "female": -1.0, "other": 5.0}, 0.95)
    # Of two men with a word one is right, of two women one; nobody is of the third group.
    assert (found["male"].estimate, found["male"].n) == (0.5, 2)
    assert (found["female"].estimate, found["female"].n) == (0.5, 2)
    assert found["other"] is None
    assert found["male"].low < 0.5 < found["male"].high


@pytest.mark.parametrize(("images", "told"), [(1, "measured on 1 label: "), (9, "9 labels: ")])
def test_it_is_told_in_words(images, told):
    assert told in told_accuracy(images, {"a": None})


def labelled(folder, words):
    """``words``: what ann and bob say of each picture; one word for both where they agree."""
    with (folder / "labels.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["file", "annotator", "label"])
        for place, said in enumerate(words):
            Image.new("RGB", (8, 8), (place, 9, 9)).save(folder / f"{place}.png")
            pair = (said, said) if isinstance(said, str) else said
            rows.writerows([[f"{place}.png", who, w] for who, w in zip("ab", pair, strict=True)])
    return load_labelled_set(folder)


def trial_of(labels, said):
    """A detector that says these words, in the order of the files."""
    by_sum = {labels.checksums[f"{place}.png"]: Detection(word) for place, word in enumerate(said)}
    (trial,) = try_detectors(
        labels, [("mine", "mine-1")], lambda _, sums: [by_sum[one] for one in sums],
        level=0.95, seed=0,
    )  # fmt: skip
    return trial


def judged(measurement, bound):
    return verdict_of(measurement, Limit(measurement.name, bound), 0.95).outcome


BOTH = ("male", "female")


def test_they_are_neither_low_quality_nor_clear(tmp_path):
    labels = labelled(tmp_path, ["male", BOTH, "low_quality"])
    assert [image.label for image in labels] == ["male", UNSETTLED, "low_quality"]
    assert [image.file for image in labels.unsettled] == ["1.png"]
    assert [image.label for image in labels.settled] == ["male", "low_quality"]
    assert labels.said_of(labels.unsettled[0]) == BOTH


def test_fillings_give_every_label_that_somebody_gave(tmp_path):
    labels = labelled(tmp_path, ["male", BOTH, ("female", "low_quality")])
    assert [[i.label for i in one][1:] for one in fillings(labels)] == [
        ["female", "female"], ["male", "low_quality"], ["male", "female"]
    ]  # fmt: skip
    *_, right, wrong = fillings(labels, lambda image: "male")
    assert [image.label for image in right] == ["male", "male", "female"]
    assert [image.label for image in wrong] == ["male", "female", "female"]
    assert [*fillings(labels.settled)] == []


@pytest.mark.parametrize(("unsettled", "outcome"), [(0, Outcome.PASS), (12, Outcome.INCONCLUSIVE)])
def test_an_accuracy_that_hangs_on_them_is_inconclusive(tmp_path, unsettled, outcome):
    words = ["male"] * 30 + ["female"] * 30 + [BOTH] * unsettled
    said = ["male"] * 30 + ["female"] * 30 + ["male", "female"] * (unsettled // 2)
    accuracy = trial_of(labelled(tmp_path, words), said).accuracy()
    assert accuracy.estimate == 1.0
    assert judged(accuracy, 0.9) is outcome
    # All of them wrong: 60 of 72 right; what no label can undo is decided.
    assert judged(accuracy, 0.6) is Outcome.PASS
    told = [remark for remark in accuracy.remarks if "unsettled" in remark]
    assert bool(told) is bool(unsettled)
    if unsettled:
        assert told[0].endswith(f"t2i label page {tmp_path} --review")
        assert accuracy.interval.low < 0.75


def test_settling_them_decides(tmp_path):
    words = ["male"] * 30 + ["female"] * 30 + [BOTH] * 12
    labelled(tmp_path, words)
    with (tmp_path / "labels.csv").open("a") as file:
        file.writelines(f"{place}.png,adjudicated,male\n" for place in range(60, 72))
    said = ["male"] * 30 + ["female"] * 30 + ["male"] * 12
    accuracy = trial_of(load_labelled_set(tmp_path), said).accuracy()
    assert judged(accuracy, 0.9) is Outcome.PASS
    assert accuracy.interval.n == 72


def test_other_figures_cover_them_too(tmp_path):
    words = ["male"] * 10 + ["female"] * 10 + [("male", "low_quality")] * 8 + ["low_quality"] * 4
    trial = trial_of(labelled(tmp_path, words), ["male"] * 10 + ["female"] * 10 + ["male"] * 12)
    bare = trial_of(labelled(tmp_path, words[:20] + words[28:]), ["male"] * 10 + ["female"] * 14)
    for name in ("filter_f1", "filter_recall", "filter_rate"):
        assert getattr(trial, name).interval.low <= getattr(bare, name).interval.low + 1e-9, name
    # Eight more pictures that may be low quality and were kept.
    assert trial.filter_precision.interval.low < 0.6
