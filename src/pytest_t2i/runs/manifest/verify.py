"""The verification of a report and its inputs by the hashes of its manifest."""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from pytest_t2i.errors import UnknownNameError
from pytest_t2i.generation.store.row_digests import row_digests
from pytest_t2i.runs.manifest.document import (
    INDEX,
    NAME,
    Manifest,
    Part,
    file_named,
    sha256_of,
)

State = Literal["same", "changed", "missing", "not found"]


class Finding(NamedTuple):
    """The result for one file or picture of a manifest."""

    state: State
    """State of the file; "not found" if the folder of its part is unknown."""
    part: str
    name: str


def verify(manifest: Manifest, report: Path, given: Mapping[str, Path]) -> Iterator[Finding]:
    """Compare everything in the manifest with what exists now, and yield a finding for each.

    Args:
        manifest: manifest of the report.
        report: folder of the report.
        given: name of a part -> its folder now; other parts have the manifest's folder.

    Raises:
        UnknownNameError: a part is given that the manifest does not have.
    """
    for name in given:
        if name not in manifest.parts:
            raise UnknownNameError("part of the manifest", name, manifest.parts)
    for name, part in manifest.parts.items():
        folder = given.get(name)
        if folder is None and part.folder is not None:
            folder = report / part.folder
        if folder is None:
            yield Finding("not found", name, f"{len(part.hashes)} files")
            continue
        there = _there(name, part, folder)
        for path, expected in part.hashes.items():
            yield Finding(_state(expected, there[path]), name, path)


def unnamed(manifest: Manifest, report: Path) -> list[str]:
    """List the files beside a manifest that are not in it, such as signatures or later additions.

    Folders, such as those of other runs, and hidden files are left out.
    """
    named = {
        os.path.normpath(report / part.folder / path)
        for name, part in manifest.parts.items()
        if part.folder is not None and name != INDEX
        for path in part.hashes
    }
    return sorted(
        file.name
        for file in report.iterdir()
        if file.is_file()
        and not file.name.startswith(".")
        and file.name != NAME
        and os.path.normpath(file) not in named
    )


def _there(name: str, part: Part, folder: Path) -> dict[str, str | None]:
    """Return the present hash of everything in a part; None for what is absent."""
    if name != INDEX:
        return {path: sha256_of(file_named(folder, path)) for path in part.hashes}
    digests = row_digests(folder, list(part.hashes), part.detectors)
    return {key: digests.get(key) for key in part.hashes}


def _state(expected: str, there: str | None) -> State:
    if there is None:
        return "missing"
    return "same" if there == expected else "changed"
