"""The reader of run.json files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from pytest_t2i.data import Count, LabelledPath, Level, Name, PicturePath
from pytest_t2i.errors import FileFormatError
from pytest_t2i.generation.run_counts import Work
from pytest_t2i.read_files import convert, read_json
from pytest_t2i.runs.record.images import images_beside
from pytest_t2i.runs.record.picture_fields import with_texts
from pytest_t2i.runs.record.picture_paths import exists
from pytest_t2i.runs.record.record import SCHEMA, AuditRecord, MetricRecord, RunRecord
from pytest_t2i.sections.plain import section_of

T = TypeVar("T")


def read_run(path: str | Path) -> RunRecord:
    """Read a run.json; return the record that it was written from.

    The images of its prompts are read from the file beside it when they are asked for.

    Raises FileFormatError that names the key, what was expected and what was given.

    >>> from tempfile import TemporaryDirectory
    >>> from pytest_t2i import RunRecord
    >>> run = RunRecord("2026-11-21T10:00:00+00:00", 12.5, "mine", {}, {}, {})
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "run.json")
    ...     run.write(file)
    ...     read_run(file).outcome.value
    'MEASURED'
    """
    path = Path(path)
    plain = read_json(path, SCHEMA, kind="run.json", remedy="A run of the suite records one.")
    counts = convert(path, plain, _Counts).prompts
    for prompt in plain.get("prompts", ()):
        prompt["images"] = ()
    record = convert(path, plain, RunRecord)
    images = images_beside(path, [(prompt.id, prompt.images) for prompt in counts])
    pairs = zip(record.prompts, images, strict=True)
    record = replace(record, prompts=tuple(replace(p, images=each) for p, each in pairs))
    for name, kind in (("settings", _Settings), ("work", Work), ("provenance", _Provenance)):
        convert(path, getattr(record, name), kind, where=name)
    audits = {name: _read(path, name, part) for name, part in record.audits.items()}
    record = replace(record, audits=audits)
    for name, part in record.audits.items():
        _check_values(path, name, part, record.metrics)
    _check_outcomes(record, plain.get("outcome"), path)
    return _with_pictures_found(_in_order_of_detectors(record), path)


def _check_outcomes(record: RunRecord, written: Any, path: Path) -> None:
    """Raise FileFormatError where a written outcome is not the one that the evidence gives."""
    remedy = "The file was changed after its run: take the one that the run wrote"
    for number, check in enumerate(record.checks):
        if check.is_contradicted:
            interval = "no evidence" if check.interval is None else f"{check.interval}"
            raise FileFormatError(
                path,
                f"expected the outcome that {interval} has against {check.operator} "
                f"{check.bound:g}, got {check.outcome.value}.",
                where=f"checks.{number}",
                remedy=remedy,
            )
    if written != record.outcome.value:
        message = f"expected {record.outcome.value}, which its checks give, got {written!r}."
        raise FileFormatError(path, message, where="outcome", remedy=remedy)


def _in_order_of_detectors(record: RunRecord) -> RunRecord:
    """Return the record with the deciding detector first again; the file sorts its keys."""
    names = record.settings.get("detectors") or ()
    if len(names) < 2:  # noqa: PLR2004 - nothing to order
        return record
    places = {name: place for place, name in enumerate(names)}

    def ordered(values: Mapping[str, T]) -> dict[str, T]:
        return dict(sorted(values.items(), key=lambda item: places.get(item[0], len(places))))

    prompts = tuple(replace(p, counts=ordered(p.counts)) for p in record.prompts)
    return replace(record, prompts=prompts)


def _with_pictures_found(record: RunRecord, path: Path) -> RunRecord:
    """Return the record with its relative paths of pictures resolved.

    A picture is looked for in every folder above the file, then in the working directory. The
    record keeps the path of a picture that is in none of them.
    """
    places = [str(place) for place in (*path.absolute().parents, Path.cwd())]

    def found(file: str) -> str:
        for place in places:
            there = os.path.join(place, file)  # noqa: PTH118 - texts, a tenth of the cost of paths
            if exists(there):
                if place != places[0]:  # the other pictures probably lie there, too: it comes first
                    places.sort(key=lambda each: each != place)
                return there
        return file

    return with_texts(record, {PicturePath: found, LabelledPath: found})


def _check_values(
    path: Path, name: str, part: AuditRecord, metrics: Mapping[str, MetricRecord]
) -> None:
    """Raise FileFormatError where a row's estimate lies outside of its metric's bounds.

    The ends of an interval may lie there: those of Student's t do for few units.
    """
    for number, row in enumerate(part.rows):
        metric, value = metrics.get(row.metric), row.interval
        if metric is None or value is None:
            continue
        low, high = metric.low, metric.high
        estimate = value.estimate
        if (low is not None and estimate < low) or (high is not None and estimate > high):
            problem = f"expected an estimate within {low} to {high}, got {value}."
            raise FileFormatError(path, problem, where=f"audits.{name}.rows.{number}.value")


def _read(path: Path, name: str, part: AuditRecord) -> AuditRecord:
    try:
        return replace(part, blocks=tuple(map(section_of, part.blocks)))
    except (ValueError, TypeError) as error:
        raise FileFormatError(path, f"{error}.", where=f"audits.{name}.blocks") from None


@dataclass(frozen=True, slots=True)
class _Count:
    """A prompt with the number of its images."""

    id: Name
    images: Count


@dataclass(frozen=True, slots=True)
class _Counts:
    prompts: tuple[_Count, ...] = ()


@dataclass(frozen=True, slots=True)
class _Settings:
    """The settings that readers use and do not only show, for their validation."""

    images: Count = 0
    seed: int = 0
    confidence: Level = 0.95
    store: str = ""
    report: str = ""
    inconclusive: tuple[str, ...] = ()
    detectors: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class _Provenance:
    """The provenance that readers use, for its validation."""

    model: dict[str, Any] = field(default_factory=dict)
