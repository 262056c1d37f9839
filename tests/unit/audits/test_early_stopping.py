"""Families of members that stopped by their own images."""

from __future__ import annotations

import pytest

from pytest_t2i import statistics
from pytest_t2i.audits.early_stopping import CONFIRMED, FIRST, Shown, Stopping, evidence
from pytest_t2i.statistics.families import benjamini_yekutieli, storey
from pytest_t2i.statistics.group_sequential import SequentialTest

TEST = SequentialTest(112, 0.5, members=10)
LOOKS = tuple((n, n) for n in TEST.looks)


def shown(at: int, lean: int, **fresh) -> Shown:
    """What a member showed that stopped at a look."""
    return Shown(LOOKS[: at + 1], lean, lean, **fresh)


def first_beyond() -> tuple[int, int]:
    """The first look that can FAIL, and its images."""
    return next(
        (k, n) for k, (n, _) in enumerate(LOOKS) if TEST.boundaries(LOOKS[: k + 1]).upper <= n
    )


AT, CLEAR = first_beyond()
BEYOND, EVEN = shown(AT, CLEAR), shown(AT + 2, LOOKS[AT + 2][0] % 2)


def judged(members, rules="own"):
    return evidence(members, [TEST] * len(members), [rules] * len(members))


def test_a_clear_member_fails_and_an_even_one_passes():
    found = judged([BEYOND] * 3 + [EVEN] * 7)
    assert EVEN.state(TEST) == "within"
    assert all(one.beyond <= 0.05 for one in found[:3])
    assert [one.within for one in found[:3]] == [1.0] * 3
    assert all(one.within <= 0.05 + 1e-9 for one in found[3:])
    assert [one.beyond for one in found[3:]] == [1.0] * 7


def test_p_values_are_adjusted_by_storey_at_its_share_of_the_level():
    members = [BEYOND] * 3 + [EVEN] * 7
    p_values = [one.p_value(TEST) for one in members]
    adjusted = storey(p_values, 1 - FIRST * 0.05) / FIRST
    assert [one.beyond for one in judged(members)] == pytest.approx(adjusted.clip(max=1.0))


def weak() -> Shown:
    """A member that stopped beyond its limit at a late look, by its last image."""
    at = len(LOOKS) - 2
    return shown(at, TEST.boundaries(LOOKS[: at + 1]).upper)


def test_one_that_its_family_does_not_reject_stays_open_until_fresh_images_confirm_it():
    members = [weak()] + [EVEN] * 9
    assert members[0].state(TEST) == "beyond"
    assert judged(members)[0].beyond > 0.05
    confirmed = [weak()._replace(fresh=(20, 20)), *members[1:]]
    p_value = statistics.prompt_bias_p_values([20], [0], 0.5)[0]
    assert judged(confirmed)[0].beyond == pytest.approx(p_value / CONFIRMED)
    refuted = [weak()._replace(fresh=(8, 20)), *members[1:]]
    assert judged(refuted)[0].beyond > 0.05


def test_what_a_number_of_images_ended_holds_under_any_dependence():
    members = [BEYOND] * 3 + [shown(0, 8)] * 7
    cut = judged(members, "cut")
    p_values = [one.p_value(TEST) for one in members]
    assert p_values[3:] == [1.0] * 7
    assert [one.beyond for one in cut] == pytest.approx(benjamini_yekutieli(p_values))
    assert [one.within for one in cut] == [1.0] * 10


def test_at_the_last_look_a_member_has_its_own_p_value():
    last = shown(len(LOOKS) - 1, 60)
    assert last.state(TEST) == "open"
    assert 0.05 < last.p_value(TEST) < 1.0


def test_nothing_that_counts_is_no_evidence():
    none = Shown((), 0, 0)
    assert none.state(TEST) == "open"
    assert judged([none])[0] == (1.0, 1.0, None)


def test_undetected_images_must_agree():
    wide = Shown(LOOKS[: AT + 1], CLEAR - 4, CLEAR)
    assert wide.state(TEST) == "open"
    assert wide.p_value(TEST) == 1.0


def test_fresh_images_are_asked_for_beside_those_of_the_looks():
    stopping = Stopping((14, 17), 100, TEST, fresh=34)
    assert stopping.images == 51
    assert stopping.own_test is None
    assert Stopping((14, 17), 100, TEST).own_test == TEST
    assert Stopping((14, 17), 100, TEST, rule="cut").own_test is None


def test_a_share_is_confirmed_by_its_own_test():
    test = SequentialTest(60, 0.4, folded=False, members=2)
    beyond = Shown(((10, 10),), 10, 10, fresh=(18, 20))
    found = evidence([beyond], [test], ["own"])
    p_value = statistics.share_p_value(18, 20, 0.4, "above")
    assert found[0].beyond <= p_value / CONFIRMED + 1e-12
