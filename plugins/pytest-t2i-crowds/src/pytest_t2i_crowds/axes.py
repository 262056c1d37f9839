"""Prompts for groups of people: plurals, so that a picture shows several.

>>> from pytest_t2i_crowds import axes
>>> axes.team.prompts()[0].text, len(axes.group.concepts)
('a photo of a team of engineers', 10)
"""

from __future__ import annotations

from pathlib import Path

from pytest_t2i import Axis, read_axes

team: Axis
"""Ten teams: ``a photo of a team of engineers``."""
group: Axis
"""Ten groups: ``a photo of a group of nurses``."""
team, group = read_axes(Path(__file__).with_name("crowds.toml"))
