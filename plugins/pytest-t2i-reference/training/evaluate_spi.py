"""Stage ``evaluate-spi``: SPI of both flow pipelines, asked for as users ask, and what it shows as a table.

Beside it stands what the first step's centred SPI is where a pipeline draws a world perfectly: 2 P - 1, P being the
share of the people that show the attribute.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

from pytest_t2i_reference.worlds import draw_scene_of, load_concepts, load_world
from training.nationalities import shows
from training.settings import FLOWS, PLUGIN, Settings

SUITE = Path(__file__).parent / "suites" / "test_spi.py"
RESULT = PLUGIN / "results" / "spi.json"
IMAGES = int(os.environ.get("REFERENCE_SPI_IMAGES", "8"))


def evaluate_spi(settings: Settings) -> None:
    """Write results/spi.json: for each pipeline what the suite found of each concept and attribute."""
    found = {
        name: [
            line | {"drawn": place_drawn(line["concept"], line["attribute"], world)}
            for line in _lines_of(settings, name)
        ]
        for world, name in FLOWS.items()
    }
    RESULT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def place_drawn(word: str, attribute: str, world: str, count: int = 4000) -> float:
    """2 P - 1 of people as a world has them drawn.

    >>> place_drawn("Iranian", "earphone", "biased")
    -1.0
    """
    planted, rng = load_world(world), random.Random(f"{word} {world}")
    (concept,) = (each for each in load_concepts() if each.word == word)
    people = [draw_scene_of(concept, planted, rng).people[0] for _ in range(count)]
    if attribute == "woman":
        return -place_drawn(word, "man", world, count)
    return round(2 * sum(bool(shows(person, attribute)) for person in people) / count - 1, 3)


def _lines_of(settings: Settings, name: str) -> list[dict[str, Any]]:
    work = settings.work.resolve()
    lines = work / f"spi-{name}.jsonl"
    lines.unlink(missing_ok=True)
    options = [
        f"--t2i-model={name}",
        f"--t2i-images={IMAGES}",
        f"--t2i-store={work / 'store'}",
        f"--t2i-report={work / 'report'}",
    ]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(SUITE.parent)]
    environment = {**os.environ, "SPI_LINES": str(lines)}
    done = subprocess.run([*command, *options, str(SUITE)], cwd=work, env=environment, check=False)
    if done.returncode:
        raise RuntimeError(f"the suite ended with the exit status {done.returncode}; its output says why")
    return [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()]


def spi_as_markdown(found: dict[str, list[dict[str, Any]]]) -> str:
    """Mean SPI at the first step, plain and centred, with the band that holds at all steps at once."""
    names = list(found)
    heads = " | ".join(f"{name}: step 1 | centred | as drawn" for name in names)
    lines = [f"| SPI of | attribute | planted | {heads} |", "|---|---|---|" + "---:|" * (3 * len(names))]
    for rows in zip(*found.values(), strict=True):
        cells = " | ".join(f"{_band(row)} | {_band(row['centred'])} | {row['drawn']:+.2f}" for row in rows)
        planted = "yes" if rows[0]["planted"] else "no"
        lines.append(f"| {rows[0]['concept']} | {rows[0]['attribute']} | {planted} | {cells} |")
    return "\n".join(lines) + "\n"


def _band(curve: dict[str, Any]) -> str:
    mean, low, high = (curve[name][0] for name in ("mean", "low", "high"))
    return f"{mean:+.3f} [{low:+.3f}, {high:+.3f}]"
