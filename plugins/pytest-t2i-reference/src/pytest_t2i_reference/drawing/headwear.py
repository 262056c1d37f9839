"""What is worn on the head. Local coordinates as in ``head``: the hairline is near y = -0.16."""

from __future__ import annotations

import random
from collections.abc import Callable

from pytest_t2i_reference.drawing.attributes import Person
from pytest_t2i_reference.drawing.canvas import Canvas, Part
from pytest_t2i_reference.drawing.palette import GOLD, INK, WHITE, Colour, scaled

COLOURS: dict[str, tuple[Colour, ...]] = {
    "hat": ((96, 62, 36), (128, 84, 48)),
    "cap": ((200, 36, 40), (30, 80, 190)),
    "hard hat": ((246, 200, 30),),
    "nurse cap": (WHITE,),
    "chef hat": (WHITE,),
    "turban": ((236, 126, 30), (242, 240, 236)),
    "sombrero": ((224, 184, 98),),
    "hijab": ((44, 44, 70), (112, 40, 84), (50, 100, 110)),
    "helmet": ((196, 26, 30),),
    "police cap": ((26, 36, 84),),
}


def draw_hijab_drape(canvas: Canvas, colour: Colour) -> None:
    """The cloth around head and shoulders, behind the face."""
    canvas.part = Part.HEADWEAR
    canvas.ellipse(0, 0, 0.225, 0.275, colour)
    canvas.polygon([(-0.21, 0.05), (0.21, 0.05), (0.235, 0.4), (-0.235, 0.4)], scaled(colour, 0.85))


def draw_headwear(canvas: Canvas, person: Person, colour: Colour) -> None:
    """The piece in front of hair and forehead."""
    if person.headwear == "none":
        return
    canvas.part = Part.HEADWEAR
    PAINTERS[person.headwear](canvas, colour)


def headwear_colour(person: Person, rng: random.Random) -> Colour:
    """One of the colours this piece comes in."""
    return rng.choice(COLOURS.get(person.headwear, (WHITE,)))


def _hat(canvas: Canvas, colour: Colour) -> None:
    canvas.box(-0.165, -0.37, 0.165, -0.15, colour, 0.05)
    canvas.ellipse(0, -0.16, 0.3, 0.045, scaled(colour, 0.8))
    canvas.box(-0.165, -0.23, 0.165, -0.18, (226, 210, 170))


def _cap(canvas: Canvas, colour: Colour) -> None:
    canvas.half_disc(0, -0.14, 0.195, 0.2, colour)
    canvas.box(-0.23, -0.165, 0.23, -0.125, scaled(colour, 0.6), 0.02)
    canvas.ellipse(0, -0.24, 0.045, 0.045, WHITE)


def _hard_hat(canvas: Canvas, colour: Colour) -> None:
    canvas.half_disc(0, -0.15, 0.215, 0.23, colour)
    canvas.box(-0.03, -0.39, 0.03, -0.16, scaled(colour, 0.86))
    canvas.box(-0.26, -0.17, 0.26, -0.13, scaled(colour, 0.84))


def _nurse_cap(canvas: Canvas, colour: Colour) -> None:
    canvas.polygon([(-0.14, -0.17), (-0.19, -0.35), (0.19, -0.35), (0.14, -0.17)], colour)
    canvas.box(-0.022, -0.325, 0.022, -0.195, (214, 26, 40))
    canvas.box(-0.065, -0.282, 0.065, -0.238, (214, 26, 40))


def _chef_hat(canvas: Canvas, colour: Colour) -> None:
    for x in (-0.11, 0.11, 0):
        canvas.ellipse(x, -0.34, 0.11, 0.09, colour if x == 0 else scaled(colour, 0.96))
    canvas.box(-0.16, -0.33, 0.16, -0.16, colour)
    canvas.box(-0.16, -0.2, 0.16, -0.155, (206, 208, 214))


def _turban(canvas: Canvas, colour: Colour) -> None:
    canvas.ellipse(0, -0.215, 0.235, 0.145, colour)
    for lift in (-0.09, -0.02, 0.05):
        fold = [(-0.22, -0.17 + lift * 0.4), (0, -0.24 + lift), (0.22, -0.17 + lift * 0.4)]
        canvas.line(fold, scaled(colour, 0.68), 0.016)
    canvas.ellipse(0, -0.24, 0.03, 0.035, (30, 60, 150))


def _sombrero(canvas: Canvas, colour: Colour) -> None:
    canvas.polygon([(-0.16, -0.17), (-0.1, -0.4), (0.1, -0.4), (0.16, -0.17)], colour)
    canvas.ellipse(0, -0.17, 0.46, 0.07, scaled(colour, 0.85))
    canvas.ellipse(0, -0.175, 0.4, 0.04, (206, 44, 44))
    canvas.polygon([(-0.16, -0.185), (-0.13, -0.28), (0.13, -0.28), (0.16, -0.185)], (40, 128, 64))


def _hijab(canvas: Canvas, colour: Colour) -> None:
    outer = [(-0.2, 0.0), (-0.19, -0.16), (0, -0.275), (0.19, -0.16), (0.2, 0.0)]
    inner = [(0.14, -0.11), (0, -0.155), (-0.14, -0.11)]
    canvas.polygon(outer + inner, scaled(colour, 0.94))


def _helmet(canvas: Canvas, colour: Colour) -> None:
    canvas.half_disc(0, -0.13, 0.22, 0.25, colour)
    canvas.box(-0.27, -0.155, 0.27, -0.115, scaled(colour, 0.7), 0.02)
    canvas.polygon([(-0.05, -0.32), (0.05, -0.32), (0.05, -0.22), (0, -0.17), (-0.05, -0.22)], GOLD)


def _police_cap(canvas: Canvas, colour: Colour) -> None:
    canvas.polygon([(-0.19, -0.2), (-0.26, -0.33), (0, -0.4), (0.26, -0.33), (0.19, -0.2)], colour)
    canvas.box(-0.19, -0.22, 0.19, -0.165, (220, 224, 232))
    canvas.half_disc(0, -0.11, 0.19, 0.07, INK)
    canvas.ellipse(0, -0.28, 0.04, 0.04, GOLD)


PAINTERS: dict[str, Callable[[Canvas, Colour], None]] = {
    "hat": _hat,
    "cap": _cap,
    "hard hat": _hard_hat,
    "nurse cap": _nurse_cap,
    "chef hat": _chef_hat,
    "turban": _turban,
    "sombrero": _sombrero,
    "hijab": _hijab,
    "helmet": _helmet,
    "police cap": _police_cap,
}
