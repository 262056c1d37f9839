"""The facts of a run in words: model, detectors, limits, labels, tool and settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_t2i.errors import some
from pytest_t2i.reporting.formatting import (
    detector_names,
    duration,
    images_of,
    moment,
    undetected_of,
)
from pytest_t2i.reporting.run_counts import distinct_words, labelled_images
from pytest_t2i.runs.record import RunRecord
from pytest_t2i.runs.summaries import summaries
from pytest_t2i.sections.words import reason_words

Table = list[tuple[str, str]]


def facts(record: RunRecord) -> Table:
    """Return the facts of a run as (name, value) rows, without empty ones."""
    detectors = list(record.settings.get("detectors") or detector_names(record))
    images = sum(len(prompt.images) for prompt in record.prompts)
    sections = [
        ("Model", record.model),
        ("Model version", _version(record)),
        ("Canary", canary_words(record)),
        ("Seeds", _words(record, "seeding")),
        ("Labelled images", str(labelled_images(record) or "")),
        ("Detectors" if len(detectors) > 1 else "Detector", _detectors(detectors)),
        ("Detector accuracy", how_known(record) if detectors and record.model else ""),
        ("Images per prompt", _per_prompt(record) if images else ""),
        ("Prompts", f"{len(record.prompts)} ({images} images)" if images else ""),
        ("Distinct pictures", distinct_words(record)),
        ("Date", moment(record.created)),
        ("Took", duration(record.seconds)),
        ("Limits set by", who_set_limits(record)),
        ("Labels", label_status(record) if record.model else ""),
        ("Measured by", f"{TOOL} {tool_version(record)}" if tool_version(record) else ""),
    ]
    return [(name, value) for name, value in sections if value]


def identity(record: RunRecord) -> Table:
    """Return the rows that identify the run and its model, for the cover of the PDF."""
    model = record.provenance.get("model")
    fingerprint = model.get("fingerprint") if isinstance(model, Mapping) else None
    rows = [
        ("Date", moment(record.created)),
        ("Fingerprint of the model", str(fingerprint or "")),
        ("Commit of the project", commit(record)),
        ("Measured by", f"{TOOL} {tool_version(record)}" if tool_version(record) else ""),
    ]
    return [(name, value) for name, value in rows if value]


TOOL = "pytest-t2i"
NEVER = "never measured on pictures like these"


def how_known(record: RunRecord, detector: str = "") -> str:
    """Return a detector's accuracy by people's labels in this run, in words; NEVER if unknown.

    ``detector`` is the name; "" takes the deciding detector.
    """
    detectors = record.settings.get("detectors") or detector_names(record)
    name = detector or next(iter(detectors), "")
    measured = (one.measured[name] for one in summaries(record) if name in one.measured)
    return next(measured, NEVER)


MOST_AUTHORS = 3


def who_set_limits(record: RunRecord) -> str:
    """Return the limits' authors, and how many lack an author or reason; "" without limits."""
    limits = {(c.metric, c.bound): c for c in record.checks if c.has_limit}.values()
    if not limits:
        return ""
    authors = list(dict.fromkeys(check.author for check in limits if check.author))
    anonymous = sum(not check.author for check in limits)
    named = some(authors, MOST_AUTHORS) if authors else "no name given"
    parts = [named]
    if authors and anonymous:
        parts.append(f"{anonymous} of {len(limits)} without an author")
    if bare := sum(not check.reason for check in limits):
        parts.append(f"{bare} of {len(limits)} without a reason")
    return "; ".join(parts)


NO_LABELS = "none, as nobody has labelled these images"
TOO_FEW = "given, but too few of this run's images are labelled to correct the scores"


def label_status(record: RunRecord) -> str:
    """Return how people's labels corrected the scores of this run, in words."""
    corrected = next((one.labels for one in summaries(record) if one.labels), "")
    return corrected or (TOO_FEW if record.settings.get("labels") else NO_LABELS)


def tool_version(record: RunRecord) -> str:
    """Return the version of pytest-t2i that made the run; "" if it is not recorded."""
    environment = record.provenance.get("environment")
    return str(environment.get(TOOL, "")) if isinstance(environment, Mapping) else ""


def commit(record: RunRecord) -> str:
    """Return the project's commit, and whether tracked files differ from it; "" if unknown."""
    project = record.provenance.get("project")
    if not isinstance(project, Mapping) or not project.get("commit"):
        return ""
    differs = ", with changes that are not committed" if project.get("changed") else ""
    return f"{project['commit']}{differs}"


def canary_words(record: RunRecord) -> str:
    """Return the canary's result in a sentence; "" without a canary."""
    return _words(record, "canary")


def _words(record: RunRecord, key: str) -> str:
    """Return the sentence of a part of the provenance; "" if the part is absent."""
    found = record.provenance.get(key)
    return str(found.get("words", "")) if isinstance(found, Mapping) else ""


def _version(record: RunRecord) -> str:
    """Return the model's version as its service reports it; "" if it does not."""
    model = record.provenance.get("model")
    return str(model.get("version", "")) if isinstance(model, Mapping) else ""


def _per_prompt(record: RunRecord) -> str:
    """Return the images per prompt: the option's number, else the range of actual numbers.

    The actual numbers count for ready-made images and after early stopping.
    """
    if not record.done.most and not record.done.is_ready_made:
        return str(record.settings.get("images", "-"))
    counts = sorted(len(prompt.images) for prompt in record.prompts)
    return str(counts[-1]) if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}"


def _detectors(names: list[str]) -> str:
    return f"{names[0]} (decides), {', '.join(names[1:])}" if len(names) > 1 else "".join(names)


def undetected_table(record: RunRecord) -> list[tuple[str, dict[str, int], int]]:
    """Return (detector, reason -> images without a label, all images) of every detector.

    The list is empty if no image is undetected.
    """
    rows = []
    for name in detector_names(record):
        reasons = sorted(undetected_of(record, name).items())
        words = {reason_words(reason): count for reason, count in reasons}
        rows.append((name, words, images_of(record)))
    return rows if any(reasons for _, reasons, _ in rows) else []


def flattened(values: Mapping[str, Any], prefix: str = "") -> Table:
    """Return nested settings as rows with dotted names."""
    rows: Table = []
    for key, value in values.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            rows += flattened(value, f"{name}.")
        elif isinstance(value, list | tuple):
            rows.append((name, ", ".join(map(str, value)) or "-"))
        else:
            rows.append((name, "-" if value is None else str(value)))
    return rows
