"""Packages that are installed, made to look as if they were not; for a process of its own."""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder


def hide(*modules):
    """Let nothing find these top-level modules from now on."""

    class Without(PathFinder):
        @classmethod
        def find_spec(cls, fullname, path=None, target=None):
            hidden = fullname.partition(".")[0] in modules
            return None if hidden else super().find_spec(fullname, path, target)

    sys.meta_path[sys.meta_path.index(PathFinder)] = Without
