"""``t2i report verify``: check that the files behind a report are unchanged."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_t2i.cli.support.arguments import path, say
from pytest_t2i.errors import some
from pytest_t2i.runs.manifest import NAME, read_report_manifest, unlisted_files, verify
from pytest_t2i.sections.words import several

REPORT = Path("reports/t2i")
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
    for finding in bad:
        say(f"{finding.state}: {finding.path}")
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
