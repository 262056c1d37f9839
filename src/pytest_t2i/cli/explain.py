"""``t2i explain``: tell which change made a run worse than its baseline."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pytest_t2i.audits.discovery import installed_audits, recorded_kinds
from pytest_t2i.cli.support.arguments import add_confidence, add_run_options, path, say, value
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.explain.explain import Choices, Sources, explain
from pytest_t2i.generation.progress import terminal_progress
from pytest_t2i.option_names import OPTIONS
from pytest_t2i.reporting import write_all
from pytest_t2i.reporting.culprit import explanation_lines
from pytest_t2i.runs.explanation.record import NAME, explanation_of
from pytest_t2i.runs.manifest import add_outputs, manifest_beside, rendered_anew
from pytest_t2i.runs.picture_paths import without_machine
from pytest_t2i.runs.read_run import read_run
from pytest_t2i.settings import MOST_IMAGES, whole
from pytest_t2i.verdicts.baseline_file import read_baseline

OWN = ("store", "catalogue", "device", "batch", "executor", "trust-remote-code")
"""Options of the run that may be other ones now."""
TELLS_PROGRESS = True
KEPT = "Finished images are kept; the same command goes on from there to the same answer."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: the run, its baseline, both models, the budget, and options of the run."""
    parser.add_argument("source", metavar="RUN", type=path, help="run.json of the worse run")
    parser.add_argument(
        "--baseline",
        metavar="FILE",
        type=path,
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
        type=value(whole(1, MOST_IMAGES)),
        help="most images of all hybrids together",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="tell what changed and what it costs, and stop"
    )
    parser.add_argument(
        "--where",
        action="store_true",
        help="test in which spaces and steps of the making the culprit acts, on further images",
    )
    add_confidence(parser, "1 minus the largest probability of a wrong name")
    add_run_options(parser, OWN)


def run(
    source: Path,
    baseline: Path | None,
    old: str | None,
    new: str | None,
    budget: int | None,
    level: float,
    *,
    dry_run: bool,
    where: bool,
    **options: Any,
) -> int:
    """Explain the run; write explain.json beside it and its report anew; return 0."""
    record = read_run(source)
    file = baseline or (Path(record.baseline.file) if record.baseline else None)
    if file is None:
        raise ConfigurationError(
            f"{source} was compared with no baseline: name the baseline with --baseline FILE"
        )
    recorded = read_baseline(file, recorded_kinds(installed_audits()))
    fields = {option.ini: option.name.replace("-", "_") for option in OPTIONS}
    settings = {fields[name]: chosen for name, chosen in options.items() if chosen is not None}
    choices = Choices(settings, old, new, budget, level, dry_run, where)
    sources = Sources(record, recorded, str(without_machine(str(file))))
    explanation = explain(sources, choices, terminal_progress, say)
    if explanation is None:
        return 0
    explanation = explanation.with_places_of(explanation_of(record, source.parent))
    for line in explanation_lines(explanation):
        say(line)
    folder = source.parent
    explanation.write(folder / NAME)
    manifest = manifest_beside(source)
    write_all(record, folder, project=Path.cwd())
    if manifest is not None:
        rendered_anew(manifest, folder, folder)
        add_outputs(source, (folder / NAME,))
    print(f"report: {folder / 'index.html'}")  # noqa: T201 - a command line tool
    return 0
