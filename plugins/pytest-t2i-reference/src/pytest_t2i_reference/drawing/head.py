"""Face, hair and facial hair, in local coordinates: (0, 0) between nose and eyes, face about 0.34 wide, y downward."""

from __future__ import annotations

import random

from pytest_t2i_reference.drawing.attributes import Person
from pytest_t2i_reference.drawing.canvas import Canvas, Part
from pytest_t2i_reference.drawing.palette import GOLD, HAIR, INK, SKIN, Colour, mixed, scaled

EYE_X, EYE_Y = 0.072, -0.02
"""Centre of the right eye; the left one is its mirror image."""
SIDES = (-1, 1)
FACE_HEIGHT = 0.22


def face_width(person: Person) -> float:
    """Half the width of the face: a woman's is slimmer."""
    return 0.155 if person.gender == "woman" else 0.174


def hair_colour(person: Person) -> Colour:
    """Grey for old people, else the natural colour."""
    return HAIR["grey"] if person.age == "old" else HAIR[person.hair_colour]


def draw_back_hair(canvas: Canvas, person: Person) -> None:
    """The hair that lies behind face and shoulders."""
    if person.headwear == "hijab":
        return
    canvas.part = Part.HAIR
    colour = hair_colour(person)
    shade = scaled(colour, 0.84)
    if person.hair_style == "long":
        canvas.polygon(
            [(-0.2, -0.1), (-0.255, 0.34), (-0.1, 0.42), (0.1, 0.42), (0.255, 0.34), (0.2, -0.1)],
            shade,
        )
        canvas.ellipse(0, -0.06, 0.22, 0.215, colour)
        for side in SIDES:
            canvas.ellipse(side * 0.18, 0.3, 0.08, 0.12, shade)
    elif person.hair_style == "bob":
        canvas.box(-0.225, -0.15, 0.225, 0.2, shade, 0.08)
        canvas.ellipse(0, -0.08, 0.222, 0.2, colour)
    elif person.hair_style == "short":
        canvas.ellipse(0, -0.075, 0.187, 0.186, colour)


def draw_front_hair(canvas: Canvas, person: Person) -> None:
    """The hair that frames the forehead."""
    if person.headwear == "hijab" or person.hair_style == "bald":
        return
    canvas.part = Part.HAIR
    colour = hair_colour(person)
    if person.hair_style == "short":
        outline = [
            (-0.18, -0.02),
            (-0.188, -0.12),
            (-0.13, -0.22),
            (0, -0.262),
            (0.13, -0.22),
            (0.188, -0.12),
        ]
        inner = [(0.18, -0.02), (0.155, -0.1), (0.1, -0.15), (-0.08, -0.145), (-0.155, -0.1)]
    else:
        outline = [
            (0.04, -0.21),
            (-0.1, -0.16),
            (-0.145, -0.06),
            (-0.155, 0.1),
            (-0.21, 0.12),
            (-0.205, -0.1),
        ]
        inner = [
            (-0.14, -0.22),
            (0, -0.262),
            (0.14, -0.22),
            (0.205, -0.1),
            (0.21, 0.12),
            (0.155, 0.1),
        ]
        inner += [(0.145, -0.06), (0.11, -0.16)]
    canvas.polygon(outline + inner, colour)


def draw_face(canvas: Canvas, person: Person, skin: Colour, rng: random.Random) -> None:
    """Skin, ears, eyes, brows, nose, beard and mouth, from back to front."""
    canvas.part = Part.FACE
    _ears(canvas, person, skin)
    _outline(canvas, person, skin)
    _eyes(canvas, person, skin, rng)
    _nose(canvas, skin)
    _facial_hair(canvas, person)
    canvas.part = Part.FACE
    _mouth(canvas, person, skin)
    if person.age == "old":
        _wrinkles(canvas, scaled(skin, 0.66))
    if person.mood == "tears":
        for side in SIDES:
            canvas.ellipse(side * (EYE_X + 0.01), 0.06, 0.014, 0.034, (120, 190, 250))


def _ears(canvas: Canvas, person: Person, skin: Colour) -> None:
    if person.hair_style in ("short", "bald") and person.headwear != "hijab":
        for side in SIDES:
            canvas.ellipse(side * face_width(person) * 1.02, 0.0, 0.032, 0.05, scaled(skin, 0.86))


def _outline(canvas: Canvas, person: Person, skin: Colour) -> None:
    half = face_width(person)
    jaw = 0.58 if person.gender == "woman" else 0.82
    canvas.ellipse(0, -0.055, half, 0.165, skin)
    canvas.polygon(
        [
            (-half, -0.07),
            (half, -0.07),
            (half * 0.97, 0.06),
            (half * jaw, 0.15),
            (half * 0.3, 0.205),
        ]
        + [(-half * 0.3, 0.205), (-half * jaw, 0.15), (-half * 0.97, 0.06)],
        skin,
    )
    canvas.ellipse(0, 0.15, half * 0.52, 0.07, skin)
    canvas.ellipse(0, 0.05, half * 0.97, 0.14, skin)


def _eyes(canvas: Canvas, person: Person, skin: Colour, rng: random.Random) -> None:
    woman = person.gender == "woman"
    pale = person.skin in ("pale", "light")
    iris = rng.choice([(70, 44, 28), (60, 90, 130), (50, 90, 60)]) if pale else (52, 32, 22)
    lash_width = 0.018 if woman else 0.009
    for side in SIDES:
        x = side * EYE_X
        canvas.ellipse(x, EYE_Y, 0.04, 0.022, (244, 240, 236))
        canvas.ellipse(x, EYE_Y, 0.02, 0.022, iris)
        canvas.ellipse(x, EYE_Y, 0.01, 0.01, (12, 10, 10))
        upper = [
            (EYE_X - 0.042, EYE_Y),
            (EYE_X - 0.02, EYE_Y - 0.02),
            (EYE_X + 0.018, EYE_Y - 0.021),
        ]
        upper.append((EYE_X + 0.044, EYE_Y - 0.003))
        canvas.line([(side * at, height) for at, height in upper], INK, lash_width)
        if woman:
            canvas.line([(side * 0.108, EYE_Y - 0.006), (side * 0.134, EYE_Y - 0.026)], INK, 0.013)
        canvas.line([(x - 0.03, 0.004), (x + 0.03, 0.004)], scaled(skin, 0.72), 0.006)
    _brows(canvas, person)


def _brows(canvas: Canvas, person: Person) -> None:
    woman = person.gender == "woman"
    colour = (116, 114, 112) if person.age == "old" else scaled(hair_colour(person), 0.7)
    if person.hair_colour == "blond" and person.age != "old":
        colour = (124, 88, 52)
    width, height = (0.012, -0.07) if woman else (0.027, -0.06)
    tilt = {"frown": 0.022, "tears": -0.02}.get(person.mood, 0.0)
    for side in SIDES:
        canvas.line(
            [
                (side * (EYE_X - 0.042), height + 0.006 + tilt),
                (side * EYE_X, height - 0.012),
                (side * (EYE_X + 0.05), height + 0.008 - tilt * 0.5),
            ],
            colour,
            width,
        )


def _nose(canvas: Canvas, skin: Colour) -> None:
    canvas.line([(-0.022, -0.02), (-0.026, 0.05)], scaled(skin, 0.87), 0.008)
    canvas.ellipse(0, 0.068, 0.03, 0.018, scaled(skin, 0.96))
    for side in SIDES:
        canvas.ellipse(side * 0.036, 0.068, 0.012, 0.016, scaled(skin, 0.8))
        canvas.ellipse(side * 0.022, 0.077, 0.012, 0.007, scaled(skin, 0.45))


def _facial_hair(canvas: Canvas, person: Person) -> None:
    if person.facial_hair == "none":
        return
    canvas.part = Part.FACIAL_HAIR
    colour = (150, 150, 152) if person.age == "old" else scaled(hair_colour(person), 0.92)
    half = face_width(person)
    if person.facial_hair == "beard":
        left = [(-half, 0.0), (-half * 0.82, 0.055), (-0.085, 0.088), (0, 0.084)]
        right = [(0.085, 0.088), (half * 0.82, 0.055), (half, 0.0)]
        chin = [(half * 0.9, 0.17), (0.08, 0.27), (-0.08, 0.27), (-half * 0.9, 0.17)]
        canvas.polygon(left + right + chin, colour)
    else:
        colour = scaled(colour, 0.62)
        canvas.polygon([(-0.13, 0.145), (-0.05, 0.08), (0, 0.092), (0.05, 0.08), (0.13, 0.145)], colour)
        canvas.line([(-0.12, 0.132), (-0.05, 0.102), (0.05, 0.102), (0.12, 0.132)], colour, 0.034)


def _mouth(canvas: Canvas, person: Person, skin: Colour) -> None:
    woman = person.gender == "woman"
    lip = (198, 30, 52) if woman else mixed(scaled(skin, 0.76), (160, 74, 70), 0.35)
    half, y = (0.055, 0.13) if woman else (0.062, 0.134)
    corner = {"smile": 0.022, "frown": -0.016, "tears": -0.018}.get(person.mood, 0.004)
    full = 0.026 if woman else 0.018
    canvas.polygon(
        [
            (-half, y - corner),
            (-0.02, y - 0.022),
            (0, y - 0.015),
            (0.02, y - 0.022),
            (half, y - corner),
        ]
        + [(0.03, y + full), (-0.03, y + full)],
        lip,
    )
    if person.mood == "smile":
        canvas.polygon(
            [(-0.042, y - 0.01), (0.042, y - 0.01), (0.022, y + 0.012), (-0.022, y + 0.012)],
            (250, 248, 244),
        )
    else:
        canvas.line([(-half, y - corner), (0, y + 0.002), (half, y - corner)], scaled(lip, 0.45), 0.009)


def _wrinkles(canvas: Canvas, colour: Colour) -> None:
    for side in SIDES:
        canvas.line([(side * 0.04, 0.075), (side * 0.085, 0.14)], colour, 0.008)
        canvas.line([(side * 0.115, -0.01), (side * 0.14, -0.026)], colour, 0.006)
        canvas.line([(side * 0.042, 0.032), (side * 0.102, 0.034)], colour, 0.007)
    for row in range(3):
        canvas.line([(-0.085, -0.115 - 0.025 * row), (0.085, -0.115 - 0.025 * row)], colour, 0.007)


def draw_face_wear(canvas: Canvas, person: Person) -> None:
    """What is worn on the face: the mark on the forehead, eye glasses, earphones."""
    if person.forehead_mark:
        canvas.part = Part.FOREHEAD_MARK
        canvas.ellipse(0, -0.115, 0.05, 0.062, GOLD)
        canvas.ellipse(0, -0.115, 0.034, 0.046, (206, 20, 36))
    if person.eye_glasses:
        canvas.part = Part.EYE_GLASSES
        for side in SIDES:
            canvas.frame(side * EYE_X - 0.058, -0.062, side * EYE_X + 0.058, 0.038, (16, 16, 20), 0.016)
        canvas.line([(-0.018, -0.02), (0.018, -0.02)], (16, 16, 20), 0.016)
    if person.earphone:
        canvas.part = Part.EARPHONE
        canvas.arc(0, -0.06, 0.225, 180, 360, (20, 120, 220), 0.03)
        for side in SIDES:
            canvas.ellipse(side * 0.2, 0.0, 0.05, 0.08, (20, 120, 220))
            canvas.ellipse(side * 0.2, 0.0, 0.03, 0.055, (20, 40, 70))


def skin_colour(person: Person, rng: random.Random) -> Colour:
    """The person's skin tone with a little variation in brightness."""
    return scaled(SKIN[person.skin], rng.uniform(0.95, 1.05))
