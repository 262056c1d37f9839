"""The list of the files behind a report: SHA-256 by path, written beside it to be verified."""

from __future__ import annotations

import hashlib
import json
import os
import os.path
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from typing import Literal, NamedTuple
from urllib.parse import unquote_to_bytes

from pytest_t2i.adapters.models.manifest import CSV_NAME, JSON_NAME, read_manifest
from pytest_t2i.data import Moment, Name, Sha256
from pytest_t2i.errors import FileFormatError, T2IError
from pytest_t2i.files import encodable, inside, is_relative, user_path, write_whole
from pytest_t2i.generation.store.rows import picture_place
from pytest_t2i.read_files import convert, read_json
from pytest_t2i.runs.record.images import images_file, picture_digests
from pytest_t2i.runs.record.record import RunRecord
from pytest_t2i.runs.record.sections_files import is_sections_file
from pytest_t2i.runs.record.statement import PYPROJECT
from pytest_t2i.runs.session.session import Session
from pytest_t2i.verdicts.limits_file import FILE_NAME, nearest_limits_file

SCHEMA = "pytest-t2i/manifest/1"
NAME = "manifest.json"
RUN = "run.json"
IMAGES = images_file(Path(RUN)).name
FILES = (RUN, IMAGES, "index.html", "summary.md")
"""The files of a report beside its manifest."""
ELSEWHERE = " elsewhere"
"""Suffix of the name of an input outside of the project."""
UP = re.compile(r"(\.\./)+")
"""The beginning of a path that leads out of the folder of a manifest."""
Hashes = Mapping[Name, Sha256]
"""Path relative to the manifest, with slashes -> SHA-256."""


@dataclass(frozen=True, slots=True)
class ReportManifest:
    """The files behind one report."""

    created: Moment
    """Time of writing: UTC, ISO 8601."""
    tool: str
    """Name and version of the program that wrote the manifest."""
    project: str | None = None
    """Folder of the project, relative to the manifest; None if the report lies outside of it."""
    store: Name | None = None
    """Folder of the image store, relative to the manifest, whose pictures the file of images names
    with their SHA-256; None if it lies outside of the project."""
    files: Hashes = field(default_factory=dict)
    copied: Hashes = field(default_factory=dict)
    """Ready-made pictures, of which the store has copies; they need not stay."""
    elsewhere: Mapping[Sha256, Name] = field(default_factory=dict)
    """SHA-256 -> name of a file outside of the project, whose place stays private."""
    schema: str = SCHEMA

    def with_files(
        self,
        files: Iterable[Path | str],
        report: Path,
        project: Path,
        *,
        are_copied: bool = False,
    ) -> ReportManifest:
        """Return the manifest with these files; absent ones are left out."""
        place_in = _places(report.resolve(), project.resolve())
        inside_, elsewhere = dict(self.copied if are_copied else self.files), dict(self.elsewhere)
        for file in sorted(map(str, set(files))):
            sha = sha256_of(Path(file))
            if sha is None:
                continue
            place = place_in(*os.path.split(os.path.realpath(file)))
            if place is None:
                elsewhere[sha] = encodable(os.path.basename(file))  # noqa: PTH119
            else:
                inside_[place] = sha
        if are_copied:
            return replace(self, copied=inside_, elsewhere=elsewhere)
        return replace(self, files=inside_, elsewhere=elsewhere)


def new_manifest(report: Path, project: Path) -> ReportManifest:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    tool = f"pytest-t2i {version('pytest-t2i')}"
    hashes = {name: sha for name in FILES if (sha := sha256_of(report / name))}
    root, folder = project.resolve(), report.resolve()
    return ReportManifest(now, tool, _relative(root, folder, root), files=hashes)


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
    if RUN not in manifest.files:
        # A manifest without files would pass every verification.
        raise FileFormatError(file, f"expected {RUN} among its files.")
    store = [] if manifest.store is None else [manifest.store]
    for path in (*manifest.files, *manifest.copied, *store):
        if not is_relative(UP.sub("", path, count=1) if UP.match(path) else path):
            raise FileFormatError(file, f"expected relative paths, got {path!r}.", where="files")
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


def _relative(file: Path, report: Path, project: Path) -> str | None:
    """Return a path relative to ``report``; None if either lies outside of the project.

    All three are resolved.
    """
    if file.is_relative_to(project) and report.is_relative_to(project):
        return encodable(Path(os.path.relpath(file, report)).as_posix())
    return encodable(file.name) if file.parent == report else None


def _places(report: Path, project: Path) -> Callable[[str, str], str | None]:
    """Return ``_relative`` of a folder and a name in it; a folder is asked for once."""

    @cache
    def place_of(folder: str) -> str | None:
        return _relative(Path(folder, "x"), report, project)

    def place(folder: str, name: str) -> str | None:
        place = place_of(folder)
        return None if place is None else place[:-1] + encodable(name)

    return place


def _file_named(folder: Path, name: str) -> Path:
    file = folder / name
    if "%" not in name or os.path.lexists(file):
        return file
    return folder / os.fsdecode(unquote_to_bytes(name))


BESIDE_LABELS = ("*.csv", "*.toml", "*.json", "*.jsonl")
"""Files in a folder of labelled images that hold the labels."""
OTHERS = (FILE_NAME, PYPROJECT)
"""TOML files beside tests that do not belong to the suite."""


def input_digests(session: Session, project: Path) -> dict[str, str]:
    """Return the SHA-256 of the limits, labels and given files of a run, by path in the project.

    A file outside of the project is named by its name alone, to keep the place private.
    """
    files = {*_limits_files(session, project), *_label_files(session), *_given(session)}
    root = project.resolve()
    digests = {}
    for file in sorted(file.resolve() for file in files):
        is_inside = file.is_relative_to(root)
        name = file.relative_to(root).as_posix() if is_inside else f"{file.name}{ELSEWHERE}"
        if sha := sha256_of(file):
            digests[name] = sha
    return digests


def manifest_of(session: Session, record: RunRecord, report: Path, project: Path) -> ReportManifest:
    """Return the manifest of a run whose report was just written into ``report``."""
    store, folder, root = (place.resolve() for place in (session.store.folder, report, project))
    files = (
        *_suite(session, project),
        *_limits_files(session, project),
        *_label_files(session),
        *_labelled_images(session),
        *_given(session),
        *_before(record),
    )
    return (
        replace(new_manifest(report, project), store=_relative(store, folder, root))
        .with_files(files, report, project)
        .with_files(_ready_made(session), report, project, are_copied=True)
    )


def _suite(session: Session, project: Path) -> Iterator[Path]:
    """Yield the files of tests, their conftest.py files and the TOML files beside them."""
    files = {test.file for test in session.tests.values()}
    yield from files
    for folder in {file.parent for file in files}:
        yield from (file for file in folder.glob("*.toml") if file.name not in OTHERS)
        places = [up for up in (folder, *folder.parents) if up.is_relative_to(project)]
        yield from (conftest for up in places if (conftest := up / "conftest.py").is_file())


def _limits_files(session: Session, project: Path) -> Iterator[Path]:
    for test in session.tests.values():
        file = session.settings.limits or nearest_limits_file(test.file, project)
        if file is not None:
            yield file


def _label_files(session: Session) -> Iterator[Path]:
    # Reading the property would write a registered set that no test of the run needs.
    labelled = vars(session).get("labelled")
    if labelled is None:
        return
    for pattern in BESIDE_LABELS:
        yield from labelled.folder.glob(pattern)


def _labelled_images(session: Session) -> Iterator[Path]:
    if (labelled := vars(session).get("labelled")) is not None:
        yield from (labelled.path(image) for image in labelled)


def _given(session: Session) -> Iterator[Path]:
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


def _before(record: RunRecord) -> Iterator[Path]:
    """Yield the pictures of the baseline that the report shows."""
    if record.baseline is not None:
        for pictures in record.baseline.pictures.values():
            yield from (Path(picture.file) for picture in pictures if picture.file)


def manifest_beside(source: Path) -> ReportManifest | None:
    """Return the manifest beside a run.json if it holds the hash of that run.json; else None."""
    if not (source.parent / NAME).is_file():
        return None
    manifest = read_report_manifest(source.parent)
    digest = manifest.files.get(source.name)
    return manifest if digest is not None and digest == sha256_of(source) else None


def add_outputs(source: Path, files: Sequence[Path]) -> None:
    manifest = manifest_beside(source)
    if manifest is None or manifest.project is None:
        return
    report = source.parent
    project = (report / manifest.project).resolve()
    known = [f for f in files if f.resolve().is_relative_to(project)]
    write_manifest(manifest.with_files(known, report, project), report)


def rendered_anew(manifest: ReportManifest, before: Path, report: Path) -> None:
    """Write the manifest of a report that was rendered again, in its own or another folder."""
    project = (before / (manifest.project or ".")).resolve()
    new, elsewhere = new_manifest(report, project), dict(manifest.elsewhere)
    old_folder, place_in = before.resolve(), _places(report.resolve(), project)

    def place_of(path: str) -> str | None:
        return place_in(*os.path.split(os.path.normpath(f"{old_folder}/{path}")))

    def moved(hashes: Hashes) -> dict[str, str]:
        there = {}
        for path, sha in hashes.items():
            if (place := place_of(path)) is not None:
                there[place] = sha
            else:
                elsewhere[sha] = path.rpartition("/")[2]
        return there

    inputs = {path: sha for path, sha in manifest.files.items() if path not in FILES}
    files, copied = moved(inputs) | dict(new.files), moved(manifest.copied)
    store = None if manifest.store is None else place_of(manifest.store)
    rendered = replace(
        manifest, project=new.project, store=store, files=files, copied=copied, elsewhere=elsewhere
    )
    write_manifest(rendered, report)


class Finding(NamedTuple):
    """The result for one file of a manifest."""

    state: Literal["same", "changed", "missing", "not here"]
    """State of the file; "not here" for one that is left out of a copy as a whole."""
    path: str


def verify(manifest: ReportManifest, report: Path) -> Iterator[Finding]:
    """Compare the files of a manifest with those that exist now, and yield a finding for each.

    A folder that was mailed without its project has none of the files outside of it but those that
    were made of the run, and ready-made pictures may be removed together.
    """
    recorded = {**manifest.files, **manifest.copied}
    places = {path: _place(report, path) for path in recorded}
    now = {path: sha256_of(_file_named(report, place)) for path, place in places.items()}
    inputs = [path for path in manifest.files if UP.match(path) and not _is_made(path)]
    is_away = not any(now[path] for path in inputs)
    are_gone = not any(now[path] for path in manifest.copied)
    for path, expected in recorded.items():
        if now[path] is None:
            may_go = are_gone if path in manifest.copied else is_away and UP.match(path)
            yield Finding("not here" if may_go else "missing", path)
        else:
            yield Finding("same" if now[path] == expected else "changed", places[path])
    if now.get(IMAGES) == recorded.get(IMAGES) is not None:
        yield from _pictures(manifest.store, report, is_away=is_away)


def _pictures(store: str | None, report: Path, *, is_away: bool) -> Iterator[Finding]:
    """Yield a finding for each picture of the run, which the file of images names."""
    for recorded, expected in picture_digests(report / RUN):
        place = f"{store or ''}/{picture_place(PurePosixPath(recorded).stem)}"
        now = None if store is None else sha256_of(report / place)
        if now is None:
            yield Finding("not here" if is_away or store is None else "missing", place)
        else:
            yield Finding("same" if now == expected else "changed", place)


def unlisted_files(manifest: ReportManifest, report: Path) -> list[str]:
    """List the files beside a manifest that are not in it, without folders and hidden files."""
    listed = {NAME, *(_place(report, path) for path in manifest.files)}
    return sorted(
        file.name
        for file in report.iterdir()
        if file.is_file() and not file.name.startswith(".") and file.name not in listed
    )


def _is_made(path: str) -> bool:
    """Tell whether a command makes the file from a run.json, at any time after the run."""
    return path.endswith(".pdf") or is_sections_file(path)


def _place(report: Path, path: str) -> str:
    """Return where a file of the manifest lies; what was made may have been moved beside it."""
    beside = Path(path).name
    is_moved = _is_made(path) and not _file_named(report, path).exists()
    return beside if is_moved and (report / beside).is_file() else path
