"""Prompts: axes, templates, triplets, captions, stereotypes; word lists are TOML beside them."""

from pytest_t2i.prompts.axes import Axes, Axis, builtin_axes, read_axes
from pytest_t2i.prompts.captions import is_neutral, neutral_captions, triplet
from pytest_t2i.prompts.stereotypes import Stereotype, builtin_stereotypes, read_stereotypes

__all__ = [
    "Axes",
    "Axis",
    "Stereotype",
    "builtin_axes",
    "builtin_stereotypes",
    "is_neutral",
    "neutral_captions",
    "read_axes",
    "read_stereotypes",
    "triplet",
]
