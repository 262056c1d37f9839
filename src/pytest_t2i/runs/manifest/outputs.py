"""Later outputs of a run in its manifest: cards, a PDF, the report rendered again.

If run.json no longer has the hash in the manifest, nothing is added to the manifest, so that a
verification still finds the change.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pytest_t2i.runs.manifest.document import (
    NAME,
    REPORT,
    Manifest,
    Part,
    parts_of,
    read_manifest,
    relative_folder,
    sha256_of,
    write_manifest,
)
from pytest_t2i.runs.manifest.inputs import report_part


def manifest_beside(source: Path) -> Manifest | None:
    """Return the manifest beside a run.json if it holds the hash of that run.json; else None."""
    if not (source.parent / NAME).is_file():
        return None
    manifest = read_manifest(source.parent)
    named = manifest.parts.get(REPORT, Part(".", {})).hashes.get(source.name)
    return manifest if named is not None and named == sha256_of(source) else None


def add_outputs(source: Path, part: str, files: Sequence[Path]) -> None:
    """Add files that were made from a run.json to the manifest beside it, as this part.

    Files outside of the project are left out.
    """
    manifest = manifest_beside(source)
    if manifest is None or manifest.project is None:
        return
    report = source.parent
    made = parts_of(part, files, report, report / manifest.project).get(part)
    if made is not None:
        write_manifest(manifest.with_part(part, made), report)


def rendered_anew(manifest: Manifest, before: Path, report: Path) -> None:
    """Write the manifest of a report that was rendered again, in its own or another folder.

    Args:
        manifest: manifest of the rendered run.json.
        before: folder of that manifest.
        report: folder of the new report.
    """
    project = before / (manifest.project or ".")
    moved = {
        name: replace(part, folder=_moved(part.folder, before, report, project))
        for name, part in manifest.parts.items()
    }
    place = _moved(manifest.project, before, report, project)
    made = replace(manifest, parts=moved, project=place)
    write_manifest(made.with_part(REPORT, report_part(report)), report)


def _moved(folder: str | None, before: Path, report: Path, project: Path) -> str | None:
    """Return a folder of the manifest in ``before`` as a manifest in ``report`` names it."""
    if folder is None:
        return None
    return relative_folder(Path(os.path.normpath(before / folder)), report, project)
