"""Numbers that the documentation claims, and the commands that print them.

A claim is a number with a comment behind it, which a reader of the page does not see:

    wrong in at most 4.9 %<!-- claim: python tests/simulations/two_shares.py ; 5 and 40 ; 2 -->

The comment holds the command, a text of the printed row (the first that holds it), the number of
the cell in that row (from 1), and, where it is not exactly the number of the page, the tolerance. A
cell such as ``0.055 [0.035, 0.082]`` counts as its first number; a percentage of the page is
divided by 100. ``slow`` before the command marks one that takes longer than a minute: its committed
table, the ``.md`` file beside the script, is read in place of running it.

    python docs/tools/claims.py            run the quick ones, read the tables of the slow ones
    python docs/tools/claims.py --list     list claims, and how many numbers of each page have none

The exit status is 1 where a figure differs.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).parents[2]
DOCS = REPOSITORY / "docs"
SECONDS = 60.0
"""A command that takes longer is slow."""
CLAIM = re.compile(r"(?P<number>-?\d*\.?\d+)(?P<percent> ?%)?<!-- claim: (?P<what>.+?) -->")
MEASURED = re.compile(r"(?<![\w./`-])(?:0?\.\d+|\d+(?:\.\d+)? %)(?![\w/`])")
"""What looks like a measured figure: a rate, or a percentage."""
CODE = re.compile(r"```.*?```|`[^`]*`|<!--.*?-->|\]\([^)]*\)", re.DOTALL)
ROUNDING = 1e-9


class Claim(NamedTuple):
    """A number of a page, and where it comes from."""

    page: str
    line: int
    number: float
    command: str
    row: str
    """A text that the printed row holds."""
    cell: int
    """Number of the cell in the row, from 1."""
    tolerance: float
    is_slow: bool

    def found(self) -> float:
        """Return the number that the command prints; raise ValueError where there is none."""
        printed = committed(self.command) if self.is_slow else output(self.command)
        rows = [row for row in printed.splitlines() if row.startswith("|") and self.row in row]
        if not rows:
            raise ValueError(f"expected a row with {self.row!r}, found none")
        cells = rows[0].strip("|").split("|")
        if self.cell > len(cells):
            raise ValueError(f"expected {self.cell} cells, found {len(cells)}")
        number = re.search(r"-?\d*\.?\d+", cells[self.cell - 1])
        if number is None:
            raise ValueError(f"cell {self.cell} holds no number: {cells[self.cell - 1]!r}")
        return float(number[0])


def claims(pages: list[Path] | None = None) -> Iterator[Claim]:
    """Yield all claims, page by page."""
    for page in pages or sorted(DOCS.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        for match in CLAIM.finditer(text):
            command, row, cell, *tolerance = (part.strip() for part in match["what"].split(" ; "))
            number = float(match["number"]) / (100.0 if match["percent"] else 1.0)
            yield Claim(
                str(page.relative_to(DOCS)) if page.is_relative_to(DOCS) else page.name,
                text.count("\n", 0, match.start()) + 1,
                number,
                command.removeprefix("slow "),
                row,
                int(cell),
                float(tolerance[0]) if tolerance else 0.0,
                command.startswith("slow "),
            )


def unmarked(page: Path) -> int:
    """Count the figures of a page that look measured and have no command."""
    text = CLAIM.sub(" ", page.read_text(encoding="utf-8"))
    return len(MEASURED.findall(CODE.sub(" ", text)))


def all_unmarked() -> int:
    """Count the figures of all pages that have no command."""
    return sum(unmarked(page) for page in DOCS.rglob("*.md"))


@cache
def output(command: str) -> str:
    """Return what a command prints; raise ValueError where it fails or takes too long."""
    words = command.split()
    if words[0] == "python":
        words[0] = sys.executable
    paths = [REPOSITORY / "src", *REPOSITORY.glob("plugins/*/src"), REPOSITORY / "tests"]
    known = os.pathsep.join([*map(str, paths), os.environ.get("PYTHONPATH", "")])
    try:
        run = subprocess.run(  # noqa: S603 - commands of our own pages
            words, cwd=REPOSITORY, env=os.environ | {"PYTHONPATH": known}, timeout=SECONDS,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise ValueError(f"takes more than {SECONDS:g} s: mark it as slow") from None
    if run.returncode:
        raise ValueError(f"ended with status {run.returncode}: {run.stderr.strip()[-200:]}")
    return run.stdout


def committed(command: str) -> str:
    """Return the table that is committed beside a slow script."""
    script = next(word for word in command.split() if word.endswith(".py"))
    return (REPOSITORY / script).with_suffix(".md").read_text(encoding="utf-8")


def differs(claim: Claim) -> str:
    """Return how a claim differs from what its command prints; "" where it does not."""
    try:
        found = claim.found()
    except (OSError, ValueError) as error:
        return str(error)
    if abs(found - claim.number) <= claim.tolerance + ROUNDING:
        return ""
    return f"the page says {claim.number:g}, the command {found:g}"


def main() -> int:
    """Check the claims, or list them."""
    parser = argparse.ArgumentParser(description="Check the numbers of the documentation.")
    parser.add_argument("--list", action="store_true", help="list claims and run nothing")
    parser.add_argument("pages", nargs="*", type=Path, help="pages; all of docs/ without")
    asked = parser.parse_args()
    wrong = 0
    for claim in claims([page.resolve() for page in asked.pages]):
        how = "slow, committed table" if claim.is_slow else "run"
        told = f"{claim.page}:{claim.line}: {claim.number:g} ({how}) {claim.command}"
        difference = "" if asked.list else differs(claim)
        wrong += bool(difference)
        print(f"{told}: {difference}" if difference else told, flush=True)
    for page in asked.pages or sorted(DOCS.rglob("*.md")):
        if count := unmarked(page):
            print(f"{count} numbers without a command: {page}")
    print(f"{wrong} claims differ; {all_unmarked()} numbers of all pages have no command")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
