"""The breaking of lines at the width of the terminal, between words and never within a number."""

from __future__ import annotations

import re
import textwrap

NARROWEST = 40
"""Fewest columns for which lines are broken; narrower terminals break lines themselves."""
TOGETHER = re.compile(r"\[[^\[\]]{1,40}\]| (?:<=|>=|=|->) |\d \w")
"""Texts that stay on one line: an interval, a bound, a p-value, before and after, a count."""
GLUE = "\u00a0"


def wrapped(line: str, width: int | None) -> list[str]:
    """Break a line into several; all but the first are indented by two more columns.

    Args:
        line: text without a line break.
        width: number of columns; None leaves the line whole.

    Returns:
        Lines of at most ``width`` columns, except for longer words such as paths.

    >>> wrapped("model bias score 0.100 [0.050, 0.200], allowed <= 0.3", 40)
    ['model bias score 0.100 [0.050, 0.200],', '  allowed <= 0.3']
    """
    if width is None or width < NARROWEST or len(line) <= width:
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    glued = TOGETHER.sub(lambda match: match[0].replace(" ", GLUE), line)
    lines = textwrap.wrap(
        glued.strip(),
        width,
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [part.replace(GLUE, " ") for part in lines]
