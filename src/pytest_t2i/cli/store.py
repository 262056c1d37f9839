"""``t2i store``: look after a store of images."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from pytest_t2i.cli.arguments import path
from pytest_t2i.cli.say import say
from pytest_t2i.generation.store.repair import Findings, repair, verify

SHOWN = 10
"""Files that are named."""
EVERY = 200
"""Files between two words of progress."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to do, and with which store."""
    parser.add_argument(
        "action",
        choices=("verify", "repair"),
        help="verify: read every row and file, and strike what is damaged, so that it is made "
        "again; repair: make a new index from the pictures",
    )
    parser.add_argument(
        "folder", nargs="?", type=path, default=Path(".t2i"), help="of the store (.t2i)"
    )


def run(action: str, folder: Path) -> int:
    """Verify or repair; 1 when something was damaged."""
    findings = (verify if action == "verify" else repair)(folder, _tick)
    if sys.stderr.isatty():
        print(end="\r", file=sys.stderr)  # noqa: T201 - a command line tool
    for line in _lines(action, folder, findings):
        say(line)
    return 0 if findings.is_whole else 1


def _tick(count: int) -> None:
    if count % EVERY == 0 and sys.stderr.isatty():
        print(f"t2i: {count} files", end="\r", file=sys.stderr, flush=True)  # noqa: T201


def _lines(action: str, folder: Path, findings: Findings) -> list[str]:
    done = "whole" if action == "verify" else "read into a new index"
    lines = [f"{folder}: {findings.images} images and {findings.arrays} arrays {done}"]
    lines += _listed("damaged", findings.damaged) + _listed("gone", findings.absent)
    lines += _listed("changed in the index", findings.changed)
    if not findings.is_whole:
        lines.append("next: run the suite again; what is missing is made again, and nothing else")
    elif action == "repair":
        lines.append("next: run the suite again; detections are made again, pictures are not")
    return lines


def _listed(words: str, things: Sequence[Path | str]) -> list[str]:
    shown = [f"{words}: {thing}" for thing in things[:SHOWN]]
    more = len(things) - len(shown)
    return [*shown, f"{words}: {more} more"] if more > 0 else shown
