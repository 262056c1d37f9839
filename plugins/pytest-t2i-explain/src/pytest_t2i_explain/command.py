"""``t2i explain``: tell which change made a run worse than its baseline."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pytest_t2i import T2IError, arguments, put_sections, read_baseline, read_run, say

from pytest_t2i_explain.explain import Choices, Explaining
from pytest_t2i_explain.report import facts, lines, section

NAME = "explain"
OWN = ("store", "catalogue", "device", "batch", "executor", "trust-remote-code")
"""Options of the run that may be other ones now."""
MOST_IMAGES = 10**6
TELLS_PROGRESS = True
KEPT = "Finished images are kept; the same command goes on from there to the same answer."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: the run, its baseline, both models, the budget, and options of the run."""
    parser.add_argument(
        "source", metavar="RUN", type=arguments.path, help="run.json of the worse run"
    )
    parser.add_argument(
        "--baseline",
        metavar="FILE",
        type=arguments.path,
        help="baseline that the run is worse than (default: that of the run)",
    )
    parser.add_argument(
        "--old", metavar="MODEL", help="model of the baseline (default: as the baseline names it)"
    )
    parser.add_argument(
        "--new", metavar="MODEL", help="model of the run (default: as the run names it)"
    )
    parser.add_argument(
        "--budget",
        metavar="IMAGES",
        type=arguments.value(arguments.whole(1, MOST_IMAGES)),
        help="most images of all hybrids together",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="tell what changed and what it costs, and stop"
    )
    arguments.add_confidence(parser, "1 minus the largest probability of a wrong name")
    arguments.add_run_options(parser, OWN)


def run(
    source: Path,
    baseline: Path | None,
    old: str | None,
    new: str | None,
    budget: int | None,
    level: float,
    *,
    dry_run: bool,
    **options: Any,
) -> int:
    """Explain the run; put the answer into its report; return 0."""
    record = read_run(source)
    file = baseline or (Path(record.baseline.file) if record.baseline else None)
    if file is None:
        raise T2IError(
            f"{source} was compared with no baseline: name the baseline with --baseline FILE"
        )
    choices = Choices(arguments.run_choices(options), old, new, budget, level, dry_run)
    explanation = Explaining(record, read_baseline(file), choices, say).explained()
    if explanation is None:
        return 0
    for line in lines(explanation):
        say(line)
    page = put_sections(source, NAME, [section(explanation)], facts(explanation))
    print(f"report: {page}")  # noqa: T201 - a command line tool
    return 0
