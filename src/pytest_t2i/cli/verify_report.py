"""``t2i verify-report``: whether a report and what it rests on are what its manifest names."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from pytest_t2i.cli.support.arguments import path
from pytest_t2i.cli.support.say import say
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.runs.manifest.document import NAME, read_manifest
from pytest_t2i.runs.manifest.verify import Finding, unnamed, verify

REPORT = Path("reports/t2i")
CHANGED = 1
"""Exit status where something is not what the manifest names."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which report, and where what lies outside of its project is by now."""
    parser.add_argument(
        "folder", nargs="?", type=path, default=REPORT, metavar="DIR",
        help=f"folder of a report and its {NAME} ({REPORT})",
    )  # fmt: skip
    parser.add_argument(
        "--at",
        action="append",
        default=[],
        metavar="PART=DIR",
        help="where a part lies that is outside of the project, as in 'labels elsewhere=DIR'",
    )


def run(folder: Path, at: Sequence[str]) -> int:
    """Name what changed or is gone; 1 where anything is."""
    manifest = read_manifest(folder)
    findings = list(verify(manifest, folder, dict(map(_given, at))))
    for one in findings:
        if one.state != "same":
            say(_told(one))
    if others := unnamed(manifest, folder):
        say(
            f"beside it and not named by it: {', '.join(others)} (of another run, a signature, or "
            "added by hand: nothing is said of them)"
        )
    bad = sum(one.state != "same" for one in findings)
    counts = Counter(one.part for one in findings)
    what = ", ".join(f"{count} {part}" for part, count in counts.items())
    if bad:
        say(f"NOT VERIFIED: {bad} of {len(findings)} entries of {folder / NAME} ({what})")
        return CHANGED
    say(f"verified: all {len(findings)} entries of {folder / NAME} ({what})")
    return 0


def _told(one: Finding) -> str:
    if one.state == "not found":
        return (
            f"not looked at: {one.part}: {one.name} outside of the project (--at '{one.part}=DIR')"
        )
    return f"{one.state}: {one.part}: {one.name}"


def _given(text: str) -> tuple[str, Path]:
    name, sign, folder = text.partition("=")
    if not (name and sign and folder):
        raise ConfigurationError(f"--at: expected PART=DIR, got {text!r}")
    return name, path(folder)
