"""Drawings are reproducible, and their labels, boxes and masks are exact."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from pytest_t2i_reference.drawing import SIZE, Part, Person, Scene, draw_scene
from pytest_t2i_reference.drawing.attributes import (
    GARMENTS,
    HEADWEAR,
    HELD,
    MOODS,
    PLACES,
)
from pytest_t2i_reference.worlds import plain_scene

WOMAN = Person("woman", hair_style="long", garment="dress")
MAN = Person("man")


def scene_with(**attributes: object) -> Scene:
    return Scene("one", "office", (replace(MAN, **attributes),))  # type: ignore[arg-type]


def test_same_seed_same_picture() -> None:
    scene = plain_scene("one", random.Random(3))
    first, second = draw_scene(scene, 7), draw_scene(scene, 7)
    assert np.array_equal(first.image, second.image)
    assert np.array_equal(first.parts, second.parts)
    assert first.boxes() == second.boxes()


def test_other_seed_other_picture_with_the_same_labels() -> None:
    scene = plain_scene("one", random.Random(3))
    first, second = draw_scene(scene, 7), draw_scene(scene, 8)
    assert not np.array_equal(first.image, second.image)
    assert first.scene == second.scene


def test_pictures_are_small_colour_pictures() -> None:
    image = draw_scene(scene_with(), 0).image
    assert image.shape == (SIZE, SIZE, 3)
    assert image.dtype == np.uint8


@pytest.mark.parametrize("kind", ["one", "two", "behind", "none"])
def test_boxes_enclose_their_masks_tightly(kind: str) -> None:
    for seed in range(5):
        drawing = draw_scene(plain_scene(kind, random.Random(seed)), seed)
        for box in drawing.boxes():
            part = None if box.part == "person" else Part[box.part.upper()]
            mask = drawing.mask(part, box.person)
            inside = mask[box.top : box.bottom, box.left : box.right]
            assert inside.sum() == mask.sum()
            assert inside[0].any() and inside[-1].any()
            assert inside[:, 0].any() and inside[:, -1].any()


def test_parts_of_a_person_make_up_the_person() -> None:
    drawing = draw_scene(plain_scene("two", random.Random(0)), 0)
    for person in (0, 1):
        together = sum(drawing.mask(part, person).astype(int) for part in Part if part is not Part.PLACE)
        assert np.array_equal(together, drawing.mask(None, person).astype(int))


@pytest.mark.parametrize(
    ("attributes", "part"),
    [
        ({"held": "cup"}, Part.HELD),
        ({"headwear": "turban"}, Part.HEADWEAR),
        ({"eye_glasses": True}, Part.EYE_GLASSES),
        ({"earphone": True}, Part.EARPHONE),
        ({"forehead_mark": True}, Part.FOREHEAD_MARK),
        ({"facial_hair": "beard"}, Part.FACIAL_HAIR),
    ],
)
def test_a_part_is_visible_exactly_when_the_label_says_so(attributes: dict[str, object], part: Part) -> None:
    assert not draw_scene(scene_with(), 1).mask(part).any()
    assert draw_scene(scene_with(**attributes), 1).mask(part).sum() > 10


@pytest.mark.parametrize(
    ("attribute", "values"),
    [("headwear", HEADWEAR), ("held", HELD), ("garment", GARMENTS), ("mood", MOODS)],
)
def test_every_value_changes_the_picture(attribute: str, values: tuple[str, ...]) -> None:
    pictures = {draw_scene(scene_with(**{attribute: value}), 5).image.tobytes() for value in values}
    assert len(pictures) == len(values)


def test_every_place_is_different() -> None:
    pictures = [draw_scene(Scene("none", place, ()), 0).image.astype(float) for place in PLACES]
    for index, picture in enumerate(pictures):
        for other in pictures[index + 1 :]:
            assert np.abs(picture - other).mean() > 10


def test_held_objects_are_large() -> None:
    for name in HELD[1:]:
        box = next(box for box in draw_scene(scene_with(held=name), 2).boxes() if box.part == "held")
        assert max(box.right - box.left, box.bottom - box.top) >= SIZE // 5, name


def test_nobody_leaves_no_box() -> None:
    assert draw_scene(Scene("none", "beach", ()), 0).boxes() == ()


def test_from_behind_shows_no_face() -> None:
    drawing = draw_scene(Scene("behind", "beach", (WOMAN,)), 0)
    assert not drawing.mask(Part.FACE).any()
    assert drawing.mask(Part.HAIR).any()


def test_second_person_varies_around_half_of_the_first_ones_area() -> None:
    def share(asked: float) -> float:
        drawing = draw_scene(Scene("two", "park", (MAN, WOMAN), second_area=asked), 4)
        first, second = (next(b for b in drawing.boxes() if (b.part, b.person) == ("person", k)) for k in (0, 1))
        return second.area / first.area

    assert share(0.25) < 0.5 < share(1.0)
    assert share(0.25) < share(0.5) < share(0.75) < share(1.0)
