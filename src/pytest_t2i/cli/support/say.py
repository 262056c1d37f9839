"""Print lines of a command, wrapped to the width of the terminal."""

from __future__ import annotations

import shutil

from pytest_t2i.adapters.support.escaping import line as one_line
from pytest_t2i.reporting.wrapping import wrapped


def say(line: str) -> None:
    """Print a line, wrapped to the width of the terminal (or ``COLUMNS``).

    Control characters and line breaks are escaped.

    >>> say("2 images labelled.")
    2 images labelled.
    """
    width = shutil.get_terminal_size((0, 0)).columns or None
    for part in wrapped(one_line(line), width):
        print(part, flush=True)  # noqa: T201 - a command line tool
