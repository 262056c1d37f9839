"""The page of options, written from the option table itself."""

from __future__ import annotations

from pathlib import Path

from pytest_t2i.option_names import OPTIONS, Option

PAGE = Path(__file__).parents[1] / "options.md"
BEGIN = "<!-- options: written by docs/tools/write.py -->"
END = "<!-- end of options -->"


def page() -> str:
    """The page as it is, with a fresh table."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


def table() -> str:
    """One row per option, in the order of ``option_names.OPTIONS``."""
    head = ["| option | ini key | meaning |", "|---|---|---|"]
    return "\n".join([*head, *map(_row, OPTIONS)])


def _row(option: Option) -> str:
    value = "" if option.is_switch else f" {option.metavar}"
    meaning = option.help.replace("|", "\\|")
    return f"| `{option.flag}{value}` | `{option.ini}` | {meaning} |"
