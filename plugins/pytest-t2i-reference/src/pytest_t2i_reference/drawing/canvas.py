"""A canvas that paints colour and, on a second sheet, which part of which person each pixel belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from pytest_t2i_reference.drawing.palette import Colour

SIZE = 128
"""Width and height of a finished drawing in pixels."""
OVERSAMPLING = 2
"""Everything is drawn this many times larger and averaged down."""
PERSON_STRIDE = 32
"""Part p of person k is written on the part sheet as k * PERSON_STRIDE + p."""

Point = tuple[float, float]


class Part(IntEnum):
    """What a pixel shows. 0 is the place; all others belong to a person."""

    PLACE = 0
    BODY = 1
    GARMENT = 2
    HAIR = 3
    FACE = 4
    FACIAL_HAIR = 5
    HEADWEAR = 6
    EYE_GLASSES = 7
    EARPHONE = 8
    FOREHEAD_MARK = 9
    HELD = 10


class Canvas:
    """Shapes in local coordinates: ``move_to`` sets the origin and the unit, all in shares of the picture's width."""

    def __init__(self) -> None:
        side = SIZE * OVERSAMPLING
        self._colours = Image.new("RGB", (side, side))
        self._parts = Image.new("L", (side, side), 0)
        self._paint = ImageDraw.Draw(self._colours)
        self._mark = ImageDraw.Draw(self._parts)
        self.part = Part.PLACE
        self.person = 0
        self.move_to(0.0, 0.0, 1.0)

    def move_to(self, origin_x: float, origin_y: float, unit: float) -> None:
        """From now on (x, y) means (origin_x + x * unit, origin_y + y * unit)."""
        side = SIZE * OVERSAMPLING
        self._origin = (origin_x * side, origin_y * side)
        self._unit = unit * side

    def colours(self) -> NDArray[np.float32]:
        """The picture, averaged down, in 0..1, [SIZE, SIZE, 3]."""
        small = self._colours.resize((SIZE, SIZE), Image.Resampling.BOX)
        return np.asarray(small, dtype=np.float32) / np.float32(255)

    def parts(self) -> NDArray[np.uint8]:
        """The part sheet, [SIZE, SIZE]: the part painted last at the first subpixel of each pixel."""
        return np.asarray(self._parts)[::OVERSAMPLING, ::OVERSAMPLING].copy()

    def ellipse(self, x: float, y: float, radius_x: float, radius_y: float, colour: Colour) -> None:
        """A filled ellipse around (x, y)."""
        corners = self._points([(x - radius_x, y - radius_y), (x + radius_x, y + radius_y)])
        self._paint.ellipse(corners, fill=colour)
        self._mark.ellipse(corners, fill=self._code())

    def half_disc(self, x: float, y: float, radius_x: float, radius_y: float, colour: Colour) -> None:
        """The upper half of a filled ellipse around (x, y)."""
        corners = self._points([(x - radius_x, y - radius_y), (x + radius_x, y + radius_y)])
        self._paint.pieslice(corners, 180, 360, fill=colour)
        self._mark.pieslice(corners, 180, 360, fill=self._code())

    def arc(
        self,
        x: float,
        y: float,
        radius: float,
        start: float,
        end: float,
        colour: Colour,
        width: float,
    ) -> None:
        """A piece of a circle's outline, angles in degrees clockwise from three o'clock."""
        corners = self._points([(x - radius, y - radius), (x + radius, y + radius)])
        self._paint.arc(corners, start, end, fill=colour, width=self._stroke(width))
        self._mark.arc(corners, start, end, fill=self._code(), width=self._stroke(width))

    def polygon(self, points: Sequence[Point], colour: Colour) -> None:
        """A filled polygon."""
        corners = self._points(points)
        self._paint.polygon(corners, fill=colour)
        self._mark.polygon(corners, fill=self._code())

    def line(self, points: Sequence[Point], colour: Colour, width: float) -> None:
        """A line through the points; width in local units."""
        corners = self._points(points)
        self._paint.line(corners, fill=colour, width=self._stroke(width), joint="curve")
        self._mark.line(corners, fill=self._code(), width=self._stroke(width))

    def box(
        self,
        left: float,
        top: float,
        right: float,
        bottom: float,
        colour: Colour,
        radius: float = 0.0,
    ) -> None:
        """A filled rectangle, with rounded corners when radius > 0."""
        corners = self._points([(left, top), (right, bottom)])
        if radius > 0:
            self._paint.rounded_rectangle(corners, radius=radius * self._unit, fill=colour)
            self._mark.rounded_rectangle(corners, radius=radius * self._unit, fill=self._code())
        else:
            self._paint.rectangle(corners, fill=colour)
            self._mark.rectangle(corners, fill=self._code())

    def frame(self, left: float, top: float, right: float, bottom: float, colour: Colour, width: float) -> None:
        """The outline of a rounded rectangle."""
        corners = self._points([(left, top), (right, bottom)])
        radius, stroke = 0.02 * self._unit, self._stroke(width)
        self._paint.rounded_rectangle(corners, radius=radius, outline=colour, width=stroke)
        self._mark.rounded_rectangle(corners, radius=radius, outline=self._code(), width=stroke)

    def _points(self, points: Sequence[Point]) -> list[Point]:
        origin_x, origin_y = self._origin
        return [(origin_x + x * self._unit, origin_y + y * self._unit) for x, y in points]

    def _stroke(self, width: float) -> int:
        return max(1, round(width * self._unit))

    def _code(self) -> int:
        return 0 if self.part is Part.PLACE else self.person * PERSON_STRIDE + int(self.part)
