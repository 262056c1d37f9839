"""The record of a run: built from its checks and audits once it has ended."""

from __future__ import annotations

import platform
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pytest_t2i.audits.audit import Audit
from pytest_t2i.audits.discovery import installed_audits
from pytest_t2i.audits.engine.context import AskedTest
from pytest_t2i.audits.engine.counts import counts_of, widest_of
from pytest_t2i.audits.engine.rows import Rows
from pytest_t2i.audits.engine.samples import Sample
from pytest_t2i.data import EMPTY, PLAIN, Outcome, Prompt, PromptScore
from pytest_t2i.generation.plan import DetectorRef
from pytest_t2i.generation.run_counts import Work
from pytest_t2i.generation.seeds import seeding_of
from pytest_t2i.labels import ADJUDICATED, FILE_NAME, LabelledSet
from pytest_t2i.metrics.info import INFO
from pytest_t2i.runs.record.images import ImageRecord, Images
from pytest_t2i.runs.record.manifest import input_digests
from pytest_t2i.runs.record.record import (
    AuditRecord,
    BaselineRecord,
    BeforeRecord,
    MetricRecord,
    PromptRecord,
    RunRecord,
)
from pytest_t2i.runs.record.version_control import commit_of
from pytest_t2i.runs.session.earlier_looks import looked_before
from pytest_t2i.runs.session.next_steps import next_steps
from pytest_t2i.runs.session.repeats import distinct_record
from pytest_t2i.runs.session.results import Results
from pytest_t2i.runs.session.session import Session
from pytest_t2i.runs.session.vlm_judges import judge_facts, judge_notes
from pytest_t2i.verdicts.baseline_file import (
    Baseline,
    RecordedPrompt,
    check_comparable,
    library_differences,
)
from pytest_t2i.verdicts.caveats.moved_prompts import moved_prompts
from pytest_t2i.verdicts.check import Check


def _prompts(results: Results) -> list[tuple[Prompt, AskedTest]]:
    """Return every prompt once, in order of appearance, and the test that needs most images."""
    return widest_of(
        (prompt, test)
        for test in results.tests
        for prompt in (
            *test.selection.prompts,
            *(stereotype.prompt for stereotype in test.selection.stereotypes),
        )
    )


def _record(results: Results, sample: Sample) -> PromptRecord:
    detections = {
        name: results.observations.detections(sample.prompt, sample.seeds, DetectorRef(name))
        for name in results.detectors
    }
    scores = (audit.prompt_score(sample) for audit in results.audits)
    score = next((score for score in scores if score is not None), PromptScore())
    return PromptRecord(
        sample.prompt.id,
        sample.prompt.text,
        sample.prompt.axis,
        sample.prompt.concept,
        sample.prompt.variant.value,
        {name: counts_of(found) for name, found in detections.items()},
        score.interval,
        Images(len(sample.seeds), partial(_images, results, sample)),
        score.worst_case,
        score.uncorrected,
        dict(score.people),
    )


def _images(results: Results, sample: Sample) -> Iterator[ImageRecord]:
    """Yield the images of a sample, with scores of the deciding detector alone."""
    observations, (prompt, seeds) = results.observations, (sample.prompt, sample.seeds)
    stored, revised = (
        observations.images(prompt, seeds),
        observations.revised_prompts(prompt, seeds),
    )
    found = {
        name: observations.detections(prompt, seeds, DetectorRef(name))
        for name in results.detectors
    }
    for k, seed in enumerate(seeds):
        detections = {
            name: of_detector[k]
            if name == results.detectors[0]
            else replace(of_detector[k], scores={})
            for name, of_detector in found.items()
        }
        image = stored[k]
        yield ImageRecord(seed, image.path, detections, revised[k], image.sha256)


PACKAGES = (
    "pytest-t2i", "pytest", "torch", "diffusers", "transformers", "numpy", "scipy", "pillow",
)  # fmt: skip


def record_of(results: Results, command: str = "", project: Path | None = None) -> RunRecord:
    recorded = results.recorded
    session = results.session
    parts = {audit.name: Rows.measured(audit.rows(results)) for audit in session.audits}
    measured = {name: part for name, part in parts.items() if part.rows}
    record = replace(
        _without_results(session, command, project),
        checks=tuple(session.checks),
        prompts=tuple(
            _record(results, results.one_sample(prompt, test)) for prompt, test in _prompts(results)
        ),
        audits={name: AuditRecord(rows=part.rows) for name, part in measured.items()},
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
        not_compared=_not_compared(session),
        is_interrupted=session.is_interrupted,
    )
    record = with_blocks(record, session.audits, measured)
    return replace(record, next_steps=next_steps(results, record))


def _metrics(record: RunRecord) -> dict[str, MetricRecord]:
    rows = (row.metric for audit in record.audits.values() for row in audit.rows)
    names = {*rows, *(check.metric for check in record.checks)}
    return {name: MetricRecord.of(INFO[name]) for name in sorted(names) if name in INFO}


def with_blocks(
    record: RunRecord, audits: Sequence[Audit] | None = None, measured: Mapping[str, Rows] = EMPTY
) -> RunRecord:
    """Return the record with the sections that audits show of it; None takes the installed ones.

    ``measured`` are rows with pictures, which the record does not hold.
    """
    record = replace(record, metrics=record.metrics or _metrics(record))
    audit_records = dict(record.audits)
    for audit in installed_audits() if audits is None else audits:
        if (part := measured.get(audit.name) or record.part(audit.name)).rows:
            blocks = tuple(audit.sections(part, record))
            first = audit.first(part)
            place = None if first is None else part.rows.index(first)
            audit_records[audit.name] = AuditRecord(part.rows, blocks, audit.place, place)
    return replace(record, audits=audit_records)


def _not_compared(session: Session) -> int:
    if session.settings.baseline is not None or session.settings.anchor is not None:
        return 0
    compared = {check.test for check in session.checks}
    without = [test for test in session.tests.values() if test.takes_baseline]
    return sum(test.node_id not in compared for test in without)


def interrupted_record(session: Session, command: str, project: Path | None = None) -> RunRecord:
    """Return the record of a run that was stopped while images were made, without results."""
    return replace(_without_results(session, command, project), is_interrupted=True)


def _without_results(session: Session, command: str, project: Path | None) -> RunRecord:
    folder = project or Path.cwd()
    inputs = input_digests(session, folder)
    judges = judge_facts(session)
    return RunRecord(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        seconds=round(time.time() - session.started, 1),
        model=session.settings.under_test,
        settings=session.settings.as_json() | {"detectors": list(session.detectors)},
        provenance=provenance(session)
        | ({"judges": judges} if judges else {})
        | ({"inputs": inputs} if inputs else {})
        | ({"command": command} if command else {}),
        work=_work(session.work, judge_notes(judges)),
        selected=session.selected,
    )


def _work(work: Work, notes: Iterable[str]) -> dict[str, Any]:
    return {**asdict(work), "notes": [*dict.fromkeys([*work.notes, *notes])]}


def _baseline_record(results: Results, recorded: Baseline) -> BaselineRecord:
    session = results.session
    differences = library_differences(recorded, library_versions())
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
        pictures=_pictures_before(results, recorded),
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
        if (seeding := seeding_of(session.store, model.fingerprint)) is not None:
            facts["seeding"] = asdict(seeding) | {"words": seeding.words}
    if (mitigating := session.components.mitigating()) is not None:
        facts["mitigation"] = mitigating.named.facts
    if session.tries_detectors and session.labelled is not None:
        facts["labelled images"] = {
            "folder": str(session.labelled.folder),
            "images": len(session.labelled),
            "fingerprint": session.labelled.fingerprint,
        }
    facts |= _peoples_evidence(session)
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
        "environment": library_versions(),
    }


def _peoples_evidence(session: Session) -> dict[str, Any]:
    """Return who labelled this run's images, and what a certificate says of the detector."""
    facts: dict[str, Any] = {}
    labelled = session.labelled if session.has_model and session.settings.labels else None
    if labelled is not None:
        facts["people's labels"] = _who_labelled(labelled)
    if (certificate := session.certificate) is not None:
        facts["certificate"] = {
            "detector": certificate.detector,
            "date": certificate.date,
            "images": certificate.images,
            "right by group": {
                attribute: {
                    group: f"{right} of {total}" for group, (right, total) in groups.items()
                }
                for attribute, groups in certificate.right_by_group.items()
            },
        }
    return facts


def _who_labelled(labelled: LabelledSet) -> dict[str, Any]:
    counts = Counter(label.annotator for label in labelled.labels if label.annotator != ADJUDICATED)
    file = labelled.folder / FILE_NAME
    modified = file.stat().st_mtime if file.is_file() else 0.0
    return {
        "annotators": dict(sorted(counts.items())),
        "written": datetime.fromtimestamp(modified, UTC).isoformat(timespec="seconds"),
    }


def library_versions() -> dict[str, str]:
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
        "mitigation": None if mitigating is None else mitigating.named.asked,
    }


SHOWN = 6
"""Largest number of pictures per prompt."""


PROMPTS = 6
"""Largest number of prompts per audit that the report shows side by side."""


def _pictures_before(
    results: Results, recorded: Baseline
) -> Mapping[str, tuple[BeforeRecord, ...]]:
    """Return the stored pictures of prompts that probably became more biased, by prompt id.

    These prompts are the moved ones that checks name, else those that the audits name, and the
    prompts whose own test failed. The mapping is empty if the baseline has other generation
    settings or a mitigation.
    """
    session = results.session
    differs = recorded.conditions.get("generation") != asdict(session.generation)
    if differs or recorded.conditions.get("mitigation") is not None:
        return {}
    moved = {prompt.id for check in session.checks for prompt in moved_prompts(check.caveats)}
    moved = (moved or _moved_by_audits(results, recorded)) | _failed(session.checks)
    prompts = {prompt.text: prompt for prompt, _ in _prompts(results)}
    pictures_of = {
        before.id: _pictures(session, recorded.model_fingerprint, prompts[text], before)
        for text, before in recorded.prompts.items()
        if before.id in moved and text in prompts
    }
    return {prompt: pictures for prompt, pictures in pictures_of.items() if pictures}


def _failed(checks: Sequence[Check]) -> set[str]:
    """Return the ids of the prompts whose own test against the baseline failed."""
    compared = (c for c in checks if c.against == "baseline" and not c.is_of_model)
    return {check.subject for check in compared if check.outcome is Outcome.FAIL}


def _moved_by_audits(results: Results, recorded: Baseline) -> set[str]:
    texts = [text for audit in results.session.audits for text in audit.moved(results, recorded)]
    return {recorded.prompts[text].id for text in texts[:PROMPTS]}


def _pictures(
    session: Session, fingerprint: str, prompt: Prompt, before: RecordedPrompt
) -> tuple[BeforeRecord, ...]:
    labels = dict(zip(before.seeds[:SHOWN], before.said, strict=False))
    requests = session.request_settings.requests(prompt, list(labels), PLAIN)
    keys = {request.key(fingerprint): request.seed for request in requests}
    stored = session.store.images(list(keys))
    return tuple(
        BeforeRecord(seed, str(stored[key].file), str(labels[seed]))
        for key, seed in keys.items()
        if key in stored and stored[key].file is not None
    )
