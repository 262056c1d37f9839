"""A finished run, recorded as a baseline file."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from pytest_t2i.runs.build_oasis import varieties
from pytest_t2i.runs.build_record import conditions, environment
from pytest_t2i.runs.results import Results
from pytest_t2i.runs.session import distinct
from pytest_t2i.verdicts.baseline_file import (
    APART,
    Baseline,
    RecordedPrompt,
    RecordedTrial,
    RecordedVariety,
)


def save_baseline(results: Results, path: Path) -> Baseline:
    """Record the run's neutral prompts as a baseline file."""
    session = results.session
    baseline = Baseline(
        model=session.settings.model or "",
        model_fingerprint=session.components.model().fingerprint if session.has_model else "",
        conditions=conditions(session),
        environment=environment(),
        prompts=_prompts(results),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        seed=session.settings.seed,
        images=session.settings.images,
        trials=_trials(results) if session.tries_detectors else {},
        variety=_variety(results),
    )
    baseline.write(path)
    return baseline


def _prompts(results: Results) -> dict[str, RecordedPrompt]:
    """By text, each with the most images that a test asked for."""
    prompts: dict[str, RecordedPrompt] = {}
    for test in distinct(results.session.tests.values()):
        for prompt in test.selection.prompts:
            known = prompts.get(prompt.text)
            if known is None or len(known.seeds) < test.images:
                sample = results.one_sample(prompt, test)
                said = tuple(detection.said for detection in sample.detections)
                prompts[prompt.text] = RecordedPrompt(prompt.id, sample.seeds, said)
    return prompts


def _variety(results: Results) -> dict[str, RecordedVariety]:
    """By what was measured, from images as many as most tests ask for."""
    recorded: dict[str, RecordedVariety] = {}
    for variety in varieties(results):
        if variety.interval is not None:
            told = variety.descriptions
            name = f"{variety.id}{APART}{told[:8]}" if variety.id in recorded else variety.id
            recorded[name] = RecordedVariety(
                variety.interval, variety.encoder_fingerprint, told, variety.pictures
            )
    return recorded


def _trials(results: Results) -> dict[str, RecordedTrial]:
    return {
        trial.detector: RecordedTrial(
            trial.labelled.fingerprint,
            trial.fingerprint,
            {image.file: said for image, said in zip(trial.labelled, trial.said, strict=True)},
        )
        for trial in results.trials()
    }
