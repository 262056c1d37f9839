"""Label sets in use: four people label, and a detector is tried when their labels are settled."""

from __future__ import annotations

import pytest
from PIL import Image
from pytest_t2i_labelling.desk import Annotation

from pytest_t2i import labels
from pytest_t2i.cli.main import main

CONFTEST = """
import fakes
from pytest_t2i.data import Detection

class Groups:
    fingerprint = "groups"
    labels = GROUPS
    def detect(self, images):
        return [self.of(image.getpixel((0, 0))[0]) for image in images]
    def of(self, byte):
        # One in four is taken for the group before.
        return Detection(self.labels[max(0, byte * len(self.labels) // 256 - (byte % 4 == 0))])

def pytest_t2i_models():
    return {"fair": fakes.fair}

def pytest_t2i_detectors():
    return {"groups": lambda options: Groups()}

def pytest_t2i_encoders():
    return {"clip": fakes.encoder}
"""
SUITE = """
import pytest
from pytest_t2i import axes, limit

@pytest.mark.t2i(axes.profession.only("nurse", "pilot", "chef", "judge"))
def test_shares(samples):
    assert set(samples.shares) <= set(GROUPS)

@pytest.mark.t2i
def test_accuracy(trial):
    assert all([trial.accuracy(label) >= limit("accuracy", 0.3) for label in trial.labels])
"""
FREE = """
name = "grown"

[[label]]
name = "child"
key = "1"
colour = "#0072b2"
meaning = "looks younger than 13"

[[label]]
name = "adult"

[[label]]
name = "statue"
clear = false
"""
TONES = tuple(f"monk-{k}" for k in range(1, 11))
AGES = ("0-2", "3-9", "10-19", "20-29", "30-39", "40-49", "50-59", "60-69", "70+")
PEOPLE = ("ada", "bo", "cy", "dee")
TIES = 3


def place_of(path, groups):
    return Image.open(path).getpixel((0, 0))[0] * len(groups) // 256


def press_keys(folder, groups, unclear):
    """All four label every picture; dee says a group further, and cy with her of the first three.

    Of the last picture all say that it does not count.
    """
    files = labels.image_files(folder)
    further = {"dee": set(files), "cy": set(files[:TIES])}
    for who in PEOPLE:
        desk = Annotation(folder, who)
        for index, file in enumerate(desk.files):
            place = place_of(folder / file, groups) + (file in further.get(who, ()))
            said = groups[min(len(groups) - 1, place)]
            desk.put(index, unclear if file == files[-1] else said, "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("chosen", "groups", "unclear"),
    [
        ("monk", TONES, "low_quality"),
        ("age", AGES, "low_quality"),
        ("groups.toml", ("child", "adult"), "statue"),
    ],
)
def test_from_four_people_to_a_detector_on_trial(
    project, capsys, monkeypatch, chosen, groups, unclear
):
    stated = f"GROUPS = {groups!r}\n"
    project.write({"conftest.py": stated + CONFTEST, "test_suite.py": stated + SUITE})
    how = ("--t2i-detector", "groups", "--t2i-images", "40")
    assert project.run(*how, "-k", "shares").ret == 0
    folder = project.path / "sampled"
    record = str(project.path / "reports/t2i/run.json")
    assert main(["label", "export", record, str(folder), "--per-prompt", "20"]) == 0
    monkeypatch.chdir(project.path)
    (project.path / "groups.toml").write_text(FREE)
    labels.choose_vocabulary(folder, labels.named(chosen))
    press_keys(folder, groups, unclear)
    capsys.readouterr()
    assert main(["label", "agreement", str(folder)]) == 0
    told = " ".join(capsys.readouterr().out.split())
    last = len(groups) - 1
    tied = sum(place_of(folder / file, groups) < last for file in labels.image_files(folder)[:TIES])
    assert f"{tied} by majority" in told

    result = project.run(*how, "--t2i-labels", "sampled")
    rows = project.rows("detector_validation", "accuracy", "detector")
    accuracy = {row["dims"]["label"]: row["value"] for row in rows if row["dims"]}
    assert set(accuracy) == set(groups)
    by_group = [score["estimate"] for score in accuracy.values() if score]
    assert 0.5 < sum(by_group) / len(by_group) < 1.0
    # While people have not settled a label, nothing is decided, and the pictures are named.
    checks = [c for c in project.record()["checks"] if c["metric"] == "accuracy"]
    told = " ".join(result.stdout.str().split())
    assert (f"{tied} labels are unsettled (" in told) == (tied > 1)
    assert not tied or {check["outcome"] for check in checks} == {"INCONCLUSIVE"}
    assert "F1 1.000" not in result.stdout.str()
    page = project.page()
    assert "labels do not correct these groups" in page
    # A prompt of other groups has no score of men and women, and clear images all the same.
    assert "no gender label" in page
    assert f"Accuracy, {groups[0]}" in page
