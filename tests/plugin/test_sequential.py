"""--t2i-sequential: images in rounds, and no more of them for a test that is decided."""

from __future__ import annotations

import pytest
from caveats import remarks_of

SEQUENTIAL = ("--t2i-sequential", "--t2i-images", "20")
SUITE = """
import pytest
from pytest_t2i import axes, limit, Stereotype
from pytest_t2i.data import Attribute, Prompt

PROMPTS = axes.profession.prompts()[:16]
MEN = Attribute("man", "a photo of a man", "a photo of a woman")
CHEF = Stereotype(Prompt("a chef at work", "profession", "chef at work"), MEN, 0.3, "test")

@pytest.mark.t2i(PROMPTS)
def test_prompt(sample):
    assert abs(sample.prompt_bias_score) <= limit("prompt_bias_score.own", 0.2)

@pytest.mark.t2i(CHEF)
def test_stereotype(stereotype):
    assert stereotype.stereotype_score <= limit("stereotype_score", 0.2)
"""
ASKED = 16 * 20 + 20


PLAIN = {"test_suite.py": SUITE}


@pytest.fixture
def plain(project):
    """A project whose every test says plainly what it compares."""
    project.write(PLAIN)
    return project


@pytest.fixture
def stopped(finished):
    """Such a project, in which a biased model was stopped early."""
    return finished("stopped", *SEQUENTIAL, files=PLAIN, model="biased")


def verdicts(folder):
    """What every check came to, by test and subject."""
    return {
        (c["test"], c["subject"]): (c["outcome"], c["low"], c["high"], c["n"])
        for c in folder.record()["checks"]
    }


def test_a_biased_model_stops_early_and_fails(stopped):
    assert stopped.result.parseoutcomes()["failed"] >= 3
    record, made = stopped.record(), stopped.made()
    assert len(made) == len(set(made)) == record["work"]["planned"] < 0.8 * ASKED
    assert record["work"]["most"] == ASKED
    stopped.result.stdout.fnmatch_lines(
        [
            "*round 1, 17 tests open: * images more*",
            f"*early stopping: {len(made)} of {ASKED} images were enough*",
        ]
    )
    assert "Early stopping" in stopped.page()
    methods = {check["metric"]: check["method"] for check in record["checks"]}
    assert methods["prompt_bias_score"] == "exact after stopping"
    assert methods["stereotype_score"] == "exact after stopping"
    assert not any("early stopping" in note for note in record["work"]["notes"])


def test_a_second_run_makes_nothing_and_says_the_same(project, stopped):
    project.take(stopped)
    result = project.run(*SEQUENTIAL, model="biased")
    assert project.made() == stopped.made()
    assert verdicts(project) == verdicts(stopped)
    result.stdout.fnmatch_lines([f"images: 0 made, {len(stopped.made())} from the store*"])


@pytest.mark.slow
def test_workers_say_what_one_process_says(plain, stopped):
    plain.run_apart(*SEQUENTIAL, "-n", "2", model="biased")
    shared, alone = plain.record(), stopped.record()
    assert sorted(plain.made()) == sorted(stopped.made())
    assert verdicts(plain) == verdicts(stopped)
    for key in ("planned", "most", "notes"):
        assert shared["work"][key] == alone["work"][key]
    assert shared["audits"] == alone["audits"]
    assert list(map(no_files, shared["prompts"])) == list(map(no_files, alone["prompts"]))


def no_files(part):
    """A part of the record without the paths of its images."""
    images = [{**image, "file": ""} for image in part.get("images", ())]
    return {**part, "images": images}


@pytest.mark.slow
def test_a_fair_model_passes_and_never_asks_for_more(plain):
    result = plain.run(*SEQUENTIAL)
    assert "failed" not in result.parseoutcomes()
    assert len(plain.made()) <= ASKED
    assert all(len(prompt["images"]) <= 20 for prompt in plain.record()["prompts"])


@pytest.mark.slow
def test_what_cannot_be_foreseen_has_all_its_images_at_once(project):
    result = project.run(*SEQUENTIAL, "-k", "gap or nurse")
    # The suite's gaps: 4 neutral prompts and 8 variants with 4 images; nurse up to 20.
    assert len(project.made()) <= 12 * 4 + 16
    result.stdout.fnmatch_lines(["*early stopping saves no images of test_gap: *"])
    plain_number = "def test_prompt(sample):\n    assert abs(sample.prompt_bias_score) <= 0.9\n"
    (project.path / "test_suite.py").write_text(
        "import pytest\nfrom pytest_t2i import axes\n"
        f"@pytest.mark.t2i(axes.profession.only('pilot'))\n{plain_number}"
    )
    project.run(*SEQUENTIAL, model="biased")
    check = project.record()["prompts"][0]
    assert len(check["images"]) == 20
    assert check["prompt_bias_score"]["method"] == "clopper-pearson"


@pytest.mark.slow
def test_without_the_switch_nothing_changes(plain):
    result = plain.run("--t2i-images", "20", model="biased")
    assert len(plain.made()) == ASKED
    assert plain.record()["work"]["most"] == 0
    assert "early stopping" not in result.stdout.str()
    methods = {check["metric"]: check["method"] for check in plain.record()["checks"]}
    assert methods == {
        "prompt_bias_score": "clopper-pearson",
        "stereotype_score": "clopper-pearson",
    }


def test_a_baseline_needs_all_images(project):
    code, told = project.refused("--t2i-sequential", "--t2i-save-baseline", "base.json")
    assert code == pytest.ExitCode.USAGE_ERROR
    assert "a baseline holds all images of every prompt" in told


def test_the_ini_key(plain):
    (plain.path / "pytest.ini").write_text("[pytest]\nt2i_sequential = true\n")
    plain.run("-k", "test_stereotype", model="biased")
    assert plain.record()["work"]["most"] == 20


MANY = """
import pytest
from pytest_t2i import axes, limit

@pytest.mark.t2i(axes.profession)
def test_prompt(sample):
    assert abs(sample.prompt_bias_score) <= limit("prompt_bias_score.own", 0.5)
"""


@pytest.fixture
def many(project):
    """A project with forty prompts, each of which stops by itself."""
    project.write({"test_suite.py": MANY})
    return project


def test_another_number_of_images_is_refused_and_a_fresh_seed_named(many):
    nurse = ("--t2i-sequential", "-k", "nurse")
    many.run(*nurse, "--t2i-images", "20", model="biased")
    before = verdicts(many)
    code, told = many.refused(*nurse, "--t2i-images", "60", model="biased")
    assert code == pytest.ExitCode.USAGE_ERROR
    assert "1 test was judged before with 20 images per prompt of the same seed" in told
    assert "Give --t2i-images 20 for the same verdicts, or new images by --t2i-seed 1" in told
    many.run(*nurse, "--t2i-images", "20", model="biased")
    assert verdicts(many) == before
    many.run(*nurse, "--t2i-images", "60", "--t2i-seed", "1", model="biased")
    assert {check["method"] for check in many.record()["checks"]} == {"exact after stopping"}
    assert [look["images"] for look in many.record()["looked_at_before"]] == [20]


def test_images_that_a_fixed_number_was_judged_with_are_refused(many):
    many.run("--t2i-images", "20", "-k", "nurse", model="biased")
    again = ("--t2i-sequential", "--t2i-images", "60", "-k", "nurse")
    code, told = many.refused(*again, model="biased")
    assert code == pytest.ExitCode.USAGE_ERROR
    assert "no new evidence. Take new images by a fresh seed: --t2i-seed 1" in told
    many.run(*again, "--t2i-seed", "1", model="biased")
    (check,) = many.record()["checks"]
    assert "judged before: 1 run, with 20 images" in " ".join(remarks_of(check))


MODEL = (
    MANY
    + """
@pytest.mark.t2i(axes.profession)
def test_model(samples):
    assert samples.model_bias_score <= limit("model_bias_score")
"""
)


def test_a_model_takes_all_its_images_and_the_run_says_so(project):
    project.write({"test_suite.py": MODEL})
    result = project.run("--t2i-sequential", "--t2i-images", "20", model="biased")
    record = project.record()
    assert record["work"]["planned"] == record["work"]["most"] == len(project.made())
    result.stdout.fnmatch_lines(["*early stopping: all * images were needed*"])
    assert any("saves no images of test_model: " in note for note in record["work"]["notes"])
    model = next(check for check in record["checks"] if check["metric"] == "model_bias_score")
    assert (model["method"], model["level"]) == ("bounding functions", 0.9)
