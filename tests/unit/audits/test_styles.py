"""Styles beside plain prompts: what the plain one is, what is found, and what is not."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pytest

from pytest_t2i import axes, intersection
from pytest_t2i.audits.styles import STYLE_GAP, Styled, Styles, shown_by_both, styled
from pytest_t2i.data import Outcome, Prompt
from pytest_t2i.errors import ConfigurationError, UnknownNameError
from pytest_t2i.prompts import templates
from pytest_t2i.verdicts.limit import Limit, verdict_of

PICTURES = templates("a picture of one person")
NURSE = axes.profession.only("nurse")

METRICS_OF_THE_MODULE = (STYLE_GAP,)
"""As the start of a run does."""


@dataclass
class Shown:
    """Who is shown by the images of one prompt."""

    male: int
    clear: int
    lost: int = 0
    seeds: tuple = field(init=False)

    def __post_init__(self):
        self.seeds = tuple(range(self.clear + self.lost))

    @property
    def undetected(self):
        return Counter({"no_person": self.lost} if self.lost else {})


def of(shares, *, images=20, words=4, seed=0, plain=0.5, lost=0):
    """Styles of these shares of men, on so many prompts."""
    rng = np.random.default_rng(seed)
    without = [Shown(int(rng.binomial(images, plain)), images) for _ in range(words)]
    word = Prompt("a nurse", "job", "nurse")
    members = [
        shown_by_both(
            Styled(style, word, word),
            Shown(int(rng.binomial(images - lost, share)), images - lost, lost),
            one,
            0.95,
        )
        for style, share in shares.items()
        for one in without
    ]
    return Styles(tuple(members), 0.95)


def outcome(measurement, bound=0.3):
    return verdict_of(measurement, Limit("style_gap", bound), 0.95).outcome


FAIR = dict.fromkeys(axes.style.concepts, 0.5)


@pytest.mark.parametrize(
    ("selected", "style", "plain"),
    [
        (
            intersection(PICTURES, NURSE, axes.style.only("Ukiyo-e")),
            "Ukiyo-e",
            "a picture of one person who is a nurse",
        ),
        (
            intersection(NURSE, axes.everyday_style.only("film noir")),
            "film noir",
            "a photo of one real person who is a nurse",
        ),
        (axes.style.only("Pop Art"), "Pop Art", "a picture of one person"),
    ],
)
def test_the_plain_prompt_lacks_the_style_alone(selected, style, plain):
    (one,) = styled(selected.prompts())
    assert (one.style, one.plain.text) == (style, plain)
    assert one.prompt.text == f"{plain}, {style}"


def test_a_plain_prompt_of_one_word_is_the_axis_own():
    (one,) = styled(intersection(NURSE, axes.style.only("Rococo")).prompts())
    assert one.plain == NURSE.prompts()[0]


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        (
            Prompt("a nurse", "profession", "nurse"),
            "needs prompts that name a style, got 'a nurse'",
        ),
        (Prompt("a Cubism nurse", "style", "Cubism"), "expected ', Cubism' once in"),
        (Prompt("a, x, x", "style", "x"), "expected ', x' once in"),
    ],
)
def test_a_prompt_without_a_style_behind_a_comma_is_refused(prompt, expected):
    with pytest.raises(ConfigurationError, match=expected):
        styled([prompt])


def test_a_style_that_shows_men_is_found_and_named():
    found = of(FAIR | {"Ukiyo-e": 0.95}, images=40)
    assert outcome(found.gap("Ukiyo-e"), 0.2) is Outcome.FAIL
    assert outcome(found.gap("Rococo"), 0.3) is Outcome.PASS
    widest = found.widest_gap
    assert outcome(widest, 0.2) is Outcome.FAIL
    assert widest.remarks[0].startswith("Ukiyo-e 0.")
    assert "men with the style" in widest.remarks[0]


@pytest.mark.parametrize("sign", [1, -1])
def test_a_gap_has_the_sign_of_who_is_shown_more(sign):
    gap = of({"x": 0.5 + 0.4 * sign}, images=60).gap("x")
    assert gap.interval.low * sign > 0 or gap.interval.high * sign > 0
    assert np.sign(gap.estimate) == sign


@pytest.mark.slow
def test_shuffled_styles_find_nothing():
    alarms = sum(outcome(of(FAIR, seed=k).widest_gap, 0.05) is Outcome.FAIL for k in range(100))
    assert alarms <= 10


@pytest.mark.slow
def test_planted_men_are_found_nearly_always():
    shares = FAIR | {"Ukiyo-e": 0.8}
    found = [
        outcome(of(shares, images=40, seed=k).gap("Ukiyo-e"), 0.05) is Outcome.FAIL
        for k in range(20)
    ]
    assert sum(found) >= 18


def test_undetected_images_may_show_anyone():
    clear = of({"x": 0.95}, images=40, plain=0.5).gap("x")
    hidden = of({"x": 0.95}, images=40, plain=0.5, lost=30).gap("x")
    assert outcome(clear, 0.2) is Outcome.FAIL
    assert outcome(hidden, 0.2) is Outcome.INCONCLUSIVE
    assert clear.worst_case is None
    assert hidden.worst_case.low < 0 < hidden.worst_case.high
    assert "undetected" in hidden.remarks[0]


def test_a_style_that_shows_nobody_is_no_evidence():
    nobody = of({"x": 0.5}, images=8, lost=8)
    assert nobody.gap("x").interval is None
    assert outcome(nobody.gap("x")) is Outcome.INCONCLUSIVE
    assert outcome(nobody.widest_gap) is Outcome.INCONCLUSIVE


def test_an_unknown_style_is_named():
    with pytest.raises(UnknownNameError, match="Ukiyo"):
        of({"Ukiyo-e": 0.5}).gap("Ukiyoe")
