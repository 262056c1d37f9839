"""``t2i stereotypes``: recorded runs side by side, in the layout of OASIS Tables 1 and 2."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from pytest_t2i.cli.arguments import add_confidence, path, value
from pytest_t2i.data import Interval
from pytest_t2i.errors import ConfigurationError, printable
from pytest_t2i.files import write_whole
from pytest_t2i.prompts.internet_users import Footprints, read_footprints
from pytest_t2i.reporting.escaping import escape
from pytest_t2i.runs.comparison.oasis_tables import additions, footprint, table_1
from pytest_t2i.runs.record import RunRecord, StereotypeRecord, read_run
from pytest_t2i.settings import whole


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which runs, and what they are held against."""
    parser.add_argument("sources", metavar="RUN", type=path, nargs="+", help="run.json files")
    parser.add_argument(
        "--users", type=path, metavar="FILE", help="internet users by nationality (OASIS 4.2)"
    )
    add_confidence(parser, "level of intervals")
    parser.add_argument(
        "--seed", type=value(whole(0)), default=0, metavar="N", help="of the resampling (0)"
    )
    parser.add_argument("--out", type=path, metavar="FILE", help="write the tables there, too")


def run(
    sources: Sequence[Path], *, users: Path | None, level: float, seed: int, out: Path | None
) -> int:
    """Print the tables as Markdown."""
    runs = [read_run(source) for source in sources]
    if not any(run.stereotypes or run.cells for run in runs):
        raise ConfigurationError(
            "none of these runs looked for stereotypes or crossed two axes: run suites/stereotypes"
        )
    text = "\n".join(lines(runs, read_footprints(users), level, seed)) + "\n"
    print(printable(text), end="")  # noqa: T201 - a command line tool
    if out is not None:
        write_whole(out, text.encode())
    return 0


def lines(
    runs: Sequence[RunRecord], footprints: Footprints, level: float, seed: int
) -> Iterator[str]:
    """The three tables, those that there is something for."""
    if any(run.stereotypes for run in runs):
        yield from _table_1(runs)
        yield from _footprints(runs, footprints, level, seed)
    changes = [addition for run in runs for addition in additions(run, level)]
    if changes:
        yield "## Share of men when a word is added"
        yield ""
        yield "| model | concept | alone | with | together | change |"
        yield "|---|---|---|---|---|---|"
        for added in changes:
            yield (
                f"| {escape(added.model)} | {escape(added.concept)} | {_percent(added.alone)} "
                f"| {escape(added.added)} | {_percent(added.together)} | {_points(added.change)} |"
            )


def _table_1(runs: Sequence[RunRecord]) -> Iterator[str]:
    yield "## Stereotype scores"
    yield ""
    names = " | ".join(f"{escape(run.model)}: share | score" for run in runs)
    yield f"| concept | attribute | real world | {names} |"
    yield "|---" * (3 + 2 * len(runs)) + "|"
    for row in table_1(runs):
        cells = " | ".join(_cells(score) for score in row.measured)
        concept, attribute = escape(row.concept), escape(row.attribute)
        yield f"| {concept} | {attribute} | {100 * row.expected:.1f} % | {cells} |"
    yield ""


def _cells(score: StereotypeRecord | None) -> str:
    if score is None or score.share is None:
        return "- | -"
    return f"{_percent(score.share)} | {_percent(score.score)}"


def _footprints(
    runs: Sequence[RunRecord], footprints: Footprints, level: float, seed: int
) -> Iterator[str]:
    yield "## Stereotype scores against internet users"
    yield ""
    yield f"Users: {escape(footprints.source)}. Below 0, scores are higher where users are fewer."
    yield ""
    yield "| model | rank correlation | nationalities | mean score |"
    yield "|---|---|---|---|"
    for run in runs:
        correlated = footprint(run, footprints, level, seed)
        told = str(correlated.correlation) if correlated.correlation else correlated.absent
        means = ", ".join(f"{escape(name)} {mean:.3f}" for name, mean in correlated.means.items())
        yield f"| {escape(run.model)} | {told} | {len(correlated.means)} | {means} |"
    yield ""


def _percent(interval: Interval | None) -> str:
    if interval is None:
        return "-"
    low, high = 100 * interval.low, 100 * interval.high
    return f"{100 * interval.estimate:.1f} % [{low:.1f}, {high:.1f}]"


def _points(change: Interval) -> str:
    low, high = 100 * change.low, 100 * change.high
    return f"{100 * change.estimate:+.1f} [{low:+.1f}, {high:+.1f}]"
