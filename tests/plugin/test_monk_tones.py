"""The ten Monk tones in use: four people label, a detector is tried, shares are corrected."""

from __future__ import annotations

import pytest
from PIL import Image

from pytest_t2i import labels
from pytest_t2i.cli.main import main
from pytest_t2i.labels.app.desk import Annotation

CONFTEST = """
import fakes
from pytest_t2i.data import Detection

class Tones:
    fingerprint = "tones"
    labels = tuple(f"monk-{k}" for k in range(1, 11))
    def detect(self, images):
        return [self.of(image.getpixel((0, 0))[0]) for image in images]
    def of(self, byte):
        # One in four is taken for a tone lighter.
        return Detection(f"monk-{max(1, 1 + byte * 10 // 256 - (byte % 4 == 0))}")

def pytest_t2i_models():
    return {"fair": fakes.fair}

def pytest_t2i_detectors():
    return {"tones": lambda options: Tones()}

def pytest_t2i_encoders():
    return {"clip": fakes.encoder}
"""
SUITE = """
import pytest
from pytest_t2i import axes, limit

@pytest.mark.t2i(axes.profession.only("nurse", "pilot", "chef", "judge"))
def test_shares(samples):
    assert set(samples.shares) <= {f"monk-{k}" for k in range(1, 11)}

@pytest.mark.t2i
def test_accuracy(trial):
    assert all([trial.accuracy(label) >= limit("accuracy", 0.3) for label in trial.labels])
"""
PEOPLE = ("ada", "bo", "cy", "dee")
TIES = 3


def tone_of(path):
    return 1 + Image.open(path).getpixel((0, 0))[0] * 10 // 256


def press_keys(folder):
    """All four label every picture; dee says a tone darker, and cy with her of the first three."""
    darker = {"dee": set(labels.image_files(folder)), "cy": set(labels.image_files(folder)[:TIES])}
    for who in PEOPLE:
        desk = Annotation(folder, who)
        for index, file in enumerate(desk.files):
            tone = tone_of(folder / file)
            desk.put(index, f"monk-{min(10, tone + (file in darker.get(who, ())))}", "")


@pytest.mark.slow
def test_from_four_people_to_a_corrected_share(project, capsys):
    project.write({"conftest.py": CONFTEST, "test_suite.py": SUITE})
    how = ("--t2i-detector", "tones", "--t2i-images", "40")
    assert project.run(*how, "-k", "shares").ret == 0
    folder = project.path / "sampled"
    record = str(project.path / "reports/t2i/run.json")
    assert main(["sample", record, str(folder), "--per-prompt", "20"]) == 0
    labels.choose_vocabulary(folder, labels.named("monk"))
    press_keys(folder)
    capsys.readouterr()
    assert main(["agreement", str(folder)]) == 0
    told = " ".join(capsys.readouterr().out.split())
    tied = sum(tone_of(folder / file) < 10 for file in labels.image_files(folder)[:TIES])
    assert f"{tied} by majority" in told

    result = project.run(*how, "--t2i-labels", "sampled")
    (trial,) = project.record()["trials"]
    assert len(trial["accuracy_by_label"]) == 10
    by_tone = [score["estimate"] for score in trial["accuracy_by_label"].values() if score]
    assert 0.5 < sum(by_tone) / len(by_tone) < 1.0
    correction = project.record()["group_correction"]
    assert correction["labels"] == 80
    assert "F1 1.000" not in result.stdout.str()
    assert "Groups corrected by people" in project.page()
    # A prompt of ten tones has no score of men and women, and clear images all the same.
    assert "no gender label" in project.page()
    assert "Accuracy, monk-1" in project.page()
