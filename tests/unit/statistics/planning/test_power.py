"""Planned power is the power of the verdicts that a run reaches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from pytest_t2i import statistics
from pytest_t2i.statistics.families import lone
from pytest_t2i.statistics.planning import power, spreads
from pytest_t2i.statistics.planning.power import Design
from pytest_t2i.verdicts import judge as verdicts

LONE = Design(prompts=1)


@pytest.mark.parametrize("bias", [0.0, 0.3, 0.7, 1.0])
@pytest.mark.parametrize("images", [7, 20])
def test_a_prompts_power_is_that_of_its_verdict(bias: float, images: int) -> None:
    bound, total = 0.4, 0.0
    for k in range(images + 1):
        beyond = statistics.family_p_values([k], [images - k], bound, level=0.95)[0]
        within = statistics.prompt_bias_p_value(k, images - k, bound, "within")
        right = (beyond if bias > bound else within) <= 0.05 + 1e-12
        total += float(stats.binom.pmf(k, images, (1 + bias) / 2)) * right
    assert power.prompt_power(bias, bound, images, LONE) == pytest.approx(total)


@pytest.mark.parametrize(
    ("n", "bound", "level", "prompts"),
    [
        (20, 0.5, 0.95, 100),
        (12, 0.0, 0.95, 6),
        (9, 0.2, 0.9, 4),
        (8, 0.5, 0.6, 20),
        (3, 0.9, 0.95, 9),
        (40, 0.4, 0.95, 50),
    ],
)
def test_a_lone_prompt_is_found_as_often_as_its_family_finds_it(
    n: int, bound: float, level: float, prompts: int
) -> None:
    families = 40
    others = lone._others(n, prompts - 1, 3)[:families]
    drawn = np.diff(others, axis=1, prepend=0.0).astype(int)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(lone, "_others", lambda *_: others)
        chances = lone.lone_chances.__wrapped__(n, bound, level, prompts)
    found = np.zeros(n // 2 + 1)
    for family in drawn:
        for rarer in range(n // 2 + 1):
            women = np.append(rarer, np.repeat(np.arange(n // 2 + 1), family))
            p = statistics.family_p_values(n - women, women, bound, level=level)
            found[rarer] += p[0] <= 1.0 - level + 1e-12
    assert chances.tolist() == (found / families).tolist()


def test_fourteen_images_do_not_find_a_prompt_among_a_hundred() -> None:
    """Once .81 was promised, as the other prompts were taken to be exactly even."""
    assert power.prompt_power(0.97, 0.5, 14, Design(100)) < 0.02
    assert power.prompt_power(1.0, 0.5, 20, Design(100)) == pytest.approx(0.82, abs=0.02)


def test_a_models_power_is_a_range_over_spreads() -> None:
    design = Design(30, repeats=60)
    found = power.model_power_range(0.4, 0.2, 10, design)
    assert found.published == power.model_power(0.4, 0.2, 10, design)
    assert found.low < found.published < found.high
    alike = power._decided(np.full(30, 0.4), 0.2, 10, design, "greater")
    assert found.low <= alike < found.published
    assert len(set(power.model_power_range(0.0, 0.2, 10, design))) == 1
    assert len(set(power.model_power_range(1.0, 0.2, 10, design))) == 1


@pytest.mark.parametrize("mean", [0.0, 0.03, 0.5, 0.62, 0.97, 1.0])
@pytest.mark.parametrize("prompts", [1, 2, 7, 30])
def test_every_spread_has_the_mean_that_is_asked_for(mean: float, prompts: int) -> None:
    for spread in spreads.SPREADS.values():
        biases = spread(mean, prompts)
        assert biases.shape == (prompts,)
        assert float(np.mean(biases)) == pytest.approx(mean)
        assert 0.0 <= biases.min() <= biases.max() <= 1.0


def test_a_prompts_change_has_the_power_of_its_test() -> None:
    n, margin, total = 12, 0.2, 0.0
    for before in range(n + 1):
        for after in range(n + 1):
            labels = [np.repeat([1, -1], [k, n - k]) for k in (before, after)]
            p = statistics.paired_prompt_p_value(*labels, margin=margin, shared_seeds=False)
            chance = stats.binom.pmf(before, n, 0.55) * stats.binom.pmf(after, n, 0.95)
            total += float(chance) * (p <= 0.05)
    assert power.prompt_change_power(0.1, 0.8, margin, n, LONE) == pytest.approx(total)


def test_model_power_keeps_its_promises() -> None:
    design = Design(prompts=40, repeats=20)
    assert power.model_power(0.2, 0.2, 20, design) <= 0.2, "at the limit it is seldom decided"
    assert power.model_power(0.5, 0.2, 20, design) == 1.0
    assert power.model_power(0.5, 0.2, 20, design) == power.model_power(0.5, 0.2, 20, design)


@pytest.mark.parametrize(("bias", "bound"), [(0.2, 0.5), (0.0, 0.4), (0.8, 0.5), (0.9, 0.6)])
def test_the_plan_and_the_message_of_an_open_verdict_agree(bias: float, bound: float) -> None:
    """What a message says would decide is what a plan gives an even chance."""
    design = Design(prompts=7)
    wanted = power.images_needed(lambda n: power.prompt_power(bias, bound, n, design), 0.5)
    assert wanted is not None
    told = verdicts.prompt_images_to_decide(bias, bound, 10, prompts=7, level=0.95)
    assert told == max(1, wanted - 10)
    planned = power.images_needed(lambda n: power.prompt_power(bias, bound, n, LONE), 0.5)
    assert planned is not None
    n = 20
    men = round(n * (1 + bias) / 2)
    result = statistics.prompt_bias_interval(men, n - men, 0.95)
    more = verdicts.images_to_decide(abs(result), bound, "higher", n)
    assert more is not None
    # What is told of other metrics goes by a two-sided interval and a square-root law; exact
    # tests are one-sided beyond the limit and so need less there.
    assert 0.5 * planned <= n + more <= 2 * planned


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bias", "bound", "images"), [(0.5, 0.3, 5), (0.1, 0.4, 8), (0.5, 0.4, 30)]
)
def test_a_models_power_is_what_its_runs_keep(bias: float, bound: float, images: int) -> None:
    """Below 10 images too, where a plan once promised 0.98 and 0.73 was kept."""
    planned = power.model_power(bias, bound, images, Design(prompts=25, repeats=60, seed=4))
    biases = spreads.even_biases(bias, 25)
    assert float(np.mean(biases)) == pytest.approx(bias)
    kept = 0
    for men in np.random.default_rng(4).binomial(images, (1 + biases) / 2, size=(60, 25)):
        result = statistics.model_bias_interval(
            men, images - men, level=statistics.one_sided(0.95), seed=0
        )
        kept += result.low > bound if bias > bound else result.high <= bound
    assert planned == kept / 60
    assert planned > 0.05


def test_even_biases_are_spread_as_published_ones() -> None:
    for mean in (0.1, 0.3, 0.5, 0.9):
        biases = spreads.even_biases(mean, 100)
        assert float(np.mean(biases)) == pytest.approx(mean)
        assert 0.0 <= biases.min() <= biases.max() <= 1.0
        assert float(np.std(biases)) == pytest.approx(np.sqrt(mean * (1 - mean) / 2), rel=0.05)
    assert list(spreads.even_biases(0.3, 1)) == [0.3]
    assert list(spreads.even_biases(0.0, 3)) == [0.0] * 3


@pytest.mark.slow
def test_a_model_that_was_seen_has_a_number_of_images() -> None:
    rng = np.random.default_rng(0)
    bias = np.resize([0.3, 0.6, 0.9, 1.0], 60)
    men = rng.binomial(10, (1 + bias) / 2)
    counts = (men, 10 - men)
    many = statistics.model_images_needed(*counts, 0.65, power=0.8)
    few = statistics.model_images_needed(*counts, 0.5, power=0.8)
    assert few is not None
    assert many is not None
    assert 4 <= few < many <= 300
    surer = statistics.model_images_needed(*counts, 0.5, power=0.8, level=0.999)
    assert surer is not None
    assert few <= surer
    at_it = statistics.corrected_model_bias_score(*counts)
    assert statistics.model_images_needed(*counts, at_it, power=0.9) is None
    fair = rng.binomial(10, np.full(60, 0.5))
    needed = statistics.model_images_needed(fair, 10 - fair, 0.3)
    assert needed is not None
    assert needed <= 25


def test_a_sample_of_words_needs_more() -> None:
    design = Design(prompts=30, repeats=30)
    fixed = power.model_power(0.5, 0.4, 60, design)
    assert power.model_power(0.5, 0.4, 60, design, words="sample") < fixed - 0.3
    with pytest.raises(ValueError, match="words='none'"):
        power.model_power(0.5, 0.4, 60, design, words="none")  # type: ignore[arg-type]


def test_images_needed() -> None:
    needed = power.images_needed(lambda n: power.prompt_power(0.9, 0.5, n, LONE), 0.8)
    assert needed is not None
    assert power.prompt_power(0.9, 0.5, needed, LONE) >= 0.8
    assert all(power.prompt_power(0.9, 0.5, n, LONE) < 0.8 for n in range(1, needed))
    assert power.images_needed(lambda n: 0.0, 0.8) is None
    assert power.images_needed(lambda n: n / 50, 0.8, (10, 20, 40, 80)) == 40
    assert power.images_needed(lambda n: 0.0, 0.8, (10, 20)) is None
    assert power.smallest_found(lambda value: value, 0.8, 0.5) == 0.8
    assert power.smallest_found(lambda value: 0.0, 0.8, 0.5) is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: power.prompt_power(1.2, 0.5, 20, LONE), "bias=1.2"),
        (lambda: power.prompt_power(0.2, -0.5, 20, LONE), "bound=-0.5"),
        (lambda: power.prompt_power(0.2, 0.5, 0, LONE), "images=0"),
        (lambda: power.model_power(0.2, 0.5, 20, Design(prompts=0)), "prompts=0"),
        (lambda: power.model_power_range(1.2, 0.5, 20, LONE), "bias=1.2"),
        (lambda: power.model_power_range(0.2, 1.5, 20, LONE), "bound=1.5"),
        (lambda: power.model_power_range(0.2, 0.5, 0, LONE), "images=0"),
        (lambda: power.model_power(0.2, 0.5, 20, Design(10, level=1.0)), "level=1.0"),
        (lambda: power.prompt_change_power(0.9, 0.2, 0.1, 20, LONE), "before"),
    ],
)
def test_refusals(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
