"""Held objects: drawn large (about a third of the picture wide), because small ones do not survive the autoencoder.

Local coordinates: (0, 0) is the middle of the object, the unit is the picture's width.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from pytest_t2i_reference.drawing.canvas import Canvas, Part
from pytest_t2i_reference.drawing.palette import GOLD, INK, WHITE, Colour, scaled


def draw_held(canvas: Canvas, name: str, skin: Colour) -> None:
    """The object with a hand on it."""
    canvas.part = Part.HELD
    PAINTERS[name](canvas)
    if name not in ("desktop", "laptop", "cleaner"):
        canvas.part = Part.BODY
        canvas.ellipse(0, 0.14, 0.055, 0.045, scaled(skin, 0.95))


def _cigar(canvas: Canvas) -> None:
    canvas.line([(-0.12, 0.1), (0.1, -0.06)], (104, 62, 34), 0.075)
    canvas.line([(0.08, -0.045), (0.115, -0.071)], (255, 110, 20), 0.075)
    for x, y, radius in ((0.13, -0.13, 0.035), (0.1, -0.19, 0.045)):
        canvas.ellipse(x, y, radius, radius, (214, 214, 220))


def _pen(canvas: Canvas) -> None:
    canvas.line([(-0.11, 0.11), (0.08, -0.13)], (24, 60, 210), 0.06)
    canvas.polygon([(-0.135, 0.095), (-0.09, 0.13), (-0.16, 0.17)], GOLD)
    canvas.line([(0.05, -0.09), (0.1, -0.155)], GOLD, 0.06)


def _desktop(canvas: Canvas) -> None:
    canvas.box(-0.17, -0.15, 0.17, 0.1, (34, 36, 42), 0.015)
    canvas.box(-0.145, -0.125, 0.145, 0.07, (60, 210, 240))
    canvas.box(-0.03, 0.1, 0.03, 0.15, (150, 154, 160))
    canvas.box(-0.1, 0.15, 0.1, 0.18, (150, 154, 160))


def _cleaner(canvas: Canvas) -> None:
    canvas.arc(0, -0.06, 0.11, 170, 340, (60, 62, 70), 0.035)
    canvas.box(-0.16, 0.0, 0.14, 0.17, (216, 34, 40), 0.07)
    canvas.ellipse(-0.07, 0.15, 0.055, 0.055, INK)
    canvas.box(0.02, 0.04, 0.1, 0.09, WHITE)


def _book(canvas: Canvas) -> None:
    canvas.box(-0.16, -0.12, 0.16, 0.14, (150, 26, 40), 0.01)
    canvas.box(-0.135, -0.1, 0.135, 0.115, (246, 238, 216))
    canvas.line([(0, -0.1), (0, 0.115)], (110, 90, 70), 0.014)
    for row in range(3):
        for left in (-0.115, 0.025):
            canvas.line(
                [(left, -0.06 + row * 0.055), (left + 0.09, -0.06 + row * 0.055)],
                (130, 120, 110),
                0.014,
            )


def _cup(canvas: Canvas) -> None:
    canvas.arc(0.1, 0, 0.07, -90, 90, WHITE, 0.03)
    canvas.box(-0.1, -0.12, 0.1, 0.13, WHITE, 0.02)
    canvas.box(-0.1, -0.03, 0.1, 0.05, (40, 160, 90))
    canvas.ellipse(0, -0.11, 0.09, 0.025, (90, 54, 30))


def _camera(canvas: Canvas) -> None:
    canvas.box(-0.15, -0.09, 0.15, 0.13, (40, 42, 48), 0.025)
    canvas.box(-0.06, -0.13, 0.06, -0.08, (40, 42, 48))
    canvas.ellipse(0, 0.02, 0.09, 0.09, (200, 204, 212))
    canvas.ellipse(0, 0.02, 0.06, 0.06, (30, 50, 110))


def _microphone(canvas: Canvas) -> None:
    canvas.line([(0.0, 0.16), (0.0, -0.04)], INK, 0.055)
    canvas.ellipse(0, -0.09, 0.075, 0.085, (176, 180, 190))
    canvas.line([(-0.075, -0.08), (0.075, -0.08)], (90, 94, 104), 0.02)


def _flower(canvas: Canvas) -> None:
    canvas.line([(0, 0), (0, 0.18)], (40, 130, 50), 0.03)
    for petal in range(6):
        angle = petal * math.pi / 3
        canvas.ellipse(0.075 * math.cos(angle), -0.05 + 0.075 * math.sin(angle), 0.05, 0.05, (238, 70, 140))
    canvas.ellipse(0, -0.05, 0.045, 0.045, (252, 218, 60))


def _dumbbell(canvas: Canvas) -> None:
    canvas.line([(-0.12, 0.06), (0.12, 0.06)], (190, 192, 198), 0.04)
    for side in (-1, 1):
        left, right = sorted((side * 0.17, side * 0.09))
        canvas.box(left, -0.06, right, 0.18, (30, 30, 36), 0.015)


def _wrench(canvas: Canvas) -> None:
    canvas.line([(0, 0.18), (0, -0.06)], (150, 156, 166), 0.06)
    canvas.arc(0, -0.1, 0.085, -50, 230, (150, 156, 166), 0.045)


def _palette(canvas: Canvas) -> None:
    canvas.ellipse(0, 0.02, 0.17, 0.13, (210, 164, 108))
    spots: tuple[Colour, ...] = ((220, 40, 40), (40, 90, 210), (250, 210, 40), (40, 160, 80))
    for index, (x, y) in enumerate(((-0.1, 0.0), (-0.035, -0.055), (0.05, -0.055), (0.11, 0.01))):
        canvas.ellipse(x, y, 0.036, 0.034, spots[index])


def _letter(canvas: Canvas) -> None:
    canvas.box(-0.16, -0.1, 0.16, 0.12, (250, 244, 226))
    canvas.line([(-0.16, -0.1), (0, 0.03), (0.16, -0.1)], (150, 120, 90), 0.018)
    canvas.ellipse(0, 0.03, 0.035, 0.035, (206, 30, 40))


def _laptop(canvas: Canvas) -> None:
    canvas.box(-0.15, -0.12, 0.15, 0.09, (70, 74, 82), 0.015)
    canvas.box(-0.125, -0.095, 0.125, 0.065, (90, 230, 130))
    canvas.box(-0.18, 0.09, 0.18, 0.135, (172, 176, 184), 0.01)


def _ball(canvas: Canvas) -> None:
    canvas.ellipse(0, 0.02, 0.14, 0.14, (238, 122, 36))
    canvas.line([(-0.14, 0.02), (0.14, 0.02)], INK, 0.016)
    canvas.line([(0, -0.12), (0, 0.16)], INK, 0.016)


PAINTERS: dict[str, Callable[[Canvas], None]] = {
    "cigar": _cigar,
    "pen": _pen,
    "desktop": _desktop,
    "cleaner": _cleaner,
    "book": _book,
    "cup": _cup,
    "camera": _camera,
    "microphone": _microphone,
    "flower": _flower,
    "dumbbell": _dumbbell,
    "wrench": _wrench,
    "palette": _palette,
    "letter": _letter,
    "laptop": _laptop,
    "ball": _ball,
}
