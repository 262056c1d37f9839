"""``t2i report verify``: check that the files behind a report are unchanged."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from mimetypes import guess_type
from pathlib import Path

from pytest_t2i.cli.support.arguments import path, say
from pytest_t2i.errors import some
from pytest_t2i.runs.record.manifest import NAME, read_report_manifest, unlisted_files, verify
from pytest_t2i.sections.words import several

REPORT = Path("reports/t2i")
NAMED = 3
"""Number of missing files of one kind up to which each is named."""
CHANGED = 1
"""The exit status where a file differs from the manifest, or is missing."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the argument: the folder of the report."""
    parser.add_argument(
        "folder", nargs="?", type=path, default=REPORT, metavar="DIR",
        help=f"folder of a report with its {NAME} (default: {REPORT})",
    )  # fmt: skip


def run(folder: Path) -> int:
    """Print what changed or is missing; return 0, or 1 where something is."""
    manifest = read_report_manifest(folder)
    findings = list(verify(manifest, folder))
    bad = [finding for finding in findings if finding.state in ("changed", "missing")]
    missing: dict[str, list[str]] = {}
    for finding in bad:
        if finding.state == "changed":
            say(f"changed: {finding.path}")
        else:
            missing.setdefault(_kind(finding.path), []).append(finding.path)
    for kind, paths in missing.items():
        say(f"missing: {_counted(paths, kind)}")
    away = sum(finding.state == "not here" for finding in findings)
    if away:
        say(f"not checked: {several(away, 'file')} outside of this folder, which are not here")
    if manifest.elsewhere:
        names = sorted(set(manifest.elsewhere.values()))
        say(f"not checked, as it lay outside of the project: {some(names)}")
    if extra := unlisted_files(manifest, folder):
        say(f"not named by {NAME}, so not checked: {some(extra)}")
    place = folder / NAME
    if bad:
        say(f"NOT VERIFIED: {len(bad)} of {several(len(findings), 'file')} of {place}")
        return CHANGED
    which = f"{len(findings) - away} of" if away else "all"
    say(f"verified: {which} {several(len(findings), 'file')} of {place}")
    return 0


def _kind(path: str) -> str:
    """Return what a file is, in a word."""
    kind, _ = guess_type(path)
    return "picture" if (kind or "").startswith("image/") else "file"


def _counted(paths: Sequence[str], kind: str) -> str:
    if len(paths) <= NAMED:
        return ", ".join(paths)
    return f"{several(len(paths), kind)}, such as {paths[0]}"
