"""An audit that a project registers itself: fixtures, metric, limit, record, section, terminal."""

from __future__ import annotations

import pytest
from project_files import CONFTEST

OWN = """
from pytest_t2i import statistics
from pytest_t2i.audits.audit import Audit
from pytest_t2i.audits.audit import Fixture
from pytest_t2i.data import MetricInfo, Row
from pytest_t2i.sections import Table
from pytest_t2i.verdicts.measurement import Compared, Measurement

MINE = MetricInfo("mine", 0.0, 1.0, "higher", "nobody's equation", "share of blue")

class Blue:
    def __init__(self, prompt, interval):
        self.id, self.interval = prompt.id, interval

    @property
    def mine(self):
        kept = Compared("blue", Row("mine", self.id, "prompt", self.interval))
        return Measurement(MINE, self.id, self.interval, compared=kept)

def one(context, test, prompt):
    said = [detection.label for detection in context.one_sample(prompt, test).detections]
    return Blue(prompt, statistics.share_interval(said.count("male"), len(said), 0.95))

def several(context, test):
    return [one(context, test, prompt) for prompt in test.selection.prompts]

class BlueAudit(Audit):
    name = "blue"
    metrics = (MINE,)
    fixtures = {
        "blue": Fixture(lambda c, t: several(c, t)[0], "prompts", one_by_one=True, doc="One."),
        "blues": Fixture(several, "prompts", doc="All."),
    }
    title = "Blue pictures"

    def rows(self, context):
        return context.compared("blue")

    def in_words(self, rows):
        return f"blue pictures of {len(rows.rows)} prompts"

    def blocks(self, rows, run):
        cells = tuple((row.subject, row.value) for row in rows)
        return [Table("blue", ("prompt", "share"), cells)]
"""
HOOK = """
import own_audit

def pytest_t2i_audits():
    return {"blue": own_audit.BlueAudit}
"""
SUITE = """
import pytest
from pytest_t2i import axes, limit

PEOPLE = axes.profession.only("nurse", "pilot")
PLACES = axes.place.only("gym")

@pytest.mark.t2i(PEOPLE)
def test_one(blue):
    assert blue.mine <= limit("mine")

@pytest.mark.t2i(PEOPLE, PLACES)
def test_all(blues, samples):
    assert len(blues) == len(samples.members) == 3
    for blue in blues:
        assert blue.mine <= limit("mine.all", 0.99)

@pytest.mark.t2i(PEOPLE, PLACES, images=2)
def test_both(blue, blues):
    assert [each.id for each in blues] == [blue.id]
"""
IDS = ["profession-nurse", "profession-pilot", "place-gym"]


@pytest.fixture
def own(project):
    project.write(
        {
            "conftest.py": CONFTEST + HOOK,
            "own_audit.py": OWN,
            "test_suite.py": SUITE,
            "limits.toml": "mine = 0.95\n",
        }
    )
    return project


@pytest.mark.slow
@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_it_is_measured_judged_recorded_and_shown(own, workers):
    result = own.run_apart("--t2i-images", "24", "-v", *workers)
    result.assert_outcomes(passed=6)
    for name in ("test_one[profession-nurse]", "test_both[place-gym]"):
        assert name in result.stdout.str()
    result.stdout.fnmatch_lines(["blue pictures of 3 prompts"])
    record = own.record()
    kept = record["audits"]["blue"]
    assert [row["subject"] for row in kept["rows"]] == IDS
    assert all(row["value"]["n"] == 24 for row in kept["rows"])
    judged = {(c["test"], c["metric"], c["bound"]) for c in record["checks"]}
    assert ("test_suite.py::test_one[profession-pilot]", "mine", 0.95) in judged
    assert len(own.made()) == 3 * 24
    page = own.page()
    assert '<section id="blue-pictures" class="folds">' in page
    assert "<h2>Blue pictures</h2>" in page
    assert '<th scope="row">place-gym</th>' in page
    summary = (own.path / "reports/t2i/summary.md").read_text()
    assert "blue pictures of 3 prompts." in summary
    assert "| place-gym | 0." in summary


def test_only_the_prompts_of_a_case_are_made(own):
    own.run("--t2i-images", "4", "-k", "test_one and nurse").assert_outcomes(passed=1)
    assert len(own.made()) == 4
    assert all("nurse" in made for made in own.made())


def test_its_limit_is_looked_up_before_anything_is_made(own):
    own.write({"limits.toml": "prompt_bias_score = 0.5\n"})
    code, told = own.refused()
    assert code == 4
    assert "no limit 'mine'" in told or "'mine'" in told
    assert own.made() == []


def test_a_mark_without_prompts_is_told(own):
    own.write({"test_suite.py": "import pytest\n@pytest.mark.t2i\ndef test_it(blue):\n    pass\n"})
    _, told = own.refused()
    assert "test_suite.py::test_it: fixture 'blue' has nothing to measure" in told


def test_its_fixtures_are_listed(own):
    result = own.run_plainly("--fixtures")
    result.stdout.fnmatch_lines(["blue *", "*One.", "blues *", "*All."])


def test_without_a_model_it_is_skipped(own):
    own.run_plainly("test_suite.py").assert_outcomes(skipped=6)


CERTAIN = """
import pytest_t2i as t2i
from pytest_t2i import Audit, MetricInfo

SURE = MetricInfo("certain_share", 0.0, 1.0, "lower", "nobody's equation", "share of sure labels")

def certain(sample):
    sure = [found for found in sample.detections if found.label]
    share = t2i.statistics.share_interval(len(sure), len(sample.detections), 0.95)
    return t2i.Measurement(SURE, sample.prompt.id, share, images=len(sample.detections))

class Certain(Audit):
    name = "certain"
    metrics = (SURE,)
    of_sample = {"certain_share": certain}

class Plain:
    fingerprint = "plain-1"

    def generate(self, requests):
        return [PICTURE for made in fakes.FakeModel(0.5, "plain").generate(requests)]

def pytest_t2i_audits():
    return {"certain": Certain}

def pytest_t2i_models():
    return {"plain": lambda options: Plain()}
"""
PIL = "made.image"
SURE = """
import pytest
from pytest_t2i import axes, limit

@pytest.mark.t2i(axes.place.only("gym", "office"))
def test_certain(sample):
    assert sample.certain_share >= limit("certain_share", 0.2)
"""
TAKES = ("-p", "no:cacheprovider", "--t2i-images", "12")


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["here", "workers"])
def test_an_audit_of_a_conftest_measures_samples(project, options):
    project.write(
        {"conftest.py": CONFTEST + CERTAIN.replace("PICTURE", PIL), "test_suite.py": SURE}
    )
    result = project.run(*TAKES, *options, model="plain")
    result.assert_outcomes(passed=2)
    names = {check["metric"] for check in project.record()["checks"]}
    assert names == {"certain_share"}


OF_SEVERAL = """
from pytest_t2i import Audit

def labelled(samples):
    return sum(sample.certain_images for sample in samples)

class Counting(Audit):
    name = "counting"
    of_sample = {"certain_images": lambda sample: sample.clear}
    of_samples = {"labelled_images": labelled}

def pytest_t2i_audits():
    return {"counting": Counting}
"""
COUNTED = """
import pytest
from pytest_t2i import axes

@pytest.mark.t2i(axes.place.only("gym", "office"))
def test_counted(samples):
    assert samples.labelled_images == samples.clear_images > 0
    assert "labelled_images" in dir(samples)
"""


@pytest.mark.parametrize(
    "options",
    [pytest.param((), id="here"), pytest.param(("-n", "2"), id="workers", marks=pytest.mark.slow)],
)
def test_an_audit_of_a_conftest_measures_several_samples(project, options):
    project.write({"conftest.py": CONFTEST + OF_SEVERAL, "test_suite.py": COUNTED})
    project.run(*TAKES, *options, model="fair").assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("picture", "problem"),
    [
        (PIL, ""),
        (f"t2i.Generated({PIL})", ""),
        (f"{PIL}.convert('RGBA')", ""),
        ("'a.png'", "got 'a.png': return Generated(image)"),
        ("b''", "return Generated(image)"),
        ("None", "got None: return Generated(image)"),
        (f"[{PIL}]", "return Generated(image)"),
    ],
)
def test_a_model_may_return_plain_pictures(project, picture, problem):
    own = CERTAIN.replace("PICTURE", picture)
    project.write({"conftest.py": CONFTEST + own, "test_suite.py": SURE})
    result = project.run(*TAKES, model="plain")
    told = result.stdout.str() + result.stderr.str()
    assert "INTERNALERROR" not in told
    assert "Traceback" not in told
    if problem:
        assert problem in " ".join(told.split())
        assert result.ret != 0
    else:
        result.assert_outcomes(passed=2)
