"""What a command says, as wide as the terminal."""

from __future__ import annotations

import shutil

from pytest_t2i.adapters.support.escaping import line as one_line
from pytest_t2i.reporting.wrapping import wrapped


def say(line: str) -> None:
    """Print a line, broken between words where a terminal (or ``COLUMNS``) is narrower."""
    width = shutil.get_terminal_size((0, 0)).columns or None
    for part in wrapped(one_line(line), width):
        print(part, flush=True)  # noqa: T201 - a command line tool
