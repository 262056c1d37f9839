"""The inputs of one run for its manifest: suite, limits, labels, given files and pictures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from pytest_t2i.generation.store.row_digests import picture_hashes, row_digests
from pytest_t2i.generation.store.thumbnails import thumbnail_file, thumbnail_rows
from pytest_t2i.runs.manifest.document import (
    ELSEWHERE,
    INDEX,
    REPORT,
    RUN,
    Manifest,
    Part,
    new_manifest,
    parts_of,
    relative_folder,
    sha256_of,
)
from pytest_t2i.runs.record import RunRecord
from pytest_t2i.runs.session import Session
from pytest_t2i.runs.statement import PYPROJECT
from pytest_t2i.verdicts.limits_file import FILE_NAME, nearest_limits_file

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
    files = {*_limits(session, project), *_label_files(session), *_given(session)}
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
    history: Path | None = None,
) -> Manifest:
    """Return the manifest of a run whose report was just written into ``report``.

    Absent files are left out. ``history`` is the file of the run in the history.
    """
    manifest = new_manifest(report, project)
    pictures = _pictures(record)
    store = session.store.folder
    keys = sorted(file.stem for file in pictures if KEY.fullmatch(file.stem))
    known = picture_hashes(store, keys)
    rows = {thumbnail_file(store, key): row for key, row in thumbnail_rows(store, keys).items()}
    small = {file: row.sha256 for file, row in rows.items() if file.is_file()}
    known |= small
    groups = {
        "suite": _suite(session, project),
        "limits": _limits(session, project),
        "labels": _labels(session),
        "given": _given(session),
        "images": pictures,
        "thumbnails": small,
        "history": () if history is None else (history,),
    }
    for name, files in groups.items():
        for kind, part in parts_of(name, files, report, project, known).items():
            manifest = manifest.with_part(kind, part)
    detectors = tuple(sorted(record.provenance.get("detectors", {}).values()))
    if digests := row_digests(store, keys, detectors):
        index = Part(relative_folder(store, report, project), digests, detectors)
        manifest = manifest.with_part(INDEX, index)
    return manifest.with_part(REPORT, report_part(report))


def report_part(report: Path) -> Part:
    """Return the part with the files of a report as they are now."""
    return Part(".", {name: sha for name in FILES if (sha := sha256_of(report / name))})


def _suite(session: Session, project: Path) -> Iterator[Path]:
    """Yield the files of tests, their conftest.py files and the TOML files beside them."""
    files = {test.file for test in session.tests.values()}
    yield from files
    for folder in {file.parent for file in files}:
        yield from (file for file in folder.glob("*.toml") if file.name not in OTHERS)
        places = [up for up in (folder, *folder.parents) if up.is_relative_to(project)]
        yield from (conftest for up in places if (conftest := up / "conftest.py").is_file())


def _limits(session: Session, project: Path) -> Iterator[Path]:
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
    given = (settings.baseline, settings.captions, settings.catalogue, settings.reference)
    yield from (Path(file) for file in given if file and Path(file).is_file())


def _pictures(record: RunRecord) -> set[Path]:
    """Return all images of the run, and those of the baseline that the report shows."""
    images = {image.file for prompt in record.prompts for image in prompt.images}
    then = {} if record.baseline is None else record.baseline.pictures
    before = {one.file for pictures in then.values() for one in pictures}
    return {Path(file) for file in images | before if file}
