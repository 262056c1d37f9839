"""What to do next fits what is lacking: a picture, a label, or images that nobody here can make."""

from __future__ import annotations

import csv
import re

import pytest
from PIL import Image
from writing import UNDECODABLE

from pytest_t2i import labels
from pytest_t2i.files import checksum, stamp
from pytest_t2i.generation.store import Store
from pytest_t2i.generation.store.rows import insert
from pytest_t2i.labels import Label

MODELS = """
import fakes
from PIL import Image
from pytest_t2i import Detection, Generated

class Shy(fakes.FakeModel):
    def generate(self, requests):
        drawn = super().generate(requests)
        return [self.spoilt(d) if r.seed % 2 else d for r, d in zip(requests, drawn)]

class Refusing(Shy):
    def spoilt(self, drawn):
        return Generated(None, refusal="the filter said no")

class Blackening(Shy):
    def spoilt(self, drawn):
        return Generated(Image.new("RGB", (16, 16)))

class Mistaken(fakes.FakeDetector):
    fingerprint = "mistaken"

    def detect(self, images):
        said = super().detect(images)
        return [self.wrong(w) if i.getpixel((0, 0))[0] < 3 else w for i, w in zip(images, said)]

    def wrong(self, word):
        return Detection("male" if word.label == "female" else "female", scores=word.scores)

def mistaken(options):
    return Mistaken()

def pytest_t2i_models():
    return {
        "fair": fakes.fair,
        "refusing": lambda options: Refusing(0.5, "refusing"),
        "black": lambda options: Blackening(0.5, "black"),
    }

def pytest_t2i_detectors():
    return {"colour": fakes.detector, "hazy": fakes.hazy}
"""
SUITE = """
import pytest
from pytest_t2i import axes, limit

WORDS = axes.profession.only("nurse", "pilot", "chef", "judge")

@pytest.mark.t2i(WORDS)
def test_model(samples):
    assert samples.model_bias_score <= limit("model_bias_score", 0.3)

@pytest.mark.t2i(WORDS)
def test_grown(samples, baseline):
    assert samples.model_bias_score <= baseline("model_bias_score")
"""
TRIAL = """
import pytest
from pytest_t2i import limit

@pytest.mark.t2i
def test_accuracy(trial):
    assert trial.accuracy("female") >= limit("accuracy", 0.8)

@pytest.mark.t2i
def test_worse(trial, baseline):
    assert trial.accuracy("female") >= baseline("accuracy")
"""
WORDS = ("nurse", "pilot", "chef", "judge")
BLUE, RED, BLACK = (40, 60, 200), (200, 60, 40), (0, 0, 0)


@pytest.fixture
def suite(project):
    project.write({"conftest.py": MODELS, "test_suite.py": SUITE})
    return project


def steps(project, *arguments, model="fair"):
    """What the run says to do next."""
    project.run(*arguments, model=model)
    return project.record()["next_steps"]


def paint(place, colour, mark):
    """A picture of a colour that differs from all others; no picture where there is no colour."""
    if colour is None:
        place.write_bytes(b"no picture")
        return
    picture = Image.new("RGB", (16, 16), colour)
    if any(colour):
        picture.putpixel((0, 0), (mark, 1, 1))
    picture.save(place)


def folder(project, name, colours):
    """A folder of pictures of every prompt, in these colours in turn."""
    made = project.path / name
    made.mkdir()
    rows = []
    for word in WORDS:
        for k, colour in enumerate(colours):
            paint(made / f"{word}-{k}.png", colour, len(rows))
            text = f"a photo of one real person who is a {word}"
            rows.append((f"{word}-{k}.png", text, len(rows)))
    with (made / "manifest.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("file", "prompt", "seed"), *rows])
    return f"images:{name}"


def test_refused_images_are_told_of_a_run_from_the_store_too(suite):
    first, *rest = steps(suite, "--t2i-images", "10", model="refusing")
    assert re.match(r"the model refused \d\d images: reword", first)
    assert not any("people" in step for step in rest)
    again = steps(suite, "--t2i-images", "10", model="refusing")
    assert suite.record()["work"]["made"] == 0
    assert again[0] == first


def test_black_images_are_for_no_detector_and_nobody_to_label(suite):
    first, *rest = steps(suite, "--t2i-images", "10", model="black")
    assert re.match(r"\d\d images are black", first)
    assert "--t2i-dtype float32" in first
    assert not any("people" in step or "--t2i-detector" in step for step in rest)


def test_images_that_a_detector_is_unsure_of_are_for_another_one_or_for_people(suite):
    how = ("--t2i-images", "10", "--t2i-detector", "hazy")
    told = " ".join(steps(suite, *how))
    assert "take a detector that labels more (--t2i-detector NAME)" in told
    assert "`t2i label page`" in told


def test_spoilt_files_of_a_folder_are_for_whoever_made_them(suite):
    made = folder(suite, "mine", [BLUE, RED, BLACK, None])
    how = ("--t2i-model", made, "--t2i-detector", "colour", "--t2i-images", "4")
    black, unreadable = steps(suite, *how, model=None)[:2]
    assert black == "4 images of the folder are black: have them made again"
    assert re.fullmatch(
        r"4 images cannot be read \(.+\.png \(a text\) and 3 more\): replace the files, or .+",
        unreadable,
    )
    counts = suite.record()["work"]
    assert (counts["refused"], counts["unreadable"]) == (0, 4)


@pytest.mark.parametrize("content", UNDECODABLE.values(), ids=UNDECODABLE)
def test_what_nobody_can_decode_is_named_and_ends_nothing(suite, content):
    """Pictures of a stranger's store whose checksums are right."""
    suite.run("--t2i-images", "2")
    opened = Store(suite.path / ".t2i")
    connection = opened._connection
    rows = [list(row)[:-1] for row in connection.execute("SELECT * FROM images").fetchall()]
    for row in rows:
        file = opened.folder / row[5]
        file.write_bytes(content)
        row[6:8] = checksum(content), stamp(file)
    insert(connection, "images", rows)
    connection.execute("DELETE FROM pixels")
    connection.execute("DELETE FROM detections")
    opened.close()
    first = steps(suite, "--t2i-images", "2")[0]
    assert re.match(r"\d+ images cannot be read \(images/../\w+\.png and \d+ more\): ", first)
    counts = [prompt["counts"]["colour"] for prompt in suite.record()["prompts"]]
    assert {word for each in counts for word in each["undetected"]} == {"unreadable"}


def test_a_folder_is_added_to_and_costs_no_minutes(suite):
    made = folder(suite, "mine", [BLUE, RED, BLUE])
    how = ("--t2i-detector", "colour", "--t2i-images", "3")
    (step,) = steps(suite, "--t2i-model", made, *how, "-k", "test_model", model=None)
    assert step.startswith("judge a folder of ")
    assert "new pictures per prompt" in step
    other = folder(suite, "then", [RED, BLUE, BLUE])
    suite.run("--t2i-model", other, *how, "--t2i-save-baseline", "then.json", model=None)
    compared = ("--t2i-baseline", "then.json", "-k", "test_grown")
    (step,) = steps(suite, "--t2i-model", made, *how, *compared, model=None)
    assert "in the folder of the baseline and in this one" in step
    assert "more images" not in step


@pytest.fixture
def trials(suite):
    """A project whose detector is tried on eight labelled pictures."""
    suite.write({"test_suite.py": TRIAL})
    people = suite.path / "people"
    people.mkdir()
    said = []
    for k in range(8):
        paint(people / f"{k}.png", BLUE if k % 2 else RED, k)
        said.append(Label(f"{k}.png", "male" if k % 2 else "female", "ada"))
    labels.write_labels(people, said)
    return suite


def test_a_run_on_labels_alone_asks_for_labels(trials):
    how = ("--t2i-detector", "colour", "--t2i-labels", "people")
    (step,) = steps(trials, *how, "-k", "test_accuracy", model=None)
    assert step == "1 check needs more labelled images (`t2i label page`)"
    trials.run(*how, "--t2i-save-baseline", "then.json", model=None)
    trials.write({"conftest.py": MODELS.replace("fakes.detector", "mistaken")})
    compared = ("--t2i-baseline", "then.json", "-k", "test_worse")
    told = steps(trials, *how, *compared, model=None)
    assert told == ["1 check needs more labelled images (`t2i label page`)"]
