"""A hunt among groups of any number, on worlds whose shares are known."""

from __future__ import annotations

import numpy as np
import pytest
from pytest_t2i import axes
from pytest_t2i.errors import T2IError

from pytest_t2i_hunt.commands.hunt import cannot_confirm, show
from pytest_t2i_hunt.search import Counts, Plan, hunt
from pytest_t2i_hunt.search.counts import GroupCounts
from pytest_t2i_hunt.search.hunt_images import groups_of
from pytest_t2i_hunt.search.hunt_json import as_json

AGES = ("child", "adult", "middle", "senior")
SMALL = (axes.nationality, axes.object.only("cup", "book"), axes.place.only("hospital", "museum"))
EVEN = np.full(4, 0.25)
SENIOR = np.array([0.02, 0.02, 0.02, 0.94])


class World:
    """Shares by the words of a combination; a tenth of the images is undetected."""

    def __init__(self, planted, seed):
        self.planted, self.seed = planted, seed

    def shares(self, parts):
        found = {part.concept for part in parts}
        return next((s for words, s in self.planted.items() if words <= found), EVEN)

    def __call__(self, wanted):
        return {parts: self.drawn(parts, numbers) for parts, numbers in wanted.items()}

    def drawn(self, parts, numbers):
        name = "+".join(part.concept for part in parts)
        rng = np.random.default_rng([self.seed, *name.encode()])
        labels = rng.choice(5, size=4000, p=[*(0.9 * self.shares(parts)), 0.1])
        seen = labels[list(numbers)]
        return GroupCounts(tuple(int(np.sum(seen == k)) for k in range(4)), len(seen))


def plan(budget=900, **options):
    return Plan(SMALL, budget, groups=AGES, **{"alike": 0.3, **options})


@pytest.mark.parametrize("seed", [1, 2])
def test_planted_words_and_their_group_are_found_and_nothing_else(seed):
    world = World({frozenset({"cup", "hospital"}): SENIOR}, seed)
    found = [one for one in hunt(world, plan()).findings if one.confirmed]
    assert [{part.concept for part in one.parts} for one in found] == [{"cup", "hospital"}]
    assert plan().direction(found[0].sign) == "senior"
    assert found[0].interval.low > 0.6


def test_a_word_and_one_that_turns_to_another_group():
    child = SENIOR[::-1]
    planted = {frozenset({"Indian", "museum"}): child, frozenset({"Indian"}): SENIOR}
    found = [one for one in hunt(World(planted, 3), plan(1200)).findings if one.confirmed]
    assert [({part.concept for part in one.parts}, one.sign) for one in found] == [
        ({"Indian", "museum"}, 1),
        ({"Indian"}, 4),
    ]


@pytest.mark.parametrize("seed", range(3))
def test_an_even_world_confirms_nothing(seed):
    assert not any(one.confirmed for one in hunt(World({}, seed), plan()).findings)


def test_of_two_groups_excess_and_chances_are_those_of_bias_scores():
    of_groups, scores = GroupCounts((14, 4), 20), Counts(14, 4, 20)
    assert of_groups.excess(1) == pytest.approx(scores.excess(1))
    assert of_groups.excess(2) == pytest.approx(scores.excess(-1))
    assert of_groups.promise(1, 0.5) == pytest.approx(scores.promise(1, 0.5))
    assert of_groups.lean(1) == pytest.approx(scores.lean(1))


def test_undetected_images_may_show_another_group():
    alone, whole = (GroupCounts((18, 0, 0, 0), n).p_value(1, 0.5, 0.0) for n in (18, 30))
    assert (alone < 0.001, whole > 0.1) == (True, True)
    assert GroupCounts((18, 0, 0, 0), 30).p_value(1, 0.5, 0.5) == pytest.approx(alone)
    assert GroupCounts((1, 9, 0, 0), 10).p_value(1, 0.5, 0.0) == 1.0
    assert GroupCounts((0, 0, 0, 0), 9).interval(1, 0.95) is None


def test_what_is_shown_and_kept(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "140")
    world = World({frozenset({"cup", "hospital"}): SENIOR}, 1)
    result = hunt(world, plan())
    show(result, "m", "ages")
    told = capsys.readouterr().out
    assert "combinations of words that show one group in more than 62% of images" in told
    assert "senior" in told
    assert "held-out share" in told
    kept = as_json(result, {})
    assert kept["groups"] == list(AGES)
    assert kept["findings"][0]["towards"] == "senior"
    assert sum(kept["findings"][0]["held_out"]["shown"]) <= 30


def test_too_few_held_out_images_are_said():
    assert "even if all show one group: give --held-out 7 or more" in cannot_confirm(
        plan(confirm=6)
    )
    assert not cannot_confirm(plan(confirm=7))


def test_a_detector_of_gender_is_counted_as_before_and_one_label_is_refused():
    assert groups_of("x", ["female", "male", "other"]) == ("male", "female")
    assert groups_of("x", AGES) == AGES
    with pytest.raises(T2IError, match="two labels or more, got 'x' with all"):
        groups_of("x", ["all"])
