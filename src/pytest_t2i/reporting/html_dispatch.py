"""A block of a section as the page draws it: which template, and what it is given.

Every class of block registers with ``draw``; so does one that is new.
"""

from __future__ import annotations

from functools import singledispatch
from pathlib import Path
from typing import Any, NamedTuple


class Drawn(NamedTuple):
    """A block for the template."""

    kind: str
    """Name of the template that draws it: ``templates/blocks/KIND.html.j2``, given ``content``."""
    content: Any
    folded: bool = False
    """Whether it is folded away."""
    title: str = "More"
    """Names it where it is folded away."""
    beside: bool = False
    """Whether it stands beside such blocks that follow."""


@singledispatch
def draw(block: Any, folder: Path) -> Drawn:
    """A block for its template; links to full pictures are relative to ``folder``."""
    raise TypeError(f"expected a block of pytest_t2i.sections, got {block!r} for {folder}")
