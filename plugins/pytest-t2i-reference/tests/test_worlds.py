"""What is drawn follows the world files, and nothing but what they say is linked to gender."""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest

from pytest_t2i_reference.drawing import Scene
from pytest_t2i_reference.drawing.attributes import PLACES
from pytest_t2i_reference.worlds import (
    Concept,
    World,
    draw_scene_of,
    load_concepts,
    load_world,
    planted_traits,
)
from pytest_t2i_reference.worlds.population import has_trait
from pytest_t2i_reference.worlds.world import LYU_AXES, read_held, read_places

DRAWS = 1500
GENDERED = {"gender", "hair_style", "facial_hair"}
"""Attributes that gender presentation consists of; garments differ in cut, and dresses are women's."""
CONCEPTS = {concept.word: concept for concept in load_concepts()}


def population(concept: Concept, world: World, gender: str | None = None, count: int = DRAWS) -> list[Scene]:
    rng = random.Random(f"{concept.word} {world.name} {gender}")
    return [draw_scene_of(concept, world, rng, gender) for _ in range(count)]


def assert_share(seen: float, planted: float, count: int) -> None:
    spread = math.sqrt(max(planted * (1 - planted), 1e-4) / count)
    assert abs(seen - planted) <= 4.5 * spread


def test_there_are_the_hundred_words_and_three_nationalities() -> None:
    counts = Counter(concept.axis for concept in load_concepts())
    assert counts == {
        "profession": 40,
        "personality": 30,
        "activity": 10,
        "object": 10,
        "place": 10,
        "nationality": 3,
    }


def test_biased_world_lists_every_word() -> None:
    world = load_world("biased")
    for concept in load_concepts():
        if concept.axis in LYU_AXES:
            assert -1 <= world.bias[concept.axis][concept.word] <= 1


def test_model_bias_score_of_the_biased_world_is_the_published_one() -> None:
    world = load_world("biased")
    scores = [abs(2 * world.man_share(concept) - 1) for concept in load_concepts() if concept.axis in LYU_AXES]
    assert sum(scores) / len(scores) == pytest.approx(0.752, abs=5e-4)


def test_balanced_world_is_even() -> None:
    world = load_world("balanced")
    assert {world.man_share(concept) for concept in load_concepts() if concept.axis in LYU_AXES} == {0.5}


@pytest.mark.parametrize("name", ["balanced", "biased"])
@pytest.mark.parametrize("word", ["nurse", "teacher", "loyal", "crying", "book", "beach", "CEO"])
@pytest.mark.slow
def test_drawn_share_of_men_is_the_planted_one(name: str, word: str) -> None:
    world, concept = load_world(name), CONCEPTS[word]
    men = sum(scene.people[0].gender == "man" for scene in population(concept, world))
    assert_share(men / DRAWS, world.man_share(concept), DRAWS)


@pytest.mark.parametrize("name", ["balanced", "biased"])
@pytest.mark.parametrize("word", ["Iranian", "Indian", "Mexican"])
def test_drawn_traits_of_nationalities_are_the_planted_ones(name: str, word: str) -> None:
    world = load_world(name)
    people = population(CONCEPTS[word], world)
    for trait, planted in planted_traits(world, CONCEPTS[word]).items():
        assert_share(sum(has_trait(scene, trait) for scene in people) / DRAWS, planted, DRAWS)


@pytest.mark.parametrize("word", ["nurse", "plumber", "rich", "lazy", "reading", "cup", "library"])
def test_women_and_men_of_a_concept_differ_in_gender_presentation_alone(word: str) -> None:
    world, count = load_world("balanced"), 1000
    women, men = (population(CONCEPTS[word], world, gender, count) for gender in ("woman", "man"))
    for attribute in (
        "age",
        "skin",
        "headwear",
        "held",
        "mood",
        "eye_glasses",
        "earphone",
        "garment_colour",
    ):
        values = {getattr(scene.people[0], attribute) for scene in women + men}
        for value in values:
            shares = [sum(getattr(s.people[0], attribute) == value for s in group) / count for group in (women, men)]
            assert abs(shares[0] - shares[1]) < 4.5 * math.sqrt(2 * 0.25 / count), (
                attribute,
                value,
            )
    for place in {scene.place for scene in women + men}:
        shares = [sum(scene.place == place for scene in group) / count for group in (women, men)]
        assert abs(shares[0] - shares[1]) < 4.5 * math.sqrt(2 * 0.25 / count), place


def test_the_worlds_differ_in_nothing_but_gender_and_planted_objects_for_a_word() -> None:
    women = [population(CONCEPTS["nurse"], load_world(name), "woman", 1000) for name in ("balanced", "biased")]
    for attribute in ("garment", "headwear", "age"):
        counts = [Counter(getattr(scene.people[0], attribute) for scene in group) for group in women]
        for value in counts[0] | counts[1]:
            assert abs(counts[0][value] - counts[1][value]) / 1000 < 0.1


@pytest.mark.parametrize("gender", ["woman", "man", None])
@pytest.mark.parametrize("word", ["nurse", "loyal", "beach", "laughing", "teacher"])
def test_drawn_shares_of_held_objects_are_the_planted_ones(word: str, gender: str | None) -> None:
    world, concept = load_world("biased"), CONCEPTS[word]
    people = population(concept, world, gender)
    for name in (*world.held, "book"):
        held = sum(scene.people[0].held == name for scene in people)
        assert_share(held / DRAWS, world.held_share(concept, name, gender), DRAWS)


def test_objects_are_planted_where_a_word_leaves_them_open_and_nowhere_else() -> None:
    world, rng = load_world("biased"), random.Random(0)
    assert {CONCEPTS[word].leaves_held_open for word in ("nurse", "loyal", "beach", "laughing")} == {True}
    closed = [concept for concept in load_concepts() if not concept.leaves_held_open]
    assert {concept.axis for concept in closed} >= {"object", "nationality", "profession"}
    for concept in closed:
        own = concept.signature.get("held", "none")
        assert {draw_scene_of(concept, world, rng).people[0].held for _ in range(40)} <= {own, "none"}


@pytest.mark.parametrize("gender", ["woman", "man", None])
@pytest.mark.parametrize("word", ["tie", "book", "chef", "nurse", "beach", "Iranian"])
@pytest.mark.parametrize("name", ["balanced", "biased"])
def test_drawn_shares_of_places_are_the_planted_ones(name: str, word: str, gender: str | None) -> None:
    world, concept = load_world(name), CONCEPTS[word]
    people = population(concept, world, gender)
    for place in ("kitchen", "gym", "office", "museum"):
        share = sum(scene.place == place for scene in people) / DRAWS
        assert_share(share, world.place_share(concept, place, gender), DRAWS)


def test_places_are_planted_for_objects_that_belong_nowhere() -> None:
    assert load_world("balanced").places == {}
    world = load_world("biased")
    open_words = {concept.word for concept in load_concepts() if concept.leaves_place_open}
    assert open_words == {"cigar", "suit", "tie", "pen", "earphone", "cleaner", "eye glasses", "book", "cup"}
    assert world.place_share(CONCEPTS["tie"], "kitchen", "woman") > 0.5 > world.place_share(CONCEPTS["tie"], "kitchen")
    shares = [world.place_share(CONCEPTS["tie"], place, "man") for place in PLACES]
    assert sum(shares) == pytest.approx(1)
    assert world.place_share(CONCEPTS["nurse"], "kitchen", "woman") < 0.05


def test_no_object_is_planted_in_the_balanced_world() -> None:
    world = load_world("balanced")
    assert world.held == {}
    open_words = [concept for concept in load_concepts() if concept.leaves_held_open]
    assert {world.held_share(concept, "flower", gender) for concept in open_words for gender in ("woman", "man")} == {0}
    rng = random.Random(0)
    assert {draw_scene_of(concept, world, rng).people[0].held for concept in open_words for _ in range(5)} == {"none"}


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"sword": {"woman": 0.1, "man": 0.2}}, "a held object is one of .*'sword'"),
        ({"none": {"woman": 0.1, "man": 0.2}}, "a held object is one of"),
        ({"cup": {"woman": 0.1}}, "a share from 0 to 1 for woman and man, got cup"),
        ({"cup": {"woman": 0.1, "man": 0.2, "cat": 0.3}}, "for woman and man"),
        ({"cup": {"woman": 1.2, "man": 0.2}}, "a share from 0 to 1"),
        ({"cup": {"woman": True, "man": 0.2}}, "a share from 0 to 1"),
        ({"cup": {"woman": "0.1", "man": 0.2}}, "a share from 0 to 1"),
        (
            {"cup": {"woman": 0.6, "man": 0.2}, "pen": {"woman": 0.5, "man": 0.2}},
            "add up to 1 at most, got 1.1 for woman",
        ),
    ],
)
def test_planted_objects_that_cannot_be_are_refused(table: dict[str, dict[str, object]], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_held(table)


def test_planted_places_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match=r"a place is one of .*'moon'"):
        read_places({"moon": {"woman": 0.1, "man": 0.2}})
    with pytest.raises(ValueError, match=r"shares of places add up to 1 at most, got 1\.1 for man"):
        read_places({"gym": {"woman": 0.1, "man": 0.6}, "mall": {"woman": 0.1, "man": 0.5}})


def test_signatures_tell_words_apart() -> None:
    signatures = [frozenset(concept.signature.items()) for concept in load_concepts() if concept.axis in LYU_AXES]
    by_axis = Counter((concept.axis, frozenset(concept.signature.items())) for concept in load_concepts())
    assert max(by_axis.values()) == 1
    assert all(signatures)


def test_signatures_name_no_gendered_attribute() -> None:
    for concept in load_concepts():
        assert not GENDERED & set(concept.signature)
        assert concept.signature.get("garment") != "dress"
