"""The manifest of a report: SHA-256 of all files behind it, written beside it to be verified."""

from __future__ import annotations

import hashlib
import json
import os
import os.path
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal, NamedTuple
from urllib.parse import unquote_to_bytes

from msgspec import Meta

from pytest_t2i.adapters.models.manifest import CSV_NAME, JSON_NAME, read_manifest
from pytest_t2i.data import Moment, Name
from pytest_t2i.errors import FileFormatError, T2IError, UnknownNameError
from pytest_t2i.files import (
    convert,
    encodable,
    inside,
    is_relative,
    read_json,
    user_path,
    write_whole,
)
from pytest_t2i.generation.store.row_digests import picture_hashes, row_digests
from pytest_t2i.generation.store.thumbnails import thumbnail_file, thumbnail_rows
from pytest_t2i.runs.record import RunRecord
from pytest_t2i.runs.session import Session
from pytest_t2i.runs.statement import PYPROJECT
from pytest_t2i.verdicts.limits_file import FILE_NAME, nearest_limits_file

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
class ManifestPart:
    """The files of one kind, relative to one folder."""

    folder: str | None
    """Folder relative to the manifest; None outside of the project, to keep the place private."""
    hashes: Mapping[Name, Sha256]
    """Path in the folder, with slashes -> SHA-256."""
    detectors: tuple[str, ...] = ()
    """Fingerprints of the detectors whose rows of the store's index are hashed."""


@dataclass(frozen=True, slots=True)
class ReportManifest:
    """The manifest of one report."""

    created: Moment
    """Time of writing: UTC, ISO 8601."""
    tool: str
    """Name and version of the program that wrote the manifest."""
    project: str | None = None
    """Folder of the project, relative to the manifest; None if the report lies outside of it."""
    parts: Mapping[Name, ManifestPart] = field(default_factory=dict)
    schema: str = SCHEMA

    def with_part(self, name: str, part: ManifestPart) -> ReportManifest:
        """Return the manifest with a part added or replaced."""
        return replace(self, parts={**self.parts, name: part})


def new_manifest(report: Path, project: Path) -> ReportManifest:
    """Return a manifest without parts for a report of this project."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    tool = f"pytest-t2i {version('pytest-t2i')}"
    return ReportManifest(now, tool, _relative_folder(project, report, project))


def write_manifest(manifest: ReportManifest, folder: Path) -> Path:
    """Write manifest.json into a folder, and return its path."""
    file = folder / NAME
    text = json.dumps(asdict(manifest), indent=1, sort_keys=True, ensure_ascii=False)
    write_whole(file, text.encode())
    return file


def read_report_manifest(folder: Path) -> ReportManifest:
    """Read the manifest of a folder; raise FileFormatError if it is absent or malformed."""
    file = folder / NAME
    remedy = "Every run writes one beside its report."
    plain = read_json(file, SCHEMA, kind="manifest of a report", remedy=remedy)
    manifest = convert(file, plain, ReportManifest)
    if RUN not in manifest.parts.get(REPORT, ManifestPart(".", {})).hashes:
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


def _relative_folder(folder: Path, report: Path, project: Path) -> str | None:
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
    checksums: Mapping[Path, str] = MappingProxyType({}),
) -> dict[str, ManifestPart]:
    """Return a part of the files in the project, and one of the files elsewhere, by name.

    Absent files are left out. ``checksums`` holds the SHA-256 of files that need not be read; none
    of these files is a link.
    """
    folders: dict[Path, Path] = {}

    def resolved(file: Path) -> Path:
        if file not in checksums:
            return file.resolve()
        if file.parent not in folders:
            folders[file.parent] = file.parent.resolve()
        return folders[file.parent] / file.name

    hashes = (
        (resolved(file), checksums.get(file) or sha256_of(file)) for file in sorted(set(files))
    )
    digests = {file: sha for file, sha in hashes if sha}
    root = project.resolve()
    inside = {file: sha for file, sha in digests.items() if file.is_relative_to(root)}
    outside = {file: sha for file, sha in digests.items() if file not in inside}
    parts = {}
    if inside:
        parts[name] = _part(inside, root, _relative_folder(root, report, project))
    if outside:
        shared = Path(os.path.commonpath([file.parent for file in outside]))
        parts[f"{name}{ELSEWHERE}"] = _part(outside, shared, None)
    return parts


def _part(files: Mapping[Path, str], root: Path, folder: str | None) -> ManifestPart:
    names = {encodable(file.relative_to(root).as_posix()): sha for file, sha in files.items()}
    return ManifestPart(folder, names)


def _file_named(folder: Path, name: str) -> Path:
    """Return the file that the manifest means by a name."""
    file = folder / name
    if "%" not in name or os.path.lexists(file):
        return file
    return folder / os.fsdecode(unquote_to_bytes(name))


FILES = (RUN, "index.html", "summary.md")
BESIDE_LABELS = ("*.csv", "*.toml", "*.json", "*.jsonl")
"""Files in a folder of labelled images that hold the labels."""
OTHERS = (FILE_NAME, PYPROJECT)
"""TOML files beside tests that do not belong to the part "suite"."""
KEY = re.compile(r"[0-9a-f]{64}")
"""Name of a picture in a store, without its suffix."""


def input_digests(session: Session, project: Path) -> dict[str, str]:
    """Return the SHA-256 of the limits, labels and given files of a run, by path in the project.

    A file outside of the project is named by its name alone, to keep the place private.
    """
    files = {*limits_files(session, project), *_label_files(session), *_given(session)}
    root = project.resolve()
    digests = {}
    for file in sorted(file.resolve() for file in files):
        is_inside = file.is_relative_to(root)
        name = file.relative_to(root).as_posix() if is_inside else f"{file.name}{ELSEWHERE}"
        if sha := sha256_of(file):
            digests[name] = sha
    return digests


def manifest_of(
    session: Session,
    record: RunRecord,
    report: Path,
    project: Path,
) -> ReportManifest:
    """Return the manifest of a run whose report was just written into ``report``."""
    manifest = new_manifest(report, project)
    pictures = _pictures(record)
    store = session.store.folder
    keys = sorted(file.stem for file in pictures if KEY.fullmatch(file.stem))
    digests_of_files = picture_hashes(store, keys)
    rows = {thumbnail_file(store, key): row for key, row in thumbnail_rows(store, keys).items()}
    small = {file: row.sha256 for file, row in rows.items() if file.is_file()}
    digests_of_files |= small
    groups = {
        "suite": _suite(session, project),
        "limits": limits_files(session, project),
        "labels": _labels(session),
        "given": _given(session),
        FOLDER: _ready_made(session),
        "images": pictures,
        "thumbnails": small,
    }
    for name, files in groups.items():
        for kind, part in parts_of(name, files, report, project, digests_of_files).items():
            manifest = manifest.with_part(kind, part)
    detectors = tuple(sorted(record.provenance.get("detectors", {}).values()))
    if digests := row_digests(store, keys, detectors):
        index = ManifestPart(_relative_folder(store, report, project), digests, detectors)
        manifest = manifest.with_part(INDEX, index)
    return manifest.with_part(REPORT, report_part(report))


def report_part(report: Path) -> ManifestPart:
    """Return the part with the files of a report as they are now."""
    return ManifestPart(".", {name: sha for name in FILES if (sha := sha256_of(report / name))})


def _suite(session: Session, project: Path) -> Iterator[Path]:
    """Yield the files of tests, their conftest.py files and the TOML files beside them."""
    files = {test.file for test in session.tests.values()}
    yield from files
    for folder in {file.parent for file in files}:
        yield from (file for file in folder.glob("*.toml") if file.name not in OTHERS)
        places = [up for up in (folder, *folder.parents) if up.is_relative_to(project)]
        yield from (conftest for up in places if (conftest := up / "conftest.py").is_file())


def limits_files(session: Session, project: Path) -> Iterator[Path]:
    """Yield the limits file of each selected test that has one."""
    for test in session.tests.values():
        file = session.settings.limits or nearest_limits_file(test.file, project)
        if file is not None:
            yield file


def _label_files(session: Session) -> Iterator[Path]:
    """Yield the files that hold the labels of the labelled images."""
    # Reading the property would write a registered set that no test of the run needs.
    labelled = vars(session).get("labelled")
    if labelled is None:
        return
    for pattern in BESIDE_LABELS:
        yield from labelled.folder.glob(pattern)


def _labels(session: Session) -> Iterator[Path]:
    """Yield the files of labels and the labelled images."""
    yield from _label_files(session)
    if (labelled := vars(session).get("labelled")) is not None:
        yield from (labelled.path(image) for image in labelled)


def _given(session: Session) -> Iterator[Path]:
    """Yield the other files that options name."""
    settings = session.settings
    names = (
        *(
            settings.baseline,
            settings.anchor,
            settings.captions,
            settings.catalogue,
            settings.reference,
        ),
        settings.judge_certificate,
    )
    yield from (Path(file) for file in names if file and Path(file).is_file())
    # Which picture belongs to which prompt stands beside ready-made pictures.
    kind, _, folder = (settings.model or "").partition(":")
    if kind == "images":
        tables = (user_path(folder) / name for name in (CSV_NAME, JSON_NAME))
        yield from (table for table in tables if table.is_file())


def _ready_made(session: Session) -> Iterator[Path]:
    """Yield the files of a folder of ready-made pictures, as its own table names them."""
    kind, _, name = (session.settings.model or "").partition(":")
    if kind != "images":
        return
    folder = user_path(name)
    with suppress(T2IError):  # the table was changed since it was read: "given" shows it
        for entry in read_manifest(folder).entries:
            if (file := inside(folder, entry.file)) is not None:
                yield file


def _pictures(record: RunRecord) -> set[Path]:
    """Return all images of the run, and those of the baseline that the report shows."""
    images = {image.file for prompt in record.prompts for image in prompt.images}
    then = {} if record.baseline is None else record.baseline.pictures
    before = {picture.file for pictures in then.values() for picture in pictures}
    return {Path(file) for file in images | before if file}


def manifest_beside(source: Path) -> ReportManifest | None:
    """Return the manifest beside a run.json if it holds the hash of that run.json; else None."""
    if not (source.parent / NAME).is_file():
        return None
    manifest = read_report_manifest(source.parent)
    digest = manifest.parts.get(REPORT, ManifestPart(".", {})).hashes.get(source.name)
    return manifest if digest is not None and digest == sha256_of(source) else None


def add_outputs(source: Path, part: str, files: Sequence[Path]) -> None:
    """Add files that were made from a run.json to the manifest beside it, as this part."""
    manifest = manifest_beside(source)
    if manifest is None or manifest.project is None:
        return
    report = source.parent
    outputs = parts_of(part, files, report, report / manifest.project).get(part)
    if outputs is not None:
        write_manifest(manifest.with_part(part, outputs), report)


def rendered_anew(manifest: ReportManifest, before: Path, report: Path) -> None:
    """Write the manifest of a report that was rendered again, in its own or another folder."""
    project = before / (manifest.project or ".")
    moved = {
        name: replace(part, folder=_moved(part.folder, before, report, project))
        for name, part in manifest.parts.items()
    }
    place = _moved(manifest.project, before, report, project)
    rendered = replace(manifest, parts=moved, project=place)
    write_manifest(rendered.with_part(REPORT, report_part(report)), report)


def _moved(folder: str | None, before: Path, report: Path, project: Path) -> str | None:
    """Return a folder of the manifest in ``before`` as a manifest in ``report`` names it."""
    if folder is None:
        return None
    return _relative_folder(Path(os.path.normpath(before / folder)), report, project)


State = Literal["same", "changed", "missing", "not found", "not here"]
FOLDER = "folder"
"""The part with the files of a folder of ready-made pictures, which need not be kept."""


class Finding(NamedTuple):
    """The result for one file or picture of a manifest."""

    state: State
    """State of the file; "not found" if the folder of its part is unknown, "not here" if a folder
    is that need not be kept, as the store has copies of its pictures."""
    part: str
    name: str


def verify(manifest: ReportManifest, report: Path, given: Mapping[str, Path]) -> Iterator[Finding]:
    """Compare everything in the manifest with what exists now, and yield a finding for each."""
    for name in given:
        if name not in manifest.parts:
            raise UnknownNameError("part of the manifest", name, manifest.parts)
    for name, part in manifest.parts.items():
        folder = given.get(name)
        if folder is None and part.folder is not None:
            folder = report / part.folder
        need_not_stay = name.partition(" ")[0] == FOLDER
        if folder is None:
            state: State = "not here" if need_not_stay else "not found"
            yield Finding(state, name, f"{len(part.hashes)} files")
            continue
        there = _there(name, part, folder)
        if need_not_stay and not any(there.values()):
            yield Finding("not here", name, f"{len(part.hashes)} files")
            continue
        for path, expected in part.hashes.items():
            yield Finding(_state(expected, there[path]), name, path)


def unlisted_files(manifest: ReportManifest, report: Path) -> list[str]:
    """List the files beside a manifest that are not in it, without folders and hidden files."""
    listed = {
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
        and os.path.normpath(file) not in listed
    )


def _there(name: str, part: ManifestPart, folder: Path) -> dict[str, str | None]:
    """Return the present hash of everything in a part; None for what is absent."""
    if name != INDEX:
        return {path: sha256_of(_file_named(folder, path)) for path in part.hashes}
    digests = row_digests(folder, list(part.hashes), part.detectors)
    return {key: digests.get(key) for key in part.hashes}


def _state(expected: str, there: str | None) -> State:
    if there is None:
        return "missing"
    return "same" if there == expected else "changed"
