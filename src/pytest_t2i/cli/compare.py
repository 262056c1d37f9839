"""``t2i compare``: several models on the same prompts, side by side."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_t2i.cli.support.arguments import add_confidence, path, value
from pytest_t2i.cli.support.say import say
from pytest_t2i.reporting.comparison import summary, write_comparison
from pytest_t2i.runs.comparison.compare import compare_models
from pytest_t2i.runs.comparison.read_compared_models import read_compared_models
from pytest_t2i.settings import names, whole


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which runs, by whose word, and where to."""
    parser.add_argument(
        "sources",
        metavar="RUN",
        nargs="+",
        type=path,
        help="run.json files and baselines, any number; or a store (.t2i), whose models enter",
    )
    parser.add_argument(
        "--report",
        type=path,
        default=Path("reports/t2i-compare"),
        metavar="DIR",
        help="where to write (reports/t2i-compare)",
    )
    parser.add_argument(
        "--detector", metavar="NAME", help="whose word counts (the one that decided in each run)"
    )
    parser.add_argument(
        "--groups",
        type=value(names),
        default=(),
        metavar="A,B,C",
        help="all groups that the detector tells, where no run records them: of baselines, a store",
    )
    parser.add_argument(
        "--store",
        type=path,
        action="append",
        metavar="DIR",
        help="where the pictures lie (a .t2i beside or above each run); several times",
    )
    add_confidence(parser, "level of intervals and places")
    parser.add_argument(
        "--seed", type=value(whole(0)), default=0, metavar="N", help="of the resampling (0)"
    )


def run(
    sources: list[Path],
    report: Path,
    detector: str | None,
    groups: tuple[str, ...],
    store: list[Path] | None,
    level: float,
    seed: int,
) -> int:
    """Compare, say what came out, and write the page."""
    models = read_compared_models(sources, detector, store or ())
    comparison = compare_models(models, level=level, seed=seed, groups=groups)
    for line in summary(comparison):
        say(line)
    write_comparison(comparison, report)
    print(f"report: {report / 'index.html'}")  # noqa: T201 - a command line tool
    return 0
