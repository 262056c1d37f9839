"""Plans for groups promise what the code that judges delivers."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_t2i.audits import distance
from pytest_t2i.statistics import (
    mean_total_variation_p_value,
    model_bias_p_value,
    prompt_bias_p_value,
)
from pytest_t2i.statistics.planning.groups import (
    SHAPES,
    furthest,
    group_model_power,
    group_prompt_power,
)
from pytest_t2i.statistics.planning.power import Design

EVEN = np.full(4, 0.25)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("groups", [2, 3, 7])
def test_shapes_are_shares_at_the_distance(shape, groups):
    for part in (0.0, 0.1, 0.5, 0.9, 1.0):
        shares = shape(part * furthest(groups), groups)
        assert shares.sum() == pytest.approx(1.0)
        assert shares.min() >= 0.0
        assert np.abs(shares - 1.0 / groups).sum() / 2.0 == pytest.approx(part * furthest(groups))


@pytest.mark.parametrize(("truth", "bound"), [(0.5, 0.3), (0.05, 0.2)])
def test_a_models_power_is_that_of_the_p_values_that_judge_it(truth, bound):
    design = Design(prompts=12, repeats=24)
    power = group_model_power(truth, bound, 20, 4, design)
    rng = np.random.default_rng(5)
    side = "greater" if truth > bound else "less"
    drawn = (rng.multinomial(20, SHAPES[0](truth, 4), size=12) for _ in range(24))
    right = [
        mean_total_variation_p_value(counts, EVEN, bound, alternative=side) <= 0.05
        for counts in drawn
    ]
    # Prompts that are all alike are one of the spreads; both are of 24 runs.
    assert power.low - 0.3 <= np.mean(right) <= power.high + 0.3


@pytest.mark.parametrize("groups", [2, 4])
@pytest.mark.parametrize("truth", [0.0, 0.45])
def test_a_prompts_power_is_that_of_the_family_that_judges_it(groups, truth):
    bound, prompts, images = 0.25, 8, 40
    power = group_prompt_power(truth, bound, images, groups, Design(prompts=prompts))
    rng = np.random.default_rng(7)
    right = []
    for _ in range(150):
        own = rng.multinomial(images, SHAPES[0](truth, groups))
        others = rng.multinomial(images, [1.0 / groups] * groups, size=prompts - 1)
        members = [
            tuple((str(k), int(count), 1.0 / groups) for k, count in enumerate(row))
            for row in (own, *others)
        ]
        evidence = distance._family_evidence(members, [0] * prompts, bound)[0]
        right.append((evidence.beyond if truth > bound else evidence.within) <= 0.05)
    assert power.low - 0.08 <= np.mean(right) <= power.high + 0.08


def test_two_groups_are_planned_as_half_of_bias_scores():
    # One prompt, all of one label: FAIL from the same number of images on as by bias scores.
    design = Design(prompts=1)
    first = next(n for n in range(1, 30) if group_prompt_power(0.5, 0.25, n, 2, design).low == 1.0)
    assert first == next(n for n in range(1, 30) if prompt_bias_p_value(n, 0, 0.5) <= 0.05)
    counts = np.tile([9, 3], (10, 1))
    half = mean_total_variation_p_value(counts, [0.5, 0.5], 0.1)
    assert half == pytest.approx(model_bias_p_value(counts[:, 0], counts[:, 1], 0.2), abs=1e-3)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [((0.9, 0.2, 20, 4), "distance"), ((0.1, 0.2, 20, 1), "groups"), ((0.1, 0.2, 0, 4), "images")],
)
def test_what_cannot_be_is_refused(arguments, problem):
    for power in (group_prompt_power, group_model_power):
        with pytest.raises(ValueError, match=problem):
            power(*arguments, Design(prompts=3))
