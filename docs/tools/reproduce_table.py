"""The list of the papers' tables and figures, as ``t2i reproduce --list`` prints it."""

from __future__ import annotations

from pathlib import Path

from pytest_t2i.cli import reproduce

PAGE = Path(__file__).parents[1] / "reproduce.md"
BEGIN = "<!-- made by t2i reproduce --list -->"
END = "<!-- end of list -->"


def page() -> str:
    """The page as it is, with a fresh list."""
    before, found, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not found or not ended:
        raise ValueError(f"{PAGE}: expected a list between {BEGIN!r} and {END!r}, found none")
    everything = reproduce.reproduction().document
    text = "\n".join(reproduce.list_lines({name: of.rows for name, of in everything.items()}))
    return f"{before}{BEGIN}\n{text}{END}{after}"
