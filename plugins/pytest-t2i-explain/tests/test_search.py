"""The search on planted worlds: causes alone, together, either, and none."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_t2i_explain.search import Search, images_of_prompt, swap_p_value

PROMPTS = 6
CAUSES = {
    "alone": lambda new: "a" in new,
    "together": lambda new: {"a", "b"} <= new,
    "either": lambda new: bool({"a", "b"} & new),
    "none": lambda new: False,
}


def draw_of(cause, growth, seed, shared=0.5):
    """Labels whose mean grows where the cause is there; half of the noise is the seed's."""
    noise = np.random.default_rng(seed).random((PROMPTS, 300))

    def draw(new, images):
        rng = np.random.default_rng([seed, sum(2 ** "abcdefgh".index(name) for name in new)])
        own, is_shared = rng.random((2, PROMPTS, 300))
        male = np.where(is_shared < shared, noise, own) < 0.5 + growth / 2 * float(cause(new))
        return np.where(male, 1.0, -1.0)[:, :images]

    return draw


def search(cause, components, seed=1, growth=0.9, **options):
    draw, pictured = draw_of(CAUSES[cause], growth, seed), frozenset(components)
    return Search(draw, tuple(components), pictured, growth, PROMPTS, **options).run()


def names(found):
    return {effect.components for effect in found.named}


@pytest.mark.parametrize("components", ["a", "ab", "abc", "abcde"])
def test_a_cause_that_acts_alone_is_named(components):
    found = search("alone", components)
    assert (found.outcome, names(found)) == ("named", {("a",)})
    assert found.named[0].restored.low > 0.5
    assert found.growth is not None
    assert found.growth.low > 0.3


@pytest.mark.parametrize("components", ["ab", "abc", "abcd"])
@pytest.mark.parametrize("cause", ["together", "either"])
def test_causes_that_interact_are_a_set(components, cause):
    found = search(cause, components)
    assert (found.outcome, names(found)) == ("set", {("a", "b")})
    assert found.either == (cause == "either")


@pytest.mark.parametrize("components", ["a", "abc"])
def test_without_a_cause_nothing_is_named(components):
    found = search("none", components)
    assert (found.outcome, found.named) == ("none", ())
    assert found.words


@pytest.mark.parametrize(("budget", "outcome"), [(10, "open"), (130, "open"), (2000, "named")])
def test_a_budget_is_kept(budget, outcome):
    found = search("alone", "abc", budget=budget)
    assert (found.outcome, found.images <= budget) == (outcome, True)
    assert outcome == "named" or f"budget of {budget}" in found.words


def test_wrong_names_are_rare():
    """At the level of 5 %, over forty worlds of each kind."""
    wrong = right = nothing = 0
    for seed in range(100, 140):
        alone, none = search("alone", "abcd", seed), search("none", "abcd", seed)
        right += names(alone) == {("a",)}
        wrong += any("a" not in each for each in names(alone))
        nothing += not none.named
    assert (right >= 38, wrong <= 2, nothing >= 38) == (True, True, True)


def test_a_judge_costs_no_picture():
    draw = draw_of(CAUSES["alone"], 0.9, 1)
    found = Search(draw, ("a", "b"), frozenset("b"), 0.9, PROMPTS).run()
    assert names(found) == {("a",)}
    assert found.images == 2 * found.per_hybrid


@pytest.mark.parametrize(
    ("differences", "p_value"),
    [([], 1.0), ([0, 0], 1.0), ([2] * 10, 2.0**-10), ([1, 1, -1], 0.5), ([-2] * 5, 1.0)],
)
def test_the_swap_test_is_exact(differences, p_value):
    assert swap_p_value(differences) == pytest.approx(p_value)


def test_more_components_and_less_growth_take_more_images():
    assert images_of_prompt(0.5, 2, 0.05, 6) > images_of_prompt(1.0, 2, 0.05, 6)
    assert images_of_prompt(0.5, 8, 0.05, 6) > images_of_prompt(0.5, 2, 0.05, 6)
