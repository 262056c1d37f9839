"""What a command says, as wide as the terminal."""

from __future__ import annotations

import shutil

from pytest_t2i.adapters.support.escaping import line as one_line
from pytest_t2i.reporting.wrapping import wrapped


def say(line: str) -> None:
    """Print a line of a command, broken between words as wide as the terminal (or ``COLUMNS``).

    What would steer a terminal is escaped, a line break too.

    >>> say("2 images labelled.")
    2 images labelled.
    """
    width = shutil.get_terminal_size((0, 0)).columns or None
    for part in wrapped(one_line(line), width):
        print(part, flush=True)  # noqa: T201 - a command line tool
