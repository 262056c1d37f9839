"""Every option, on the command line and as an ini key, does what it says."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from PIL import Image

from pytest_t2i.option_names import OPTIONS
from pytest_t2i.plugin import options
from pytest_t2i.plugin.exit_status import INCONCLUSIVE_STATUS

NURSE = ("-k", "test_prompt and nurse", "--t2i-images", "3")


def test_every_option_is_an_ini_key(pytester):
    config = pytester.parseconfig()
    assert {option.ini: config.getini(option.ini) for option in OPTIONS} == {
        option.ini: None for option in OPTIONS
    }


@pytest.mark.parametrize(
    ("arguments", "recorded"),
    [
        (("--t2i-steps", "7"), {"steps": 7}),
        (("--t2i-guidance", "2.5"), {"guidance": 2.5}),
        (("--t2i-size", "64"), {"width": 64, "height": 64}),
        (("--t2i-size", "66x64"), {"width": 66, "height": 64}),
    ],
)
def test_generation_settings(project, arguments, recorded):
    project.run(*NURSE, *arguments)
    generation = project.record()["provenance"]["generation"]
    assert {key: generation[key] for key in recorded} == recorded


MINE = """
import fakes
def make(options):
    model = fakes.fair(options)
    model.provenance = {"extra": repr(options.extra.get("call"))}
    return model
"""
GIVEN = {"quality": "high", "layers": 3, "style": {"strength": 0.5}, "raw": True, "note": "a, b=c"}
FILES = {
    "pytest.ini": "[pytest]\nt2i_model_option =\n  quality=high\n  layers=3\n"
    "  style.strength=0.5\n  raw=true\n  note=a, b=c\n",
    "pytest.toml": "[pytest]\nt2i_model_option = ['quality=high', 'layers=3', "
    "'style.strength=0.5', 'raw=true', 'note=a, b=c']\n",
}


@pytest.mark.parametrize("way", ["options", *FILES])
def test_further_arguments_of_the_model(project, way):
    (project.path / "mine.py").write_text(MINE)
    given = ("quality=high", "layers=3", "style.strength=0.5", "raw=true", "note=a, b=c")
    words = [word for pair in given for word in ("--t2i-model-option", pair)]
    if way != "options":
        (project.path / way).write_text(FILES[way])
        words = []
    project.run(*NURSE, "--t2i-model", "mine:make", "--t2i-detector", "colour", *words)
    record = project.record()
    assert record["settings"]["model_option"] == GIVEN
    assert record["provenance"]["model"]["extra"] == repr(GIVEN)


def test_a_lora_of_a_file_lies_beside_the_file(pytester, monkeypatch):
    pytester.makeini("[pytest]\nt2i_model = a/b\nt2i_model_option = lora=weights/mine:0.5\n")
    (pytester.path / "weights" / "mine").mkdir(parents=True)
    (pytester.path / "suites").mkdir()
    monkeypatch.chdir(pytester.path / "suites")
    option = options.resolve(pytester.parseconfig()).model_option
    assert option == {"lora": "../weights/mine:0.5"}


@pytest.mark.parametrize(
    ("pair", "told"),
    [
        ("quality", "--t2i-model-option: expected KEY=VALUE such as quality=high, got 'quality'"),
        ("=3", "--t2i-model-option: expected KEY=VALUE"),
        ("a..b=3", "--t2i-model-option: expected KEY=VALUE"),
        ("quality=high", "ERROR: fair: takes no further arguments, got quality"),
    ],
)
def test_a_model_option_that_cannot_be_used_is_told(project, pair, told):
    assert told in project.refused("--t2i-model-option", pair)[1]


@pytest.mark.parametrize("option", ["--t2i-baseline", "--t2i-save-baseline"])
def test_a_gate_without_a_model_is_refused(project, option):
    result = project.run(option, "base.json", model=None)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert f"{option}: expected a model or labelled images beside it" in result.stderr.str()


def test_another_seed_makes_other_images(project):
    project.run(*NURSE)
    project.run(*NURSE, "--t2i-seed", "1")
    assert len(set(project.made())) == 6


def test_batch_store_and_report(project):
    (project.path / "conftest.py").write_text(
        (project.path / "conftest.py").read_text()
        + "\nimport fakes\n"
        + "make = fakes.FakeModel.generate\n"
        + "def generate(self, requests):\n"
        + "    print('BATCH', len(requests))\n"
        + "    return make(self, requests)\n"
        + "fakes.FakeModel.generate = generate\n"
    )
    result = project.run(
        *NURSE, "--t2i-batch", "2", "--t2i-store", "kept", "--t2i-report", "told", "-s"
    )
    result.stdout.fnmatch_lines(["BATCH 2", "BATCH 1"])
    assert (project.path / "kept" / "index.sqlite").is_file()
    for name in ("run.json", "index.html", "summary.md"):
        assert (project.path / "told" / name).stat().st_size > 100


def test_device_and_dtype_reach_the_model(project):
    (project.path / "mine.py").write_text(
        "import fakes\n"
        "def make(options):\n"
        "    model = fakes.fair(options)\n"
        "    model.provenance = {'device': options.device, 'dtype': options.dtype}\n"
        "    return model\n"
    )
    arguments = ("--t2i-model", "mine:make", "--t2i-device", "cpu", "--t2i-dtype", "bfloat16")
    project.run(*NURSE, *arguments)
    model = project.record()["provenance"]["model"]
    assert (model["device"], model["dtype"]) == ("cpu", "bfloat16")


def test_ini_keys_hold_and_the_command_line_wins(project):
    (project.path / "pytest.ini").write_text(
        "[pytest]\nt2i_model = fair\nt2i_detector = colour\nt2i_images = 4\nt2i_store = kept\n"
    )
    project.run("-k", "nurse", model=None)
    assert len(project.made()) == 4
    assert (project.path / "kept").is_dir()
    project.run("-k", "nurse", "--t2i-images", "6", model=None)
    assert len(project.made()) == 6


def test_a_bad_ini_key_is_told_by_its_name(project):
    (project.path / "pytest.ini").write_text("[pytest]\nt2i_images = none\n")
    code, told = project.refused()
    assert code == pytest.ExitCode.USAGE_ERROR
    assert "t2i_images: expected a whole number, got 'none'" in told


NATIVE = """
[tool.pytest]
t2i_model = "fair"
t2i_detector = ["colour", "second"]
t2i_images = 4
t2i_confidence = 0.9
t2i_trust_remote_code = true
t2i_sequential = false
"""


@pytest.mark.parametrize("file", ["pyproject.toml", "pytest.toml", ".pytest.toml", "ini_options"])
def test_settings_with_types_hold(project, file):
    table = NATIVE
    if file == "ini_options":
        file, table = "pyproject.toml", table.replace("tool.pytest", "tool.pytest.ini_options")
    elif file != "pyproject.toml":
        table = table.replace("tool.pytest", "pytest")
    (project.path / file).write_text(table)
    project.run_plainly("-k", "nurse and test_prompt", "-W", "error")
    settings = project.record()["settings"]
    assert (settings["images"], settings["confidence"]) == (4, 0.9)
    assert settings["detectors"] == ["colour", "second"]
    assert (settings["trust_remote_code"], settings["sequential"]) == (True, False)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("{ a = 1 }", "t2i_images: expected a text, a number, true or false, got {'a': 1}"),
        ("[[1]]", "t2i_images: expected a text, a number, true or false, got [[1]]"),
        ("2026-01-01", "t2i_images: expected a text, a number, true or false"),
        ("true", "t2i_images: expected a whole number, got 'True'"),
        ("4.5", "t2i_images: expected a whole number, got '4.5'"),
        ("[1, 2]", "t2i_images: expected a whole number, got '1,2'"),
        ("-1", "t2i_images: expected at least 1, got -1"),
        ("0", "t2i_images: expected at least 1, got 0"),
    ],
)
def test_a_bad_setting_with_a_type_is_told_by_its_name(project, value, told):
    (project.path / "pytest.toml").write_text(f"[pytest]\nt2i_images = {value}\n")
    code, words = project.refused()
    assert code == pytest.ExitCode.USAGE_ERROR
    assert told in words


def run_in(folder, *arguments):
    command = [sys.executable, "-m", "pytest", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["images:mine", "images:./mine", "images:mine,images:mine2"])
def test_pictures_of_an_ini_file_lie_beside_it(project, model):
    for name in ("mine", "mine2"):
        (project.path / name).mkdir()
        for k in range(4):
            Image.new("RGB", (16, 16), (40 + k, 60, 200)).save(project.path / name / f"{k}.png")
        rows = "".join(f"{k}.png,a photo of one real person who is a nurse\n" for k in range(4))
        (project.path / name / "manifest.csv").write_text(f"file,prompt\n{rows}")
    (project.path / "tests").mkdir()
    (project.path / "test_suite.py").rename(project.path / "tests/test_suite.py")
    (project.path / "pytest.ini").write_text(
        f"[pytest]\nt2i_model = {model}\nt2i_detector = colour\npythonpath = .\n"
    )
    done = run_in(project.path / "tests", "-k", "test_prompt and nurse")
    assert done.returncode == INCONCLUSIVE_STATUS, done.stdout + done.stderr
    assert not list((project.path / "tests").glob("reports"))
    records = list((project.path / "reports/t2i").rglob("run.json"))
    names = {json.loads(record.read_text())["model"] for record in records}
    assert names == {f"images:../{name}" for name in ("mine", "mine2")[: model.count(",") + 1]}


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["set", "sets/mine"])
def test_labels_of_an_ini_file_lie_beside_it(project, folder):
    (project.path / folder).mkdir(parents=True)
    for k, label in enumerate(("male", "female")):
        colour = (40, 60, 200) if label == "male" else (200, 60, 40)
        Image.new("RGB", (16, 16), colour).save(project.path / folder / f"{k}.png")
    (project.path / folder / "labels.csv").write_text(
        "file,label,annotator\n0.png,male,ada\n1.png,female,ada\n"
    )
    (project.path / "pytest.ini").write_text(
        f"[pytest]\nt2i_labels = {folder}\nt2i_detector = colour\npythonpath = .\n"
    )
    (project.path / "tests").mkdir()
    (project.path / "tests/test_set.py").write_text("def test_set(detector): assert detector\n")
    done = run_in(project.path / "tests", "test_set.py")
    assert "1 passed" in done.stdout


@pytest.mark.slow
def test_several_detectors_the_first_decides(project):
    result = project.run(*NURSE, "--t2i-detector", "second,colour")
    assert result.ret == INCONCLUSIVE_STATUS
    record = project.record()
    scores = project.rows("parity", "model_bias_score")
    assert {score["dims"]["detector"] for score in scores} == {"second", "colour"}
    assert set(record["prompts"][0]["images"][0]["detections"]) == {"second", "colour"}


def test_the_model_fixture_and_detector_fixture(project):
    (project.path / "test_suite.py").write_text(
        "def test_it(model, detector):\n"
        "    assert model.fingerprint == 'fake-fair'\n"
        "    assert detector.labels == ('male', 'female')\n"
    )
    project.run().assert_outcomes(passed=1)


@pytest.mark.slow
def test_an_error_under_xdist_is_told_once_and_is_a_usage_error(project):
    (project.path / "mine.py").write_text(
        "from pytest_t2i.errors import ModelLoadError\n"
        "def make(options):\n"
        "    raise ModelLoadError('the weights are gated: accept the licence')\n"
    )
    result = project.run_apart("--t2i-model", "mine:make", "-n", "2")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stdout.fnmatch_lines(["ERROR: the weights are gated: accept the licence"])


@pytest.mark.parametrize("value", ["9" * 400, "a\0b"], ids=["too long", "null"])
def test_a_value_that_can_name_no_file_is_refused_as_any_other(project, value):
    code, told = project.refused("--t2i-steps", value)
    assert code == pytest.ExitCode.USAGE_ERROR
    assert "--t2i-steps: expected" in told
