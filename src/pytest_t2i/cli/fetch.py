"""``t2i fetch``: download weights of detectors, and check their published size and checksum."""

from __future__ import annotations

import argparse
import sys

from pytest_t2i.adapters.fetching import PublishedWeights, published
from pytest_t2i.cli.support.arguments import say
from pytest_t2i.errors import UnknownNameError

KEPT = "No unfinished file is kept: the same command starts the download again."
"""The note after an interruption."""
TELLS_PROGRESS = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the names of the weights."""
    parser.add_argument(
        "names", nargs="*", metavar="NAME",
        help="weights to download; without a name, all are listed with size, licence and address",
    )  # fmt: skip


def run(names: list[str]) -> int:
    """List the weights that can be downloaded, or download some; return 0."""
    known = published()
    for name in names:
        if name not in known:
            raise UnknownNameError("weights", name, known)
    if not names:
        for one in known.values():
            say(_listed(one))
    for name in names:
        _fetch(known[name])
    return 0


def _listed(one: PublishedWeights) -> str:
    state = " (fetched)" if one.file and one.path.is_file() else ""
    note = f"; {one.note}" if one.note else ""
    return f"{one.name}{state}: {one.facts}{note}"


def _fetch(one: PublishedWeights) -> None:
    from rich.progress import Progress

    from pytest_t2i.adapters.fetching import fetch

    say(one.facts)
    with Progress(transient=True, disable=not sys.stdout.isatty()) as progress:
        task = progress.add_task(one.name, total=one.bytes or None)
        paths = fetch(one, lambda count: progress.advance(task, count))
    for path in paths:
        say(f"{one.name}: {path}")
