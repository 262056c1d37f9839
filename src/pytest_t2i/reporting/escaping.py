"""Text of others in Markdown."""

from __future__ import annotations


def escape(text: str) -> str:
    """Text that cannot break a table or a line."""
    for sign in "\\`*_<>[]|":
        text = text.replace(sign, f"\\{sign}")
    return text.replace("\n", " ")
