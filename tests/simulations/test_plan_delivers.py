"""A short version of the simulation of plans."""

from __future__ import annotations

import pytest
from plan import GATES, MODELS, PROMPTS, gate_delivered, model_delivered, prompt_delivered

from pytest_t2i.cli.plan import gate_power, model_power
from pytest_t2i.statistics import Design, prompt_power


@pytest.mark.parametrize(("prompts", "images", "bias", "limit"), PROMPTS)
def test_a_prompt_is_found_as_often_as_promised(prompts, images, bias, limit):
    promised = prompt_power(bias, limit, images, Design(prompts))
    # Four standard deviations of the simulation, at most.
    right = prompt_delivered(prompts, images, bias, limit, runs=150, seed=7)
    assert right / 150 == pytest.approx(promised, abs=0.16)


@pytest.mark.parametrize(("world", "prompts", "images", "limit"), MODELS[::3])
def test_a_model_is_judged_as_often_as_promised(world, prompts, images, limit):
    right, score = model_delivered(world, prompts, images, limit, runs=150, seed=8)
    promised = model_power(score, limit, images, Design(prompts, repeats=100))
    assert right / 150 >= promised - 0.16


@pytest.mark.parametrize(("world", "prompts", "images", "margin"), GATES[::2])
def test_a_gate_is_green_as_often_as_promised(world, prompts, images, margin):
    passed = gate_delivered(world, prompts, images, margin, runs=60, seed=9)
    assert passed / 60 >= gate_power(margin, images, Design(prompts, repeats=40)) - 0.25
