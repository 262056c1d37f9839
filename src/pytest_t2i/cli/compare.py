"""``t2i compare``: compare several models on the same prompts."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_t2i.cli.support.arguments import add_confidence, path, say, value
from pytest_t2i.reporting.comparison import comparison_lines, write_comparison
from pytest_t2i.runs.compare.compare import compare_models
from pytest_t2i.runs.compare.read_compared_models import read_compared_models
from pytest_t2i.settings import names, whole


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: the runs, the detector, and the report folder."""
    parser.add_argument(
        "sources",
        metavar="RUN",
        nargs="+",
        type=path,
        help="run.json files, baseline files, or a store (.t2i), of which every model is compared",
    )
    parser.add_argument(
        "--report",
        type=path,
        default=Path("reports/t2i-compare"),
        metavar="DIR",
        help="folder to write the page to (default: reports/t2i-compare)",
    )
    parser.add_argument(
        "--detector",
        metavar="NAME",
        help="detector whose labels are compared (default: the one that decided each run)",
    )
    parser.add_argument(
        "--groups",
        type=value(names),
        default=(),
        metavar="A,B,C",
        help="all labels that the detector can give; needed only for baselines, stores "
        "and older runs, which do not record them",
    )
    parser.add_argument(
        "--store",
        type=path,
        action="append",
        metavar="DIR",
        help="store that holds the pictures; may be repeated (default: a .t2i beside or above "
        "each run)",
    )
    add_confidence(parser, "confidence level of intervals and places")
    parser.add_argument(
        "--seed",
        type=value(whole(0)),
        default=0,
        metavar="N",
        help="seed of the resampling (default: 0)",
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
    """Compare the models, print a summary, and write the page; return 0."""
    models = read_compared_models(sources, detector, store or ())
    comparison = compare_models(models, level=level, seed=seed, groups=groups)
    for line in comparison_lines(comparison):
        say(line)
    write_comparison(comparison, report)
    print(f"report: {report / 'index.html'}")  # noqa: T201 - a command line tool
    return 0
