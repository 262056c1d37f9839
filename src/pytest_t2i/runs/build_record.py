"""Functions that build the record of a run from its results."""

from __future__ import annotations

import platform
import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pytest_t2i.generation.plan import DetectorRef
from pytest_t2i.generation.seed_probe import seeding_of
from pytest_t2i.runs import canary
from pytest_t2i.runs.build_baseline_pictures import pictures_before
from pytest_t2i.runs.build_prompts import prompt_records
from pytest_t2i.runs.earlier_looks import looked_before
from pytest_t2i.runs.manifest.inputs import input_digests
from pytest_t2i.runs.next_steps import next_steps
from pytest_t2i.runs.record import AuditRecord, BaselineRecord, RunRecord
from pytest_t2i.runs.repeats import distinct_record
from pytest_t2i.runs.results import Results
from pytest_t2i.runs.session import Session
from pytest_t2i.runs.version_control import commit_of
from pytest_t2i.verdicts.baseline_file import Baseline, check_comparable, library_differences

PACKAGES = (
    "pytest-t2i", "pytest", "torch", "diffusers", "transformers", "numpy", "scipy", "pillow",
)  # fmt: skip


def record_of(results: Results, command: str = "", project: Path | None = None) -> RunRecord:
    """Return the record of all results.

    Args:
        results: results of the run.
        command: command line of the run.
        project: folder to which the paths of inputs are relative; None takes the working directory.
    """
    recorded = results.recorded
    session = results.session
    record = replace(
        _without_results(session, command, project),
        checks=tuple(session.checks),
        prompts=tuple(prompt_records(results)),
        audits={
            audit.name: AuditRecord(audit.version, record)
            for audit in session.audits
            if (record := audit.record(results)) is not None
        },
        failed_otherwise=tuple(dict.fromkeys(session.failed_otherwise)),
        failed_because={
            test: session.failed_because[test]
            for test in session.failed_otherwise
            if test in session.failed_because
        },
        distinct=distinct_record(results) if session.needs_model else None,
        looked_at_before=looked_before(results),
        baseline=None if recorded is None else _baseline_record(results, recorded),
        judged=len(session.judged),
        is_interrupted=session.is_interrupted,
    )
    return replace(record, next_steps=next_steps(results, record))


def interrupted_record(session: Session, command: str, project: Path | None = None) -> RunRecord:
    """Return the record of a run that was stopped while images were made, without results."""
    return replace(_without_results(session, command, project), is_interrupted=True)


def _without_results(session: Session, command: str, project: Path | None) -> RunRecord:
    """Return the record's settings, provenance and counts of work."""
    inputs = input_digests(session, project or Path.cwd())
    return RunRecord(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        seconds=round(time.time() - session.started, 1),
        model=session.settings.under_test,
        settings=session.settings.as_json() | {"detectors": list(session.detectors)},
        provenance=provenance(session)
        | ({"inputs": inputs} if inputs else {})
        | ({"command": command} if command else {}),
        work=asdict(session.work),
        selected=session.selected,
    )


def _baseline_record(results: Results, recorded: Baseline) -> BaselineRecord:
    """Return the record of the baseline and of its differences from the run."""
    session = results.session
    differences = library_differences(recorded, environment())
    if session.needs_model:
        # Differences that forbid a comparison raised an error before, unless it was forced.
        differences += check_comparable(recorded, conditions(session), (), force=True)
    fingerprint = session.components.model().fingerprint if session.has_model else ""
    return BaselineRecord(
        file=str(session.settings.baseline),
        model=recorded.model,
        model_fingerprint=recorded.model_fingerprint,
        created=recorded.created,
        images=recorded.images,
        seed=recorded.seed,
        is_same_model=recorded.model_fingerprint == fingerprint,
        differences=tuple(differences),
        pictures=pictures_before(results, recorded),
    )


def provenance(session: Session) -> dict[str, Any]:
    """Return the versions of all parts of the run: model, detectors, labels, environment, ..."""
    facts: dict[str, Any] = {}
    if session.has_model:
        model = session.components.model()
        facts["model"] = {
            "name": model.name,
            "fingerprint": model.fingerprint,
            **{key: str(value) for key, value in model.provenance.items()},
        }
        if (found := seeding_of(session.store, model.fingerprint)) is not None:
            facts["seeding"] = asdict(found) | {"words": found.words}
        if (compared := canary.compared(session)) is not None:
            facts["canary"] = compared
    if (mitigating := session.components.mitigating()) is not None:
        facts["mitigation"] = mitigating.named.facts
    if session.tries_detectors and session.labelled is not None:
        facts["labelled images"] = {
            "folder": str(session.labelled.folder),
            "images": len(session.labelled),
            "fingerprint": session.labelled.fingerprint,
        }
    if (captions := session.captions) is not None:
        facts["captions"] = {
            "file": str(captions.path),
            "format": captions.format,
            "captions": captions.total,
            "neutral": len(captions),
            "left out": dict(captions.left_out),
            "left out for": dict(list(captions.human_words.items())[:10]),
        }
    if any(t.selection.finds for t in session.tests.values()):
        finder = session.components.finder(session.finder)
        facts["objects"] = {
            "finder": finder.name,
            "fingerprint": finder.fingerprint,
            **{key: str(value) for key, value in finder.provenance.items()},
        }
    if commit := commit_of(Path.cwd()):
        facts["project"] = commit
    return facts | {
        "detectors": {
            name: session.components.detector(DetectorRef(name)).fingerprint
            for name in session.detectors
        },
        "labels": {
            name: list(session.components.detector(DetectorRef(name)).labels)
            for name in session.detectors
        },
        "generation": asdict(session.generation),
        "environment": environment(),
    }


def environment() -> dict[str, str]:
    """Return the versions of Python, the platform and the main libraries."""
    return dict(_environment())


@cache
def _environment() -> Mapping[str, str]:
    versions = {"python": platform.python_version(), "platform": platform.platform()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions


def conditions(session: Session) -> dict[str, Any]:
    """Return the conditions that two runs must share for a comparison."""
    detector = session.components.detector(DetectorRef(session.detectors[0]))
    mitigating = session.components.mitigating()
    return {
        "detector": session.detectors[0],
        "detector_fingerprint": detector.fingerprint,
        "generation": asdict(session.generation),
        # Baselines of runs without a mitigation keep the format of earlier versions.
        **({} if mitigating is None else {"mitigation": mitigating.named.asked}),
    }
