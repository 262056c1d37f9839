"""Drawn half-body portraits with exact labels, boxes and masks."""

from pytest_t2i_reference.drawing.attributes import Person, Scene
from pytest_t2i_reference.drawing.canvas import SIZE, Part
from pytest_t2i_reference.drawing.scene import Box, Drawing, draw_scene
from pytest_t2i_reference.drawing.styles import STYLES, in_style

__all__ = ["SIZE", "STYLES", "Box", "Drawing", "Part", "Person", "Scene", "draw_scene", "in_style"]
