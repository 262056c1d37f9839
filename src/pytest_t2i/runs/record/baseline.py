"""What a run keeps as a baseline: the file, and the pictures that show it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from pytest_t2i.generation.plan import DetectorRef
from pytest_t2i.runs.record.build_record import conditions, library_versions
from pytest_t2i.runs.record.picture_paths import without_machine
from pytest_t2i.runs.session.results import Results
from pytest_t2i.runs.session.session import Session, distinct
from pytest_t2i.runs.session.shared_seeds import why_seeds_prevent_verdict
from pytest_t2i.verdicts.baseline_file import Baseline, ComponentFacts, RecordedPrompt


def save_baseline(results: Results, path: Path) -> Baseline:
    """Record the run's prompts and audits as a baseline file, and return it."""
    session = results.session
    baseline = Baseline(
        model=without_machine(session.settings.under_test),
        model_fingerprint=session.components.model().fingerprint if session.has_model else "",
        conditions=conditions(session),
        environment=library_versions(),
        prompts=_prompts(results),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        seed=session.settings.seed,
        images=session.settings.images,
        audits={
            audit.name: plain
            for audit in session.audits
            if (plain := audit.recorded(results)) is not None
        },
        components=_component_facts(session) if session.has_model else None,
        shared_seeds=why_seeds_prevent_verdict(results, session.tests.values()),
    )
    baseline.write(path)
    return baseline


IN_ENVIRONMENT = ("torch", "diffusers", "transformers", "device_name")
"""Facts of a model that are facts of the machine; a baseline has its libraries elsewhere."""


def _component_facts(session: Session) -> ComponentFacts:
    model = session.components.model().provenance
    detector = session.components.detector(DetectorRef(session.detectors[0])).provenance
    return ComponentFacts(
        address=without_machine(session.settings.model or ""),
        model=without_machine({k: str(v) for k, v in model.items() if k not in IN_ENVIRONMENT}),
        detector=without_machine({key: str(value) for key, value in detector.items()}),
    )


def _prompts(results: Results) -> dict[str, RecordedPrompt]:
    """Return the prompts by text, each with the most images that a test needed."""
    prompts: dict[str, RecordedPrompt] = {}
    for test in distinct(results.session.tests.values()):
        for prompt in test.selection.prompts:
            before = prompts.get(prompt.text)
            if before is None or len(before.seeds) < test.images:
                sample = results.one_sample(prompt, test)
                labels = tuple(detection.said for detection in sample.detections)
                prompts[prompt.text] = RecordedPrompt(prompt.id, sample.seeds, labels)
    return prompts
