"""How well a detector is known by people's labels."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from PIL import Image

from pytest_t2i import Detection, Outcome
from pytest_t2i.audits.detector_validation.trials import try_detectors
from pytest_t2i.audits.engine.peoples_labels import accuracy_of
from pytest_t2i.data import Limit
from pytest_t2i.labels import UNSETTLED, load_labelled_set
from pytest_t2i.sections.words import told_accuracy
from pytest_t2i.verdicts.judge_measurement import verdict_of

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


METRICS = ("accuracy", "filter_f1", "filter_recall", "percent_deviation", "undetected_gap")


def test_while_a_label_is_unsettled_no_detector_has_a_verdict_and_the_picture_is_named(tmp_path):
    words = ["male"] * 30 + ["female"] * 30 + [BOTH]
    trial = trial_of(labelled(tmp_path, words), ["male"] * 30 + ["female"] * 31)
    for name in METRICS:
        measurement = trial.accuracy() if name == "accuracy" else getattr(trial, name)
        assert judged(measurement, 0.5) is Outcome.INCONCLUSIVE, name
        assert measurement.remarks[0] == (
            "1 label is unsettled (60.png): no verdict on a detector, until t2i label page "
            f"{tmp_path} --review"
        )
    assert trial.accuracy().estimate == 1.0
    assert trial.accuracy().change(None, None, 0.95).absent == trial.unsettled
    bare = trial_of(labelled(tmp_path, words[:60]), ["male"] * 30 + ["female"] * 30)
    assert judged(bare.accuracy(), 0.9) is Outcome.PASS
    assert "unsettled" not in str(bare.accuracy().remarks)


def test_settling_them_decides(tmp_path):
    words = ["male"] * 30 + ["female"] * 30 + [BOTH] * 12
    labelled(tmp_path, words)
    with (tmp_path / "labels.csv").open("a") as file:
        file.writelines(f"{place}.png,adjudicated,male\n" for place in range(60, 72))
    said = ["male"] * 30 + ["female"] * 30 + ["male"] * 12
    accuracy = trial_of(load_labelled_set(tmp_path), said).accuracy()
    assert judged(accuracy, 0.9) is Outcome.PASS
    assert accuracy.interval.n == 72
