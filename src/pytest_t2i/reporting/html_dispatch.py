"""The dispatch of a section's blocks to the templates that draw them.

Every class of block registers with ``draw``.
"""

from __future__ import annotations

from functools import singledispatch
from pathlib import Path
from typing import Any, NamedTuple


class Drawn(NamedTuple):
    """A block for the template."""

    kind: str
    """Name of the template: ``templates/blocks/KIND.html.j2``."""
    content: Any
    """Variable ``content`` of the template."""
    folded: bool = False
    """Whether the block is folded away."""
    title: str = "More"
    """Title of a folded block."""
    beside: bool = False
    """Whether neighbouring blocks with this flag stand side by side."""


@singledispatch
def draw(block: Any, folder: Path) -> Drawn:
    """Return a block for its template; links to full pictures are relative to ``folder``.

    Raises TypeError for a class of block that is not registered.
    """
    raise TypeError(f"expected a block of pytest_t2i.sections, got {block!r} for {folder}")
