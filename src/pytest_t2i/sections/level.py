"""The level of a block, which decides where it is shown, and the format of its numbers."""

from __future__ import annotations

from typing import Literal

Level = Literal["summary", "body", "page", "detail"]
"""The place of a block. The terminal shows "summary"; Markdown shows "summary" and "body"; the
page shows all, and folds "detail" away."""
Form = Literal["", "signed", "percent", "fine percent", "signed percent"]
"""The format of numbers: 0.25, +0.25, 25 %, 25.0 %, and +25.0 % for values given in percent."""
