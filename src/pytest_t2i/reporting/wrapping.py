"""Lines as wide as the terminal, broken between words and never within a number."""

from __future__ import annotations

import re
import textwrap

NARROWEST = 40
"""Columns below which a terminal is left to break lines itself."""
TOGETHER = re.compile(r"\[[^\[\]]{1,40}\]| (?:<=|>=|=|->) |\d \w")
"""What is read as a whole: an interval, a bound, a p-value, before and after, a count."""
GLUE = "\u00a0"


def wrapped(line: str, width: int | None) -> list[str]:
    """A line in as many as it takes; the further ones are set in by two.

    Args:
        line: without a line break.
        width: columns; None leaves it whole.

    Returns:
        Lines of at most ``width`` columns, but for words that are longer, such as paths.

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
