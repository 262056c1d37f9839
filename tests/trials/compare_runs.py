"""Whether two records of the same run say the same, number by number, and what pages lost.

    python tests/trials/compare_runs.py BEFORE AFTER

BEFORE and AFTER are folders of reports (run.json, index.html, summary.md), of any schema that is
read. What must differ is left out: when it ran, how long, which versions. Exit status 1 where a
number or a text of the record differs.
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from pytest_t2i.runs.read_run import read_run

LEFT_OUT = ("created", "seconds", "work", "provenance", "settings", "schema")
SHOWN = 40
NUMBER = re.compile(r"-?\d+\.\d+")


IDENTITY = (
    "test", "metric", "subject", "id", "name", "space", "group", "detector", "prompt", "attribute",
    "direction", "center", "guidance", "looked_for", "choice", "bound", "against", "variants",
    "rows", "row", "column",
)  # fmt: skip
"""Fields that tell one entry of a list from the others, in whatever order they stand."""


def names_of(values: Sequence[Any]) -> list[str]:
    """What each entry of a list is called: by its identity where that is its own, else by place."""
    named = [
        "|".join(str(getattr(one, n)) for n in IDENTITY if is_dataclass(one) and hasattr(one, n))
        for one in values
    ]
    own = len(set(named)) == len(named) and all(named)
    return named if own else [str(place) for place in range(len(named))]


def is_same(one: Any, other: Any) -> bool:
    """Whether two values are equal, numbers up to the order in which they were added."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-15)
    return bool(one == other)


def leaves(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Every number and text of a record with its place."""
    if is_dataclass(value):
        for each in fields(value):
            yield from leaves(getattr(value, each.name), f"{place}.{each.name}".lstrip("."))
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{place}[{key}]")
    elif isinstance(value, tuple | list):
        for name, inner in zip(names_of(value), value, strict=True):
            yield from leaves(inner, f"{place}[{name}]")
    else:
        # Where a picture lies depends on the folder of the run.
        yield place, Path(value).name if isinstance(value, str) and "/" in value else value


class Words(HTMLParser):
    """The numbers of a page's text."""

    def __init__(self) -> None:
        super().__init__()
        self.found: Counter[str] = Counter()

    def handle_data(self, data: str) -> None:
        self.found.update(NUMBER.findall(data.replace("\u2212", "-")))


def numbers_of_page(file: Path) -> Counter[str]:
    """How often each decimal number stands in the text of a page."""
    words = Words()
    text = re.sub(
        r"<(style|script)>.*?</\1>", "", file.read_text(encoding="utf-8"), flags=re.DOTALL
    )
    words.feed(text)
    return words.found


def main(before: Path, after: Path) -> int:
    """Print what is equal and what is not."""
    told = [
        {place: value for place, value in leaves(read_run(folder / "run.json"))
         if not place.startswith(LEFT_OUT)}
        for folder in (before, after)
    ]  # fmt: skip
    old, new = told
    differing = sorted(p for p in old.keys() | new.keys() if not is_same(old.get(p), new.get(p)))
    numbers = sum(isinstance(value, int | float) for value in old.values())
    print(f"record: {len(old)} values before ({numbers} numbers), {len(new)} after, "
          f"{len(differing)} differ")  # fmt: skip
    for place in differing[:SHOWN]:
        print(f"  {place}: {old.get(place)!r} -> {new.get(place)!r}")
    pages = [numbers_of_page(folder / "index.html") for folder in (before, after)]
    lost = {number for number in pages[0] if number not in pages[1]}
    print(f"page: {len(pages[0])} different numbers before, {len(pages[1])} after; "
          f"no longer shown: {', '.join(sorted(lost)[:20]) or 'none'}")  # fmt: skip
    return int(bool(differing))


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:3])))
