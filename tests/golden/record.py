"""Golden records: what runs write, kept byte by byte, so that a change of the code's shape shows.

    PYTHONPATH=tests:tests/golden:tests/trials python tests/golden/record.py [SCENARIO ...]

writes them anew, which only a change that is meant to change results does. A record holds run.json,
the baseline, and the rows of the store. Times, versions and paths are left out. Numbers have ten
digits, and may differ by one in a hundred million, as the last ones depend on the machine.

Beside each record stands the list of its verdicts, which no change of a format touches.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from typing import Any

from PIL import Image
from plain_runs import plain_run
from processes import ended
from project_files import FAKES as FAKE_MODEL
from scenarios import FAKES, SCENARIOS, Scenario, Step
from small_project import forget_projects, run_pytest, run_t2i

from pytest_t2i import labels
from pytest_t2i.labels import Label

HERE = Path(__file__).parent
DATA, VERDICTS = HERE / "data", HERE / "verdicts"
IMAGES = "20"
DIGITS, COARSE = 10, 6
"""Digits of numbers in records, and in the digests of long lists."""
LONG, SHOWN = 8, 2
"""Length of a list from which on its first rows and a digest stand for it."""
VOLATILE = {
    "created", "written", "seconds", "seconds_per_image", "command", "environment", "inputs",
    "file", "sha256", "versions",
}  # fmt: skip
"""Keys whose values depend on when and where a run is made, and on files' paths."""
OF_MACHINE = re.compile(r"(differs from the baseline: )?[\w-]+: baseline .+, now .+")
"""What a run says of another platform or library than that of a baseline recorded elsewhere."""
STORED = {
    "images": (
        "SELECT key, model, prompt, seed, settings, width, height, black, refusal FROM images"
    ),
    "detections": "SELECT key, detector, label, undetected, scores, detail FROM detections",
    "revised_prompts": "SELECT key, text FROM revised_prompts",
    "objects": "SELECT key, finder, hex(objects) FROM objects",
    "arrays": "SELECT key, name FROM arrays",
    "pixels": "SELECT key, digest, likeness FROM pixels",
    "facts": "SELECT name, value FROM facts",
}


def write_project(folder: Path, scenario: Scenario) -> None:
    """Write the files of a scenario's project."""
    shutil.copy(FAKE_MODEL, folder / "fakes.py")
    files = {
        "conftest.py": FAKES,
        "test_suite.py": scenario.suite,
        "limits.toml": "",
        "pytest.ini": "[pytest]\n",
    }
    for name, text in (files | scenario.files).items():
        (folder / name).write_text(text)


def label(folder: Path, count: int) -> None:
    """Have a person label so many pictures of each prompt of the last run."""
    run_json = str(folder / "reports/t2i/run.json")
    done = ended(
        run_t2i("label", "export", run_json, "sampled", "--per-prompt", str(count)), folder
    )
    if done.status:
        raise RuntimeError(done.told)
    found = []
    for name in labels.image_files(folder / "sampled"):
        with Image.open(folder / "sampled" / name) as picture:
            red, _, blue = picture.getpixel((8, 8))
        found.append(Label(name, "male" if blue > red else "female", "ada"))
    labels.write_labels(folder / "sampled", found)


def run(folder: Path, step: Step) -> tuple[dict[str, Any], list[str]]:
    """Run a step; return what it wrote, and its verdicts."""
    arguments = list(step.arguments)
    if step.labelled:
        label(folder, step.labelled)
        arguments += ["--t2i-labels", "sampled"]
    for option, value in (("--t2i-detector", "colour"), ("--t2i-images", IMAGES)):
        if option not in arguments:
            arguments += [option, value]
    file = folder / "reports/t2i/run.json"
    file.unlink(missing_ok=True)
    act = run_pytest("-q", "--t2i-model", step.model, *arguments)
    done = ended(lambda: forget_projects() or act(), folder)
    if done.status not in (0, 1, 6) or not file.exists():
        raise RuntimeError(f"{step}: exit status {done.status}\n{done.told[-3000:]}")
    written = {
        "arguments": [step.model, *step.arguments],
        "status": done.status,
        "run.json": plain(plain_run(file)),
    }
    if "--t2i-save-baseline" in arguments:
        written["baseline"] = read(folder / "kept.json")
    checks = plain_checks(json.loads(file.read_text())["checks"])
    return written, [" ".join([step.model, *step.arguments, "->", str(done.status)]), *checks]


SHOWN_OF_CHECK = (
    "test", "metric", "subject", "outcome", "estimate", "low", "high",
    "operator", "bound", "against",
)  # fmt: skip


def plain_checks(checks: list[dict[str, Any]]) -> list[str]:
    """Return a line for each check: what was tested, and with which result."""
    return [" " + json.dumps([plain(check[key]) for key in SHOWN_OF_CHECK]) for check in checks]


def read(file: Path) -> Any:
    """Read a JSON file without what depends on time and place."""
    return plain(json.loads(file.read_text()))


def plain(value: Any, key: str = "") -> Any:
    """Leave out times, versions and paths, and round numbers."""
    if key in VOLATILE and not isinstance(value, list):
        return "" if value is not None else None
    if isinstance(value, dict):
        return {name: plain(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        rows = [row for row in value if not (isinstance(row, str) and OF_MACHINE.fullmatch(row))]
        return shortened([plain(row, key) for row in rows])
    if isinstance(value, float):
        return round(float(f"{value:.{DIGITS}g}"), DIGITS) + 0.0
    if isinstance(value, str):
        return re.sub(r"\d+:\d\d here", "0:00 here", value)
    return value


def shortened(rows: list[Any]) -> list[Any]:
    """Return a long list as its first rows, its length and the digest of all of it."""
    if len(rows) <= LONG:
        return rows
    whole = hashlib.sha256(json.dumps(coarse(rows)).encode()).hexdigest()
    return [*rows[:SHOWN], f"{len(rows)} in all, digest {whole[:16]}"]


def coarse(value: Any) -> Any:
    """Round numbers so that no machine's last digits change a digest."""
    if isinstance(value, dict):
        return {name: coarse(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [coarse(inner) for inner in value]
    if isinstance(value, str):  # a fact of the store is JSON
        with suppress(ValueError):
            return json.dumps(coarse(json.loads(value)))
    return round(value, COARSE) + 0.0 if isinstance(value, float) else value


def stored(folder: Path) -> dict[str, list[Any]]:
    """Return the rows of the store in order."""
    with closing(sqlite3.connect(folder / ".t2i/index.sqlite")) as connection:
        return {
            name: shortened(sorted(list(map(cell, row)) for row in connection.execute(query)))
            for name, query in STORED.items()
        }


def cell(value: Any) -> Any:
    """Return a cell of the store, JSON in it without times."""
    with suppress(ValueError, TypeError):
        return json.dumps(plain(json.loads(value)))
    return plain(value)


@cache
def record(name: str) -> tuple[str, str]:
    """Return the record and the verdicts of a scenario of this folder."""
    return record_of(SCENARIOS[name])


def record_of(scenario: Scenario) -> tuple[str, str]:
    """Run a scenario in a folder of its own; return its record and its verdicts as texts."""
    with tempfile.TemporaryDirectory() as folder:
        write_project(Path(folder), scenario)
        steps = [run(Path(folder), step) for step in scenario.steps]
        whole = {"steps": [written for written, _ in steps], "store": stored(Path(folder))}
    verdicts = itertools.chain.from_iterable(found for _, found in steps)
    return "".join(f"{line}\n" for line in lines(whole)), "".join(f"{each}\n" for each in verdicts)


def lines(value: Any, before: str = "", indent: str = "") -> Iterator[str]:
    """Write JSON with one line for each value of up to 100 characters."""
    short = json.dumps(value)
    if not isinstance(value, dict | list) or not value or len(short) <= 100:
        yield f"{indent}{before}{short}"
        return
    opening, closing_ = "{}" if isinstance(value, dict) else "[]"
    yield f"{indent}{before}{opening}"
    pairs = value.items() if isinstance(value, dict) else (("", inner) for inner in value)
    for key, inner in pairs:
        name = f"{json.dumps(key)}: " if isinstance(value, dict) else ""
        yield from lines(inner, name, indent + " ")
    yield f"{indent}{closing_}"


def main() -> None:
    """Write the records of the scenarios that are named, or of all."""
    for name in sys.argv[1:] or SCENARIOS:
        for folder, text in zip((DATA, VERDICTS), record(name), strict=True):
            folder.mkdir(exist_ok=True)
            (folder / f"{name}.txt").write_text(text)
        print(name, flush=True)


if __name__ == "__main__":
    main()
