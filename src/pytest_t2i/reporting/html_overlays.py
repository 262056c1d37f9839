"""Pictures with a region outlined, as the page draws them."""

from __future__ import annotations

from pathlib import Path

from pytest_t2i.reporting.html_blocks import Drawn, draw
from pytest_t2i.reporting.overlays import overlay
from pytest_t2i.sections import Overlays


@draw.register
def _(block: Overlays, folder: Path) -> Drawn:  # noqa: ARG001 - every block is given it
    shown = [(overlay(picture), picture) for picture in block.pictures]
    return Drawn("overlays", shown, block.level == "detail", "Pictures")
