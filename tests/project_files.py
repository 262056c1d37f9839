"""The files of a small project with a fake model: a conftest.py, a suite and its limits."""

from __future__ import annotations

from pathlib import Path

FAKES = Path(__file__).parent / "fakes.py"

CONFTEST = """
import fakes

def pytest_t2i_models():
    return {
        "fair": fakes.fair, "biased": fakes.biased, "other": fakes.other,
        "rewriter": fakes.rewriter, "mixed": fakes.mixed, "refuser": fakes.refuser,
    }

def pytest_t2i_detectors():
    return {"colour": fakes.detector, "second": fakes.detector, "hazy": fakes.hazy}

def pytest_t2i_encoders():
    return {"clip": fakes.encoder}

def pytest_t2i_objects():
    return {"things": fakes.finder}
"""

SUITE = """
import pytest
from pytest_t2i import axes, limit, Stereotype, triplet
from pytest_t2i.data import Attribute, Prompt

PEOPLE = axes.profession.only("nurse", "pilot", "chef", "judge")

@pytest.mark.t2i(PEOPLE)
def test_prompt(sample):
    assert abs(sample.prompt_bias_score) <= limit("prompt_bias_score")

@pytest.mark.t2i(PEOPLE, axes.place.only("gym", "mall"))
def test_model(samples):
    assert samples.model_bias_score <= limit("model_bias_score")

@pytest.mark.t2i(PEOPLE, images=4)
@pytest.mark.parametrize("space", ["prompt", "denoising", "image", "ssim"])
def test_gap(triplets, space):
    assert abs(triplets.similarity_gap(space)) <= limit(f"similarity_gap.{space}")

def test_unmarked():
    assert True
"""

LIMITS = """
prompt_bias_score = 0.6
model_bias_score = 0.3
[similarity_gap]
prompt = 0.5
denoising = 0.6
image = 0.5
ssim = 0.5
"""
FILES = {"conftest.py": CONFTEST, "test_suite.py": SUITE, "limits.toml": LIMITS}
