"""Everything mistyped ends in one clear message with its remedy, and pytest's usage exit code."""

from __future__ import annotations

import json
import os
import shutil

import pytest

from pytest_t2i.cli.main import main

USAGE = pytest.ExitCode.USAGE_ERROR


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--t2i-model", "sdxxl"), "unknown model 'sdxxl'. Did you mean 'sdxl'?"),
        (
            ("--t2i-model", "./nowhere"),
            "unknown model './nowhere': expected a folder written by save_pretrained",
        ),
        (("--t2i-model", "fakes:absent"), "unknown factory in module 'fakes' 'absent'"),
        (("--t2i-model", "no_such_module:model"), "there is no module 'no_such_module'"),
        (("--t2i-model", "images:nowhere"), "nowhere"),
        (("--t2i-model", "images:empty"), "empty"),
        (("--t2i-model", "images:absent_files"), "absent_files"),
        (("--t2i-model", "images:bad_json"), "manifest.json"),
        (("--t2i-model", "images:bad_csv"), "manifest.csv"),
        (("--t2i-detector", "clipp"), "unknown detector 'clipp'. Did you mean"),
        (("--t2i-images", "0"), "--t2i-images: expected at least 1, got 0"),
        (("--t2i-images", "many"), "--t2i-images: expected a whole number, got 'many'"),
        (("--t2i-seed", "-1"), "--t2i-seed: expected at least 0, got -1"),
        (("--t2i-steps", "0"), "--t2i-steps: expected at least 1"),
        (("--t2i-guidance", "warm"), "--t2i-guidance: expected a number, got 'warm'"),
        (("--t2i-size", "big"), "--t2i-size: expected pixels"),
        (("--t2i-dtype", "float8"), "--t2i-dtype: expected auto or float32"),
        (("--t2i-batch", "0"), "--t2i-batch: expected at least 1"),
        (
            ("--t2i-undetected-alike", "20"),
            "--t2i-undetected-alike: expected a share from 0 to 1, got 20",
        ),
        (
            ("--t2i-undetected-alike", "2"),
            "--t2i-undetected-alike: expected a share from 0 to 1, got 2",
        ),
        (
            ("--t2i-answer-deadline", "0"),
            "--t2i-answer-deadline: expected a number above 0, got '0'",
        ),
        (
            ("--t2i-answer-deadline", "-1"),
            "--t2i-answer-deadline: expected a number above 0, got '-1'",
        ),
        (
            ("--t2i-price", "0.04"),
            "--t2i-price: expected an amount and a currency such as 0.04 USD, got '0.04'",
        ),
        (("--t2i-price", "1e3 USD"), "--t2i-price: expected an amount and a currency"),
        (("--t2i-price", "-1 USD"), "--t2i-price: expected an amount and a currency"),
        (("--t2i-price", "0 USD"), "--t2i-price: expected a price above 0, got '0 USD'"),
        (("--t2i-price", "1 USX"), "--t2i-price: unknown currency 'USX': expected a code such as"),
        (("--t2i-budget", "5"), "--t2i-budget: expected an amount and a currency"),
        (("--t2i-budget", "5 USD"), "--t2i-budget needs the price of an image: --t2i-price"),
        (
            ("--t2i-budget", "5 EUR", "--t2i-price", "0.04 USD"),
            "--t2i-budget: expected an amount in USD, as an image costs 0.04 USD, got 5 EUR",
        ),
        (
            ("--t2i-budget", "5 USD", "--t2i-price", "0.04 USD"),
            "--t2i-budget: expected a model behind HTTP, whose requests are counted",
        ),
        (
            ("--t2i-model", "fair,other", "--t2i-price", "0.04 USD"),
            "--t2i-price and --t2i-budget are of one model",
        ),
        (
            ("--t2i-probe", "sometimes"),
            "--t2i-probe: expected once or again or never, got 'sometimes'",
        ),
        (("--t2i-concurrency", "0"), "--t2i-concurrency: expected at least 1, got 0"),
        (("--t2i-concurrency", "many"), "--t2i-concurrency: expected a whole number, got 'many'"),
        (("--t2i-confidence", "1"), "--t2i-confidence: expected a level above 0.5 and below 1"),
        (
            ("--t2i-inconclusive", "maybe"),
            "--t2i-inconclusive: expected pass or status or fail or estimate, got 'maybe'",
        ),
        (
            ("--t2i-inconclusive", "pass,fail,pass"),
            "expected one word, or two separated by a comma",
        ),
        (("--t2i-limits", "absent.toml"), "absent.toml: no such file"),
        (("--t2i-limits", "broken.toml"), "broken.toml: is not valid TOML"),
        (("--t2i-limits", "unknown.toml"), "unknown limit 'promt_bias_score'. Did you mean"),
        (("--t2i-limits", "beyond.toml"), "prompt_bias_score lies between -1 and 1, got 2"),
        (("--t2i-limits", "words.toml"), "expected a number as limit"),
        (("--t2i-limits", "margin.toml"), "a margin is at least 0, got model_bias_score.margin=-1"),
        (("--t2i-baseline", "absent.json"), "absent.json: no such baseline. Record one:"),
        (("--t2i-baseline", "broken.json"), "broken.json: line 1 column 2: is not valid JSON"),
        (("--t2i-baseline", "other.json"), "expected schema 'pytest-t2i/baseline/1'"),
        (("--t2i-labels", "nowhere"), "folder of labelled images nowhere does not exist"),
        (("--t2i-labels", "empty"), "empty holds no label"),
        (("--t2i-labels", "bad_labels"), "labels.csv: line 2: label must be one of male"),
        (("--t2i-labels", "absent_images"), "labelled images are not in"),
        (("--t2i-labels", "broken.json"), "broken.json: line 1 column 2: is not valid JSON"),
        (("--t2i-reference", "absent.toml"), "absent.toml: no such file"),
        (("--t2i-reference", "sum.toml"), "sum.toml: [nurse]: the shares sum to 0.9, expected 1."),
        (("--t2i-reference", "percent.toml"), "percent.toml: [nurse]: the shares sum to 100:"),
        (("--t2i-reference", "no_source.toml"), 'expected source = "..." with where the shares'),
        (("--t2i-reference", "outside.toml"), "expected a share between 0 and 1, got male=-0.5"),
        (("--t2i-reference", "text.toml"), "expected a share between 0 and 1, got male='half'"),
        (("--t2i-reference", "flat.toml"), "[nurse]: expected a table of label = share, got 0.5"),
        (("--t2i-reference", "empty.toml"), "expected at least one table of shares, found none"),
        (("--t2i-store", "a_file/store"), "the store cannot be opened for writing"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_one_clear_message(project, arguments, expected):
    write_bad_files(project.path)
    code, told = project.refused(*arguments)
    assert code == USAGE, told
    assert expected in told
    assert project.made() == []


@pytest.mark.parametrize(
    ("suite", "expected"),
    [
        (
            "@pytest.mark.t2i(axes.profesion)",
            "unknown axis 'profesion'. Did you mean 'profession'?",
        ),
        ("@pytest.mark.t2i('profesion')", "unknown axis 'profesion'. Did you mean 'profession'?"),
        ("@pytest.mark.t2i(axes.place.only('moon'))", "unknown concept of axis 'place' 'moon'"),
        ("@pytest.mark.t2i(axes.load('absent.toml'))", "absent.toml: no such file"),
        ("@pytest.mark.t2i(*axes.load('words.axes'))", "[hobby]: expected template (text)"),
        ("@pytest.mark.t2i(axes.place, images=0)", "images is a whole number of at least 1"),
        ("@pytest.mark.t2i(axes.place, image=3)", "unknown argument 'image'"),
        ("@pytest.mark.t2i(axes.place, spaces=['pixel'])", "a space is one of"),
        ("@pytest.mark.t2i(axes.place, observe='pixels')", "what to observe is one of features"),
        (
            "@pytest.mark.t2i('a b', attributes=Attribute('hat', 'a', ''), observe='velocity')",
            "attribute 'hat' needs two different descriptions",
        ),
        (
            "@pytest.mark.t2i('a b', attributes=Attribute('hat', 'A  hat', 'a hat'))",
            "attribute 'hat' needs two different descriptions",
        ),
        (
            "@pytest.mark.t2i(read_stereotypes('wordless.toml'))",
            "[[stereotype]] number 1: attribute 'hat' needs two different descriptions",
        ),
        (
            "@pytest.mark.t2i(read_stereotypes('unsaid.toml'))",
            "[[stereotype]] number 1: prompt is a sentence to make images of, got prompt=' '",
        ),
        ("@pytest.mark.t2i(axes.place, attributes=['hat'])", "expected an Attribute, got 'hat'"),
        ("@pytest.mark.t2i(axes.place, attributes='hat')", "expected an Attribute, got 'hat'"),
        ("@pytest.mark.t2i(axes.place, attributes=[3])", "Attribute('hat', \"a photo of a person"),
        ("@pytest.mark.t2i(read_stereotypes('zeta.toml'))", "got margin=-0.1"),
        (
            "@pytest.mark.t2i(read_stereotypes('unfilled.toml'))",
            "1 of 1 stereotypes are not filled in: Indian: hat (expected, source)",
        ),
        ("@pytest.mark.t2i(42)", "marker t2i takes axes, intersections of axes, prompts"),
        ("@pytest.mark.t2i()", "fixture 'sample' has nothing to measure"),
    ],
)
def test_a_mistake_in_a_suite(project, suite, expected):
    (project.path / "words.axes").write_text("[hobby]\nconcepts = ['chess']\n")
    (project.path / "zeta.toml").write_text(
        "[[stereotype]]\nconcept = 'Indian'\nattribute = 'hat'\npositive = 'a'\nnegative = 'b'\n"
        "expected = 0.5\nmargin = -0.1\n"
    )
    (project.path / "unsaid.toml").write_text(
        "[[stereotype]]\nconcept = 'Indian'\nattribute = 'hat'\npositive = 'a'\nnegative = 'b'\n"
        "expected = 0.5\nprompt = ' '\n"
    )
    (project.path / "wordless.toml").write_text(
        "[[stereotype]]\nconcept = 'Indian'\nattribute = 'hat'\npositive = ''\nnegative = ''\n"
        "expected = 0.5\n"
    )
    (project.path / "unfilled.toml").write_text(
        "[[stereotype]]\nconcept = 'Indian'\nattribute = 'hat'\npositive = 'a'\nnegative = 'b'\n"
        "expected = ''\nsource = ''\n"
    )
    (project.path / "test_suite.py").write_text(
        f"import pytest\nfrom pytest_t2i import Attribute, axes, read_stereotypes\n{suite}\n"
        "def test_it(sample): pass\n"
    )
    code, told = project.refused()
    assert code in (USAGE, pytest.ExitCode.INTERRUPTED), told
    assert expected in told
    assert "plugin.py" not in told
    assert project.made() == []


def test_an_unknown_limit_names_the_known_ones(project):
    (project.path / "limits.toml").write_text("model_bias_score = 0.3\n")
    result = project.run("-k", "nurse")
    assert result.ret == USAGE
    told = result.stdout.str() + result.stderr.str()
    assert "unknown limit 'prompt_bias_score'" in told
    assert "Known: model_bias_score" in told
    assert project.made() == []


def test_no_limits_file_is_told_before_anything_is_made(project):
    (project.path / "limits.toml").unlink()
    result = project.run("-k", "nurse")
    assert result.ret == USAGE
    told = result.stdout.str() + result.stderr.str()
    assert "There is no limits.toml beside or above the test" in told
    assert project.made() == []


def test_a_limit_named_at_run_time_is_told_when_it_is_looked_up(project):
    (project.path / "test_suite.py").write_text(
        "import pytest\nfrom pytest_t2i import limit\n"
        "@pytest.mark.t2i('a photo of a person')\n"
        "def test_it(samples):\n    assert samples.model_bias_score <= limit('accu' + 'racy')\n"
    )
    result = project.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*unknown limit 'accuracy'*"])


REGRESSION = """
import pytest
from pytest_t2i import axes

@pytest.mark.t2i(axes.profession.only({concepts}))
def test_model(samples, baseline):
    assert samples.model_bias_score <= baseline("model_bias_score")
"""


@pytest.mark.parametrize(
    ("concepts", "images", "expected"),
    [
        ("'nurse', 'pilot'", "4", "has no result for 1 prompt: profession-pilot"),
        (
            "'nurse'",
            "1",
            "at least 2 images per prompt: profession-nurse has 4 in the baseline, 1 are",
        ),
    ],
)
def test_a_baseline_that_cannot_be_compared_with(project, concepts, images, expected):
    suite = project.path / "test_suite.py"
    suite.write_text(REGRESSION.format(concepts="'nurse'"))
    project.run("--t2i-images", "4", "--t2i-save-baseline", "base.json")
    suite.write_text(REGRESSION.format(concepts=concepts))
    made = len(project.made())
    result = project.run("--t2i-images", images, "--t2i-baseline", "base.json")
    assert result.ret == USAGE
    told = " ".join((result.stdout.str() + result.stderr.str()).split())
    assert expected in told
    assert "Traceback" not in told
    assert len(project.made()) == made, "told before an image is made"


def test_a_limit_given_in_a_test_lies_within_the_metrics_bounds(project):
    (project.path / "test_suite.py").write_text(
        "import pytest\nfrom pytest_t2i import limit\n"
        "@pytest.mark.t2i('a photo of a person')\n"
        "def test_it(samples):\n"
        "    assert samples.model_bias_score <= limit('model_bias_score.own', 1.5)\n"
    )
    code, told = project.refused("--t2i-images", "2")
    assert code == pytest.ExitCode.USAGE_ERROR
    assert "model_bias_score lies between 0 and 1, got 1.5" in told
    assert project.made() == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_store_that_may_not_be_written(project):
    (project.path / "sealed").mkdir(mode=0o555)
    result = project.run("--t2i-store", "sealed/store")
    assert result.ret == USAGE


SOURCE = 'source = "a made-up table"\n'
REFERENCE = """
import pytest
from pytest_t2i import axes

@pytest.mark.t2i(axes.profession.only("nurse", "pilot"))
def test_it(sample, reference):
    assert sample.total_variation_distance(reference) <= 1
"""


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        (
            "[nurs]\nmale = 0.12\nfemale = 0.88\n",
            "unknown concept or prompt id in reference shares.toml: 'nurse'. Did you mean 'nurs'?",
        ),
        ("[nurse]\nman = 0.12\nwoman = 0.88\n", "the detector has no label 'man'"),
    ],
)
def test_a_reference_that_does_not_fit_the_prompts_or_the_labels(project, tables, expected):
    (project.path / "shares.toml").write_text(SOURCE + tables)
    (project.path / "test_suite.py").write_text(REFERENCE)
    code, told = project.refused("--t2i-reference", "shares.toml")
    assert code == USAGE, told
    assert expected in told
    assert "male, female" in told or "Give it a table of shares, or add [default]" in told
    assert project.made() == []


def write_bad_files(folder):
    for name, text in {
        "broken.toml": "prompt_bias_score = ",
        "unknown.toml": "promt_bias_score = 0.5",
        "beyond.toml": "prompt_bias_score = 2",
        "words.toml": "prompt_bias_score = 'low'",
        "margin.toml": "[model_bias_score]\nmargin = -1",
        "sum.toml": f"{SOURCE}[nurse]\nmale = 0.4\nfemale = 0.5\n",
        "percent.toml": f"{SOURCE}[nurse]\nmale = 12\nfemale = 88\n",
        "no_source.toml": "[nurse]\nmale = 0.12\nfemale = 0.88\n",
        "outside.toml": f"{SOURCE}[nurse]\nmale = -0.5\nfemale = 1.5\n",
        "text.toml": f"{SOURCE}[nurse]\nmale = 'half'\nfemale = 0.5\n",
        "flat.toml": f"{SOURCE}nurse = 0.5\n",
        "empty.toml": SOURCE,
        "broken.json": "{",
        "other.json": '{"schema": "another"}',
        "a_file": "",
        "absent_files/manifest.csv": "file,prompt,seed\nabsent.png,a nurse,0\n",
        "bad_json/manifest.json": "[{",
        "bad_labels/labels.csv": "file,label,annotator\na.png,boy,ada\n",
        "absent_images/labels.csv": "file,label,annotator\na.png,male,ada\n",
        "bad_csv/manifest.csv": "picture;text\na.png;b\n",
    }.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    (folder / "empty").mkdir()


def test_a_mistake_in_a_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(("compare", "stereotypes", "absent.json")) == 2
    assert "absent.json: no such run.json" in capsys.readouterr().err


VELOCITY = """
import pytest
from pytest_t2i import Attribute, limit

HAT = Attribute("hat", "with a hat", "without a hat")

@pytest.mark.t2i("a photo of a person", attributes=[HAT], observe="velocity", images=2)
def test_it(sample):
    assert sample.spi(HAT).mean() <= limit("spi", 0.1)
"""


@pytest.mark.slow
def test_velocities_that_cannot_be_had(project):
    import tiny

    shutil.copytree(tiny.written(tiny.write_stable_diffusion), project.path / "model")
    file = project.path / "model/scheduler/scheduler_config.json"
    scheduler = json.loads(file.read_text())
    file.write_text(json.dumps(scheduler | {"prediction_type": "dreams"}))
    (project.path / "test_suite.py").write_text(VELOCITY)
    result = project.run_plainly(
        "--t2i-model", "model", "--t2i-detector", "colour", "--t2i-steps", "2"
    )  # fmt: skip
    told = " ".join((result.stderr.str() + result.stdout.str()).split())
    assert result.ret == USAGE, told
    assert "(prediction_type='dreams') cannot be computed: expected a flow scheduler" in told
    assert "Traceback" not in told
