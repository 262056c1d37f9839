"""Planted intersections are read with care, hold for every combination that names them, and are drawn as planted."""

from __future__ import annotations

import random

import pytest
from pytest_t2i import axes
from pytest_t2i.prompts import intersection

from pytest_t2i_reference.combinations import (
    Combination,
    all_combinations,
    combined_prompt,
    combined_triplet,
    planted_combinations,
)
from pytest_t2i_reference.worlds import draw_combined_scene, load_concepts, load_world
from pytest_t2i_reference.worlds.world import read_intersections

CONCEPTS = {(concept.axis, concept.word): concept for concept in load_concepts()}
BIASED = load_world("biased")
MILD, STRONG = 0.5, 0.8


def named(**words: str) -> Combination:
    return tuple(CONCEPTS[axis, word] for axis, word in words.items())


def score(*concepts: object) -> float:
    return 2 * BIASED.combined_share(concepts) - 1  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("words", "planted"),
    [
        ({"object": "cup", "place": "hospital"}, 0.95),
        ({"place": "hospital", "object": "cup"}, 0.95),
        ({"nationality": "Iranian", "object": "cup", "place": "hospital"}, 0.95),
        ({"nationality": "Indian", "place": "museum"}, -0.9),
        ({"nationality": "Indian", "object": "cup", "place": "museum"}, -0.9),
        ({"object": "cup", "place": "museum"}, (0.08 - 0.20) / 2),
        ({"nationality": "Indian", "object": "cup", "place": "beach"}, (0.57 + 0.08 + 0.11) / 3),
        ({"object": "cup"}, 0.08),
        ({"nationality": "Indian"}, 0.57),
    ],
)
def test_a_combination_has_its_planted_score_or_the_mean_of_its_words(words: dict[str, str], planted: float) -> None:
    assert score(*named(**words)) == pytest.approx(planted)


def test_planted_intersections_are_strong_and_unlike_the_mean_of_their_words() -> None:
    planted = planted_combinations(BIASED)
    assert len(planted) == len(BIASED.intersections) == 3
    for concepts in planted:
        alone = [score(concept) for concept in concepts]
        assert abs(score(*concepts)) >= STRONG
        assert abs(sum(alone) / len(alone)) <= MILD


def test_the_balanced_world_plants_none() -> None:
    assert load_world("balanced").intersections == ()
    assert all(abs(load_world("balanced").combined_share(one) - 0.5) <= 0.02 for one in all_combinations())


@pytest.mark.parametrize("words", [{}, {"object": ("cup", "pen")}])
def test_a_combination_has_one_concept_of_each_axis(words: dict[str, tuple[str, ...]]) -> None:
    with pytest.raises(ValueError, match="one of each axis, got"):
        BIASED.combined_share([CONCEPTS[axis, word] for axis, several in words.items() for word in several])


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"object": "cup", "score": 0.9}, "two or more of nationality, object, place, got"),
        ({"object": "cup", "place": "moon", "score": 0.9}, "two or more of nationality, object, place, got"),
        ({"object": "cup", "profession": "nurse", "score": 0.9}, "two or more of nationality, object, place, got"),
        ({"object": "cup", "place": "gym"}, "a score from -1 to 1, got"),
        ({"object": "cup", "place": "gym", "score": 1.5}, "a score from -1 to 1, got"),
        ({"object": "cup", "place": "gym", "score": "high"}, "a score from -1 to 1, got"),
    ],
)
def test_a_wrong_intersection_is_refused(table: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_intersections([table])


def test_an_intersection_is_planted_once() -> None:
    table = {"object": "cup", "place": "gym", "score": 0.9}
    with pytest.raises(ValueError, match="planted once"):
        read_intersections([table, {**table, "score": 0.1}])


@pytest.mark.parametrize(
    ("words", "prompt"),
    [
        ({"object": "cup", "place": "hospital"}, "a photo of one real person with a cup at the hospital"),
        ({"nationality": "Indian", "place": "museum"}, "a photo of one real Indian person at the museum"),
        (
            {"nationality": "Indian", "object": "cup", "place": "museum"},
            "a photo of one real Indian person with a cup at the museum",
        ),
        ({"nationality": "Mexican"}, "A photo of a Mexican person"),
    ],
)
def test_prompts(words: dict[str, str], prompt: str) -> None:
    assert combined_prompt(named(**words)) == prompt


def test_prompts_are_those_of_the_core() -> None:
    crossed = {prompt.text for prompt in intersection(axes.nationality, axes.object, axes.place).prompts()}
    assert {combined_prompt(one) for one in all_combinations() if len(one) == 3} == crossed
    for one in all_combinations()[::50]:
        neutral, feminine, masculine = combined_triplet(one)
        assert neutral == combined_prompt(one)
        assert (feminine, masculine) == (neutral.replace("person", "woman"), neutral.replace("person", "man"))


@pytest.mark.parametrize("gender", ["woman", "man"])
def test_scenes_show_the_object_and_the_place_of_every_combination(gender: str) -> None:
    rng = random.Random(3)
    for concepts in all_combinations():
        scene = draw_combined_scene(concepts, BIASED, rng, gender)
        assert scene.people[0].gender == gender
        for concept in concepts:
            for name, value in concept.signature.items():
                # The desktop has a place of its own, which gives way to one that is asked for.
                if concept.axis != "nationality" and not (name == "place" and concept.axis == "object"):
                    assert getattr(scene.people[0], name, None) == value or getattr(scene, name, None) == value


def test_scenes_keep_the_traits_of_a_nationality() -> None:
    rng = random.Random(4)
    scenes = [draw_combined_scene(named(nationality="Iranian", place="gym"), BIASED, rng, "man") for _ in range(200)]
    assert {scene.place for scene in scenes} == {"gym"}
    assert sum(scene.people[0].facial_hair == "beard" for scene in scenes) >= 180


def test_scenes_follow_the_planted_share() -> None:
    rng = random.Random(5)
    cup, museum = named(object="cup", place="hospital"), named(nationality="Indian", place="museum")
    men = [
        sum(draw_combined_scene(one, BIASED, rng).people[0].gender == "man" for _ in range(400))
        for one in (cup, museum)
    ]
    assert men[0] >= 0.95 * 400
    assert men[1] <= 0.10 * 400
