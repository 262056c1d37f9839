"""Stage ``evaluate-spi``: SPI of both flow pipelines, asked for as users ask, and what it shows as a table."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from training.settings import FLOWS, PLUGIN, Settings

SUITE = Path(__file__).parent / "suites" / "test_spi.py"
RESULT = PLUGIN / "results" / "spi.json"
IMAGES = int(os.environ.get("REFERENCE_SPI_IMAGES", "8"))


def evaluate_spi(settings: Settings) -> None:
    """Write results/spi.json: for each pipeline what the suite found of each concept and attribute."""
    found = {name: _lines_of(settings, name) for name in FLOWS.values()}
    RESULT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _lines_of(settings: Settings, name: str) -> list[dict[str, Any]]:
    work = settings.work.resolve()
    lines = work / f"spi-{name}.jsonl"
    lines.unlink(missing_ok=True)
    options = [f"--t2i-model={name}", f"--t2i-images={IMAGES}", f"--t2i-store={work / 'store'}"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(SUITE.parent)]
    environment = {**os.environ, "SPI_LINES": str(lines)}
    done = subprocess.run([*command, *options, str(SUITE)], cwd=work, env=environment, check=False)
    if done.returncode:
        raise RuntimeError(f"the suite ended with the exit status {done.returncode}; its output says why")
    return [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()]


def spi_as_markdown(found: dict[str, list[dict[str, Any]]]) -> str:
    """Mean SPI at the first step, plain and centred, with the band that holds at all steps at once."""
    names = list(found)
    heads = " | ".join(f"{name}: step 1 | centred" for name in names)
    lines = [f"| SPI of | attribute | planted | {heads} |", "|---|---|---|" + "---:|" * (2 * len(names))]
    for rows in zip(*found.values(), strict=True):
        cells = " | ".join(_band(curve) for row in rows for curve in (row, row["centred"]))
        planted = "yes" if rows[0]["planted"] else "no"
        lines.append(f"| {rows[0]['concept']} | {rows[0]['attribute']} | {planted} | {cells} |")
    return "\n".join(lines) + "\n"


def _band(curve: dict[str, Any]) -> str:
    mean, low, high = (curve[name][0] for name in ("mean", "low", "high"))
    return f"{mean:+.3f} [{low:+.3f}, {high:+.3f}]"
