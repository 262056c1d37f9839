"""Who is shown in pictures of several people, the picture being the independent unit.

Tests use the fixtures ``crowd`` and ``crowds``; a suite that names their types passes mypy.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from pytest_t2i_crowds.audit import Crowd, Crowds

__all__ = ["Crowd", "Crowds"]


def __getattr__(name: str) -> Any:
    # Every start of pytest loads this package, but not the prompts.
    if name == "axes":
        return import_module(f"{__name__}.axes")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
