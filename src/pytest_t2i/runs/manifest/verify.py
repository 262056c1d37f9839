"""Whether a report and what it rests on are what its manifest names."""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from pytest_t2i.errors import UnknownNameError
from pytest_t2i.generation.store.row_digests import row_digests
from pytest_t2i.runs.manifest.document import INDEX, NAME, Manifest, Part, sha256_of

State = Literal["same", "changed", "missing", "not found"]


class Finding(NamedTuple):
    """What became of one thing that a manifest names."""

    state: State
    """"not found": the manifest does not say where its folder is."""
    part: str
    name: str


def verify(manifest: Manifest, report: Path, given: Mapping[str, Path]) -> Iterator[Finding]:
    """Every thing that the manifest names, compared with what is there.

    Args:
        manifest: that of the report.
        report: the folder that it lies in.
        given: name of a part -> its folder by now; of others, the manifest says it.

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
    """Files beside a manifest that it does not name: of another run, signatures, added by hand.

    Folders and hidden files are left out, such as those of other runs.
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
    """What each thing of a part hashes to by now; None where it is gone."""
    if name != INDEX:
        return {path: sha256_of(folder / path) for path in part.hashes}
    digests = row_digests(folder, list(part.hashes), part.detectors)
    return {key: digests.get(key) for key in part.hashes}


def _state(expected: str, there: str | None) -> State:
    if there is None:
        return "missing"
    return "same" if there == expected else "changed"
