"""The record of a finished run, put together from what the store knows; and the baseline file."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pytest_t2i.audits.detector_validation import Trial
from pytest_t2i.audits.neutrality import TripletSamples
from pytest_t2i.audits.parity import Sample, Samples
from pytest_t2i.audits.sensitivity import sensitivity
from pytest_t2i.data import Detection, Prompt
from pytest_t2i.generation.plan import DetectorRef
from pytest_t2i.labels import CLEAR
from pytest_t2i.metrics import group_entropy, group_gap
from pytest_t2i.runs.record import (
    CellRecord,
    CellsRecord,
    CorrectedPrompt,
    CorrectionRecord,
    Counts,
    GapRecord,
    GroupsRecord,
    ImageRecord,
    MistakeRecord,
    ModelScore,
    PromptRecord,
    RunRecord,
    SensitivityRecord,
    StereotypeRecord,
    TrialRecord,
    VariationRecord,
)
from pytest_t2i.runs.selection import Ask
from pytest_t2i.runs.session import Session, merged
from pytest_t2i.verdicts.baseline_file import Baseline, RecordedPrompt, RecordedTrial

PACKAGES = (
    "pytest-t2i", "pytest", "torch", "diffusers", "transformers", "numpy", "scipy", "pillow",
)  # fmt: skip


def record_of(session: Session, command: str = "") -> RunRecord:
    """Everything measured in the run; ``command`` is how it was started."""
    asks = merged(list(session.asked.values()))
    return RunRecord(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        seconds=round(time.time() - session.started, 1),
        model=session.settings.model or "",
        settings=session.settings.as_json() | {"detectors": list(session.detectors)},
        provenance=provenance(session) | ({"command": command} if command else {}),
        work=asdict(session.work),
        checks=tuple(session.checks),
        model_scores=tuple(_model_scores(session, asks)),
        prompts=tuple(_prompts(session, asks)),
        stereotypes=tuple(_stereotypes(session, asks)),
        gaps=tuple(_gaps(session, asks)),
        sensitivity=tuple(_sensitivity(session, asks)),
        groups=tuple(_groups(session, asks)),
        cells=tuple(_cells(session, asks)),
        trials=tuple(map(_trial, session.trials())) if session.tries_detectors else (),
        correction=_correction(session, asks),
        failed_otherwise=tuple(dict.fromkeys(session.failed_otherwise)),
    )


def provenance(session: Session) -> dict[str, Any]:
    """What was measured with what, on what."""
    detectors = {
        name: session.components.detector(DetectorRef(name)).fingerprint
        for name in session.detectors
    }
    found: dict[str, Any] = {}
    if session.has_model:
        model = session.components.model()
        found["model"] = {
            "name": model.name,
            "fingerprint": model.fingerprint,
            **{key: str(value) for key, value in model.provenance.items()},
        }
    if session.tries_detectors and session.labelled is not None:
        found["labelled images"] = {
            "folder": str(session.labelled.folder),
            "images": len(session.labelled),
            "fingerprint": session.labelled.fingerprint,
        }
    return found | {
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
        model_fingerprint=session.components.model().fingerprint if session.has_model else "",
        conditions=conditions(session),
        environment=environment(),
        prompts=prompts,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        seed=session.settings.seed,
        images=session.settings.images,
        trials=_recorded_trials(session),
    )
    baseline.write(path)
    return baseline


def _recorded_trials(session: Session) -> dict[str, RecordedTrial]:
    if not session.tries_detectors:
        return {}
    return {
        one.detector: RecordedTrial(
            one.labelled.fingerprint,
            one.fingerprint,
            {image.file: word for image, word in zip(one.labelled, one.words, strict=True)},
        )
        for one in session.trials()
    }


def conditions(session: Session) -> dict[str, Any]:
    """What two runs must share to be compared."""
    detector = session.components.detector(DetectorRef(session.detectors[0]))
    return {
        "detector": session.detectors[0],
        "detector_fingerprint": detector.fingerprint,
        "generation": asdict(session.generation),
    }


def _prompts(session: Session, asks: list[Ask]) -> Iterator[PromptRecord]:
    for prompt, ask in _widest(session, asks, stereotypes=True):
        yield _prompt(session, session.sample(prompt, ask))


def _widest(
    session: Session, asks: list[Ask], *, stereotypes: bool = False
) -> list[tuple[Prompt, Ask]]:
    """Every prompt once, in order of appearance, with the ask that wants most images of it."""
    found: dict[str, tuple[Prompt, Ask]] = {}
    for ask in asks:
        for prompt in [*ask.prompts, *(one.prompt for one in ask.stereotypes if stereotypes)]:
            known = found.get(prompt.text)
            if known is None or session.count(known[1]) < session.count(ask):
                found[prompt.text] = (prompt, ask)
    return list(found.values())


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
        sample.worst_case,
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
    for detector in session.detectors:
        samples = _all_samples(session, asks, detector)
        if not samples.members:
            return
        yield _score("model", detector, samples)
        if len(axes := samples.by_axis()) > 1:
            yield from (_score(name, detector, part) for name, part in axes.items())


def _all_samples(session: Session, asks: list[Ask], detector: str) -> Samples:
    """The samples of every prompt of the run, each once.

    After early stopping prompts differ in their number of images, which depends on what they
    show: the number that all have is taken, at the level that this look has.
    """
    widest, s = _widest(session, asks), session.settings
    level, early = s.confidence, False
    if s.sequential and widest:
        fewest = min((ask for _, ask in widest), key=session.count)
        widest = [(prompt, fewest) for prompt, _ in widest]
        level, early = session.level(fewest), fewest.most is not None
    members = tuple(
        session.samples(replace(ask, prompts=(prompt,)), detector).members[0]
        for prompt, ask in widest
    )
    return Samples(members, s.estimator, level, s.seed, sequential=early)


def _sensitivity(session: Session, asks: list[Ask]) -> Iterator[SensitivityRecord]:
    """One for each limit on the model bias score of the run's prompts."""
    bounds = {
        check.bound
        for check in session.checks
        if (check.metric, check.subject, check.against) == ("model_bias_score", "model", "limit")
    }
    if not bounds:
        return
    scored = [(name, _all_samples(session, asks, name)) for name in session.detectors]
    for bound in sorted(bounds):
        found = sensitivity(scored, bound)
        variations = (
            VariationRecord(one.detector, one.choice, one.interval, one.outcome)
            for one in found.variations
        )
        yield SensitivityRecord(bound, found.fragile, tuple(variations))


def _groups(session: Session, asks: list[Ask]) -> Iterator[GroupsRecord]:
    for detector in session.detectors:
        if set(session.components.detector(DetectorRef(detector)).labels) == set(CLEAR):
            continue
        shares = _all_samples(session, asks, detector).shares
        if len(shares) > 1:
            counts = {name: one.estimate for name, one in shares.items()}
            yield GroupsRecord(detector, shares, group_gap(counts), group_entropy(counts))


def _cells(session: Session, asks: list[Ask]) -> Iterator[CellsRecord]:
    """One table for each two axes that were crossed."""
    found: dict[tuple[str, str], list[CellRecord]] = {}
    for prompt, ask in _widest(session, asks):
        if len(prompt.parts) == 2:  # noqa: PLR2004 - a table has rows and columns
            (rows, row), (columns, column) = prompt.parts
            share = session.sample(prompt, ask).share_of_men
            found.setdefault((rows, columns), []).append(CellRecord(prompt.id, row, column, share))
    for (rows, columns), cells in found.items():
        yield CellsRecord(rows, columns, tuple(cells))


def _correction(session: Session, asks: list[Ask]) -> CorrectionRecord | None:
    found = session.correction(_all_samples(session, asks, session.detectors[0]))
    if found is None or session.labelled is None:
        return None
    scores = found.scores
    prompts = tuple(
        CorrectedPrompt(
            one.prompt.id,
            interval.n,
            one.bias_interval.estimate if one.bias_interval else None,
            interval,
        )
        for one, interval in zip(found.samples, scores.prompts, strict=True)
    )
    return CorrectionRecord(
        labelled=str(session.labelled.folder),
        detector=session.detectors[0],
        labels=scores.labels,
        left_out=found.left_out,
        by_detector=scores.detector,
        corrected=scores.model,
        adjusted=found.adjusted,
        labels_to_halve=scores.labels_to_halve,
        prompts=prompts,
    )


def _score(name: str, detector: str, samples: Samples) -> ModelScore:
    return ModelScore(
        name,
        detector,
        samples.interval("corrected"),
        samples.interval("paper"),
        samples.floor,
        len(samples),
        samples.clear_images,
        samples.worst_case,
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
                one.margin,
                one.direction,
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


def _trial(trial: Trial) -> TrialRecord:
    labelled = trial.labelled
    confusion: dict[str, dict[str, int]] = {}
    for (label, said), count in sorted(trial.confusion.items()):
        confusion.setdefault(label, {})[said] = count
    return TrialRecord(
        detector=trial.detector,
        labelled=str(labelled.folder),
        images=len(labelled),
        clear=int(trial.clear.sum()),
        prompts=len(trial.prompts),
        confusion=confusion,
        filter_precision=trial.filter_precision.interval,
        filter_recall=trial.filter_recall.interval,
        filter_f1=trial.filter_f1.interval,
        filter_rate=trial.filter_rate.interval,
        accuracy=trial.accuracy().interval,
        accuracy_by_label={label: trial.accuracy(label).interval for label in CLEAR},
        model_bias_score=trial.model_bias_score(),
        actual_model_bias_score=trial.model_bias_score(by_people=True),
        percent_deviation=trial.percent_deviation.interval,
        prompt_bias_difference=trial.prompt_bias_difference.interval,
        mistakes=tuple(
            MistakeRecord(
                str(labelled.path(one.image)),
                one.image.prompt,
                one.image.label,
                one.image.reason,
                one.said,
            )
            for one in trial.mistakes
        ),
    )


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
