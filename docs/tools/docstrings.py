"""Docstrings as Markdown: examples and formulas become blocks of code (an extension of griffe)."""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^>>> .*(?:\n(?!\s*$).*)*", re.MULTILINE)
"""From a prompt to the next empty line."""
FORMULA = re.compile(r"^\.\. math::\s*(.*(?:\n[^\S\n]+.*)*)", re.MULTILINE)
ROLE = re.compile(r":(?:class|func|mod|attr):`~?([^`]+)`")


class Docstrings(griffe.Extension):
    """Fences what Markdown would take for quotations and directives."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """A docstring was read."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(text: str) -> str:
    r"""A docstring with its examples and formulas fenced.

    >>> print(as_markdown("Sum.\n\n.. math:: a + b"))
    Sum.
    <BLANKLINE>
    ```text
    a + b
    ```
    """
    text = ROLE.sub(r"`\1`", text)
    text = FORMULA.sub(lambda m: f"```text\n{' '.join(m.group(1).split())}\n```", text)
    return EXAMPLE.sub(lambda m: f"```pycon\n{m.group()}\n```", text)
