"""How surely a grown model fails, over ways to grow, judged as a run judges it."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_t2i.statistics import Design, one_sided, paired_model_bias_change
from pytest_t2i.statistics.planning.change_power import model_change_power_range
from pytest_t2i.statistics.planning.spreads import SPREADS, even_biases, grown_alike, grown_few

SMALL = Design(prompts=30, repeats=10)


def test_a_model_that_did_not_grow_seldom_fails_and_one_that_grew_far_always() -> None:
    assert model_change_power_range(0.3, 0.0, 0.05, 20, SMALL).high <= 0.2
    assert model_change_power_range(0.1, 0.6, 0.05, 20, SMALL).low == 1.0


def test_the_way_of_growing_matters_and_is_told() -> None:
    found = model_change_power_range(0.2, 0.15, 0.05, 20, SMALL)
    assert found.low < found.high
    assert found.low <= found.published <= found.high


def test_it_is_judged_at_the_one_sided_level() -> None:
    """A run asks for the interval whose lower end holds at 95 %, not for the reported one."""
    old, rng = even_biases(0.2, 20), np.random.default_rng(4)
    new = grown_alike(old, 0.25)
    design = Design(prompts=20, repeats=12, seed=4)
    found = 0
    for repeat in range(12):
        men, now = (rng.binomial(20, (1.0 + bias) / 2.0) for bias in (old, new))
        change = paired_model_bias_change(
            men, 20 - men, now, 20 - now, level=one_sided(0.95), seed=repeat
        )
        found += change.low > 0.05
    assert model_change_power_range(0.2, 0.25, 0.05, 20, design).published == found / 12
    assert 0 < found < 12


@pytest.mark.parametrize("grown", [grown_alike, grown_few])
@pytest.mark.parametrize("push", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("spread", SPREADS.values())
def test_the_mean_grows_by_the_push(grown, push, spread) -> None:
    old = spread(0.3, 40)
    new = grown(old, push)
    assert np.mean(new) - np.mean(old) == pytest.approx(push)
    assert np.all((new >= old - 1e-12) & (new <= 1.0 + 1e-12))


def test_few_that_grow_become_one_sided() -> None:
    new = grown_few(np.full(10, 0.2), 0.2)
    assert np.sort(new).tolist() == pytest.approx([0.2] * 7 + [0.6, 1.0, 1.0])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((1.0, 0.0, 0.1, 20, SMALL), "before=1"),
        ((0.5, 0.6, 0.1, 20, SMALL), "before"),
        ((0.2, 0.1, 0.1, 0, SMALL), "images=0"),
        ((0.2, 0.1, 0.1, 5, Design(10, level=1.0)), "level=1.0"),
    ],
)
def test_refusals(given, message) -> None:
    with pytest.raises(ValueError, match=message):
        model_change_power_range(*given)
