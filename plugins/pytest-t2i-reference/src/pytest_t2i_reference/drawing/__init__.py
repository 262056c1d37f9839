"""Drawn half-body portraits with exact labels, boxes and masks."""

from pytest_t2i_reference.drawing.attributes import Person, Scene
from pytest_t2i_reference.drawing.canvas import SIZE, Part
from pytest_t2i_reference.drawing.scene import Box, Drawing, draw_scene

__all__ = ["SIZE", "Box", "Drawing", "Part", "Person", "Scene", "draw_scene"]
