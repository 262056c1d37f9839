"""The regression gate is quiet for the same model with other seeds, and loud for the biased one."""

from __future__ import annotations

import numpy as np
import pytest
from many_worlds import scores
from regression import EVEN, SPLIT, Change, gate, pairing, pushed, suspects
from worlds import table7

pytestmark = pytest.mark.slow

SDXL = np.abs(2 * table7("sdxl") - 1)


@pytest.mark.parametrize("world", ["fair", "SDXL's rates"])
@pytest.mark.parametrize(("prompts", "before"), [(3, 20), (40, 20), (40, 100), (40, "2 to 40")])
def test_same_model_with_other_seeds_rarely_fails(world, prompts, before) -> None:
    # At 5 %, 6 or more of 40 runs have a chance of 1 in 70.
    score = scores()[world]
    fails = gate(Change(score, score), (before, 20), 40, seed=1, prompts=prompts)
    assert fails["test"] <= 5 / 40
    assert fails["interval"] <= 4 / 40
    assert fails["margin"] <= 4 / 40
    assert fails["above"] + fails["below"] <= 5 / 40


def test_a_biased_model_fails() -> None:
    fails = gate(Change(np.zeros(100), SDXL), (20, 20), 4, seed=1, prompts=40)
    assert (fails["test"], fails["margin"]) == (1.0, 1.0)


def test_few_prompts_pushed_are_found_at_few_images() -> None:
    assert gate(pushed(SDXL, 10, 0.4), (20, 20), 40, seed=1)["test"] >= 0.5
    assert gate(pushed(SDXL, 20, 0.4), (8, 8), 40, seed=1)["test"] >= 0.6
    assert gate(pushed(SDXL, 20, -0.2), (20, 20), 20, seed=1)["test"] == 0.0


def test_the_same_score_spread_otherwise_does_not_exceed_the_margin() -> None:
    assert gate(Change(EVEN, SPLIT), (20, 20), 20, seed=1)["margin"] <= 2 / 20


def test_pairs_of_one_seed_show_more() -> None:
    by_prompt, by_seed = pairing(pushed(SDXL, 10, 0.2), 0.9, 20, 20, seed=1)
    assert by_seed > by_prompt + 0.2
    null = pairing(pushed(SDXL, 0, 0.0), 0.9, 20, 20, seed=1)
    assert max(null) <= 4 / 20


def test_suspects_are_those_that_grew() -> None:
    named, wrong = suspects(pushed(SDXL, 10, 0.4), 40, 10, seed=1, sure=0.8)
    assert named >= 1
    assert wrong <= 0.2
