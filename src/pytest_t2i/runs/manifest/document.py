"""The document manifest.json: named parts, each a folder with the SHA-256 of its files."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Annotated
from urllib.parse import unquote_to_bytes

from msgspec import Meta

from pytest_t2i.data import Moment, Name
from pytest_t2i.errors import FileFormatError
from pytest_t2i.files import convert, encodable, is_relative, read_json, write_whole

SCHEMA = "pytest-t2i/manifest/1"
NAME = "manifest.json"
REPORT = "report"
"""Name of the part with the files beside the manifest: run.json, index.html, summary.md."""
RUN = "run.json"
INDEX = "store index"
"""Name of the part with the hash of each picture's rows in the store's index."""
ELSEWHERE = " elsewhere"
"""Suffix of the name of a part outside of the project."""
Sha256 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]


@dataclass(frozen=True, slots=True)
class Part:
    """The files of one kind, relative to one folder."""

    folder: str | None
    """Folder relative to the manifest; None outside of the project, to keep the place private."""
    hashes: Mapping[Name, Sha256]
    """Path in the folder, with slashes -> SHA-256."""
    detectors: tuple[str, ...] = ()
    """Fingerprints of the detectors whose rows of the store's index are hashed."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The manifest of one report."""

    created: Moment
    """Time of writing: UTC, ISO 8601."""
    tool: str
    """Name and version of the program that wrote the manifest."""
    project: str | None = None
    """Folder of the project, relative to the manifest; None if the report lies outside of it."""
    parts: Mapping[Name, Part] = field(default_factory=dict)
    schema: str = SCHEMA

    def with_part(self, name: str, part: Part) -> Manifest:
        """Return the manifest with a part added or replaced."""
        return replace(self, parts={**self.parts, name: part})


def new_manifest(report: Path, project: Path) -> Manifest:
    """Return a manifest without parts for a report of this project."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    tool = f"pytest-t2i {version('pytest-t2i')}"
    return Manifest(now, tool, relative_folder(project, report, project))


def write_manifest(manifest: Manifest, folder: Path) -> Path:
    """Write manifest.json into a folder, and return its path."""
    file = folder / NAME
    text = json.dumps(asdict(manifest), indent=1, sort_keys=True, ensure_ascii=False)
    write_whole(file, text.encode())
    return file


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a folder; raise FileFormatError if it is absent or malformed."""
    file = folder / NAME
    remedy = "Every run writes one beside its report."
    plain = read_json(file, SCHEMA, kind="manifest of a report", remedy=remedy)
    manifest = convert(file, plain, Manifest)
    if RUN not in manifest.parts.get(REPORT, Part(".", {})).hashes:
        # A manifest without files would pass every verification.
        raise FileFormatError(file, f"expected {RUN} among the files of its report.")
    for name, part in manifest.parts.items():
        strays = [path for path in part.hashes if not is_relative(path)]
        if strays:
            problem = f"expected paths that stay in their folder, got {strays[0]!r}."
            raise FileFormatError(file, problem, where=f"parts.{name}")
    return manifest


def sha256_of(file: Path) -> str | None:
    """Return the hex SHA-256 of a regular file; None if it is absent or cannot be read."""
    try:
        if not file.is_file():
            return None
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except (OSError, ValueError):
        return None


def relative_folder(folder: Path, report: Path, project: Path) -> str | None:
    """Return a folder relative to ``report``; None if either lies outside of the project."""
    places = [place.resolve() for place in (folder, report)]
    if not all(place.is_relative_to(project.resolve()) for place in places):
        return None
    return Path(os.path.relpath(*places)).as_posix()


def parts_of(
    name: str,
    files: Iterable[Path],
    report: Path,
    project: Path,
    known: Mapping[Path, str] = MappingProxyType({}),
) -> dict[str, Part]:
    """Return a part of the files in the project, and one of the files elsewhere, by name.

    Absent files are left out. ``known`` holds the SHA-256 of files that need not be read; none of
    these files is a link.
    """
    folders: dict[Path, Path] = {}

    def resolved(file: Path) -> Path:
        if file not in known:
            return file.resolve()
        if file.parent not in folders:
            folders[file.parent] = file.parent.resolve()
        return folders[file.parent] / file.name

    hashes = ((resolved(file), known.get(file) or sha256_of(file)) for file in sorted(set(files)))
    found = {file: sha for file, sha in hashes if sha}
    root = project.resolve()
    inside = {file: sha for file, sha in found.items() if file.is_relative_to(root)}
    outside = {file: sha for file, sha in found.items() if file not in inside}
    parts = {}
    if inside:
        parts[name] = _part(inside, root, relative_folder(root, report, project))
    if outside:
        shared = Path(os.path.commonpath([file.parent for file in outside]))
        parts[f"{name}{ELSEWHERE}"] = _part(outside, shared, None)
    return parts


def _part(files: Mapping[Path, str], root: Path, folder: str | None) -> Part:
    names = {encodable(file.relative_to(root).as_posix()): sha for file, sha in files.items()}
    return Part(folder, names)


def file_named(folder: Path, name: str) -> Path:
    """Return the file that the manifest means by a name."""
    file = folder / name
    if "%" not in name or os.path.lexists(file):
        return file
    return folder / os.fsdecode(unquote_to_bytes(name))
