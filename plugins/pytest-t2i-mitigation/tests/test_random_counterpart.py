"""Random counterpart: a fair coin by seed and prompt."""

from __future__ import annotations

import pytest

from pytest_t2i_mitigation.random_counterpart import RandomCounterpart, drawn

PAIR = ("a female nurse", "a male nurse")


def share(mitigation, text="a nurse", images=4000):
    made = [mitigation.prompt(text, seed, PAIR) for seed in range(images)]
    assert set(made) <= set(PAIR)
    return made.count(PAIR[0]) / images


@pytest.mark.parametrize("asked", [0.0, 0.2, 0.5, 1.0])
def test_the_share_of_feminine_pictures_is_the_one_asked_for(asked):
    assert share(RandomCounterpart(asked)) == pytest.approx(asked, abs=0.03)


def test_half_is_the_default():
    assert RandomCounterpart() == RandomCounterpart(0.5)


def test_a_picture_is_the_same_each_time_and_on_each_machine():
    made = [RandomCounterpart().prompt("a nurse", seed, PAIR) for seed in range(6)]
    assert made == [RandomCounterpart().prompt("a nurse", seed, PAIR) for seed in range(6)]
    assert drawn("0|a nurse") == pytest.approx(0.66982, abs=1e-5)


def test_prompts_draw_for_themselves():
    texts = ("a nurse", "a pilot")
    drawn_of = [[RandomCounterpart().prompt(t, s, PAIR) for s in range(400)] for t in texts]
    alike = sum(a == b for a, b in zip(*drawn_of, strict=True))
    assert 160 < alike < 240


def test_a_larger_share_keeps_those_that_were_feminine():
    few, many = RandomCounterpart(0.3), RandomCounterpart(0.6)
    for seed in range(200):
        if few.prompt("a nurse", seed, PAIR) == PAIR[0]:
            assert many.prompt("a nurse", seed, PAIR) == PAIR[0]


@pytest.mark.parametrize("wrong", [-0.1, 1.5, float("nan")])
def test_no_share_is_refused(wrong):
    with pytest.raises(ValueError, match="share: expected a number from 0 to 1, got"):
        RandomCounterpart(wrong)
