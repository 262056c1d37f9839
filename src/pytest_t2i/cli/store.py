"""``t2i store``: look after a store of images."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from pytest_t2i.cli.support.arguments import path, say, value
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.generation.heartbeat import signs_of_life
from pytest_t2i.generation.store.entries import contents
from pytest_t2i.generation.store.pruning import prune
from pytest_t2i.generation.store.repair import Findings, repair, verify_store
from pytest_t2i.reporting.formatting import several
from pytest_t2i.settings import whole

SHOWN = 10
"""The largest number of files that are named."""
Tick = Callable[[int], None]
"""A function that takes the number of files done so far."""
TELLS_PROGRESS = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: the action, the store, and what the action needs."""
    parser.add_argument(
        "action",
        choices=("show", "verify", "repair", "prune"),
        help="show: count images and detections; verify: check every row and file, and remove "
        "damaged ones, so that the next run makes them again; repair: make a new index of the rows "
        "that can be read and of all pictures, also of those copied from another store (a copy of "
        "its images/ alone loses the traces: copy arrays/, too, which brings final latents); "
        "prune: remove the images that none of the last runs needed (--keep-runs)",
    )
    parser.add_argument(
        "folder",
        nargs="?",
        type=path,
        default=Path(".t2i"),
        help="folder of the store (default: .t2i)",
    )
    parser.add_argument(
        "--keep-runs",
        dest="runs",
        type=value(whole(1)),
        metavar="N",
        help="prune: keep the images that the last N runs needed",
    )


def run(action: str, folder: Path, runs: int | None) -> int:
    """Run the action and print the result; return 0, or 1 where something is damaged."""
    if action == "prune" and runs is None:
        raise ConfigurationError("t2i store prune: expected --keep-runs N")
    if action != "prune" and runs is not None:
        raise ConfigurationError(f"t2i store {action} takes no --keep-runs")
    with signs_of_life(f"store {action}") as sign:

        def tick(count: int) -> None:
            sign.now = f"{count} files"

        if action == "prune":
            is_whole, lines = _prune(folder, runs or 1)
        else:
            is_whole, lines = _ACTIONS[action](folder, tick)
    for line in lines:
        say(line)
    return 0 if is_whole else 1


def _show(folder: Path, _tick: Tick) -> tuple[bool, list[str]]:
    summary = contents(folder)
    lines = [f"{folder}: {summary.bytes / 2**20:.1f} MiB"]
    lines += [
        f"images of {model.name}: {model.images} of {several(model.prompts, 'prompt')}"
        + (f", and {model.refused} refused" if model.refused else "")
        + (f", and {model.unreadable} unreadable" if model.unreadable else "")
        for model in summary.models
    ]
    lines += [
        f"images examined by detector {name}: {count}" for name, count in summary.detections.items()
    ]
    lines += [f"arrays {name}: {count}" for name, count in summary.arrays.items()]
    if summary.user:
        lines.append(f"a run is using this store: {summary.user}")
    return True, lines


def _verify(folder: Path, tick: Tick) -> tuple[bool, list[str]]:
    findings = verify_store(folder, tick)
    counts = f"{several(findings.images, 'image')} and {several(findings.arrays, 'array')} whole"
    return findings.is_whole, _lines(folder, findings, counts)


def _repair(folder: Path, tick: Tick) -> tuple[bool, list[str]]:
    findings = repair(folder, tick)
    adopted = f" ({findings.adopted} of them adopted)" if findings.adopted else ""
    unreadable = f"{findings.unreadable} unreadable, " if findings.unreadable else ""
    counts = (
        f"a new index has {several(findings.images, 'image')}{adopted}, "
        f"{findings.refused} refused, {unreadable}{several(findings.observed, 'detection')} and "
        f"{several(findings.arrays, 'array')}"
    )
    return findings.is_whole, _lines(folder, findings, counts)


def _prune(folder: Path, runs: int) -> tuple[bool, list[str]]:
    result = prune(folder, runs)
    run_count = "run" if result.runs == 1 else f"{result.runs} runs"
    return True, [
        f"{folder}: {several(result.removed, 'image')} removed, {result.bytes / 2**20:.1f} MiB; "
        f"{result.kept} stay, as the last {run_count} needed them"
    ]


_ACTIONS: dict[str, Callable[[Path, Tick], tuple[bool, list[str]]]] = {
    "show": _show,
    "verify": _verify,
    "repair": _repair,
}


def _lines(folder: Path, findings: Findings, counts: str) -> list[str]:
    lines = [f"{folder}: {counts}"]
    lines += _listed("damaged", findings.damaged) + _listed("gone", findings.absent)
    lines += _listed("changed in the index", findings.changed)
    if not findings.is_whole:
        lines.append("next: run the suite again; only what is missing is made")
    return lines


def _listed(words: str, things: Sequence[Path | str]) -> list[str]:
    lines = [f"{words}: {thing}" for thing in things[:SHOWN]]
    more = len(things) - len(lines)
    return [*lines, f"{words}: {more} more"] if more > 0 else lines
