"""Who is shown in pictures of several people, the picture being the independent unit.

Tests use the fixtures ``crowd`` and ``crowds``; a suite that names their types passes mypy.
"""

from __future__ import annotations

from pytest_t2i_crowds.audit import Crowd, Crowds

__all__ = ["Crowd", "Crowds"]
