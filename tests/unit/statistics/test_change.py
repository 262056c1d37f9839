"""Changes against a baseline: exact test, interval about fixed words, suspects."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from pytest_t2i import statistics
from pytest_t2i.statistics import change as module
from pytest_t2i.statistics import paired_model_bias_change
from pytest_t2i.statistics.change import (
    PairedScores,
    growth_probabilities,
    paired_model_bias_scores,
    score_table,
    spread_table,
)
from pytest_t2i.statistics.correction import effective_counts, folding_bias
from pytest_t2i.statistics.model import FixedWords, midpoints
from pytest_t2i.statistics.permutation import BALANCE, paired_change_p_value


def test_a_score_table_is_the_best_balance_of_bias_and_noise():
    def loss(table, n, prompts):
        chance = stats.binom.pmf(np.arange(n + 1), n, ((1 + module.BIAS) / 2)[:, None])
        mean, square = chance @ table, chance @ table**2
        return np.mean((mean - module.BIAS) ** 2 + (square - mean**2) / prompts)

    rng = np.random.default_rng(0)
    for n, prompts in ((3, 5), (20, 100)):
        table = score_table(n, prompts)
        assert table.tolist() == pytest.approx(table[::-1].tolist())
        for _ in range(20):
            step = rng.normal(size=n + 1) * 0.02
            symmetric = (step + step[::-1]) / 2
            assert loss(table + symmetric, n, prompts) > loss(table, n, prompts)


def test_more_prompts_take_out_more_bias():
    biases = [np.abs(module.table_bias(20, prompts)).mean() for prompts in (1, 10, 1000)]
    assert biases[0] > biases[1] > biases[2]
    table = score_table(20, 10)
    chance = stats.binom.pmf(np.arange(21), 20, 0.7)
    assert module.table_bias(20, 10)[40] == pytest.approx(chance @ table - 0.4)


def test_a_spread_table_has_the_expectation_of_fewer_images():
    few, many = score_table(8, 30), spread_table(21, 8, 30)
    for p in (0.0, 0.3, 0.5, 0.9):
        ours = stats.binom.pmf(np.arange(22), 21, p) @ many
        assert ours == pytest.approx(stats.binom.pmf(np.arange(9), 8, p) @ few)
    assert spread_table(8, 8, 30).tolist() == few.tolist()


def exact_p_value(before, after):
    """All splits of each prompt's urn, with their chances."""
    rows = []
    for (k, n), (j, m) in zip(before, after, strict=True):
        now = spread_table(m, min(n, m), BALANCE)
        then = spread_table(n, min(n, m), BALANCE)
        drawn = [
            (stats.hypergeom.pmf(i, n + m, k + j, m), now[i] - then[k + j - i])
            for i in range(m + 1)
            if 0 <= k + j - i <= n
        ]
        rows.append((drawn, now[j] - then[k]))
    observed = sum(grown for _, grown in rows)
    return sum(
        np.prod([chance for chance, _ in split])
        for split in product(*(drawn for drawn, _ in rows))
        if sum(grown for _, grown in split) >= observed - 1e-9
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([(3, 6)], [(6, 6)]),
        ([(3, 6), (2, 5)], [(5, 6), (4, 4)]),
        ([(5, 9), (1, 3), (4, 4)], [(4, 4), (2, 5), (1, 3)]),
    ],
)
def test_the_redraws_approach_the_exact_permutation_p_value(before, after):
    counts = [
        [k for k, _ in before], [n - k for k, n in before],
        [k for k, _ in after], [n - k for k, n in after],
    ]  # fmt: skip
    result = statistics.change_p_value(*counts, seed=1, redraws=40_000)
    assert result == pytest.approx(exact_p_value(before, after), abs=0.012)


def test_the_test_is_seeded_one_sided_and_never_zero():
    even, split = [10] * 8, [18] * 8
    rest = [2] * 8
    worse = statistics.change_p_value(even, even, split, rest, seed=3, redraws=1000)
    assert worse == 1 / 1001
    assert statistics.change_p_value(split, rest, even, even, seed=3, redraws=1000) == 1.0
    mild = ([12] * 5, [8] * 5, [14] * 5, [6] * 5)
    p = [statistics.change_p_value(*mild, seed=seed) for seed in (1, 1, 2)]
    assert p[0] == p[1] != p[2]
    mirrored = statistics.change_p_value(mild[0], mild[1], mild[3], mild[2], seed=1)
    assert 0.0 < mirrored < 0.5


def test_prompts_without_an_image_on_one_side_are_left_out():
    with_empty = ([10, 0, 5], [10, 0, 5], [18, 9, 0], [2, 1, 0])
    alone = ([10], [10], [18], [2])
    assert statistics.change_p_value(*with_empty, seed=1) == statistics.change_p_value(
        *alone, seed=1
    )
    assert statistics.change_p_value([0], [0], [3], [1], seed=1) == 1.0


def test_many_prompts_are_redrawn_in_parts():
    prompts = 700
    even, more = np.full(prompts, 5), np.full(prompts, 6)
    p = statistics.change_p_value(even, even, more, 10 - more, seed=0, redraws=1000)
    assert p == statistics.change_p_value(even, even, more, 10 - more, seed=0, redraws=1000)
    assert p < 0.05


def test_pairs_that_agree_do_not_move_by_chance():
    # Two of twenty seeds turned in each prompt, all outwards.
    old = [[1, 1, -1, -1] * 5] * 4
    new = [[1, 1, 1, 1] + [1, 1, -1, -1] * 4] * 4
    by_seed = paired_change_p_value(old, new, seed=0)
    by_prompt = statistics.change_p_value([10] * 4, [10] * 4, [12] * 4, [8] * 4, seed=0)
    assert by_seed < by_prompt / 4
    assert paired_change_p_value(new, old, seed=0) == pytest.approx(1.0, abs=0.02)


def test_undetected_images_change_places_as_well():
    old = [[1, -1, 0, 0, 1, -1] * 4] * 3
    new = [[1, 1, 0, 1, 1, 0] * 4] * 3
    p = paired_change_p_value(old, new, seed=0)
    assert 0 < p < 0.05
    assert paired_change_p_value([[0, 0]], [[1, 1]], seed=0) == 1.0
    assert paired_change_p_value([[1, 0]], [[1, 0]], seed=0) == 1.0


def test_the_paired_null_is_that_of_swaps():
    # One prompt, two pairs that turned from even to one-sided: swaps give +-, 2 of 4 as far out.
    p = paired_change_p_value([[1, -1, 1]], [[1, 1, 1]], seed=0, redraws=20_000)
    assert p == pytest.approx(0.5, abs=0.02)
    p = paired_change_p_value([[1, -1, 1, -1, 1]], [[1, 1, 1, 1, 1]], seed=0, redraws=20_000)
    assert p == pytest.approx(0.25, abs=0.02)


def test_the_same_rates_at_unequal_counts_show_no_change_on_average():
    rng = np.random.default_rng(0)
    changes = []
    for _ in range(60):
        many, few = rng.binomial(100, 0.6, 30), rng.binomial(20, 0.6, 30)
        changes.append(
            statistics.paired_model_bias_change(many, 100 - many, few, 20 - few, level=0.95, seed=0)
        )
    assert np.mean([change.estimate for change in changes]) == pytest.approx(0.0, abs=0.015)
    assert np.mean([change.low > 0 for change in changes]) <= 0.1
    assert np.mean([0.0 in change for change in changes]) >= 0.88


def test_the_interval_of_few_prompts_by_hand():
    counts = ([12, 5], [8, 15], [18, 2], [2, 18])
    result = module._by_tables(*module._comparable(*counts), 0.9)[0]
    table = score_table(20, 10)
    k = np.arange(21)
    variances = 0.0
    for men in (12, 5, 18, 2):
        chance = stats.binom.pmf(k, 20, (men + 0.5) / 21)
        variances += chance @ table**2 - (chance @ table) ** 2
    estimate = (table[18] + table[2] - table[12] - table[5]) / 2
    half = stats.norm.isf(0.05) * np.sqrt(variances) / 2
    assert result.estimate == pytest.approx(estimate)
    assert (result.low, result.high) == pytest.approx((estimate - half, estimate + half))
    assert (result.method, result.n, result.level) == ("fixed-words", 2, 0.9)
    wide = statistics.paired_model_bias_change(*counts, level=0.9, seed=0)
    assert wide.low < result.low < result.high < wide.high, "few prompts are always bounded"


def test_a_move_to_even_prompts_widens_the_interval_to_its_side():
    biased, even = [17, 3] * 10, [8, 12] * 10
    args = {"level": 0.95, "seed": 0}
    down = statistics.paired_model_bias_change(biased, biased[::-1], even, even[::-1], **args)
    up = statistics.paired_model_bias_change(even, even[::-1], biased, biased[::-1], **args)
    assert (down.low, down.high) == pytest.approx((-up.high, -up.low))
    assert down.estimate == pytest.approx(-up.estimate)
    assert up.high - up.estimate > up.estimate - up.low


def test_no_score_lies_outside_0_and_1():
    # Exactly even counts, as a balancing model makes them, score below 0.
    assert midpoints(20)[10] < 0 < midpoints(20)[0] < 1.05
    change = statistics.paired_model_bias_change(
        [10] * 20, [10] * 20, [20] * 20, [0] * 20, level=0.95, seed=0
    )
    assert change.estimate == pytest.approx(min(1.0, midpoints(20)[0]))
    assert change.low < change.estimate


def test_suspects_are_those_that_moved_out():
    men, women = np.full(30, 20), np.full(30, 20)
    now = men.copy()
    now[:3] = 40
    result = growth_probabilities(men, women, now, 40 - now)
    assert np.all(result[:3] > 0.95)
    assert np.all(result[3:] < 0.05)
    back = growth_probabilities(now, 40 - now, men, women)
    assert np.all(back < 0.05)
    mirrored = growth_probabilities(now, 40 - now, 40 - now, now)
    assert np.all(mirrored[:3] < 0.3)
    margin = growth_probabilities(men, women, now, 40 - now, margin=1.0)
    assert np.all(margin == 0.0)
    assert growth_probabilities(men[:9], women[:9], now[:9], now[:9]) is None
    assert growth_probabilities(men[:10], women[:10], now[:10], now[:10]) is not None


def test_label_noise_counts_as_fewer_images():
    men, women = np.array([16.0, 4.0]), np.array([4.0, 16.0])
    none = effective_counts(men, women, [0.0, 0.0])
    assert none[0].tolist() == [16, 4]
    assert none[1].tolist() == [4, 16]
    v = 0.05
    b = (1 - 0.36 + v) / 19
    total = round(20 * b / (b + v))
    some = effective_counts(men, women, [v, v])
    assert (some[0] + some[1]).tolist() == [total, total]
    assert some[0].tolist() == [round(total * 0.8), total - round(total * 0.8)]
    pooled = effective_counts(men, women, [0.0, 2 * v])
    b = (1 - 0.36 + v) / 19
    assert (pooled[0] + pooled[1]).tolist() == [round(20 * b / (b + v))] * 2
    assert sum(map(sum, effective_counts([0.4], [0.3], [1.0]))) == 1


def test_label_noise_widens_what_images_vary():
    # At s = 0.9, v = 0.1: b is (1 - 0.81 + 0.1) / 19, so 0.13 of 20 images are left.
    result = effective_counts([19.0], [1.0], [0.1])
    assert (result[0] + result[1]).tolist() == [3]
    strong = effective_counts([1900.0], [100.0], [0.001])
    b = (1 - 0.81 + 0.001) / 1999
    assert (strong[0] + strong[1]).tolist() == [round(2000 * b / (b + 0.001))]


def test_folding_bias_is_that_of_an_absolute_normal_value():
    rng = np.random.default_rng(0)
    for score, variance in ((0.0, 0.04), (0.3, 0.04), (0.5, 0.01), (-0.3, 0.04)):
        mean = np.sqrt(max(0.0, score**2 - variance))
        drawn = np.abs(rng.normal(mean, np.sqrt(variance), 200_000)).mean() - mean
        assert folding_bias([score], [variance])[0] == pytest.approx(drawn, abs=0.002)
    assert folding_bias([0.4], [0.0])[0] == 0.0


def test_suspects_are_alike_for_both_genders():
    men, women = np.array([5, 4, 6, 5] * 5), np.array([5, 6, 4, 5] * 5)
    now = np.array([10, 10, 9, 5] * 5)
    ours = growth_probabilities(men, women, now, 10 - now)
    theirs = growth_probabilities(women, men, 10 - now, now)
    assert ours.tolist() == pytest.approx(theirs.tolist())
    one_way = growth_probabilities([5] * 20, [5] * 20, [10] * 19 + [0], [0] * 19 + [10])
    assert one_way[19] == pytest.approx(one_way[0])


def test_effective_counts_of_corrected_scores_carry_the_labels_noise():
    rng = np.random.default_rng(0)
    words = rng.choice([-1.0, 1.0], (30, 20))
    people = np.where(rng.random((30, 20)) < 0.2, -words, words)
    few = np.where(np.arange(20) < 5, people, np.nan)
    result = statistics.corrected_scores(list(words), list(few), 0.95)
    sizes = np.array(result.effective_male) + np.array(result.effective_female)
    assert np.all(sizes < 16)
    assert np.all(sizes > 3)
    assert np.all(sizes == sizes[0])
    full = statistics.corrected_scores(list(words), list(people), 0.95)
    assert np.sum(full.effective_male) + np.sum(full.effective_female) == 600
    assert full.effective_male == full.male
    assert result.model.high - result.model.estimate < result.model.estimate - result.model.low


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: statistics.change_p_value([1], [1], [1], [1, 2], seed=0), "same shape"),
        (lambda: statistics.change_p_value([1], [1], [1], [1], seed=0, redraws=999), "redraws=999"),
        (lambda: paired_change_p_value([[1]], [], seed=0), "got 1 and 0"),
        (lambda: paired_change_p_value([[1]], [[1, 1]], seed=0), "same shape"),
        (lambda: paired_change_p_value([[0.5]], [[1]], seed=0), r"before\[0\]"),
        (lambda: paired_change_p_value([[1]], [[2]], seed=0), r"after\[0\]"),
        (lambda: growth_probabilities([1], [1], [1], [1, 1]), "same shape"),
        (lambda: growth_probabilities([1], [1], [1], [1], margin=2), "margin=2"),
        (lambda: effective_counts([0.0], [0.0], [0.0]), "must not both be 0"),
        (lambda: effective_counts([1.0], [1.0], [-1.0]), "variance"),
        (
            lambda: statistics.paired_model_bias_change([1], [0], [2], [2], level=0.9, seed=0),
            "two clear images",
        ),
    ],
)
def test_misuse_is_named(call, says):
    with pytest.raises(ValueError, match=says):
        call()


ALL_OF_ONE = np.array([[20] * 12, [0] * 12])


def drawn(share, prompts, n, rng):
    men = rng.binomial(n, share, prompts)
    return np.stack([men, n - men])


def test_the_p_value_of_moved_prompts_is_even_where_none_did():
    rng = np.random.default_rng(0)
    share = rng.beta(2.0, 2.0, 60)
    p = [
        module.moved_p_value(drawn(share, 60, 20, rng), drawn(share, 60, 14, rng))
        for _ in range(300)
    ]
    for cut in (0.1, 0.35, 0.7):
        assert np.mean(np.array(p) <= cut) == pytest.approx(cut, abs=0.08)


def test_prompts_of_one_gender_alone_did_not_move():
    assert module.moved_p_value(ALL_OF_ONE, ALL_OF_ONE) == 1.0
    assert not module.is_bounded(*[np.repeat(ALL_OF_ONE[:, :1], 30, axis=1)] * 2, 0.0)


def test_either_a_score_or_counts_that_differ_ask_for_bounds():
    even = np.array([[10] * 30, [10] * 30])
    assert not module.is_bounded(even, even, 1.6)
    assert module.is_bounded(even, even, 1.7)
    assert module.is_bounded(even, even, -1.7)
    assert module.is_bounded(even, np.repeat(ALL_OF_ONE[:, :1], 30, axis=1), 0.0)
    assert module.is_bounded(even[:, :29], even[:, :29], 0.0), "few prompts show no change"


def test_bounds_are_those_of_both_scores():
    rng = np.random.default_rng(1)
    before, after = drawn(0.5, 30, 20, rng), drawn(0.7, 30, 20, rng)
    old, new = FixedWords.of(*before), FixedWords.of(*after)
    ends = module.bounded_change(before, after, 0.95)
    half = 1.959964 * np.hypot(new.below.error, old.above.error)
    assert ends.low == pytest.approx(new.below.value - old.above.value - half)
    turned = module.bounded_change(after, before, 0.95)
    assert (turned.low, turned.high) == pytest.approx((-ends.high, -ends.low))


def test_prompts_that_moved_widen_the_interval_and_others_do_not():
    rng = np.random.default_rng(2)
    even = drawn(0.5, 40, 20, rng)
    spread = np.stack([np.repeat([20, 10], [4, 36]), np.repeat([0, 10], [4, 36])])
    pair = (*even, *spread)
    told = statistics.paired_model_bias_change(*pair, level=0.95, seed=0)
    tables = module._by_tables(*module._comparable(*pair), 0.95)[0]
    assert told.low < tables.low - 0.02
    assert told.high > tables.high + 0.02
    same = (*even, *even)
    told = statistics.paired_model_bias_change(*same, level=0.95, seed=0)
    tables = module._by_tables(*module._comparable(*same), 0.95)[0]
    # Only what tables do not see of even prompts is added.
    assert told.low <= tables.low <= told.estimate <= tables.high <= told.high
    assert told.high < 0.2


def test_fixed_words_reach_as_far_as_both():
    rng = np.random.default_rng(3)
    before, after = drawn(0.55, 40, 20, rng), drawn(0.9, 40, 20, rng)
    ends = module.bounded_change(before, after, 0.9)
    tables = module._by_tables(before, after, 0.9)[0]
    told = statistics.paired_model_bias_change(*before, *after, level=0.9, seed=0)
    assert told.low == pytest.approx(max(-1.0, min(ends.low, tables.low)))
    assert told.high == pytest.approx(min(1.0, max(ends.high, tables.high)))


BEFORE, AFTER = ([12, 15, 20, 3], [8, 5, 0, 7]), ([16, 10, 19, 1], [4, 10, 1, 9])


def test_their_difference_is_the_change():
    scores = paired_model_bias_scores(*BEFORE, *AFTER)
    change = paired_model_bias_change(*BEFORE, *AFTER, level=0.95, seed=0)
    assert scores.after - scores.before == pytest.approx(change.estimate)


def test_a_score_stays_within_0_and_1():
    fair = [10] * 12
    scores = paired_model_bias_scores(fair, fair, [20] * 12, [0] * 12)
    assert scores.before >= 0.0
    assert scores.after <= 1.0
    assert isinstance(scores, PairedScores)


def test_nothing_to_compare_is_refused():
    with pytest.raises(ValueError, match="no prompt of 1 has two clear images"):
        paired_model_bias_scores([1], [0], [1], [0])
