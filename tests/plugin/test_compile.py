"""``--t2i-compile``: what it says, what it is refused for, and that it is part of the key."""

import shutil

import pytest
import tiny
from _pytest.pytester import SysModulesSnapshot
from installed import needs

pytestmark = pytest.mark.slow
SUITE = """
import pytest
from pytest_t2i import limit

@pytest.mark.t2i("a photo of a nurse", images=8)
def test_it(sample):
    assert abs(sample.prompt_bias_score) <= limit("prompt_bias_score.own", 0.9)
"""
ARGUMENTS = (
    "--t2i-model", "model", "--t2i-detector", "colour", "--t2i-steps", "2", "--t2i-size", "32x32",
    "--t2i-batch", "1",
)  # fmt: skip


STAYING = ("torch", "diffusers", "transformers", "readline")
"""A process bears torch's compiler only once, while pytester forgets what a run imports."""


def snapshot():
    return SysModulesSnapshot(preserve=lambda name: name.partition(".")[0] in STAYING)


@pytest.fixture
def own(project, monkeypatch):
    needs("diffusers")
    # Restored after each run in this process, and at the end of the test.
    monkeypatch.setattr(project.pytester, "_Pytester__take_sys_modules_snapshot", snapshot)
    monkeypatch.setattr(project.pytester, "_sys_modules_snapshot", snapshot())
    import torch

    from pytest_t2i.adapters.models import pipelines

    monkeypatch.setattr(pipelines, "BACKEND", "eager")
    shutil.copytree(tiny.written(tiny.write_stable_diffusion), project.path / "model")
    (project.path / "test_suite.py").write_text(SUITE)
    yield project
    torch.compiler.reset()


def told(result):
    return " ".join((result.stderr.str() + result.stdout.str()).split())


def test_the_run_says_what_compiling_costs_and_whether_it_pays(own):
    first = told(own.run_plainly(*ARGUMENTS, "--t2i-compile"))
    assert "images: 8 made" in first
    assert "Run once without --t2i-compile" in first
    plain = told(own.run_plainly(*ARGUMENTS))
    assert "images: 8 made" in plain  # compiled pictures are others
    assert "--t2i-compile" not in plain
    again = told(own.run_plainly(*ARGUMENTS, "--t2i-compile", "--t2i-seed", "5"))
    assert "--t2i-compile: compiling took" in again
    assert "it pays after" in again or "it does not pay" in again


def test_the_ini_key_compiles_too(own):
    (own.path / "pytest.ini").write_text("[pytest]\nt2i_compile = true\n")
    assert "--t2i-compile:" in told(own.run_plainly(*ARGUMENTS))


def test_a_model_that_is_no_pipeline_is_refused(own):
    code, words = own.refused("--t2i-compile")
    assert code == pytest.ExitCode.USAGE_ERROR, words
    assert "--t2i-compile: expected a pipeline of diffusers" in words


def test_a_mitigation_inside_the_denoiser_is_refused(own):
    pytest.importorskip("pytest_t2i_mitigation")
    words = told(own.run_plainly(*ARGUMENTS, "--t2i-compile", "--t2i-mitigation", "chuang"))
    assert "--t2i-compile: expected no mitigation, or one of the stage 'prompt'" in words
    assert "Traceback" not in words
