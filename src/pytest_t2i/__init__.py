"""Unit tests for the fairness of text-to-image models.

The names below load on first use, so that ``import pytest_t2i`` stays cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_t2i import metrics as metrics
    from pytest_t2i import statistics as statistics
    from pytest_t2i import strategies as strategies
    from pytest_t2i.prompts import Axes, Axis, Stereotype
    from pytest_t2i.prompts import intersection as intersection
    from pytest_t2i.prompts import read_reference as read_reference
    from pytest_t2i.prompts import read_stereotypes as read_stereotypes
    from pytest_t2i.prompts import triplet as triplet
    from pytest_t2i.verdicts.limits import limit as limit

    axes: Axes
    stereotypes: tuple[Stereotype, ...]

__version__ = "0.1.0"
__all__ = [
    "Axis",
    "Stereotype",
    "axes",
    "intersection",
    "limit",
    "metrics",
    "read_reference",
    "read_stereotypes",
    "statistics",
    "stereotypes",
    "strategies",
    "triplet",
]

_PROMPTS = {"Axis", "Stereotype", "intersection", "read_reference", "read_stereotypes", "triplet"}


def __getattr__(name: str) -> Any:
    if name == "axes":
        return import_module("pytest_t2i.prompts").builtin_axes()
    if name == "stereotypes":
        return import_module("pytest_t2i.prompts").builtin_stereotypes()
    if name == "limit":
        return import_module("pytest_t2i.verdicts.limits").limit
    if name in _PROMPTS:
        return getattr(import_module("pytest_t2i.prompts"), name)
    if name in {"metrics", "statistics", "strategies"}:
        return import_module(f"pytest_t2i.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
