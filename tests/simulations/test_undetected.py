"""Fast version of undetected.py: whatever made images undetected, few verdicts are wrong."""

from __future__ import annotations

import numpy as np
import pytest
from uncertainty import least
from undetected import RULES, Lost, family, happened, of_model, wrong_alone

from pytest_t2i.data import Outcome

pytestmark = pytest.mark.slow
BEFORE, NOW = RULES[1:]


@pytest.mark.parametrize("share", [0.2, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("images", [20, 50, 200])
@pytest.mark.parametrize("bound", [0.3, 0.5, 0.7])
def test_a_prompt_gets_few_wrong_verdicts(bound, images, share):
    fails = wrong_alone(bound, bound, images, Lost(0.0, share), 300, seed=1)
    passes = wrong_alone(bound + 0.02, bound, images, Lost(share, 0.0), 300, seed=2)
    assert least(fails[NOW]) <= 0.05
    assert least(passes[NOW]) <= 0.05


@pytest.mark.parametrize("images", [20, 50, 200])
def test_bounds_without_sampling_error_failed_prompts_within_their_limit(images):
    wrong = wrong_alone(0.48, 0.5, images, Lost(0.0, 0.9), 300, seed=3)
    assert least(wrong[BEFORE]) > 0.1


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_the_model_gets_few_wrong_verdicts(share):
    fails = of_model(np.full(20, 0.48), 0.5, 20, Lost(0.0, share), 60, seed=4)
    assert least(happened(fails[NOW], Outcome.FAIL)) <= 0.05
    passes = of_model(np.full(20, 0.52), 0.5, 20, Lost(share, 0.0), 60, seed=5)
    assert least(happened(passes[NOW], Outcome.PASS)) <= 0.05


def test_families_share_one_error_level():
    true = np.repeat([0.95, 0.48], 25)
    rows = family(true, 0.5, 50, Lost(0.0, 0.5), 40, seed=6)
    assert np.mean(rows[NOW]["wrong FAILs"]) <= 0.05
    assert np.mean(rows[NOW]["found"]) > 0.9
    assert np.mean(rows[BEFORE]["wrong FAILs"]) > 0.1


def test_nothing_is_lost_where_nothing_is_undetected():
    true = np.linspace(0.0, 1.0, 40)
    rows = family(true, 0.5, 20, Lost(0.0, 0.0), 10, seed=7)
    assert rows[NOW] == rows[BEFORE]
    runs = of_model(true, 0.3, 20, Lost(0.0, 0.0), 10, seed=8)
    assert runs[NOW] == runs[BEFORE]
