"""Backgrounds: sixteen places, each with colours and shapes of its own."""

from __future__ import annotations

import random
from collections.abc import Callable

from pytest_t2i_reference.drawing.canvas import Canvas
from pytest_t2i_reference.drawing.palette import (
    CLOTH,
    GOLD,
    INK,
    WHITE,
    Colour,
    jittered,
    mixed,
    scaled,
)

BACKDROPS: dict[str, Colour] = {name: mixed(colour, (205, 205, 205), 0.45) for name, colour in CLOTH.items()}
"""Wall colours of the studio: washed-out cloth colours."""
BOOK_SPINES: tuple[Colour, ...] = (
    (168, 52, 46),
    (52, 96, 150),
    (70, 128, 72),
    (214, 170, 74),
    (110, 70, 120),
)


def draw_place(canvas: Canvas, place: str, backdrop: str, rng: random.Random) -> None:
    """Paint the whole picture with the place; small details vary with ``rng``."""
    if place == "studio":
        canvas.box(0, 0, 1, 1, jittered(BACKDROPS[backdrop], rng, 6))
        canvas.ellipse(0.5, 0.35, 0.44, 0.42, jittered(scaled(BACKDROPS[backdrop], 1.08), rng, 3))
        return
    PAINTERS[place](canvas, rng)


def _bus_station(canvas: Canvas, rng: random.Random) -> None:
    canvas.box(0, 0, 1, 0.78, jittered((200, 214, 222), rng))
    canvas.box(0, 0.78, 1, 1, jittered((96, 96, 102), rng))
    for left in (-0.2, 0.62):
        canvas.box(left, 0.2, left + 0.58, 0.84, jittered((214, 60, 44), rng), 0.04)
        for window in range(3):
            canvas.box(left + 0.04 + window * 0.18, 0.28, left + 0.17 + window * 0.18, 0.5, (196, 232, 250))
        canvas.ellipse(left + 0.14, 0.84, 0.07, 0.07, INK)
        canvas.ellipse(left + 0.44, 0.84, 0.07, 0.07, INK)
    canvas.box(0.0, 0.04, 1, 0.12, (60, 70, 90))


def _gym(canvas: Canvas, rng: random.Random) -> None:
    canvas.box(0, 0, 1, 0.7, jittered((88, 98, 120), rng))
    canvas.box(0, 0.7, 1, 1, jittered((54, 54, 60), rng))
    for height in (0.16, 0.42):
        canvas.line([(0, height), (1, height)], (206, 206, 212), 0.022)
        for x in (0.06, 0.16, 0.84, 0.94):
            canvas.ellipse(x, height, 0.042, 0.1, (22, 22, 26))


def _office(canvas: Canvas, rng: random.Random) -> None:
    canvas.box(0, 0, 1, 1, jittered((198, 202, 208), rng))
    for left in (0.02, 0.7):
        canvas.box(left, 0.06, left + 0.28, 0.46, (228, 244, 255))
        canvas.line([(left + 0.14, 0.06), (left + 0.14, 0.46)], (112, 118, 130), 0.014)
        canvas.line([(left, 0.26), (left + 0.28, 0.26)], (112, 118, 130), 0.014)
    canvas.box(0, 0.76, 1, 1, jittered((126, 92, 64), rng))


def _beach(canvas: Canvas, rng: random.Random) -> None:
    canvas.box(0, 0, 1, 0.42, jittered((150, 208, 244), rng))
    canvas.box(0, 0.42, 1, 0.66, jittered((36, 118, 184), rng))
    canvas.box(0, 0.66, 1, 1, jittered((236, 210, 152), rng))
    canvas.ellipse(rng.choice([0.12, 0.88]), 0.14, 0.08, 0.08, (255, 238, 140))


def _park(canvas: Canvas, rng: random.Random) -> None:
    canvas.box(0, 0, 1, 0.5, jittered((176, 218, 244), rng))
    canvas.box(0, 0.5, 1, 1, jittered((92, 160, 72), rng))
    for x in (0.1, 0.9):
        canvas.box(x - 0.03, 0.4, x + 0.03, 0.7, (96, 66, 42))
        canvas.ellipse(x, 0.28, 0.16, 0.2, jittered((40, 112, 48), rng))


def _school_campus(canvas: Canvas, rng: random.Random) -> None:
    canvas.box(0, 0, 1, 0.3, jittered((186, 222, 246), rng))
    canvas.box(0, 0.26, 1, 0.8, jittered((172, 84, 64), rng))
    canvas.polygon([(-0.05, 0.27), (0.5, 0.0), (1.05, 0.27)], (120, 54, 44))
    for x in (0.06, 0.2, 0.74, 0.88):
        canvas.box(x, 0.36, x + 0.08, 0.52, (250, 240, 206))
        canvas.box(x, 0.58, x + 0.08, 0.72, (250, 240, 206))
    canvas.box(0, 0.8, 1, 1, jittered((112, 170, 86), rng))


def _library(canvas: Canvas, rng: random.Random) -> None:
    canvas.box(0, 0, 1, 1, jittered((104, 68, 42), rng, 6))
    for shelf in range(4):
        top = 0.03 + shelf * 0.25
        for book in range(10):
            spine = BOOK_SPINES[(book * 3 + shelf * 2) % len(BOOK_SPINES)]
            canvas.box(0.01 + book * 0.1, top + 0.03 * (book % 2), 0.09 + book * 0.1, top + 0.2, spine)


def _hospital(canvas: Canvas, rng: random.Random) -> None:
    canvas.box(0, 0, 1, 0.6, jittered((222, 244, 244), rng, 6))
    canvas.box(0, 0.6, 1, 1, jittered((132, 204, 200), rng, 6))
    for x in (0.14, 0.86):
        canvas.box(x - 0.1, 0.1, x + 0.1, 0.3, WHITE)
        canvas.box(x - 0.08, 0.17, x + 0.08, 0.23, (220, 36, 48))
        canvas.box(x - 0.03, 0.12, x + 0.03, 0.28, (220, 36, 48))


def _museum(canvas: Canvas, rng: random.Random) -> None:
    canvas.box(0, 0, 1, 0.82, jittered((120, 36, 46), rng, 8))
    canvas.box(0, 0.82, 1, 1, jittered((186, 148, 100), rng, 8))
    for left, colour in ((0.03, (90, 150, 190)), (0.71, (110, 160, 90))):
        canvas.box(left, 0.1, left + 0.26, 0.5, GOLD)
        canvas.box(left + 0.035, 0.14, left + 0.225, 0.46, jittered(colour, rng, 16))
        canvas.ellipse(left + 0.13, 0.3, 0.06, 0.08, (236, 220, 180))


def _mall(canvas: Canvas, rng: random.Random) -> None:
    canvas.box(0, 0, 1, 1, jittered((250, 232, 214), rng, 5))
    for left, colour in ((0.0, (226, 84, 150)), (0.68, (128, 84, 200))):
        canvas.box(left, 0.14, left + 0.32, 0.28, jittered(colour, rng))
        canvas.box(left + 0.03, 0.3, left + 0.29, 0.72, (255, 250, 200))
        canvas.box(left + 0.12, 0.36, left + 0.2, 0.66, jittered(colour, rng))
    canvas.box(0, 0.76, 1, 1, jittered((222, 206, 214), rng, 5))


def _kitchen(canvas: Canvas, rng: random.Random) -> None:
    canvas.box(0, 0, 1, 1, jittered((244, 240, 224), rng, 6))
    for step in range(8):
        canvas.line([(step / 8, 0), (step / 8, 0.6)], (206, 200, 180), 0.01)
        canvas.line([(0, step / 10), (1, step / 10)], (206, 200, 180), 0.01)
    canvas.box(0, 0.62, 1, 1, jittered((156, 108, 70), rng))
    canvas.box(0.78, 0.44, 0.98, 0.63, jittered((206, 60, 50), rng), 0.02)
    canvas.box(0.02, 0.48, 0.22, 0.63, jittered((150, 158, 166), rng), 0.02)


def _street(canvas: Canvas, rng: random.Random) -> None:
    canvas.box(0, 0, 1, 1, jittered((184, 206, 226), rng))
    for left, width, height in (
        (0, 0.2, 0.66),
        (0.2, 0.14, 0.4),
        (0.66, 0.14, 0.5),
        (0.8, 0.2, 0.74),
    ):
        canvas.box(left, 0.78 - height, left + width, 0.8, jittered((142, 122, 114), rng, 14))
        for row in range(5):
            top = 0.82 - height + row * 0.13
            if top < 0.68:
                canvas.box(left + 0.03, top, left + 0.07, top + 0.06, (244, 228, 160))
                canvas.box(left + width - 0.07, top, left + width - 0.03, top + 0.06, (244, 228, 160))
    canvas.box(0, 0.8, 1, 1, jittered((90, 90, 96), rng))


def _classroom(canvas: Canvas, rng: random.Random) -> None:
    canvas.box(0, 0, 1, 1, jittered((226, 210, 178), rng, 6))
    canvas.box(0.02, 0.06, 0.98, 0.6, (128, 88, 54))
    canvas.box(0.05, 0.09, 0.95, 0.57, jittered((38, 92, 66), rng, 6))
    for row in range(3):
        height = 0.18 + 0.12 * row
        canvas.line([(0.1, height), (0.27, height + rng.uniform(-0.01, 0.01))], (226, 236, 228), 0.014)
        canvas.line([(0.73, height), (0.9, height)], (226, 236, 228), 0.014)


def _workshop(canvas: Canvas, rng: random.Random) -> None:
    canvas.box(0, 0, 1, 1, jittered((196, 160, 112), rng, 8))
    for x in (0.06, 0.18, 0.82, 0.94):
        canvas.box(x - 0.014, 0.16, x + 0.014, 0.5, (70, 74, 82))
        canvas.box(x - 0.045, 0.1, x + 0.045, 0.19, jittered((204, 52, 40), rng))
    canvas.box(0, 0.7, 1, 1, jittered((96, 100, 108), rng))


def _stage(canvas: Canvas, rng: random.Random) -> None:
    canvas.box(0, 0, 1, 1, jittered((40, 24, 66), rng, 6))
    for x, lean in ((0.12, 0.16), (0.88, -0.16)):
        canvas.polygon(
            [(x - 0.02, 0), (x + 0.02, 0), (x + lean + 0.14, 1), (x + lean - 0.14, 1)],
            (120, 92, 170),
        )
        canvas.ellipse(x, 0.03, 0.07, 0.05, (255, 244, 190))
    canvas.box(0, 0.88, 1, 1, jittered((110, 66, 40), rng))


PAINTERS: dict[str, Callable[[Canvas, random.Random], None]] = {
    "bus station": _bus_station,
    "gym": _gym,
    "office": _office,
    "beach": _beach,
    "park": _park,
    "school campus": _school_campus,
    "library": _library,
    "hospital": _hospital,
    "museum": _museum,
    "mall": _mall,
    "kitchen": _kitchen,
    "street": _street,
    "classroom": _classroom,
    "workshop": _workshop,
    "stage": _stage,
}
