"""Styles: how a finished drawing is rendered. What it shows, and where, stays the same to the pixel.

>>> from pytest_t2i_reference.drawing import Scene, draw_scene
>>> drawing = draw_scene(Scene("none", "beach", ()), seed=1)
>>> cut = in_style(drawing, "woodcut", seed=1)
>>> cut.style, len({tuple(pixel) for row in cut.image.tolist() for pixel in row})
('woodcut', 2)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

from pytest_t2i_reference.drawing.canvas import SIZE
from pytest_t2i_reference.drawing.scene import Drawing

Picture = NDArray[np.float64]
"""RGB in 0..1, [SIZE, SIZE, 3]."""
Renderer = Callable[[Picture, np.random.Generator], Picture]
LUMA = np.array([0.299, 0.587, 0.114])
INK, PAPER = np.array([0.10, 0.09, 0.12]), np.array([0.96, 0.93, 0.86])
ROWS, COLUMNS = np.mgrid[0:SIZE, 0:SIZE].astype(np.float64)
TILE = 4
"""Pixels of a mosaic's stone, its joint included."""


def in_style(drawing: Drawing, style: str, seed: int) -> Drawing:
    """The same drawing rendered in a style; grain, hatching and light follow ``seed`` alone.

    Raises ValueError for a style that is none of ``STYLES``.
    """
    if style not in STYLES:
        raise ValueError(f"style must be one of {', '.join(STYLES)}, got style={style!r}")
    picture = drawing.image.astype(np.float64) / 255
    rendered = STYLES[style](picture, np.random.default_rng(seed))
    return replace(drawing, image=_bytes(rendered), style=style)


def _line(picture: Picture, rng: np.random.Generator) -> Picture:
    """Dark outlines on white paper."""
    ink = np.clip(9 * _edges(picture) - rng.uniform(0.3, 0.5), 0, 1)
    return _mixed(np.ones(3), INK, ink)


def _flat(picture: Picture, rng: np.random.Generator) -> Picture:
    """Areas of one colour each, without light and shade."""
    smooth = Image.fromarray(_bytes(_filtered(picture, ImageFilter.MedianFilter(5))))
    few = smooth.quantize(int(rng.integers(7, 10)), Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    return np.asarray(few.convert("RGB").filter(ImageFilter.ModeFilter(3)), dtype=np.float64) / 255


def _stipple(picture: Picture, rng: np.random.Generator) -> Picture:
    """Dots of ink, the denser the darker."""
    light = np.clip(1.5 * _luma(picture) - 0.05 - 1.5 * _edges(picture), 0.08, 0.97)
    dots = rng.random((SIZE, SIZE)) > light
    return _mixed(np.ones(3), INK, dots)


def _woodcut(picture: Picture, rng: np.random.Generator) -> Picture:
    """Ink and paper alone: dark areas are solid, the others hatched in one direction."""
    slope, phase = rng.uniform(0.7, 1.3), rng.uniform(0, 6)
    hatching = 0.5 + 0.5 * np.sin((ROWS + slope * COLUMNS) * 1.6 + phase)
    return _mixed(PAPER, INK, _luma(picture) < 0.22 + 0.5 * hatching)


def _sepia(picture: Picture, rng: np.random.Generator) -> Picture:
    """Brown tones of an old photograph, darker at the corners."""
    brown = _mixed(np.array([0.20, 0.12, 0.06]), np.array([1.0, 0.92, 0.76]), _luma(picture) ** 0.9)
    return brown * _vignette(rng.uniform(0.25, 0.4))


def _mosaic(picture: Picture, rng: np.random.Generator) -> Picture:
    """Square stones, each of one colour, with dark joints."""
    stones = picture.reshape(SIZE // TILE, TILE, SIZE // TILE, TILE, 3).mean((1, 3))
    stones = stones * rng.uniform(0.88, 1.12, stones.shape[:2])[..., None]
    laid: Picture = stones.repeat(TILE, 0).repeat(TILE, 1)
    joints = np.where((ROWS % TILE == 0) | (COLUMNS % TILE == 0), 0.55, 1.0)[..., None]
    return np.asarray(laid * joints)


def _night(picture: Picture, rng: np.random.Generator) -> Picture:
    """Dark and blue, with light from above on one side."""
    side = COLUMNS if rng.random() < 0.5 else SIZE - COLUMNS
    light = 0.45 + 0.4 * np.exp(-((side / 70) ** 2) - (ROWS / 90) ** 2)
    pale = 0.5 * picture + 0.5 * _luma(picture)[..., None]
    return np.asarray(pale * light[..., None] * np.array([0.55, 0.7, 1.15]))


def _blur(picture: Picture, rng: np.random.Generator) -> Picture:
    return _filtered(picture, ImageFilter.GaussianBlur(rng.uniform(1.6, 2.2)))


def _watercolour(picture: Picture, rng: np.random.Generator) -> Picture:
    """Pale washes that run into each other, darker where they end, on rough paper."""
    wash = _filtered(_filtered(picture, ImageFilter.MedianFilter(7)), ImageFilter.GaussianBlur(1))
    pale = 0.42 + 0.58 * wash - 1.2 * _edges(wash)[..., None]
    return pale * (1 - 0.1 * rng.random((SIZE, SIZE)))[..., None]


def _neon(picture: Picture, rng: np.random.Generator) -> Picture:
    """Glowing outlines of the colours that they part, on black."""
    glow = np.clip(7 * _edges(picture) - 0.25, 0, 1)
    wide = _filtered(np.repeat(glow[..., None], 3, 2), ImageFilter.GaussianBlur(1.2))
    bright = picture / np.maximum(picture.max(2, keepdims=True), 0.2)
    return np.asarray(np.maximum(glow[..., None], wide) * (0.35 + 0.65 * bright) * rng.uniform(0.9, 1.1))


STYLES: Mapping[str, Renderer] = MappingProxyType(
    {
        "line": _line,
        "flat": _flat,
        "stipple": _stipple,
        "woodcut": _woodcut,
        "sepia": _sepia,
        "mosaic": _mosaic,
        "night": _night,
        "blur": _blur,
        "watercolour": _watercolour,
        "neon": _neon,
    }
)
"""Style to how it is rendered."""


def _luma(picture: Picture) -> NDArray[np.float64]:
    brightness: NDArray[np.float64] = picture @ LUMA
    return brightness


def _edges(picture: Picture) -> NDArray[np.float64]:
    """How much colours change at each pixel, 0 where they do not."""
    smooth = _filtered(picture, ImageFilter.GaussianBlur(0.7))
    down, across = np.gradient(smooth, axis=(0, 1))
    steepest: NDArray[np.float64] = np.sqrt(down**2 + across**2).max(2)
    return steepest


def _mixed(bottom: NDArray[np.float64], top: NDArray[np.float64], share: NDArray[np.generic]) -> Picture:
    """Two colours, by the share of the second at each pixel."""
    much = np.asarray(share, dtype=np.float64)[..., None]
    return bottom * (1 - much) + top * much


def _filtered(picture: Picture, kernel: ImageFilter.Filter | type[ImageFilter.Filter]) -> Picture:
    image = Image.fromarray(_bytes(picture))
    return np.asarray(image.filter(kernel), dtype=np.float64) / 255


def _bytes(picture: Picture) -> NDArray[np.uint8]:
    return (np.clip(picture, 0, 1) * 255).astype(np.uint8)


def _vignette(strength: float) -> Picture:
    centre = (SIZE - 1) / 2
    distance = ((ROWS - centre) ** 2 + (COLUMNS - centre) ** 2) / (2 * centre**2)
    return np.asarray((1 - strength * distance)[..., None])
