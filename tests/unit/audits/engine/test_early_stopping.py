"""Families of members that stopped by their own images."""

from __future__ import annotations

import pytest

from pytest_t2i.audits.engine.early_stopping import Shown, Stopping, evidence
from pytest_t2i.statistics.families import storey
from pytest_t2i.statistics.group_sequential import SequentialTest

TEST = SequentialTest(112, 0.5, members=10)
LOOKS = tuple((n, n) for n in TEST.looks)


def shown(at: int, lean: int) -> Shown:
    """What a member showed that stopped at a look."""
    return Shown(LOOKS[: at + 1], lean, lean)


def first_beyond() -> tuple[int, int]:
    """The first look that can FAIL, and its images."""
    return next(
        (k, n) for k, (n, _) in enumerate(LOOKS) if TEST.boundaries(LOOKS[: k + 1]).upper <= n
    )


AT, CLEAR = first_beyond()
BEYOND, EVEN = shown(AT, CLEAR), shown(AT + 2, LOOKS[AT + 2][0] % 2)


def judged(members, level=0.95):
    return evidence(members, [TEST] * len(members), level)


def test_a_clear_member_fails_and_an_even_one_passes():
    found = judged([BEYOND] * 3 + [EVEN] * 7)
    assert EVEN.state(TEST) == "within"
    assert all(one.beyond <= 0.05 for one in found[:3])
    assert [one.within for one in found[:3]] == [1.0] * 3
    assert all(one.within <= 0.05 + 1e-9 for one in found[3:])
    assert [one.beyond for one in found[3:]] == [1.0] * 7


def test_p_values_are_adjusted_by_storey():
    members = [BEYOND] * 3 + [EVEN] * 7
    p_values = [one.p_value(TEST) for one in members]
    adjusted = storey(p_values, 0.95).clip(max=1.0)
    assert [one.beyond for one in judged(members)] == pytest.approx(adjusted)


def test_at_a_stricter_level_nothing_passes():
    found = judged([BEYOND] * 3 + [EVEN] * 7, 0.99)
    assert all(one.within > 0.01 for one in found)


def weak() -> Shown:
    """A member that stopped beyond its limit at a late look, by its last image."""
    at = len(LOOKS) - 2
    return shown(at, TEST.boundaries(LOOKS[: at + 1]).upper)


def test_one_that_its_family_does_not_reject_stays_open():
    members = [weak()] + [EVEN] * 9
    assert members[0].state(TEST) == "beyond"
    assert judged(members)[0].beyond > 0.05


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


def test_a_look_has_the_images_of_its_last_number():
    stopping = Stopping((14, 17), TEST)
    assert (stopping.images, stopping.most) == (17, 112)
