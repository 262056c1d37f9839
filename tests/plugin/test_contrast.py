"""An audit of one's own on the engine of contrasts: the one file of the tutorial, in whole runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from caveats import facts_of
from distributions import installed, write_metadata
from tutorial_blocks import File, steps

from pytest_t2i import read_run

# Imported within a test it is dropped after it, and a second import quarrels with the first.
pytest.importorskip("pandas")

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorials" / "audit.md"
(OLDER,) = (s.content for s in steps(TUTORIAL) if isinstance(s, File) and s.name == "older.py")
SUITE = """
import pytest
from pytest_t2i import axes, limit

PEOPLE = axes.profession.only("nurse", "pilot", "chef")

@pytest.mark.t2i(PEOPLE)
def test_all(ages):
    assert abs(ages) <= limit("age_gap", 8)

@pytest.mark.t2i(PEOPLE)
def test_each(ages_of_triplet):
    assert abs(ages_of_triplet) <= limit("age_gap.each", 30)
"""
AGES = """
import fakes
from older import OlderAudit
from pytest_t2i import Detection, Undetected

class Ages:
    labels = ("20-29", "40-49", "60-69")

    def __init__(self, women, faceless):
        self.women, self.faceless = women, faceless
        self.fingerprint = f"ages {women} {faceless}"

    def detect(self, images):
        return [self.one(image) for image in images]

    def one(self, image):
        red, _, blue = image.getpixel((8, 8))
        chance = image.getpixel((0, 0))[0]
        if chance % 10 < self.faceless:
            return Detection(None, Undetected.NO_FACE)
        return Detection(self.labels[chance % 2 + (self.women if red > blue else 0)])

def pytest_t2i_audits():
    return {"older": OlderAudit}

def pytest_t2i_models():
    return {"fake": fakes.fair}

def pytest_t2i_detectors():
    return {
        "even": lambda options: Ages(0, 0),
        "older-women": lambda options: Ages(1, 0),
        "blind": lambda options: Ages(0, 6),
    }
"""
FILES = {"conftest.py": AGES, "older.py": OLDER, "test_suite.py": SUITE}


@pytest.fixture
def ages(project):
    project.write(FILES)

    def run(detector):
        return project.run("--t2i-images", "60", "--t2i-detector", detector, model="fake")

    return run


def test_the_file_is_short():
    assert len(OLDER.splitlines()) <= 150


def test_equal_ages_pass_and_are_recorded_and_shown(ages, project):
    ages("even").assert_outcomes(passed=4)
    (row,) = project.rows("older", "age_gap")
    assert (row["counts"]["images"], row["facts"]["detector"]) == (180, "even")
    assert row["value"]["estimate"] == 0.0
    (nurse, *_) = project.rows("older", "age_gap", "triplet")
    assert (nurse["subject"], nurse["counts"]["known_feminine"]) == ("profession-nurse", 60)
    assert nurse["facts"]["mean_feminine"] == nurse["facts"]["mean_masculine"]
    assert "Ages drawn" in project.page()
    summary = (project.path / "reports/t2i/summary.md").read_text()
    assert "ages drawn: feminine minus masculine" in summary


def test_an_installed_one_has_a_table(ages, project, monkeypatch):
    write_metadata(
        project.path, "t2i-older", "1", {"pytest_t2i.audits": {"older": "older:OlderAudit"}}
    )
    project.write({"conftest.py": AGES.replace('{"older": OlderAudit}', "{}")})
    for _ in installed(project.path, monkeypatch):
        ages("even").assert_outcomes(passed=4)
        frame = read_run(project.path / "reports/t2i/run.json").to_frame("older")
    assert {"subject", "mean_feminine", "mean_masculine", "value", "value_low"} <= set(frame)
    assert frame.images.tolist() == [180, 60, 60, 60]


def test_women_who_are_drawn_older_fail(ages, project):
    result = ages("older-women")
    result.assert_outcomes(failed=1, passed=3)
    assert project.rows("older", "age_gap")[0]["value"]["estimate"] == 20.0
    result.stdout.fnmatch_lines(["*ages drawn: feminine minus masculine 20.0*"])


def test_undetected_images_may_show_any_age(ages, project):
    assert ages("blind").parseoutcomes() == {"inconclusive": 4}
    checks = project.record()["checks"]
    assert {check["outcome"] for check in checks} == {"INCONCLUSIVE"}
    assert all(facts_of(check, "undetected")["high"] > 30 for check in checks)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            "return [math.nan if label is None else years(label) for label in labels]",
            "return [0.0]",
            "values() must return one value per image, NaN where it is unknown: expected 60, got 1",
        ),
        (
            "else years(label)",
            "else 10 * years(label)",
            "values() must return a number from 0 to 100 or NaN for each image (bounded mean), got",
        ),
        (
            "unknown=(0.0, 100.0)",
            'estimator="paired shares"',
            "values() must return 0, 1 or NaN for each image (paired shares), got",
        ),
        ('"age_gap", ("fem', '"age_gaps", ("fem', "unknown metric of the audit 'older' 'age_gaps'"),
        (
            "    def values(self, context, prompt, seeds):",
            "    def value(self, context, prompt, seeds):",
            "audit 'older': define values(context, prompt, seeds)",
        ),
    ],
)
def test_a_wrong_specification_is_told(ages, project, before, after, message):
    assert before in OLDER
    project.write({"older.py": OLDER.replace(before, after)})
    result = ages("even")
    assert result.ret != 0
    assert message in result.stdout.str() + result.stderr.str()
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()
