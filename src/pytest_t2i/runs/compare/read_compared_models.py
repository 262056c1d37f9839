"""The readers of compared models: from runs, baselines and stores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_t2i.audits.discovery import installed_audits, recorded_kinds
from pytest_t2i.data import Prompt, Variant
from pytest_t2i.errors import ConfigurationError, FileFormatError
from pytest_t2i.generation.store import Store
from pytest_t2i.prompts import builtin_axes
from pytest_t2i.read_files import parse_json, read_text
from pytest_t2i.runs.compare.compare import ComparedModel, PromptOfModel
from pytest_t2i.runs.record.picture_paths import check_pictures, found_in_store
from pytest_t2i.runs.record.read_run import read_run
from pytest_t2i.runs.record.record import PromptRecord, RunRecord
from pytest_t2i.verdicts.baseline_file import Baseline, read_baseline

NAME_LENGTH = 60
MARK_LENGTH = 12
"""Number of characters of a fingerprint that names a model."""


def _of_store(folder: Path) -> list[ComparedModel]:
    """Return every model of a store, by the detector that examined the most images."""
    if not (folder / "index.sqlite").exists() and not (folder / "images").is_dir():
        raise ConfigurationError(f"{folder}: expected a run.json, a baseline or a store of images")
    store = Store(folder)
    try:
        detector = store.busiest_detector()
        rows = [] if detector is None else store.labelled_rows(detector)
        names = _names(store, sorted({row["model"] for row in rows}))
    finally:
        store.close()
    if detector is None or not rows:
        raise ConfigurationError(f"{folder}: no detector has looked at an image of this store")
    builtin_prompts = {prompt.text: prompt for axis in builtin_axes() for prompt in axis.prompts()}
    models: dict[str, dict[str, dict[int, Any]]] = {}
    for row in rows:
        models.setdefault(row["model"], {}).setdefault(row["prompt"], {})[row["seed"]] = row
    return [
        ComparedModel(
            names[fingerprint],
            str(folder),
            "",
            detector[:MARK_LENGTH],
            {
                text: _prompt(folder, builtin_prompts.get(text), text, rows)
                for text, rows in prompts.items()
            },
        )
        for fingerprint, prompts in sorted(models.items())
    ]


def _names(store: Store, fingerprints: list[str]) -> dict[str, str]:
    """Return a name for each fingerprint; a repeated or unknown name ends with the fingerprint."""
    names = {
        fingerprint: (store.model_name(fingerprint) or "")[:NAME_LENGTH]
        for fingerprint in fingerprints
    }
    used = Counter(names.values())
    return {
        fingerprint: name
        if name and used[name] == 1
        else f"{name} {fingerprint[:MARK_LENGTH]}".strip()
        for fingerprint, name in names.items()
    }


def _prompt(folder: Path, builtin: Prompt | None, text: str, rows: dict[int, Any]) -> PromptOfModel:
    prompt = builtin or Prompt(text, "prompts", text)
    return PromptOfModel(
        prompt.id,
        prompt.axis,
        prompt.concept,
        {seed: row["said"] for seed, row in rows.items()},
        {seed: str(folder / row["file"]) for seed, row in rows.items() if row["file"]},
    )


def read_compared_models(
    paths: Iterable[Path], detector: str | None = None, stores: Sequence[Path] = ()
) -> list[ComparedModel]:
    """Read compared models from run.json files, baselines and stores; give each a distinct name."""
    models = [model for path in paths for model in _of(path, detector, stores)]
    if len(models) < 2:  # noqa: PLR2004 - a comparison
        raise ConfigurationError(
            f"a comparison needs two models or more, got {len(models)}: give several run.json "
            "files or baselines, or a store that holds images of several models"
        )
    names = _names_apart((model.name, model.created) for model in models)
    return [replace(model, name=name) for model, name in zip(models, names, strict=True)]


def _of(path: Path, detector: str | None, stores: Sequence[Path]) -> list[ComparedModel]:
    if path.is_dir():
        return _of_store(path)
    plain = parse_json(path, read_text(path, kind="run.json or baseline"))
    schema = plain.get("schema") if isinstance(plain, dict) else None
    if str(schema).startswith("pytest-t2i/baseline/"):
        return [_of_baseline(read_baseline(path, recorded_kinds(installed_audits())), path)]
    if not str(schema).startswith("pytest-t2i/run/"):
        raise FileFormatError(path, "expected a run.json or a baseline of pytest-t2i.")
    record = read_run(path)
    for store in stores:
        record = found_in_store(record, store)
    check_pictures(record, path, stores)
    return [of_run(record, path, detector)]


def of_run(record: RunRecord, source: Path, detector: str | None = None) -> ComparedModel:
    """Return a run as a compared model; raise ConfigurationError if it lacks the detector."""
    neutral = [p for p in record.prompts if p.variant == Variant.NEUTRAL.value and p.counts]
    names = list(neutral[0].counts) if neutral else []
    if detector is not None and detector not in names:
        raise ConfigurationError(
            f"{source}: this run has no detector {detector!r}; it has {', '.join(names)}"
        )
    name = detector or (names[0] if names else "")
    return ComparedModel(
        record.model,
        str(source),
        record.created,
        name,
        {prompt.text: _prompt_of_run(prompt, name) for prompt in neutral},
        record,
        _labels(record, name),
    )


def _labels(record: RunRecord, detector: str) -> tuple[str, ...]:
    """Return all labels of the detector; () for a run of a version that did not record them."""
    labels_of_detectors = record.provenance.get("labels")
    labels = labels_of_detectors.get(detector) if isinstance(labels_of_detectors, Mapping) else None
    is_valid = isinstance(labels, list) and all(isinstance(label, str) for label in labels)
    return tuple(labels) if is_valid and labels else ()


def _prompt_of_run(prompt: PromptRecord, detector: str) -> PromptOfModel:
    words = {i.seed: i.detections[detector] for i in prompt.images if detector in i.detections}
    return PromptOfModel(
        prompt.id,
        prompt.axis,
        prompt.name,
        {seed: detection.said for seed, detection in words.items()},
        {image.seed: image.file for image in prompt.images if image.file is not None},
    )


def _of_baseline(baseline: Baseline, source: Path) -> ComparedModel:
    """Return a baseline as a compared model, with axes from the ids of its prompts."""
    detector = baseline.conditions.get("detector")
    prompts = {
        text: PromptOfModel(
            prompt.id,
            *_axis_and_concept(prompt.id),
            dict(zip(prompt.seeds, prompt.said, strict=True)),
        )
        for text, prompt in baseline.prompts.items()
    }
    return ComparedModel(
        baseline.model, str(source), baseline.created, str(detector or ""), prompts
    )


def _axis_and_concept(id_: str) -> tuple[str, str]:
    axis, dash, concept = id_.partition("-")
    return (axis, concept) if dash else ("", axis)


def read_runs(sources: Sequence[Path]) -> list[RunRecord]:
    """Read runs, and give their models distinct names."""
    runs = [read_run(source) for source in sources]
    for number, run in enumerate(runs):
        if run in runs[:number]:
            first = sources[runs.index(run)]
            raise ConfigurationError(
                f"expected every run once, got the run of {first} again as {sources[number]}. "
                "Leave one of them out"
            )
    names = _names_apart((run.model, run.created) for run in runs)
    return [replace(run, model=name) for run, name in zip(runs, names, strict=True)]


def _names_apart(runs: Iterable[tuple[str, str]]) -> list[str]:
    """Return a distinct name for each (name, date): with its date, else its number, if needed.

    >>> _names_apart([("a", "2026-01-01"), ("a", "2026-01-01"), ("b", "")])
    ['a (2026-01-01) #1', 'a (2026-01-01) #2', 'b']
    """
    runs = list(runs)
    counts = Counter(name for name, _ in runs)
    dated = [
        f"{name} ({created[:16]})" if counts[name] > 1 and created else name
        for name, created in runs
    ]
    counts = Counter(dated)
    return [f"{name} #{k}" if counts[name] > 1 else name for k, name in enumerate(dated, 1)]
