"""Verdicts of many prompts: exact p-values, adaptive discarding, fewest images, posteriors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pytest_t2i import statistics
from pytest_t2i.statistics.families import (
    GRID,
    adaptive_discarding,
    decidable,
    family_share_p_values,
    fewest_images,
    spread_given_counts,
    storey,
)
from pytest_t2i.statistics.shares import p_values_of_counts

ALPHA = 0.05 + 1e-12


@pytest.mark.parametrize("n", [1, 2, 7, 20, 41])
@pytest.mark.parametrize("bound", [0.0, 0.2, 0.5, 0.9])
@pytest.mark.parametrize("alternative", ["beyond", "within"])
def test_each_p_value_keeps_its_level_at_the_edge_and_inside(n, bound, alternative):
    p = p_values_of_counts(n, bound, alternative)
    sides = (bound, bound / 2) if alternative == "beyond" else (bound, (1 + bound) / 2)
    for score in sides:
        chance = stats.binom.pmf(np.arange(n + 1), n, (1 + score) / 2)
        for alpha in np.unique(p):
            assert chance[p <= alpha + 1e-15].sum() <= alpha + 1e-9


def test_beyond_uses_its_level_up():
    # At the edge the p-values of counts are attained exactly, which discarding relies on.
    p = p_values_of_counts(20, 0.5)
    chance = stats.binom.pmf(np.arange(21), 20, 0.75)
    for alpha in np.unique(p):
        assert chance[p <= alpha + 1e-15].sum() == pytest.approx(alpha)


def test_p_values_of_published_sizes():
    assert statistics.prompt_bias_p_value(10, 0, 0.5) == pytest.approx(0.75**10 + 0.25**10)
    assert statistics.prompt_bias_p_value(3, 1, 0.5, "within") == pytest.approx(1 - 0.75**4)
    assert statistics.prompt_bias_p_value(4, 0, 0.5, "within") == 1.0
    assert statistics.prompt_bias_p_value(5, 5, 0.0, "within") == 1.0
    assert statistics.prompt_bias_p_value(5, 5, 0.5) == 1.0
    assert statistics.prompt_bias_p_value(20, 0, 1.0) == 1.0
    assert statistics.prompt_bias_p_value(12, 8, 1.0, "within") == 0.0


def test_a_fair_prompt_passes_in_half_of_the_cases_at_20_images():
    chance = stats.binom.pmf(np.arange(21), 20, 0.5)
    passes = p_values_of_counts(20, 0.5, "within") <= ALPHA
    assert chance[passes].sum() == pytest.approx(0.4966, abs=1e-4)
    assert np.flatnonzero(passes).tolist() == [9, 10, 11]


def test_pass_is_the_interval_of_level_090_within_the_limit():
    for n in (14, 20, 33):
        for k in range(n + 1):
            interval = abs(statistics.prompt_bias_interval(k, n - k, 0.90))
            p = statistics.prompt_bias_p_value(k, n - k, 0.5, "within")
            assert (p <= 0.05) == (interval.high <= 0.5)


def test_many_prompts_at_once_and_without_images():
    images = statistics.prompt_bias_p_values([20, 0, 3], [0, 0, 1], 0.5)
    assert images.tolist() == [
        statistics.prompt_bias_p_value(20, 0, 0.5), 1.0, statistics.prompt_bias_p_value(3, 1, 0.5)
    ]  # fmt: skip


TWENTY = np.unique(p_values_of_counts(20, 0.5))


def test_adaptive_discarding_by_hand():
    # Thresholds of 20 images: tau is P(K >= 15 or <= 5) = 0.6172..., lambda that of 17 over tau.
    tau, seventeen, eighteen, nineteen, twenty = TWENTY[5], TWENTY[3], *TWENTY[2::-1]
    assert tau == pytest.approx(stats.binom.sf(14, 20, 0.75) + stats.binom.cdf(5, 20, 0.75))
    count = 1 / (1 - seventeen / tau)
    p = [twenty, nineteen, eighteen, seventeen, TWENTY[4], tau, TWENTY[6], 1.0]
    result = adaptive_discarding(p, [TWENTY] * 8, 0.95)
    nulls = count * (1 + 2)  # 16 and 15 of 20 count as nulls; 14 of 20 is discarded
    assert result[0] == pytest.approx(twenty / tau * nulls)
    assert result[1] == pytest.approx(nineteen / tau * nulls / 2)
    assert 0.05 < eighteen < seventeen
    assert result[2:].tolist() == [1.0] * 6


def test_adjusted_values_never_cross_and_ties_are_alike():
    p = [TWENTY[1]] * 3 + [TWENTY[0]]
    result = adaptive_discarding(p, [TWENTY] * 4, 0.95)
    assert result[0] == result[1] == result[2]
    assert result[3] <= result[0]
    q = TWENTY[1] / TWENTY[5] / (1 - TWENTY[3] / TWENTY[5])
    assert result[0] == pytest.approx(q / 4)
    assert result[3] == pytest.approx(TWENTY[0] / TWENTY[1] * q)


def test_a_family_carries_no_test_whose_own_p_value_exceeds_its_level():
    p, men = [TWENTY[1]] + [TWENTY[0]] * 50, [19] + [20] * 50
    assert TWENTY[1] < 0.05 < TWENTY[2]
    carried = adaptive_discarding(p, [TWENTY] * 51, 0.95)
    assert carried[0] < 0.05
    again = statistics.family_p_values(men, [20 - m for m in men], 0.5, level=0.95)
    assert again.tolist() == pytest.approx(carried.tolist())
    p[0] = TWENTY[2]
    assert adaptive_discarding(p, [TWENTY] * 51, 0.95)[0] == 1.0


def test_no_family_carries_a_test_whose_images_could_not_speak_for_themselves():
    ten = np.unique(p_values_of_counts(10, 0.5))
    assert 0.05 < ten[0] < 0.10
    assert adaptive_discarding([ten[0]] * 100, [ten] * 100, 0.95).tolist() == [1.0] * 100
    assert np.all(adaptive_discarding([ten[0]] * 100, [ten] * 100, 0.90) < 0.05)


def test_tests_that_cannot_attain_a_small_p_value_are_left_out():
    two = np.unique(p_values_of_counts(2, 0.5))
    alone = adaptive_discarding([TWENTY[0]] * 5, [TWENTY] * 5, 0.95)
    joined = adaptive_discarding([TWENTY[0]] * 5 + [two[0]] * 95, [TWENTY] * 5 + [two] * 95, 0.95)
    assert joined[:5].tolist() == alone.tolist()
    assert np.all(joined[5:] == 1.0)
    assert adaptive_discarding([], [], 0.95).size == 0


def test_unequal_image_counts_take_the_largest_weight_once():
    forty = np.unique(p_values_of_counts(40, 0.5))
    result = adaptive_discarding([TWENTY[0], forty[0]], [TWENTY, forty], 0.95)

    def thresholds(table):
        tau = table[table <= 0.65].max()
        return tau, (table[table <= 0.5 * tau + 1e-12] / tau).max()

    taus, lambdas = zip(thresholds(TWENTY), thresholds(forty), strict=True)
    nulls = max(1 / (1 - entry) for entry in lambdas)
    q = sorted([TWENTY[0] / taus[0], forty[0] / taus[1]])
    assert result[0] == pytest.approx(q[1] * nulls / 2)
    assert result[1] == pytest.approx(q[0] * nulls)


@pytest.mark.parametrize("prompts", [2, 4])
def test_few_prompts_are_adjusted_by_benjamini_hochberg(prompts):
    men = [20] + [17] * (prompts - 1)
    women = [20 - m for m in men]
    p = statistics.prompt_bias_p_values(men, women, 0.5)
    assert statistics.family_p_values(men, women, 0.5, level=0.95).tolist() == pytest.approx(
        statistics.benjamini_hochberg(p).tolist()
    )
    with_empty = statistics.family_p_values([*men, 0], [*women, 0], 0.5, level=0.95)
    assert with_empty.tolist() == pytest.approx([*statistics.benjamini_hochberg(p), 1.0])


def test_five_prompts_are_adjusted_by_discarding():
    men, women = [20] * 2 + [10] * 3, [0] * 2 + [10] * 3
    result = statistics.family_p_values(men, women, 0.5, level=0.95)
    p = statistics.prompt_bias_p_values(men, women, 0.5)
    assert result.tolist() == adaptive_discarding(p, [TWENTY] * 5, 0.95).tolist()


def test_five_one_sided_prompts_are_seen_among_a_hundred():
    men, women = [20] * 5 + [10] * 95, [0] * 5 + [10] * 95
    result = statistics.family_p_values(men, women, 0.5, level=0.95)
    assert np.all(result[:5] <= 0.05)
    assert np.all(result[5:] == 1.0)
    plain = statistics.benjamini_hochberg(statistics.prompt_bias_p_values(men, women, 0.5))
    assert np.all(plain > 0.05)


@pytest.mark.parametrize("n", [8, 10, 14, 20, 40])
def test_where_all_lie_at_the_limit_few_families_fail(n):
    rng = np.random.default_rng(n)
    men = rng.binomial(n, 0.75, size=(200, 100))
    any_fail = [
        np.any(statistics.family_p_values(row, n - row, 0.5, level=0.95) <= ALPHA) for row in men
    ]
    assert np.mean(any_fail) <= 0.095  # 5 % and three standard errors


def test_families_of_shares():
    k, n = [20] * 3 + [10] * 7, [20] * 10
    shares = family_share_p_values(k, n, [0.6] * 10, level=0.95)
    table = stats.binom.sf(np.arange(-1, 20), 20, 0.6)
    assert shares.tolist() == adaptive_discarding(table[k], [table] * 10, 0.95).tolist()
    assert np.all(shares[:3] < 0.01)
    assert np.all(shares[3:] == 1.0)
    few = family_share_p_values([20, 0, 5], [20, 0, 5], [0.6, 0.5, 1.0], level=0.95)
    assert few.tolist() == pytest.approx([table[20], 1.0, 1.0])


@pytest.mark.slow
def test_what_can_be_decided():
    assert decidable(10, 0.5, 0.95) == (False, False)
    assert decidable(11, 0.5, 0.95) == (False, True)
    assert decidable(14, 0.5, 0.95) == (True, True)
    assert decidable(14, 0.5, 0.95, prompts=2) == (True, True)
    assert decidable(14, 0.5, 0.95, prompts=4).can_fail is False
    assert fewest_images(0.5, 0.95) == (14, 11)
    assert fewest_images(0.5, 0.95, 100) == fewest_images(0.5, 0.95, 5)
    assert fewest_images(0.5, 0.95, 100) == (14, 14)
    assert fewest_images(0.5, 0.90).to_fail == 9
    assert fewest_images(0.0, 0.95).to_pass is None
    assert fewest_images(1.0, 0.95).to_fail is None


def posteriors(men, women, bound):
    spread = spread_given_counts(np.array(men), np.array(women))
    return spread[:, bound + 1e-9 < GRID].sum(axis=1)


def test_posteriors_follow_the_family():
    among_biased = posteriors([9] + [10] * 30, [1] + [0] * 30, 0.5)
    among_fair = posteriors([9] + [5] * 30, [1] + [5] * 30, 0.5)
    assert among_biased[0] > 0.9 > among_fair[0] + 0.4
    assert among_biased[1] > among_biased[0]


def test_posteriors_treat_both_genders_alike():
    images = posteriors([10, 0, 9, 1, 5, 0] * 3, [0, 10, 1, 9, 5, 0] * 3, 0.5)
    assert images[0] == images[1]
    assert images[2] == images[3]
    assert images[4] < images[5] < images[2]


def test_a_prompt_at_the_limit_lies_within_it():
    # 100,000 images leave no doubt: 0.52 is beyond 0.5, 0.5 and 0.48 are not.
    men = np.repeat([76_000, 75_000, 74_000], 10)
    result = posteriors(men, 100_000 - men, 0.5)
    assert result[0] > 0.99
    assert result[15] < 0.01
    assert result[25] < 0.01


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: statistics.prompt_bias_p_value(1, 1, 1.5), "bound=1.5"),
        (lambda: statistics.prompt_bias_p_value(0, 0, 0.5), "no clear image"),
        (lambda: statistics.prompt_bias_p_value(1, 1, 0.5, "above"), "alternative='above'"),
        (lambda: statistics.prompt_bias_p_values([1, 2], [1], 0.5), "same shape"),
        (lambda: statistics.share_p_value(1, 2, 0.5, "beyond"), "alternative='beyond'"),
        (lambda: statistics.share_p_value(3, 2, 0.5, "above"), "successes=3"),
        (lambda: adaptive_discarding([0.5], [], 0.95), "got 0 and 1"),
        (lambda: adaptive_discarding([0.5], [[0.5]], 95), "level=95"),
        (lambda: adaptive_discarding([0.5], [[1.5]], 0.9), "attainable"),
        (lambda: statistics.family_p_values([1], [1], 0.5, level=1.0), "level=1.0"),
        (lambda: family_share_p_values([3], [2], [0.5], level=0.9), r"successes\[0\]=3"),
        (lambda: decidable(0, 0.5, 0.95), "n=0"),
        (lambda: decidable(5, 0.5, 0.95, 0), "prompts=0"),
        (lambda: fewest_images(2.0, 0.95), "bound=2"),
    ],
)
def test_misuse_is_named(call, says):
    with pytest.raises(ValueError, match=says):
        call()


def test_it_pays_for_as_many_nulls_as_p_values_above_a_half_tell():
    p = [0.001, 0.004, 0.01, 0.02, 0.03, 0.04, 0.2, 0.7, 0.9, 1.0]
    nulls = 2.0 * (1 + 3)
    small = np.array(p[:6])
    ranked = small * nulls / np.arange(1, 7)
    wanted = np.minimum.accumulate(ranked[::-1])[::-1]
    assert storey(p, 0.95)[:6] == pytest.approx(wanted)
    assert storey(p, 0.95)[6:].tolist() == [1.0] * 4


def test_it_never_pays_for_more_than_there_are():
    p = [0.004] + [1.0] * 9
    assert storey(p, 0.95)[0] == pytest.approx(0.04)


def test_weak_ones_are_not_carried_further_than_their_level():
    p = [1e-6] * 18 + [0.049, 0.051]
    found = storey(p, 0.95)
    assert found[18] <= 0.05
    assert found[19] == 1.0


def test_few_are_adjusted_by_benjamini_hochberg():
    p = [0.01, 0.04, 0.9]
    assert storey(p, 0.95)[:2] == pytest.approx(statistics.benjamini_hochberg(p)[:2], abs=0.0)


def test_nothing_is_nothing():
    assert storey([], 0.95).size == 0


@pytest.mark.parametrize("p", [[0.5, 1.2], [-0.1], [[0.1]]])
def test_what_is_no_p_value_is_refused(p):
    with pytest.raises(ValueError, match="p_values"):
        storey(p, 0.95)


def test_false_discoveries_among_independent_p_values():
    rng = np.random.default_rng(5)
    wrong = []
    for _ in range(400):
        p = np.concatenate([rng.random(60), rng.beta(0.2, 12, 40)])
        found = storey(p, 0.95) <= 0.05
        wrong.append(found[:60].sum() / max(1, found.sum()))
    assert np.mean(wrong) <= 0.06
