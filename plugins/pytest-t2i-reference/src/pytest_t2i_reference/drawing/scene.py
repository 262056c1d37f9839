"""From a scene's attributes to a picture with exact labels, boxes and masks."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pytest_t2i_reference.drawing.attributes import Person, Scene
from pytest_t2i_reference.drawing.canvas import PERSON_STRIDE, Canvas, Part
from pytest_t2i_reference.drawing.garments import draw_garment_front, draw_torso
from pytest_t2i_reference.drawing.head import (
    draw_back_hair,
    draw_face,
    draw_face_wear,
    draw_front_hair,
    hair_colour,
    skin_colour,
)
from pytest_t2i_reference.drawing.headwear import draw_headwear, draw_hijab_drape, headwear_colour
from pytest_t2i_reference.drawing.held import draw_held
from pytest_t2i_reference.drawing.places import draw_place
from pytest_t2i_reference.drawing.shading import FacePosition, global_light, shade_faces


@dataclass(frozen=True, slots=True)
class Box:
    """The smallest upright rectangle around a part's visible pixels: left <= x < right, top <= y < bottom."""

    part: str
    """``person`` or the lower-case name of a ``Part``."""
    person: int
    """0 for the main person, 1 for the second."""
    left: int
    top: int
    right: int
    bottom: int

    @property
    def area(self) -> int:
        """Pixels inside."""
        return (self.right - self.left) * (self.bottom - self.top)


@dataclass(frozen=True, slots=True)
class Drawing:
    """A finished picture and what is in it."""

    image: NDArray[np.uint8]
    """RGB, [SIZE, SIZE, 3]."""
    scene: Scene
    """The labels."""
    parts: NDArray[np.uint8]
    """Which part of which person each pixel shows, [SIZE, SIZE]; see ``canvas.PERSON_STRIDE``."""
    style: str = "plain"
    """``plain`` as it is drawn, or one of ``styles.STYLES``."""

    def mask(self, part: Part | None = None, person: int = 0) -> NDArray[np.bool_]:
        """True where the part of that person is visible; the whole person when ``part`` is None."""
        if part is None:
            low = person * PERSON_STRIDE
            whole: NDArray[np.bool_] = (self.parts > low) & (self.parts < low + PERSON_STRIDE)
            return whole
        exact: NDArray[np.bool_] = self.parts == person * PERSON_STRIDE + int(part)
        return exact

    def boxes(self) -> tuple[Box, ...]:
        """A box for each person and for each visible part of each person."""
        boxes = []
        for person in range(len(self.scene.people)):
            boxes.append(_box("person", person, self.mask(None, person)))
            for part in Part:
                if part is not Part.PLACE:
                    boxes.append(_box(part.name.lower(), person, self.mask(part, person)))
        return tuple(box for box in boxes if box is not None)


def _box(part: str, person: int, mask: NDArray[np.bool_]) -> Box | None:
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if rows.size == 0:
        return None
    return Box(part, person, int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1)


def draw_scene(scene: Scene, seed: int) -> Drawing:
    """Draw ``scene``; position, light and small details follow ``seed`` alone."""
    rng = random.Random(seed)
    canvas = Canvas()
    draw_place(canvas, scene.place, scene.backdrop, rng)
    faces = _draw_people(canvas, scene, rng)
    parts = canvas.parts()
    picture = canvas.colours()
    if faces:
        on_face = np.isin(parts % PERSON_STRIDE, [int(Part.FACE), int(Part.FACIAL_HAIR)])
        picture = shade_faces(picture, on_face, faces, rng)
    picture = picture * global_light(rng)[..., None]
    grainy = picture + np.random.default_rng(seed).normal(0, 0.006, picture.shape)
    image = (np.clip(grainy, 0, 1) * 255).astype(np.uint8)
    return Drawing(image, scene, parts)


def _draw_people(canvas: Canvas, scene: Scene, rng: random.Random) -> list[FacePosition]:
    """Draw everybody; return where faces are to be shaded."""
    if scene.kind == "none":
        return []
    if scene.kind != "two":
        at = FacePosition(0.5 + rng.uniform(-0.03, 0.03), 0.44 + rng.uniform(-0.02, 0.02), rng.uniform(1.0, 1.12))
        _draw_person(canvas, scene.people[0], 0, at, rng, behind=scene.kind == "behind")
        return [] if scene.kind == "behind" else [at]
    unit = rng.uniform(0.74, 0.82)
    smaller = unit * scene.second_area**0.5
    side = rng.choice([-1, 1])
    first = FacePosition(0.5 + side * 0.23, 0.42 + rng.uniform(-0.02, 0.02), unit)
    second = FacePosition(0.5 - side * 0.25, 0.42 + 0.4 * (unit - smaller), smaller)
    _draw_person(canvas, scene.people[1], 1, second, rng)
    _draw_person(canvas, scene.people[0], 0, first, rng)
    return [second, first]


def _draw_person(
    canvas: Canvas,
    person: Person,
    index: int,
    at: FacePosition,
    rng: random.Random,
    *,
    behind: bool = False,
) -> None:
    canvas.person = index
    canvas.move_to(at.x, at.y, at.unit)
    skin, cloth = skin_colour(person, rng), headwear_colour(person, rng)
    draw_back_hair(canvas, person)
    draw_torso(canvas, person, skin)
    if behind:
        _draw_back_of_head(canvas, person)
    else:
        draw_garment_front(canvas, person, skin)
        if person.gender == "woman" and person.hair_style == "long" and person.headwear != "hijab":
            _draw_locks(canvas, person)
        if person.headwear == "hijab":
            draw_hijab_drape(canvas, cloth)
        draw_face(canvas, person, skin, rng)
        draw_front_hair(canvas, person)
    draw_headwear(canvas, person, cloth)
    if not behind:
        draw_face_wear(canvas, person)
    if person.held != "none" and not behind:
        # Always the same hand: a small denoiser that may choose the side draws half an object on each.
        canvas.move_to(at.x + 0.29 * at.unit, min(0.8, at.y + 0.4 * at.unit), at.unit)
        draw_held(canvas, person.held, skin)


def _draw_locks(canvas: Canvas, person: Person) -> None:
    canvas.part = Part.HAIR
    for side in (-1, 1):
        canvas.ellipse(side * 0.2, 0.27, 0.062, 0.19, hair_colour(person))


def _draw_back_of_head(canvas: Canvas, person: Person) -> None:
    covered = person.headwear == "hijab"
    canvas.part = Part.HEADWEAR if covered else Part.HAIR
    colour = (60, 56, 90) if covered else hair_colour(person)
    canvas.ellipse(0, -0.02, 0.187, 0.225, colour)
    if person.hair_style in ("long", "bob") or covered:
        canvas.box(-0.22, -0.08, 0.22, 0.46 if person.hair_style == "long" else 0.22, colour, 0.07)
