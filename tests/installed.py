"""Skips where a library is absent, without importing it.

``pytest.importorskip`` imports: ultralytics would change Pillow and NumPy for all other tests.
"""

from __future__ import annotations

from importlib.util import find_spec

import pytest


def needs(*libraries: str) -> None:
    """Skip the test, or the module it is called in, unless all are installed."""
    absent = [name for name in libraries if find_spec(name) is None]
    if absent:
        pytest.skip(f"needs {', '.join(absent)}", allow_module_level=True)
