"""The models of a store as compared models, without any run.json."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from pytest_t2i.data import Prompt
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.generation.store import Store
from pytest_t2i.prompts import builtin_axes
from pytest_t2i.runs.comparison.compared_model import ComparedModel, PromptOfModel

NAME_LENGTH = 60
MARK_LENGTH = 12
"""Number of characters of a fingerprint that names a model."""


def of_store(folder: Path) -> list[ComparedModel]:
    """Return every model of a store, by the detector that examined the most images.

    Raises ConfigurationError if the folder is no store, or no detector has examined an image.
    """
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
    known = {prompt.text: prompt for axis in builtin_axes() for prompt in axis.prompts()}
    models: dict[str, dict[str, dict[int, Any]]] = {}
    for row in rows:
        models.setdefault(row["model"], {}).setdefault(row["prompt"], {})[row["seed"]] = row
    return [
        ComparedModel(
            names[fingerprint],
            str(folder),
            "",
            detector[:MARK_LENGTH],
            {text: _prompt(folder, known.get(text), text, rows) for text, rows in prompts.items()},
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


def _prompt(folder: Path, known: Prompt | None, text: str, rows: dict[int, Any]) -> PromptOfModel:
    prompt = known or Prompt(text, "prompts", text)
    return PromptOfModel(
        prompt.id,
        prompt.axis,
        prompt.concept,
        {seed: row["said"] for seed, row in rows.items()},
        {seed: str(folder / row["file"]) for seed, row in rows.items() if row["file"]},
    )
