"""The console script ``t2i``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from pytest_t2i import __version__
from pytest_t2i.catalogue import ModelEntry, read_catalogues
from pytest_t2i.errors import T2IError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="t2i", description="Companion of the pytest plugin.")
    parser.add_argument("--version", action="version", version=f"pytest-t2i {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    listing = commands.add_parser("list", help="list what is registered under which name")
    listing.add_argument("kind", choices=["models", "detectors", "encoders", "axes"])
    report = commands.add_parser("report", help="render a run.json as index.html and summary.md")
    report.add_argument("run", type=Path, help="a run.json")
    report.add_argument("folder", type=Path, help="where to write")
    parsed = parser.parse_args(arguments)
    try:
        return (
            _list(parsed.kind) if parsed.command == "list" else _report(parsed.run, parsed.folder)
        )
    except T2IError as error:
        print(f"ERROR: {error}", file=sys.stderr)  # noqa: T201 - a command line tool
        return 2


def _list(kind: str) -> int:
    for line in _lines(kind):
        print(line)  # noqa: T201 - a command line tool
    return 0


def _lines(kind: str) -> list[str]:
    from pytest_t2i.prompts import builtin_axes
    from pytest_t2i.registry import Registries

    registries = Registries()
    if kind == "axes":
        return [f"{axis.name}: {len(axis.concepts)} concepts" for axis in builtin_axes()]
    if kind == "models":
        found = read_catalogues(registries.catalogues).models.values()
        return sorted(_model_line(entry) for entry in found)
    registry = registries.detectors if kind == "detectors" else registries.encoders
    return registry.names()


def _model_line(entry: ModelEntry) -> str:
    asked = entry.options.defaults
    settings = f"{asked.steps} steps, guidance {asked.guidance}, {asked.width} px"
    detector = f", detector {entry.detector}" if entry.detector else ""
    return f"{entry.alias}: {entry.options.source} ({settings}{detector})"


def _report(run: Path, folder: Path) -> int:
    from pytest_t2i.record import read_run
    from pytest_t2i.reporting import write_all

    write_all(read_run(run), folder)
    print(folder / "index.html")  # noqa: T201 - a command line tool
    return 0
