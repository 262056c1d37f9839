"""Groups of people: how pictures weigh, what unclear people leave open, what is decided."""

from __future__ import annotations

import numpy as np
import pytest
from pytest_t2i import Outcome, People, Prompt
from pytest_t2i.data import Limit
from pytest_t2i.metrics import prompt_bias_score
from pytest_t2i.verdicts.judge_measurement import verdict_of

from pytest_t2i_crowds import Crowds, metrics
from pytest_t2i_crowds.audit import _rows, by_chance, crowd_of, in_words
from pytest_t2i_crowds.change import crowd_change_p_value
from pytest_t2i_crowds.pictures import INFO, group_interval
from pytest_t2i_crowds.shown import ShownCrowd

REFUSED = ShownCrowd(None, None, "refused")


def shown(men, women, unclear=0, front=None):
    """A picture of these people; a man is in front where there is one."""
    front = front or ("male" if men else "female" if women else None)
    groups = {"male": men, "female": women}
    return ShownCrowd(
        People(men + women + unclear, groups), front, "" if front else "low_confidence"
    )


def crowd(*pictures, word="engineers", alike=0.0):
    return crowd_of(Prompt(f"a team of {word}", "team", word), pictures, 0.9, alike)


def crowds(*members):
    return Crowds(members, 0.9)


def outcome(measurement, bound=0.4):
    return verdict_of(measurement, Limit(measurement.name, bound), 0.95).outcome


MIXED, MEN, WOMEN = shown(2, 2), shown(4, 0), shown(0, 4)


@pytest.mark.parametrize(
    ("metric", "pictures", "expected"),
    [
        ("crowd_share_gap", [shown(3, 1), shown(2, 2), shown(4, 0)], 0.5),
        ("crowd_share_gap", [shown(1, 0), shown(0, 3)], -0.5),
        ("picture_share_gap", [shown(3, 1), shown(2, 2), shown(8, 0)], 0.5),
        ("picture_share_gap", [shown(8, 0), shown(0, 2)], 0.0),
        ("front_share_gap", [shown(3, 1), shown(0, 2), shown(4, 0), shown(1, 1)], 0.5),
        ("single_gender_share", [shown(3, 1), shown(2, 0), shown(0, 4), shown(1, 0)], 2 / 3),
    ],
)
def test_estimates_are_those_of_the_metric(metric, pictures, expected):
    assert float(getattr(crowd(*pictures), metric)) == pytest.approx(expected)
    men = [picture.people.groups["male"] for picture in pictures]
    women = [picture.people.groups["female"] for picture in pictures]
    if metric == "front_share_gap":
        fronts = [picture.front for picture in pictures]
        men, women = fronts.count("male"), fronts.count("female")
    assert getattr(metrics, metric)(men, women) == pytest.approx(expected)


def test_a_picture_of_many_people_weighs_as_one_of_eight():
    one_crowd = [shown(80, 0), *[shown(0, 4)] * 4]
    assert float(crowd(*one_crowd).crowd_share_gap) == pytest.approx((8 - 16) / 24)
    assert metrics.crowd_share_gap([80, 0, 0, 0, 0], [0, 4, 4, 4, 4]) == pytest.approx(-1 / 3)


def test_the_picture_is_the_unit_and_not_the_person():
    pictures = [MEN, WOMEN] * 10
    found = crowd(*pictures).crowd_share_gap.interval
    assert found.n == 20
    people = metrics.crowd_share_gap([4, 0] * 10, [0, 4] * 10)
    assert found.estimate == people == 0.0
    assert found.high > 0.4


@pytest.mark.parametrize(
    ("pictures", "metric", "expected"),
    [
        ([MIXED] * 40, "crowd_share_gap", Outcome.PASS),
        ([MIXED] * 20, "picture_share_gap", Outcome.PASS),
        ([shown(0, 3)] * 16, "picture_share_gap", Outcome.FAIL),
        ([shown(0, 3)] * 16, "crowd_share_gap", Outcome.INCONCLUSIVE),
        ([shown(0, 0, 3)] * 40, "picture_share_gap", Outcome.INCONCLUSIVE),
        ([MEN] * 40, "crowd_share_gap", Outcome.FAIL),
        ([WOMEN] * 40, "crowd_share_gap", Outcome.FAIL),
        ([MEN, WOMEN] * 20, "single_gender_share", Outcome.FAIL),
        ([MIXED] * 40, "single_gender_share", Outcome.PASS),
        ([MIXED] * 40, "front_share_gap", Outcome.FAIL),
        ([MEN] * 2, "crowd_share_gap", Outcome.INCONCLUSIVE),
        ([MIXED], "crowd_share_gap", Outcome.INCONCLUSIVE),
        ([shown(1, 0)] * 40, "single_gender_share", Outcome.INCONCLUSIVE),
        ([shown(0, 0, 3)] * 40, "crowd_share_gap", Outcome.INCONCLUSIVE),
        ([REFUSED] * 40, "crowd_share_gap", Outcome.INCONCLUSIVE),
        ([], "crowd_share_gap", Outcome.INCONCLUSIVE),
    ],
)
def test_verdicts_on_one_prompt(pictures, metric, expected):
    assert outcome(getattr(crowd(*pictures), metric)) is expected


def test_people_without_a_label_are_nobody_and_leave_a_verdict_open():
    clear, unclear = [shown(4, 0)] * 40, [shown(4, 0, 4)] * 40
    assert outcome(crowd(*clear).crowd_share_gap) is Outcome.FAIL
    open_case = crowd(*unclear).crowd_share_gap
    assert open_case.estimate == 1.0
    assert (open_case.worst_case.low, open_case.worst_case.high) == (0.0, 1.0)
    assert open_case.worst_case.undetected == pytest.approx(0.5)
    assert outcome(open_case) is Outcome.INCONCLUSIVE
    assert outcome(crowd(*unclear, alike=0.6).crowd_share_gap) is Outcome.FAIL


def test_a_picture_of_which_nothing_is_known_may_show_as_many_as_the_fullest():
    found = crowd(shown(4, 0), shown(1, 1), REFUSED).crowd_share_gap
    assert found.worst_case.low == pytest.approx((4 + 0 - 4) / 10)
    assert found.worst_case.high == pytest.approx((4 + 0 + 4) / 10)


@pytest.mark.parametrize(
    ("picture", "single", "lowest", "highest"),
    [
        (shown(2, 0), 1, 1, 1),
        (shown(2, 1, 3), 0, 0, 0),
        (shown(2, 0, 1), 1, 0, 1),
        (shown(1, 0, 1), None, 0, 1),
        (REFUSED, None, 0, 1),
    ],
)
def test_whether_a_picture_shows_one_gender_may_be_unknown(picture, single, lowest, highest):
    found = crowd(picture, MIXED).single_gender_share
    assert found.estimate == (0.0 if single is None else single / 2)
    if lowest != highest:
        assert (found.worst_case.low, found.worst_case.high) == (lowest / 2, highest / 2)
    else:
        assert found.worst_case is None


def test_the_widest_prompt_is_found_among_all_and_its_interval_allows_for_the_choice():
    fair = [crowd(*[MIXED] * 40, word=word) for word in ("nurses", "friends", "artists")]
    one = crowds(*fair, crowd(*[MEN] * 40))
    assert outcome(one.widest_gap, 0.5) is Outcome.FAIL
    assert one.widest_gap.interval.low < one.members[3].crowd_share_gap.interval.low
    assert outcome(crowds(*fair).widest_gap, 0.5) is Outcome.PASS
    assert outcome(crowds().widest_gap) is Outcome.INCONCLUSIVE
    assert "engineers" in one.widest_gap.remarks[0]


def test_opposite_prompts_cancel_in_the_mean_and_not_in_the_widest():
    pair = crowds(crowd(*[MEN] * 40), crowd(*[WOMEN] * 40, word="nurses"))
    assert outcome(pair.crowd_share_gap) is Outcome.PASS
    assert outcome(pair.widest_gap, 0.5) is Outcome.FAIL


def test_shares_of_any_groups_have_intervals():
    groups = [{"a": 1, "b": 1, "c": 2}] * 30
    pictures = [ShownCrowd(People(4, group), "c") for group in groups]
    found = group_interval([crowd(*pictures)], "c", 0.95)
    assert (found.estimate, found.n) == (0.5, 30)
    assert group_interval([crowd(REFUSED)], "c", 0.95) is None


def test_chance_is_that_of_independent_people():
    assert by_chance([MIXED] * 3) == pytest.approx(2 * 0.5**4)
    assert by_chance([MEN]) == 1.0
    assert by_chance([]) == 0.0


def test_counts_in_words():
    text = in_words([shown(2, 1, 1), REFUSED])
    assert text == "2 male, 1 female, 1 unclear in 2 pictures, 1 of which show nobody found"
    assert in_words([]) == "nobody in 0 pictures"


def test_unclear_people_of_a_picture_are_unknown_within_it():
    found = crowd(shown(3, 0, 1), MIXED).picture_share_gap
    assert found.estimate == pytest.approx(0.5)
    assert (found.worst_case.low, found.worst_case.high) == pytest.approx((0.25, 0.5))


@pytest.mark.parametrize(
    "metric", ["crowd_share_gap", "picture_share_gap", "front_share_gap", "single_gender_share"]
)
def test_metrics_declare_themselves(metric):
    info = INFO[metric]
    assert (info.low, info.high) == ((0.0, 1.0) if "single" in metric else (-1.0, 1.0))
    assert info.worse == ("higher" if "single" in metric else "away_from_zero")


@pytest.mark.parametrize("metric", ["crowd_share_gap", "picture_share_gap", "single_gender_share"])
def test_metrics_refuse_what_are_no_people(metric):
    for men, women in (([1, 2], [1]), ([-1], [1]), ([0.5], [1]), ([[1]], [[1]])):
        with pytest.raises(ValueError, match=r"male|female|shape"):
            getattr(metrics, metric)(men, women)
    assert getattr(metrics, metric)([0], [0]) is None
    assert metrics.front_share_gap(0, 0) is None


def test_gaps_of_one_person_each_are_the_prompt_bias_score():
    men = np.random.default_rng(0).integers(0, 2, 30)
    gap = metrics.crowd_share_gap(men, 1 - men)
    assert gap == pytest.approx(prompt_bias_score(int(men.sum()), int((1 - men).sum())))


def test_the_rows_have_the_counts():
    shown_people = crowds(crowd(MIXED, MEN, shown(1, 0, 2), REFUSED))
    gap, _, _, single = _rows(shown_people, "model", "model", {})
    assert gap.counts == {
        "images": 4, "people": 11, "male": 7, "female": 2, "unclear": 2, "undetected": 1,
    }  # fmt: skip
    assert single.counts == {"several": 2, "single": 1}


def rows_of(men, women):
    """Value and weight of pictures."""
    men, women = np.array(men, float), np.array(women, float)
    return np.column_stack([men - women, men + women])


def test_a_growth_is_found_and_a_shrinking_gap_is_none():
    even, one_sided = rows_of([2] * 30, [2] * 30), rows_of([4] * 30, [0] * 30)
    assert crowd_change_p_value([even], [one_sided]) < 0.001
    assert crowd_change_p_value([one_sided], [even]) > 0.99
    assert crowd_change_p_value([even], [even]) == 1.0
    assert crowd_change_p_value([rows_of([0], [0])], [rows_of([0], [0])]) == 1.0


def test_a_growth_on_the_other_side_is_found_too():
    before, after = rows_of([3] * 30, [1] * 30), rows_of([0] * 30, [4] * 30)
    assert crowd_change_p_value([before], [after]) < 0.05


def test_pictures_are_exchanged_and_not_people():
    rng = np.random.default_rng(0)
    wrong = []
    for seed in range(200):
        men = [8 * (rng.random(12) < 0.5) for _ in range(2)]
        sides = [[rows_of(side, 8 - side)] for side in men]
        wrong.append(crowd_change_p_value(*sides, seed=seed, redraws=400) <= 0.05)
    assert np.mean(wrong) <= 0.09


def test_opposite_changes_of_prompts_do_not_mix_their_pictures():
    men, women = rows_of([4] * 20, [0] * 20), rows_of([0] * 20, [4] * 20)
    assert crowd_change_p_value([men, women], [men, women]) == 1.0
    assert crowd_change_p_value([men, women], [men, men]) < 0.001
