"""Skips where a library is absent, without importing it; where other processes look.

``pytest.importorskip`` imports: ultralytics would change Pillow and NumPy for all other tests.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import pytest


def needs(*libraries: str) -> None:
    """Skip the test, or the module it is called in, unless all are installed."""
    absent = [name for name in libraries if find_spec(name) is None]
    if absent:
        pytest.skip(f"needs {', '.join(absent)}", allow_module_level=True)


def python_path(folder: Path) -> str:
    """PYTHONPATH of a process that looks in a folder first, and then where this one looks."""
    return os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
