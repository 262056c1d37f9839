"""Pipelines of other classes than the four families: probe, notes, rewriting, refusals."""

import shutil

import pytest
import tiny
import tiny_pipelines
from installed import needs

pytestmark = pytest.mark.slow
SUITE = """
import pytest
from pytest_t2i import limit

@pytest.mark.t2i("a photo of a nurse", images=3)
def test_it(sample):
    assert abs(sample.prompt_bias_score) <= limit("prompt_bias_score.own", 0.9)
"""
ARGUMENTS = (
    "--t2i-model", "model", "--t2i-detector", "colour", "--t2i-steps", "2", "--t2i-size", "32x32",
)  # fmt: skip


@pytest.fixture
def qwen(project):
    needs("diffusers")
    shutil.copytree(tiny.written(tiny_pipelines.write_qwen_image), project.path / "model")
    (project.path / "test_suite.py").write_text(SUITE)
    return project


def told(result):
    return " ".join((result.stderr.str() + result.stdout.str()).split())


def test_a_probe_is_made_once_and_is_not_counted(qwen):
    words = told(qwen.run_plainly(*ARGUMENTS, "--t2i-guidance", "4"))
    assert "probing model with four pictures (--t2i-probe never skips this)" in words
    assert "images: 3 made" in words
    assert "has no effect" not in words
    again = told(qwen.run_plainly(*ARGUMENTS, "--t2i-guidance", "4", "--t2i-seed", "7"))
    assert "images: 3 made" in again
    assert "probing" not in again


def test_a_probe_can_be_skipped_and_repeated(qwen):
    assert "probing" not in told(qwen.run_plainly(*ARGUMENTS, "--t2i-probe=never"))
    for _ in range(2):
        assert "probing" in told(qwen.run_plainly(*ARGUMENTS, "--t2i-probe=again"))


def test_a_negative_prompt_without_guidance_is_refused(qwen):
    (qwen.path / "catalogue.toml").write_text(
        '[models.mine]\npath = "model"\nguidance = 1.0\nnegative_prompt = "a hat"\n'
    )
    arguments = [*ARGUMENTS, "--t2i-catalogue", "catalogue.toml"]
    arguments[1] = "mine"
    words = told(qwen.run_plainly(*arguments))
    assert "ignores a negative prompt at guidance=1.0" in words
    assert "Traceback" not in words


def test_an_alias_without_a_network_ends_in_one_line(qwen, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    words = told(qwen.run_plainly("--t2i-model", "qwen-image", "--t2i-detector", "colour"))
    assert "Run `hf download Qwen/Qwen-Image`" in words
    assert "Traceback" not in words
