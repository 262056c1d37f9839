"""The page of options, written from the option table itself."""

from __future__ import annotations

from pathlib import Path

from pytest_t2i.option_names import GROUPS, OPTIONS, Option

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
    """A table for each group of options, with a row per option."""
    named = {option.name: option for option in OPTIONS}
    head = "| option | ini key | meaning |\n|---|---|---|"
    return "\n\n".join(
        "\n".join([f"## {title[0].upper()}{title[1:]}", head, *(_row(named[n]) for n in names)])
        for title, names in GROUPS.items()
    )


def _row(option: Option) -> str:
    value = "" if option.is_switch else f" {option.metavar}"
    meaning = option.help.replace("|", "\\|")
    return f"| `{option.flag}{value}` | `{option.ini}` | {meaning} |"
