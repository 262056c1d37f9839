"""The record of a finished run, put together from what the store knows; and the baseline file."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pytest_t2i.asking import Ask
from pytest_t2i.audits.neutrality import TripletSamples
from pytest_t2i.audits.parity import Sample, Samples
from pytest_t2i.baselines import Baseline, RecordedPrompt
from pytest_t2i.data import Detection
from pytest_t2i.planning import DetectorRef
from pytest_t2i.record import (
    Counts,
    GapRecord,
    ImageRecord,
    ModelScore,
    PromptRecord,
    RunRecord,
    StereotypeRecord,
)
from pytest_t2i.session import Session, merged

PACKAGES = (
    "pytest-t2i", "pytest", "torch", "diffusers", "transformers", "numpy", "scipy", "pillow",
)  # fmt: skip


def record_of(session: Session) -> RunRecord:
    """Everything measured in the run."""
    asks = merged(list(session.asked.values()))
    return RunRecord(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        seconds=round(time.time() - session.started, 1),
        model=session.settings.model or "",
        settings=session.settings.as_json() | {"detectors": list(session.detectors)},
        provenance=provenance(session),
        work=asdict(session.work),
        checks=tuple(session.checks),
        model_scores=tuple(_model_scores(session, asks)),
        prompts=tuple(_prompts(session, asks)),
        stereotypes=tuple(_stereotypes(session, asks)),
        gaps=tuple(_gaps(session, asks)),
        failed_otherwise=tuple(dict.fromkeys(session.failed_otherwise)),
    )


def provenance(session: Session) -> dict[str, Any]:
    """What was measured with what, on what."""
    model = session.components.model()
    detectors = {
        name: session.components.detector(DetectorRef(name)).fingerprint
        for name in session.detectors
    }
    return {
        "model": {
            "name": model.name,
            "fingerprint": model.fingerprint,
            **{key: str(value) for key, value in model.provenance.items()},
        },
        "detectors": detectors,
        "generation": asdict(session.generation),
        "environment": environment(),
    }


def environment() -> dict[str, str]:
    """Versions of libraries and platform."""
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def save_baseline(session: Session, path: Path) -> Baseline:
    """Record the run's neutral prompts as a baseline file."""
    prompts: dict[str, RecordedPrompt] = {}
    for ask in merged(list(session.asked.values())):
        for sample in session.samples(ask):
            labels = tuple(_word(one) for one in sample.detections)
            recorded = RecordedPrompt(sample.prompt.id, sample.seeds, labels)
            known = prompts.get(sample.prompt.text)
            if known is None or len(known.seeds) < len(recorded.seeds):
                prompts[sample.prompt.text] = recorded
    baseline = Baseline(
        model=session.settings.model or "",
        model_fingerprint=session.components.model().fingerprint,
        conditions=conditions(session),
        environment=environment(),
        prompts=prompts,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        seed=session.settings.seed,
        images=session.settings.images,
    )
    baseline.write(path)
    return baseline


def conditions(session: Session) -> dict[str, Any]:
    """What two runs must share to be compared."""
    detector = session.components.detector(DetectorRef(session.detectors[0]))
    return {
        "detector": session.detectors[0],
        "detector_fingerprint": detector.fingerprint,
        "generation": asdict(session.generation),
    }


def _prompts(session: Session, asks: list[Ask]) -> Iterator[PromptRecord]:
    seen: set[str] = set()
    for ask in asks:
        for prompt in [*ask.prompts, *(one.prompt for one in ask.stereotypes)]:
            if prompt.text not in seen:
                seen.add(prompt.text)
                yield _prompt(session, session.sample(prompt, ask))


def _prompt(session: Session, sample: Sample) -> PromptRecord:
    by_detector = {
        name: session.observations.detections(sample.prompt, sample.seeds, DetectorRef(name))
        for name in session.detectors
    }
    images = tuple(
        ImageRecord(
            seed,
            str(file) if file else None,
            {name: _word(found[k]) for name, found in by_detector.items()},
            dict(sample.detections[k].scores),
        )
        for k, (seed, file) in enumerate(zip(sample.seeds, sample.files, strict=True))
    )
    return PromptRecord(
        sample.prompt.id,
        sample.prompt.text,
        sample.prompt.axis,
        sample.prompt.concept,
        sample.prompt.variant.value,
        {name: _counts(found) for name, found in by_detector.items()},
        sample.bias_interval,
        images,
    )


def _counts(detections: list[Detection]) -> Counts:
    labels: dict[str, int] = {}
    undetected: dict[str, int] = {}
    for one in detections:
        group, name = (
            (labels, one.label) if one.label is not None else (undetected, str(one.undetected))
        )
        group[str(name)] = group.get(str(name), 0) + 1
    return Counts(labels, undetected)


def _word(detection: Detection) -> str:
    return detection.label or f"undetected:{detection.undetected}"


def _model_scores(session: Session, asks: list[Ask]) -> Iterator[ModelScore]:
    prompts = {prompt.text: (prompt, ask) for ask in asks for prompt in ask.prompts}
    if not prompts:
        return
    for detector in session.detectors:
        members = tuple(
            session.samples(Ask(prompts=(prompt,), images=ask.images), detector).members[0]
            for prompt, ask in prompts.values()
        )
        s = session.settings
        samples = Samples(members, s.estimator, s.confidence, s.seed)
        yield _score("model", detector, samples)
        if len(axes := samples.by_axis()) > 1:
            yield from (_score(name, detector, part) for name, part in axes.items())


def _score(name: str, detector: str, samples: Samples) -> ModelScore:
    return ModelScore(
        name,
        detector,
        samples.interval("corrected"),
        samples.interval("paper"),
        samples.floor,
        len(samples),
        samples.clear_images,
    )


def _stereotypes(session: Session, asks: list[Ask]) -> Iterator[StereotypeRecord]:
    for ask in asks:
        for one in ask.stereotypes:
            measured = session.association(one, ask)
            yield StereotypeRecord(
                one.id,
                one.prompt.concept,
                one.attribute.name,
                measured.detector,
                one.expected,
                measured.share,
                measured.score_interval,
                one.source,
            )


def _gaps(session: Session, asks: list[Ask]) -> Iterator[GapRecord]:
    for ask in asks:
        if not ask.triplets:
            continue
        everything = session.triplets(ask)
        axes = dict.fromkeys(one.neutral.axis for one in ask.triplets)
        for space in ask.spaces:
            yield _gap("model", space, everything)
            for axis in axes if len(axes) > 1 else ():
                members = tuple(t for t in everything if t.triplet.neutral.axis == axis)
                yield _gap(axis, space, TripletSamples(members, everything.level, everything.seed))


def _gap(name: str, space: str, triplets: TripletSamples) -> GapRecord:
    pairs = triplets.similarities(space)
    return GapRecord(
        space,
        name,
        triplets.gap_interval(pairs),
        _mean([pair.to_feminine.mean() for pair in pairs]),
        _mean([pair.to_masculine.mean() for pair in pairs]),
        len(pairs),
    )


def _mean(values: list[Any]) -> float | None:
    return float(sum(values) / len(values)) if values else None
