"""``t2i detector fetch``: download weights of detectors, and check their size and checksum."""

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
    parser.add_argument(
        "names", nargs="*", metavar="NAME",
        help="weights to download; without a name, all are listed with size, licence and address",
    )  # fmt: skip


def run(names: list[str]) -> int:
    """List the weights that can be downloaded, or download some; return 0."""
    weights_by_name = published()
    for name in names:
        if name not in weights_by_name:
            raise UnknownNameError("weights", name, weights_by_name)
    if not names:
        for weights in weights_by_name.values():
            state = " (fetched)" if weights.file and weights.path.is_file() else ""
            note = f"; {weights.note}" if weights.note else ""
            say(f"{weights.name}{state}: {weights.facts}{note}")
    for name in names:
        _fetch(weights_by_name[name])
    return 0


def _fetch(weights: PublishedWeights) -> None:
    from rich.progress import Progress

    from pytest_t2i.adapters.fetching import fetch

    say(weights.facts)
    with Progress(transient=True, disable=not sys.stdout.isatty()) as progress:
        task = progress.add_task(weights.name, total=weights.bytes or None)
        paths = fetch(weights, lambda count: progress.advance(task, count))
    for path in paths:
        say(f"{weights.name}: {path}")
