"""The one door for text of others: cleaned, and escaped for where it goes.

Names, words, prompts and messages come from files, models and people. Whatever they hold, they stay
text: in Markdown, on a page, in a cell of a table, on a terminal. Pages are escaped by their
templates, which clean each value here (``html.environment``).
"""

from __future__ import annotations

import re
from typing import Any

from markupsafe import Markup

from pytest_t2i.errors import printable

NOTHING = "&#8203;"
"""A space of no width: what it stands in is no mention, no number of an issue and no address."""
MARKS, REFERS = "\\`*_[]|~$", "@#!%^~$&"
"""Signs that format a text; signs before the name of a person, an issue, a label."""
ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
SIGN = re.compile(r"[\\`*_\[\]|~$&<>@#!%^]|:(?=//)|\bwww(?=\.)|\bGH(?=-\d)", re.IGNORECASE)
"""What Markdown, or a host of repositories, takes for more than text."""
BEGINS = re.compile(r"\d{1,9}(?=[.)](?:\s|$))|(?=[-+]\s|[-=]{2,}\s*$|#{1,6}(?:\s|$))")
"""Before the sign that makes a list, a heading or a line of what follows."""
COMMAND = re.compile(r"`([^`]+)`")
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""First characters of a cell that a spreadsheet computes."""
LINK = re.compile(r"[\\\[\]]")


def line(text: str) -> str:
    r"""One line of a terminal: nothing steers it, nothing begins another.

    >>> line("a nurse\n\x1b[31mPASS")
    'a nurse \\x1b[31mPASS'
    """
    return printable(" ".join(text.expandtabs(1).splitlines()))


def escape(text: str) -> str:
    r"""Markdown in which the text is nothing but text, in a line or in a cell of a table.

    >>> escape("<b>@someone</b> | #12")
    '&lt;b&gt;@&#8203;someone&lt;/b&gt; \\| #&#8203;12'
    """
    told = SIGN.sub(_harmless, " ".join(line(text).split()))
    begins = BEGINS.match(told)
    return f"{begins[0]}\\{told[begins.end() :]}" if begins else told


def _harmless(found: re.Match[str]) -> str:
    sign, following = found[0], found.string[found.end() : found.end() + 1]
    told = f"\\{sign}" if sign in MARKS else ENTITIES.get(sign, sign)
    refers = len(sign) > 1 or sign == ":" or (sign in REFERS and following.isalnum())
    return f"{told}{NOTHING}" if refers else told


def code(text: str) -> str:
    """Markdown that shows the text as code; not for a cell of a table.

    >>> code("a`b")
    "`a'b`"
    """
    told = " ".join(line(text).split()).replace("`", "'")
    return f"`{told}`" if told else ""


def with_code(text: str) -> str:
    """Markdown in which what stands between backticks is code, and all else nothing but text.

    >>> with_code("`t2i label a_b`, then ask @someone")
    '`t2i label a_b`, then ask @&#8203;someone'
    """
    parts = COMMAND.split(text)
    return "".join(
        code(part) if number % 2 else _between(part) for number, part in enumerate(parts)
    )


def _between(part: str) -> str:
    """A part of a sentence keeps the blanks around it."""
    told = escape(part)
    before, after = (" " * each.isspace() for each in (part[:1], part[-1:]))
    return f"{before}{told}{after}" if told else " " * bool(part)


def cell(value: Any) -> Any:
    """A value for a CSV file: of a text, no spreadsheet takes it for a formula.

    >>> cell("=1+1"), cell("-"), cell(-1)
    ("'=1+1", "'-", -1)
    """
    if not isinstance(value, str):
        return value
    told = printable(value)
    return f"'{told}" if value.startswith(FORMULA) else told


def message(text: str) -> str:
    r"""A message of SARIF, in which brackets would be a link.

    >>> message("[here](https://example.org)")
    '\\[here\\](https://example.org)'
    """
    return LINK.sub(r"\\\g<0>", printable(text))


def clean(value: Any) -> Any:
    r"""A text, or tables and lists with texts, of which none steers what shows it.

    >>> clean({"a\x1b": ["b\u202e", 3]})
    {'a\\x1b': ['b\\u202e', 3]}
    """
    if isinstance(value, dict):
        return {clean(key): clean(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [clean(inner) for inner in value]
    is_text = isinstance(value, str) and not isinstance(value, Markup)
    return printable(value) if is_text else value
