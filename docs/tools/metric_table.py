"""The table of all metrics, collected from the pages on which each stands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

METRICS = Path(__file__).parents[1] / "metrics"
PAGE = METRICS / "index.md"
PAGES = (
    "parity.md", "groups.md", "../audits/crowd.md", "references.md", "stereotypes.md", "variety.md",
    "emergence.md", "similarity.md", "objects.md", "../audits/origins.md",
    "../audits/explicit.md", "refusals.md", "../audits/rewriting.md",
    "detectors.md", "agreement.md",
)  # fmt: skip
"""As the table has them."""
BEGIN = "<!-- metrics: collected by docs/tools/write.py -->"
END = "<!-- end of metrics -->"
HEAD = "| metric | range | worse | meaning | in a suite | source |\n|---|---|---|---|---|---|\n"


def page() -> str:
    """The page as it is, with a fresh table."""
    before, _, after = _parts(PAGE)
    table = "\n".join(rows())
    return f"{before}{BEGIN}\n{HEAD}{table}\n{END}{after}"


def rows() -> Iterator[str]:
    """Every row of every page, its metric a link to the page."""
    for name in PAGES:
        for row in _parts(METRICS / name)[1].strip().removeprefix(HEAD).splitlines():
            metric, _, rest = row.removeprefix("| ").partition(" | ")
            yield f"| [{metric}]({name}) | {rest}"


def _parts(path: Path) -> tuple[str, str, str]:
    before, found, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    table, ended, after = rest.partition(END)
    if not found or not ended:
        raise ValueError(f"{path}: expected a table between {BEGIN!r} and {END!r}, found none")
    return before, table, after
