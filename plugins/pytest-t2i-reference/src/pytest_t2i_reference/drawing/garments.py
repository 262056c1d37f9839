"""Torso and clothes. Cut follows gender presentation: shoulders, neckline, necklace; colour and kind do not."""

from __future__ import annotations

from collections.abc import Callable

from pytest_t2i_reference.drawing.attributes import Person
from pytest_t2i_reference.drawing.canvas import Canvas, Part
from pytest_t2i_reference.drawing.palette import CLOTH, GOLD, WHITE, Colour, scaled

SHOULDER_Y = 0.34
OWN_COLOUR: dict[str, Colour] = {
    "shirt and tie": (226, 232, 240),
    "white coat": (244, 246, 248),
    "safety vest": (240, 116, 30),
    "robe": (28, 26, 34),
    "traditional clothes": (20, 92, 84),
    "vibrant colourful clothes": (226, 30, 132),
    "embroidered clothing": (248, 244, 232),
}
"""Garments whose colour is their own."""


def garment_colour(person: Person) -> Colour:
    """The main colour of what the person wears."""
    return OWN_COLOUR.get(person.garment, CLOTH[person.garment_colour])


def shoulder_width(person: Person) -> float:
    """Half the width of the shoulders."""
    return 0.265 if person.gender == "woman" else 0.355


def draw_torso(canvas: Canvas, person: Person, skin: Colour) -> None:
    """Neck and plain garment; enough for somebody seen from behind."""
    woman = person.gender == "woman"
    width = shoulder_width(person)
    canvas.part = Part.GARMENT
    canvas.box(-width, SHOULDER_Y - 0.02, width, 1.2, garment_colour(person), 0.12 if woman else 0.1)
    if person.garment == "tank top":
        canvas.part = Part.BODY
        for side in (-1, 1):
            left, right = sorted((side * width, side * (width - 0.1)))
            canvas.box(left, SHOULDER_Y, right, 1.2, scaled(skin, 0.92), 0.05)
    canvas.part = Part.BODY
    neck = 0.068 if woman else 0.1
    canvas.box(-neck, 0.1, neck, 0.36, scaled(skin, 0.8), 0.03)
    canvas.ellipse(0, SHOULDER_Y + 0.005, neck * 1.08, 0.036, scaled(skin, 0.82))


def draw_garment_front(canvas: Canvas, person: Person, skin: Colour) -> None:
    """What shows from the front: neckline, buttons, lapels, ornaments."""
    canvas.part = Part.GARMENT
    colour = garment_colour(person)
    if person.garment in PAINTERS:
        PAINTERS[person.garment](canvas, colour)
    if person.gender == "woman" and person.garment not in ("suit", "shirt and tie"):
        _neckline(canvas, person, skin)
    elif person.gender == "man" and person.garment in (
        "shirt",
        "uniform",
        "safety vest",
        "white coat",
    ):
        _collar(
            canvas,
            scaled(colour, 1.18) if person.garment == "shirt" else WHITE,
            scaled(colour, 0.7),
        )


def _neckline(canvas: Canvas, person: Person, skin: Colour) -> None:
    deep = 0.52 if person.garment == "dress" else 0.44
    canvas.part = Part.BODY
    canvas.polygon(
        [(-0.12, 0.31), (0.12, 0.31), (0.06, deep - 0.03), (0, deep), (-0.06, deep - 0.03)],
        scaled(skin, 0.93),
    )
    canvas.part = Part.GARMENT
    for bead in (-2, -1, 0, 1, 2):
        canvas.ellipse(bead * 0.038, 0.36 + 0.014 * (2 - abs(bead)), 0.014, 0.014, (252, 246, 226))


def _collar(canvas: Canvas, colour: Colour, edge: Colour) -> None:
    for side in (-1, 1):
        flap = [(side * 0.03, 0.39), (side * 0.11, 0.3), (side * 0.15, 0.36), (side * 0.075, 0.46)]
        canvas.polygon(flap, colour)
        canvas.line([*flap, flap[0]], edge, 0.01)


def _dress(canvas: Canvas, colour: Colour) -> None:
    for side in (-1, 1):
        canvas.ellipse(side * 0.22, 0.4, 0.075, 0.08, scaled(colour, 1.14))


def _suit(canvas: Canvas, colour: Colour) -> None:
    canvas.polygon([(-0.1, 0.31), (0.1, 0.31), (0.03, 1.1), (-0.03, 1.1)], (242, 242, 246))
    _tie(canvas, (176, 30, 36))
    for side in (-1, 1):
        canvas.polygon([(side * 0.1, 0.3), (side * 0.18, 0.4), (side * 0.02, 0.66)], scaled(colour, 0.68))


def _tie(canvas: Canvas, colour: Colour) -> None:
    canvas.polygon([(-0.035, 0.34), (0.035, 0.34), (0.06, 0.64), (0, 0.74), (-0.06, 0.64)], colour)


def _shirt_and_tie(canvas: Canvas, colour: Colour) -> None:
    _collar(canvas, (250, 250, 252), (170, 176, 186))
    canvas.polygon([(-0.05, 0.34), (0.05, 0.34), (0.1, 0.72), (0, 0.84), (-0.1, 0.72)], (30, 60, 168))
    for stripe in range(3):
        height = 0.46 + 0.11 * stripe
        canvas.line([(-0.07, height + 0.05), (0.07, height)], GOLD, 0.025)


def _white_coat(canvas: Canvas, colour: Colour) -> None:
    canvas.polygon([(-0.09, 0.31), (0.09, 0.31), (0, 0.6)], (110, 154, 200))
    for side in (-1, 1):
        canvas.line([(side * 0.1, 0.31), (0, 0.6), (0, 1.1)], (168, 172, 182), 0.014)


def _scrubs(canvas: Canvas, colour: Colour) -> None:
    canvas.line([(-0.12, 0.32), (0, 0.5), (0.12, 0.32)], scaled(colour, 0.62), 0.03)
    canvas.box(0.06, 0.56, 0.18, 0.68, scaled(colour, 0.75))


def _apron(canvas: Canvas, colour: Colour) -> None:
    canvas.box(-0.17, 0.44, 0.17, 1.2, (244, 240, 230), 0.02)
    for side in (-1, 1):
        canvas.line([(side * 0.14, 0.45), (side * 0.1, 0.31)], (244, 240, 230), 0.03)


def _uniform(canvas: Canvas, colour: Colour) -> None:
    for row in range(3):
        canvas.ellipse(0, 0.5 + 0.1 * row, 0.018, 0.018, GOLD)
    for side in (-1, 1):
        left, right = sorted((side * 0.15, side * 0.26))
        canvas.box(left, 0.34, right, 0.39, GOLD)


def _safety_vest(canvas: Canvas, colour: Colour) -> None:
    for side in (-1, 1):
        canvas.line([(side * 0.15, 0.33), (side * 0.15, 1.1)], (238, 240, 90), 0.05)
    canvas.line([(-0.4, 0.62), (0.4, 0.62)], (238, 240, 90), 0.05)


def _robe(canvas: Canvas, colour: Colour) -> None:
    canvas.polygon([(-0.05, 0.34), (0.05, 0.34), (0.08, 0.6), (-0.08, 0.6)], WHITE)


def _hoodie(canvas: Canvas, colour: Colour) -> None:
    canvas.arc(0, 0.3, 0.15, 10, 170, scaled(colour, 0.66), 0.05)
    for side in (-1, 1):
        canvas.line([(side * 0.05, 0.44), (side * 0.05, 0.6)], WHITE, 0.014)


def _traditional(canvas: Canvas, colour: Colour) -> None:
    canvas.box(-0.075, 0.36, 0.075, 1.1, GOLD)
    for row in range(4):
        y = 0.45 + 0.13 * row
        canvas.polygon([(0, y - 0.05), (0.05, y), (0, y + 0.05), (-0.05, y)], (150, 24, 40))
    for side in (-1, 1):
        canvas.line([(side * 0.2, 0.34), (side * 0.2, 1.1)], GOLD, 0.028)


def _vibrant(canvas: Canvas, colour: Colour) -> None:
    bands: tuple[Colour, ...] = ((255, 214, 0), (0, 176, 190), (255, 120, 0), (110, 40, 190))
    for row, band in enumerate(bands):
        canvas.line([(-0.3, 0.46 + 0.13 * row), (0.3, 0.42 + 0.13 * row)], band, 0.065)


def _embroidered(canvas: Canvas, colour: Colour) -> None:
    canvas.arc(0, 0.3, 0.2, 15, 165, (200, 30, 44), 0.045)
    petals: tuple[Colour, ...] = ((214, 30, 60), (30, 120, 200), (240, 150, 20), (40, 150, 70))
    for index, x in enumerate((-0.2, -0.07, 0.07, 0.2)):
        y = 0.57 if index in (0, 3) else 0.64
        canvas.ellipse(x, y, 0.058, 0.058, petals[index])
        canvas.ellipse(x, y, 0.022, 0.022, GOLD)


PAINTERS: dict[str, Callable[[Canvas, Colour], None]] = {
    "dress": _dress,
    "suit": _suit,
    "shirt and tie": _shirt_and_tie,
    "white coat": _white_coat,
    "scrubs": _scrubs,
    "apron": _apron,
    "uniform": _uniform,
    "safety vest": _safety_vest,
    "robe": _robe,
    "hoodie": _hoodie,
    "traditional clothes": _traditional,
    "vibrant colourful clothes": _vibrant,
    "embroidered clothing": _embroidered,
}
