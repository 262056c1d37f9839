"""Clean text of others, and escape it for its destination.

Names, words, prompts and messages come from files, models and people. They must stay plain text in
Markdown, on a page, in a table's cell and on a terminal. Templates escape pages, and clean each
value with this module (``html.environment``).
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from markupsafe import Markup

from pytest_t2i.errors import printable

NOTHING = "&#8203;"
"""A zero-width space, which breaks mentions, issue numbers and addresses."""
MARKS, REFERS = "\\`*_[]|~$", "@#!%^~$&"
"""Characters that format a text; characters before the name of a person, an issue, a label."""
ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
SIGN = re.compile(r"[\\`*_\[\]|~$&<>@#!%^]|:(?=//)|\bwww(?=\.)|\bGH(?=-\d)", re.IGNORECASE)
"""Text with a special meaning in Markdown or to a host of repositories."""
BEGINS = re.compile(r"\d{1,9}(?=[.)](?:\s|$))|(?=[-+]\s|[-=]{2,}\s*$|#{1,6}(?:\s|$))")
"""Beginning of a line that Markdown takes for a list, a heading or a rule."""
COMMAND = re.compile(r"`([^`]+)`")
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""First characters of a cell that a spreadsheet takes for a formula."""


def line(text: str) -> str:
    r"""The text as one line for a terminal, without control characters and line breaks.

    >>> line("a nurse\n\x1b[31mPASS")
    'a nurse \\x1b[31mPASS'
    """
    return printable(" ".join(text.expandtabs(1).splitlines()))


def isolated(text: str) -> str:
    """The text in Unicode's isolates where it has letters that are read from right to left.

    A terminal then shows what stands before and behind the text in its place.

    >>> isolated("a nurse"), len(isolated("ممرضة")) - len("ممرضة")
    ('a nurse', 2)
    """
    if not any(unicodedata.bidirectional(sign) in ("R", "AL") for sign in text):
        return text
    return f"\N{FIRST STRONG ISOLATE}{text}\N{POP DIRECTIONAL ISOLATE}"


def escape(text: str) -> str:
    r"""The text as Markdown without formatting, for a line or a table's cell.

    >>> escape("<b>@someone</b> | #12")
    '&lt;b&gt;@&#8203;someone&lt;/b&gt; \\| #&#8203;12'
    """
    markdown = SIGN.sub(_harmless, " ".join(line(text).split()))
    begins = BEGINS.match(markdown)
    return f"{begins[0]}\\{markdown[begins.end() :]}" if begins else markdown


def _harmless(match: re.Match[str]) -> str:
    sign, following = match[0], match.string[match.end() : match.end() + 1]
    replacement = f"\\{sign}" if sign in MARKS else ENTITIES.get(sign, sign)
    refers = len(sign) > 1 or sign == ":" or (sign in REFERS and following.isalnum())
    return f"{replacement}{NOTHING}" if refers else replacement


def code(text: str) -> str:
    """The text as Markdown code; not for a table's cell.

    >>> code("a`b")
    "`a'b`"
    """
    words = " ".join(line(text).split()).replace("`", "'")
    return f"`{words}`" if words else ""


def with_code(text: str) -> str:
    """The text as Markdown in which only text between backticks is formatted, as code.

    >>> with_code("`t2i label a_b`, then ask @someone")
    '`t2i label a_b`, then ask @&#8203;someone'
    """
    parts = COMMAND.split(text)
    return "".join(
        code(part) if number % 2 else _between(part) for number, part in enumerate(parts)
    )


def _between(part: str) -> str:
    """Escape a part of a sentence and keep the blanks around it."""
    words = escape(part)
    before, after = (" " * character.isspace() for character in (part[:1], part[-1:]))
    return f"{before}{words}{after}" if words else " " * bool(part)


def cell(value: Any) -> Any:
    """A value for a CSV file; a text that a spreadsheet would take for a formula is quoted.

    >>> cell("=1+1"), cell("-"), cell(-1)
    ("'=1+1", "'-", -1)
    """
    if not isinstance(value, str):
        return value
    text = printable(value)
    return f"'{text}" if value.startswith(FORMULA) else text


def clean(value: Any) -> Any:
    r"""Remove control characters from a text, or from all texts in dicts and lists.

    >>> clean({"a\x1b": ["b\u202e", 3]})
    {'a\\x1b': ['b\\u202e', 3]}
    """
    if isinstance(value, dict):
        return {clean(key): clean(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [clean(inner) for inner in value]
    is_text = isinstance(value, str) and not isinstance(value, Markup)
    return printable(value) if is_text else value
