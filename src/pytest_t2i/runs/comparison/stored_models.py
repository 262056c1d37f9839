"""The models of a store as entrants of a comparison: no run.json is needed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from pytest_t2i.data import Prompt
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.generation.store import Store
from pytest_t2i.prompts import builtin_axes
from pytest_t2i.runs.comparison.entrant import EnteredPrompt, Entrant

NAME_LENGTH = 60


def of_store(folder: Path) -> list[Entrant]:
    """Every model of a store by the detector that has looked at most of its images.

    Raises ConfigurationError where no image has been looked at.
    """
    if not (folder / "index.sqlite").exists() and not (folder / "images").is_dir():
        raise ConfigurationError(f"{folder}: expected a run.json, a baseline or a store of images")
    store = Store(folder)
    try:
        rows = store.labelled_rows()
    finally:
        store.close()
    if not rows:
        raise ConfigurationError(f"{folder}: no detector has looked at an image of this store")
    detector = Counter(row["detector"] for row in rows).most_common(1)[0][0]
    known = {prompt.text: prompt for axis in builtin_axes() for prompt in axis.prompts()}
    models: dict[str, dict[str, dict[int, Any]]] = {}
    for row in rows:
        if row["detector"] == detector:
            models.setdefault(row["model"], {}).setdefault(row["prompt"], {})[row["seed"]] = row
    return [
        Entrant(
            name[:NAME_LENGTH],
            str(folder),
            "",
            detector[:NAME_LENGTH],
            {text: _prompt(folder, known.get(text), text, rows) for text, rows in prompts.items()},
        )
        for name, prompts in sorted(models.items())
    ]


def _prompt(folder: Path, known: Prompt | None, text: str, rows: dict[int, Any]) -> EnteredPrompt:
    prompt = known or Prompt(text, "prompts", text)
    return EnteredPrompt(
        prompt.id,
        prompt.axis,
        prompt.concept,
        {seed: row["said"] for seed, row in rows.items()},
        {seed: str(folder / row["file"]) for seed, row in rows.items() if row["file"]},
    )
