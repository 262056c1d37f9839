"""Every option, on the command line and as an ini key, does what it says."""

from __future__ import annotations

import pytest

from pytest_t2i.plugin.exit_status import INCONCLUSIVE_STATUS
from pytest_t2i.settings import OPTIONS

NURSE = ("-k", "test_prompt and nurse", "--t2i-images", "3")


def test_every_option_is_in_the_help_and_an_ini_key(pytester):
    shown = pytester.runpytest_inprocess("--help").stdout.str()
    for option in OPTIONS:
        assert option.flag in shown
        assert option.ini in shown


@pytest.mark.parametrize(
    ("arguments", "recorded"),
    [
        (("--t2i-steps", "7"), {"steps": 7}),
        (("--t2i-guidance", "2.5"), {"guidance": 2.5}),
        (("--t2i-size", "64"), {"width": 64, "height": 64}),
        (("--t2i-size", "64x32"), {"width": 64, "height": 32}),
    ],
)
def test_generation_settings(project, arguments, recorded):
    project.run(*NURSE, *arguments)
    generation = project.record()["provenance"]["generation"]
    assert {key: generation[key] for key in recorded} == recorded


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


def test_several_detectors_the_first_decides(project):
    result = project.run(*NURSE, "--t2i-detector", "second,colour")
    assert result.ret == INCONCLUSIVE_STATUS
    record = project.record()
    scores = project.part("parity")["model_scores"]
    assert {score["detector"] for score in scores} == {"second", "colour"}
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
