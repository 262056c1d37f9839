"""Colours of the drawings, as RGB in 0..255, and three ways to change one."""

from __future__ import annotations

import random

Colour = tuple[int, int, int]

SKIN: dict[str, Colour] = {
    "pale": (240, 206, 182),
    "light": (232, 188, 156),
    "tan": (206, 156, 116),
    "brown": (164, 114, 78),
    "dark": (118, 78, 54),
    "deep": (88, 58, 42),
}
HAIR: dict[str, Colour] = {
    "black": (30, 25, 25),
    "brown": (88, 56, 36),
    "blond": (216, 178, 98),
    "red": (156, 68, 34),
    "grey": (180, 180, 182),
}
CLOTH: dict[str, Colour] = {
    "red": (190, 40, 44),
    "orange": (232, 128, 36),
    "yellow": (236, 200, 56),
    "green": (48, 128, 66),
    "teal": (40, 150, 150),
    "blue": (44, 78, 176),
    "purple": (122, 58, 150),
    "pink": (234, 140, 176),
    "brown": (122, 82, 52),
    "white": (238, 238, 240),
    "grey": (124, 128, 134),
    "black": (38, 38, 44),
}
INK: Colour = (32, 28, 30)
GOLD: Colour = (242, 208, 84)
WHITE: Colour = (246, 246, 248)


def scaled(colour: Colour, factor: float) -> Colour:
    """The colour made darker (factor < 1) or lighter (> 1)."""
    red, green, blue = (int(max(0.0, min(255.0, channel * factor))) for channel in colour)
    return red, green, blue


def mixed(first: Colour, second: Colour, share: float) -> Colour:
    """A blend: share 0 gives ``first``, 1 gives ``second``."""
    red, green, blue = (int(a * (1 - share) + b * share) for a, b in zip(first, second, strict=True))
    return red, green, blue


def jittered(colour: Colour, rng: random.Random, amount: int = 10) -> Colour:
    """The colour with every channel moved by up to ``amount``."""
    red, green, blue = (max(0, min(255, channel + rng.randint(-amount, amount))) for channel in colour)
    return red, green, blue
