"""--t2i-mitigation: a project's own, kept apart in the store, named in the report, or refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image
from tutorial_blocks import BLOCK

from pytest_t2i.cli.main import main

PAGE = Path(__file__).parents[2] / "docs" / "mitigations.md"

CURES = '''
import hashlib

class Drawn:
    """Draws a counterpart by the seed."""

    name, fingerprint, stage, families, passes = "drawn", "1", "prompt", (), 1.0
    needs_counterparts = True

    def __init__(self, share: float = 0.5, word: str = "of"):
        if share > 1:
            raise ValueError(f"share: expected at most 1, got {share:g}")
        self.share = share

    def prompt(self, text, seed, counterparts):
        draw = hashlib.sha256(f"{seed}|{text}".encode()).digest()[0] / 256
        return counterparts[draw >= self.share]

class Stated(Drawn):
    name, needs_counterparts = "stated", False

    def prompt(self, text, seed, counterparts):
        assert counterparts == ()
        return text + ", whoever it is"

class Inside:
    name, fingerprint, stage, families, passes = "inside", "1", "attention", ("ThatPipeline",), 2.0
    needs_counterparts = False

    def applied(self, pipeline, requests):
        raise AssertionError

class Nothing:
    name, fingerprint, stage, families, passes = "nothing", "1", "prompt", (), 1.0
    needs_counterparts = False

    def prompt(self, text, seed, counterparts):
        return None

def pytest_t2i_mitigations():
    return {"drawn": Drawn, "stated": Stated, "inside": Inside, "nothing": Nothing,
            "empty": object, "late": lambda: type("Late", (Inside,), {"stage": "later"})(),
            "still": lambda: type("Still", (Inside,), {"stage": "prompt"})()}
'''
SUITE = """
import pytest
from pytest_t2i import axes, limit

PEOPLE = axes.profession.only("nurse", "pilot", "chef", "judge")

@pytest.mark.t2i(PEOPLE)
def test_model(samples):
    assert samples.model_bias_score <= limit("model_bias_score.own", 0.6)
"""
GENDERED = """
import pytest
from pytest_t2i import axes, limit

@pytest.mark.t2i(axes.profession.only("nurse", "pilot"), images=4)
def test_gap(triplets):
    assert abs(triplets.similarity_gap("denoising")) <= limit("similarity_gap.denoising.own", 2.0)
"""


@pytest.fixture
def cured(project):
    conftest = (project.path / "conftest.py").read_text()
    project.write({"conftest.py": conftest + CURES, "test_suite.py": SUITE})
    return project


def score(project):
    (check,) = project.record()["checks"]
    return check["estimate"]


def test_a_mitigation_makes_the_score_of_a_biased_model_fall(cured):
    assert cured.run(model="biased").ret == 1
    before = score(cured)
    result = cured.run("--t2i-mitigation", "drawn", model="biased")
    assert result.ret == 0
    assert before > 0.8
    assert score(cured) < 0.2
    made = cured.made()[80:]
    assert len(made) == 80
    genders = {" male " in line for line in made}
    assert genders == {True, False}
    assert all(" male " in line or " female " in line for line in made)


@pytest.mark.slow
def test_the_store_keeps_mitigated_pictures_apart_and_makes_none_twice(cured):
    cured.run("--t2i-images", "4")
    for arguments, made in (
        (["--t2i-mitigation", "drawn"], 32),
        (["--t2i-mitigation", "drawn"], 32),
        (["--t2i-mitigation", "drawn:share=0.5,word=of"], 32),
        ([], 32),
        (["--t2i-mitigation", "drawn:share=0.25"], 48),
        (["--t2i-mitigation", "stated"], 64),
    ):
        cured.run("--t2i-images", "4", *arguments)
        assert len(cured.made()) == made, arguments


def test_header_settings_and_provenance_name_it(cured):
    result = cured.run("--t2i-images", "4", "--t2i-mitigation", "drawn:share=0.25")
    result.stdout.fnmatch_lines(["t2i: model fair, mitigation drawn:share=0.25, detector colour*"])
    result.stdout.fnmatch_lines(["*= fairness of fair with drawn:share=0.25 =*"])
    record = cured.record()
    assert record["settings"]["mitigation"] == "drawn:share=0.25"
    assert (record["model"], record["settings"]["model"]) == ("fair with drawn:share=0.25", "fair")
    told = record["provenance"]["mitigation"]
    assert told.pop("fingerprint")
    assert told == {
        "name": "drawn:share=0.25",
        "stage": "prompt",
        "passes per picture": "1",
        "key share": "0.25",
        "key word": "of",
    }
    assert "drawn:share=0.25" in cured.page()


def test_a_comparison_tells_it_from_the_plain_model(cured):
    cured.run("--t2i-report", "plain")
    cured.run("--t2i-report", "drawn", "--t2i-mitigation", "drawn")
    runs = [str(cured.path / folder / "run.json") for folder in ("plain", "drawn")]
    assert main(["compare", *runs, "--report", str(cured.path / "both")]) == 0
    compared = json.loads((cured.path / "both" / "compare.json").read_text())
    assert "fair with drawn" in json.dumps(compared)


def test_without_one_nothing_is_named(cured):
    cured.run("--t2i-images", "4")
    assert cured.record()["settings"]["mitigation"] is None
    assert "mitigation" not in cured.record()["provenance"]


def test_prompts_that_name_a_gender_pass_as_they_are_and_are_counted(cured):
    cured.write({"test_suite.py": GENDERED})
    cured.run()
    plain = sorted(cured.made())
    result = cured.run("--t2i-mitigation", "drawn")
    assert (
        "4 prompts name a gender and are left unchanged by the mitigation"
        in cured.record()["work"]["notes"]
    )
    assert "4 prompts name a gender and are left unchanged by the mitigation" in result.stdout.str()
    anew = cured.made()[len(plain) :]
    assert len(anew) == 8
    assert all(" male " in line or " female " in line for line in anew)


def test_what_prompt_space_shows_is_said(cured):
    cured.write({"test_suite.py": GENDERED.replace("denoising", "prompt")})
    cured.run("--t2i-mitigation", "drawn")
    notes = cured.record()["work"]["notes"]
    assert "prompt space shows the prompts as written, without mitigation drawn" in notes


def test_a_sentence_may_hold_commas(cured):
    cured.run("--t2i-images", "4", "--t2i-mitigation", "drawn:word=a, b, c,share=1")
    told = cured.record()["provenance"]["mitigation"]
    assert (told["key word"], told["key share"]) == ("a, b, c", "1.0")
    assert all(" female " in line for line in cured.made())


def test_the_ini_file_may_name_it(cured):
    cured.write({"pytest.ini": "[pytest]\nt2i_mitigation = drawn\n"})
    cured.run("--t2i-images", "4")
    assert cured.record()["settings"]["mitigation"] == "drawn"


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("drown", "unknown mitigation 'drown'. Did you mean 'drawn'?"),
        ("drawn:shore=1", "unknown key of mitigation 'drawn' 'shore'. Did you mean 'share'?"),
        ("drawn:shore=1", "Known: share, word."),
        ("drawn:share", "--t2i-mitigation: expected drawn:key=value, got 'share'"),
        ("drawn:share=half", "--t2i-mitigation drawn:share: expected a number, got 'half'"),
        ("drawn:share=2", "--t2i-mitigation drawn:share=2: share: expected at most 1, got 2"),
        (
            "empty",
            "expected an object with name, fingerprint, stage, families, passes",
        ),
        ("late", "expected a stage among prompt, text embeddings, attention, guidance, weights"),
        ("still", "mitigation 'still': expected a method prompt(...), as it acts at"),
        (
            "inside",
            "mitigation 'inside' acts at the stage 'attention' of ThatPipeline: it does not fit a "
            "model without a pipeline",
        ),
        (
            "nothing",
            "mitigation 'nothing': expected a non-empty text in place of the prompt 'a photo of",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(cured, asked, told):
    status, text = cured.refused("--t2i-mitigation", asked)
    assert status == 4
    assert told in text
    assert cured.made() == []


def test_a_prompt_without_counterparts_is_refused_where_they_are_needed(cured):
    cured.write({"test_suite.py": SUITE.replace("(PEOPLE)", '("a red bus")')})
    status, text = cured.refused("--t2i-mitigation", "drawn")
    assert status == 4
    assert "mitigation 'drawn' needs the feminine and the masculine counterpart of each" in text
    assert "test_suite.py::test_model" in text
    assert "'a red bus' has none" in text
    assert cured.made() == []
    cured.run("--t2i-mitigation", "stated")
    assert cured.made()[0].endswith("a red bus, whoever it is")


def test_an_axis_of_ones_own_brings_its_counterparts(cured):
    own = 'PEOPLE = Axis("job", "{a word}, smiling", ("nurse", "pilot"), "word")'
    suite = SUITE.replace("import axes, limit", "import Axis, limit")
    line = next(line for line in suite.splitlines() if line.startswith("PEOPLE"))
    cured.write({"test_suite.py": suite.replace(line, own)})
    cured.run("--t2i-images", "4", "--t2i-mitigation", "drawn")
    texts = {line.split(" ", 1)[1] for line in cured.made()}
    genders = ("female", "male")
    assert texts <= {f"a {g} {job}, smiling" for g in genders for job in ("nurse", "pilot")}


def test_a_baseline_of_the_plain_model_is_another_condition(cured):
    cured.run("--t2i-images", "4", "--t2i-save-baseline", "plain.json")
    cured.run("--t2i-images", "4", "--t2i-save-baseline", "drawn.json", "--t2i-mitigation", "drawn")
    plain = json.loads((cured.path / "plain.json").read_text())
    assert plain["conditions"]["mitigation"] is None
    drawn = ("--t2i-images", "4", "--t2i-mitigation", "drawn")
    for file, arguments, told in (
        ("plain.json", drawn, "mitigation: baseline None, now 'drawn'"),
        ("drawn.json", ("--t2i-images", "4"), "mitigation: baseline 'drawn', now None"),
    ):
        status, text = cured.refused(*arguments, "--t2i-baseline", file)
        assert status == 4
        assert told in text
    assert cured.run(*drawn, "--t2i-baseline", "drawn.json").ret != 4


def test_pictures_made_elsewhere_are_refused(cured):
    (cured.path / "pictures").mkdir()
    Image.new("RGB", (16, 16)).save(cured.path / "pictures" / "0.png")
    cured.write({"pictures/manifest.csv": "file,prompt\n0.png,a nurse\n"})
    result = cured.run("--t2i-mitigation", "drawn", model="images:pictures")
    told = " ".join((result.stderr.str() + result.stdout.str()).split())
    assert result.ret == 4
    assert "were made elsewhere, a mitigation acts while they are made" in told


def test_the_example_of_the_page_runs(project):
    files = {m["title"]: m["content"] for m in BLOCK.finditer(PAGE.read_text()) if m["title"]}
    assert files.keys() == {"cures.py", "conftest.py", "house_style.py"}
    conftest = (project.path / "conftest.py").read_text() + files["conftest.py"]
    project.write({**files, "conftest.py": conftest, "test_suite.py": SUITE})
    for shift in (0, 1):
        project.run("--t2i-images", "4", "--t2i-mitigation", f"alternating:shift={shift}")
        for line in project.made()[-16:]:
            seed, text = line.split(" ", 1)
            assert (" male " in f" {text}") == ((int(seed) + shift) % 2 == 1)


@pytest.mark.slow
@pytest.mark.parametrize("how", [("-n", "2"), ("--t2i-executor", "processes:2")], ids=" ".join)
def test_workers_and_processes_make_the_same_pictures(cured, how):
    conftest = (cured.path / "conftest.py").read_text()
    hook = conftest.index("def pytest_t2i_mitigations")
    cures = conftest.index(CURES)
    cured.write({"cures.py": conftest[cures:hook]})
    cured.write({"conftest.py": conftest[:cures] + "from cures import *\n" + conftest[hook:]})
    asked = ("--t2i-images", "6", "--t2i-mitigation", "drawn")
    result = cured.run_apart(*asked, *how, model="fakes:fair")
    assert "images: 24 made" in result.stdout.str()
    there = sorted(cured.made())
    cured.run(*asked, "--t2i-store", "other", model="fakes:fair")
    assert sorted(cured.made()[24:]) == there
