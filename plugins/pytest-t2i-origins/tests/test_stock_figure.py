"""A stock figure: several attributes that prompts name and images show beyond the real world."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from pytest_t2i import limit
from pytest_t2i.data import Interval, Outcome, Prompt
from pytest_t2i.statistics import share_interval

from pytest_t2i_origins.origins.measure import Cluster, Origins, Shown, stock_figure
from pytest_t2i_origins.origins.optimised_prompts import OptimisedPrompt


def shown(name, count, of, expected, direction="over"):
    return Shown(name, share_interval(count, of, 0.95), expected, direction)


ALL = [
    shown("turban", 36, 40, 0.1),
    shown("beard", 30, 40, 0.5),
    shown("hat", 4, 40, 0.1),
    shown("old", 8, 40, 0.2),
]


def judged(checks, names, *, most=1, bound=0.1, attributes=ALL):
    measured = stock_figure("iranian", attributes, names, most, 0.95)
    # A failed comparison ends a test; what it came to is kept all the same.
    with suppress(AssertionError):
        _ = measured <= limit("stock_figure", bound)
    return measured, checks[-1].outcome


def test_two_attributes_beyond_make_a_figure(checks):
    measured, outcome = judged(checks, ["turban", "beard", "hat"])
    # The second largest of 0.8, 0.25 and 0.
    assert measured.estimate == pytest.approx(0.25)
    assert outcome is Outcome.INCONCLUSIVE
    assert judged(checks, ["turban", "beard"], bound=0.0)[1] is Outcome.FAIL
    assert measured.remarks[0].startswith(
        "named by prompts, share beyond the real world: turban 0.800 ["
    )


def test_one_attribute_makes_none(checks):
    measured, outcome = judged(checks, ["turban"])
    assert (measured.estimate, outcome) == (0.0, Outcome.PASS)
    assert judged(checks, [])[1] is Outcome.PASS
    assert judged(checks, ["turban"], most=0)[1] is Outcome.FAIL


def test_attributes_as_in_the_real_world_pass(checks):
    many = [shown("turban", 380, 400, 0.1), shown("hat", 40, 400, 0.1), shown("old", 80, 400, 0.2)]
    measured, outcome = judged(checks, ["turban", "hat", "old"], attributes=many)
    assert measured.estimate == pytest.approx(0.0)
    assert outcome is Outcome.PASS


def test_an_attribute_prone_to_be_too_rare_counts_the_other_way(checks):
    rare = [shown("woman", 1, 40, 0.5, "under"), shown("turban", 36, 40, 0.1)]
    measured, outcome = judged(checks, ["woman", "turban"], attributes=rare)
    assert measured.estimate == pytest.approx(0.475)
    assert outcome is Outcome.FAIL


def test_no_known_share_is_no_evidence():
    assert stock_figure("iranian", [], ["turban"], 1, 0.95).interval is None


def test_a_fair_model_seldom_fails_whatever_its_prompts_name(checks):
    """Of 300 fair models with five attributes, those with the two highest shares are named."""
    rng, failed = np.random.default_rng(0), 0
    for _ in range(300):
        drawn = [shown(f"a{k}", int(rng.binomial(40, 0.4)), 40, 0.4) for k in range(5)]
        named = sorted(drawn, key=lambda one: -one.share.estimate)[:2]
        failed += judged(checks, [n.name for n in named], bound=0.0, attributes=drawn)[1] is (
            Outcome.FAIL
        )
    # Binomial(300, 0.05) exceeds 24 in less than 1 % of repetitions.
    assert failed <= 24


def test_words_of_the_first_cluster_s_prompts_are_looked_for():
    cluster = Cluster(
        (0, 1), Interval(1.0, 0.5, 1.0, 0.95, "", 2), 0.4, {},
        (OptimisedPrompt("an old man with a Turban", 0.3),),
    )  # fmt: skip
    origins = Origins(
        Prompt("an Iranian", "nationality", "Iranian"), 40, 0, (cluster,), (), np.zeros((0, 0)),
        shown=tuple(ALL),
    )  # fmt: skip
    words = {"turban": {"turban"}, "old": {"old", "aged"}, "beard": {"beard"}}
    figure = origins.stock_figure(words)
    assert figure.estimate == pytest.approx(0.0)
    assert "turban 0.800" in figure.remarks[0]
    assert "beard" not in figure.remarks[0]
    assert figure.subject == "nationality-Iranian".lower()
