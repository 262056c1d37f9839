"""``t2i store``: look after a store of images."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from pytest_t2i.cli.support.arguments import path, say, value
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.generation.heartbeat import signs_of_life
from pytest_t2i.generation.store import archive
from pytest_t2i.generation.store.entries import contents
from pytest_t2i.generation.store.merge import Merged, merge
from pytest_t2i.generation.store.pruning import prune
from pytest_t2i.generation.store.repair import Findings, repair, verify_store
from pytest_t2i.reporting.formatting import several
from pytest_t2i.settings import whole

SHOWN = 10
"""The largest number of files that are named."""
Tick = Callable[[int], None]
"""A function that takes the number of files done so far."""
ASKS = {"merge": "source", "import": "source", "export": "target", "prune": "runs"}
"""Action -> the argument that the action needs."""
NAMED = {"source": "--from PATH", "target": "--to FILE", "runs": "--keep-runs N"}
TELLS_PROGRESS = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: the action, the store, and what the action needs."""
    parser.add_argument(
        "action",
        choices=("show", "verify", "repair", "merge", "export", "import", "prune"),
        help="show: count images and detections; verify: check every row and file, and remove "
        "damaged ones, so that the next run makes them again; repair: rebuild the index from the "
        "pictures; merge: copy what another store has and this one lacks (--from); export: write "
        "one tar file (--to); import: merge such a file (--from); prune: remove the images that "
        "none of the last runs needed (--keep-runs)",
    )
    parser.add_argument(
        "folder",
        nargs="?",
        type=path,
        default=Path(".t2i"),
        help="folder of the store (default: .t2i)",
    )
    parser.add_argument(
        "--from",
        dest="source",
        type=path,
        metavar="PATH",
        help="store to merge, or tar file to import",
    )
    parser.add_argument(
        "--to",
        dest="target",
        type=path,
        metavar="FILE",
        help="tar file to export to",
    )
    parser.add_argument(
        "--keep-runs",
        dest="runs",
        type=value(whole(1)),
        metavar="N",
        help="prune: keep the images that the last N runs needed",
    )


def run(
    action: str, folder: Path, source: Path | None, target: Path | None, runs: int | None
) -> int:
    """Run the action and print the result; return 0, or 1 where something is damaged."""
    _check_arguments(action, {"source": source, "target": target, "runs": runs})
    with signs_of_life(f"store {action}") as sign:

        def tick(count: int) -> None:
            sign.now = f"{count} files"

        if action == "prune":
            is_whole, lines = _prune(folder, runs or 1)
        else:
            is_whole, lines = _ACTIONS[action](folder, source or target or folder, tick)
    for line in lines:
        say(line)
    return 0 if is_whole else 1


def _check_arguments(action: str, arguments: dict[str, Path | int | None]) -> None:
    needed = ASKS.get(action)
    for name, argument in arguments.items():
        if name == needed and argument is None:
            raise ConfigurationError(f"t2i store {action}: expected {NAMED[name]}")
        if name != needed and argument is not None:
            option = NAMED[name].partition(" ")[0]
            raise ConfigurationError(f"t2i store {action} takes no {option}")


def _show(folder: Path, _: Path, _tick: Tick) -> tuple[bool, list[str]]:
    summary = contents(folder)
    lines = [f"{folder}: {summary.bytes / 2**20:.1f} MiB"]
    lines += [
        f"images of {model.name}: {model.images} of {several(model.prompts, 'prompt')}"
        + (f", and {model.refused} refused" if model.refused else "")
        for model in summary.models
    ]
    lines += [
        f"images examined by detector {name}: {count}" for name, count in summary.detections.items()
    ]
    lines += [f"arrays {name}: {count}" for name, count in summary.arrays.items()]
    if summary.user:
        lines.append(f"a run is using this store: {summary.user}")
    return True, lines


def _verify(folder: Path, _: Path, tick: Tick) -> tuple[bool, list[str]]:
    findings = verify_store(folder, tick)
    return findings.is_whole, _lines("verify", folder, findings)


def _repair(folder: Path, _: Path, tick: Tick) -> tuple[bool, list[str]]:
    findings = repair(folder, tick)
    return findings.is_whole, _lines("repair", folder, findings)


def _merge(folder: Path, source: Path, tick: Tick) -> tuple[bool, list[str]]:
    merged = merge(folder, source, tick)
    lines = _of_merge(folder, merged)
    lines += _listed(
        "damaged in the other store, not copied", merged.there.damaged + merged.there.absent
    )
    lines += _listed("changed in the index of the other store, not copied", merged.there.changed)
    return merged.is_whole, lines


def _of_merge(folder: Path, merged: Merged) -> list[str]:
    lines = [
        f"{folder}: {several(merged.copied, 'image')} copied, {merged.common} were there already, "
        f"{merged.said} detections, objects and arrays copied"
    ]
    if merged.otherwise:
        lines.append(
            f"{several(merged.otherwise, 'image')} with another picture in the other store: the "
            "pictures here stay, with their detections"
        )
    here = merged.here
    lines += _listed("damaged here before the merge", [*here.damaged, *here.absent])
    return lines + _listed("changed in the index here before the merge", here.changed)


def _export(folder: Path, file: Path, tick: Tick) -> tuple[bool, list[str]]:
    return True, [f"{file}: {several(archive.export(folder, file, tick), 'file')} of {folder}"]


def _import(folder: Path, file: Path, tick: Tick) -> tuple[bool, list[str]]:
    result = archive.unpack(file, folder, tick)
    lines = _of_merge(folder, result.merged)
    lines += _listed(f"damaged in {file}, not taken", result.damaged)
    lines += _listed(f"changed in the index of {file}, not taken", result.merged.there.changed)
    return result.is_whole, lines


def _prune(folder: Path, runs: int) -> tuple[bool, list[str]]:
    result = prune(folder, runs)
    run_count = "run" if result.runs == 1 else f"{result.runs} runs"
    return True, [
        f"{folder}: {several(result.removed, 'image')} removed, {result.bytes / 2**20:.1f} MiB; "
        f"{result.kept} stay, as the last {run_count} needed them"
    ]


_ACTIONS: dict[str, Callable[[Path, Path, Tick], tuple[bool, list[str]]]] = {
    "show": _show,
    "verify": _verify,
    "repair": _repair,
    "merge": _merge,
    "export": _export,
    "import": _import,
}


def _lines(action: str, folder: Path, findings: Findings) -> list[str]:
    state = "whole" if action == "verify" else "read into a new index"
    lines = [
        f"{folder}: {several(findings.images, 'image')} and "
        f"{several(findings.arrays, 'array')} {state}"
    ]
    lines += _listed("damaged", findings.damaged) + _listed("gone", findings.absent)
    lines += _listed("changed in the index", findings.changed)
    if not findings.is_whole:
        lines.append("next: run the suite again; only what is missing is made")
    elif action == "repair":
        lines.append("next: run the suite again; detections are made again, pictures are not")
    return lines


def _listed(words: str, things: Sequence[Path | str]) -> list[str]:
    lines = [f"{words}: {thing}" for thing in things[:SHOWN]]
    more = len(things) - len(lines)
    return [*lines, f"{words}: {more} more"] if more > 0 else lines
