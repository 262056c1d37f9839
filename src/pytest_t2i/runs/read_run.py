"""Reading a run.json, of this schema or of an older one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pytest_t2i.audits.audit import Audit
from pytest_t2i.audits.discovery import installed_audits
from pytest_t2i.data import Count, LabelledPath, Level, PicturePath
from pytest_t2i.files import convert, read_json
from pytest_t2i.generation.run_counts import Work
from pytest_t2i.runs.picture_folders import exists
from pytest_t2i.runs.picture_paths import with_texts
from pytest_t2i.runs.record import SCHEMA, AuditRecord, RunRecord

OLDER = ("pytest-t2i/run/2",)
"""Schemas whose audits stood at the top of the document."""


def read_run(path: str | Path) -> RunRecord:
    """A run.json as the record it was written from.

    Raises FileFormatError that says what is wrong and where.

    >>> from tempfile import TemporaryDirectory
    >>> from pytest_t2i import RunRecord
    >>> run = RunRecord("2026-11-21T10:00:00+00:00", 12.5, "mine", {}, {}, {})
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "run.json")
    ...     _ = file.write_text(run.to_json())
    ...     read_run(file).outcome.value
    'INCONCLUSIVE'
    """
    path = Path(path)
    plain = read_json(path, SCHEMA, *OLDER, kind="run.json")
    plain = _sorted_into_audits(plain)
    plain["checks"] = _with_whether_of_model(plain.get("checks", []))
    record = convert(path, plain, RunRecord)
    for name, kind in (("settings", _Settings), ("work", Work), ("provenance", _Provenance)):
        convert(path, getattr(record, name), kind, where=name)
    known = {audit.name: audit for audit in installed_audits()}
    record = replace(
        record,
        audits={
            name: _read(path, known[name], part) if name in known else part
            for name, part in record.audits.items()
        },
    )
    return _with_pictures_found(record, path)


def _with_pictures_found(record: RunRecord, path: Path) -> RunRecord:
    """The record with the paths of pictures that are there, which it names from its project.

    That is the first folder above the file, else the working directory, in which one is.
    """
    places = [*path.absolute().parents, Path.cwd()]

    def found(file: str) -> str:
        if Path(file).is_absolute():  # files of older versions name them so
            return file
        there = next((place for place in places if exists(str(place / file))), None)
        if there is None:
            return file
        # The next ones will be there, too.
        places.sort(key=lambda place: place != there)
        return str(there / file)

    return with_texts(record, {PicturePath: found, LabelledPath: found})


def _sorted_into_audits(plain: dict[str, Any]) -> dict[str, Any]:
    """A document whose audits stand at its top as one of today: each goes where it is now."""
    audits = plain.get("audits", {})
    if not isinstance(audits, dict):
        return plain
    audits = dict(audits)
    for audit in installed_audits():
        found = {name: plain.pop(name) for name in audit.formerly if name in plain}
        if any(found.values()):
            audits.setdefault(audit.name, {"version": 1, "record": found})
    return {**plain, "audits": audits, "schema": SCHEMA}


def _with_whether_of_model(checks: Any) -> Any:
    """Checks of a file from before they said so: their subject did, by its first word."""
    if not isinstance(checks, list):
        return checks
    return [
        {"is_of_model": str(check.get("subject")).partition(" ")[0] == "model", **check}
        if isinstance(check, dict)
        else check
        for check in checks
    ]


def _read(path: Path, audit: Audit[Any], part: AuditRecord) -> AuditRecord:
    if audit.record_type is None:
        return part
    plain = audit.upgraded(part.record, part.version)
    record = convert(path, plain, audit.record_type, where=f"audits.{audit.name}")
    return AuditRecord(audit.version, record)


@dataclass(frozen=True, slots=True)
class _Settings:
    """Settings that are used, and not only shown."""

    images: Count = 0
    seed: int = 0
    confidence: Level = 0.95
    store: str = ""
    report: str = ""
    inconclusive: tuple[str, ...] = ()
    detectors: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class _Provenance:
    """What pictures and labels come from, by kind."""

    model: dict[str, Any] = field(default_factory=dict)
