"""Where blocks are shown, and how their numbers are written."""

from __future__ import annotations

from typing import Literal

Level = Literal["summary", "body", "page", "detail"]
"""Where a block is shown. The terminal shows "summary"; Markdown shows "summary" and "body"; the
page shows all, and folds "detail" away."""
Form = Literal["", "signed", "percent", "fine percent", "signed percent"]
"""How numbers are written: 0.25, +0.25, 25 %, 25.0 %; "signed percent" takes percents: +25.0 %."""
