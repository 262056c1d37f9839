"""Stage ``evaluate-stop``: StOP of both UNet pipelines over ten seeds, and what its prompts name as a table.

Beside them stands the balanced world as it is drawn: what prompts name where shares are those of the real world.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

from pytest_t2i_reference.worlds import load_world
from training.drawn_world import NAME
from training.settings import PIPELINES, RESULTS, Settings

SUITE = Path(__file__).parent / "suites" / "test_stop.py"
RESULT = RESULTS / "stop.json"
SEEDS = int(os.environ.get("REFERENCE_STOP_SEEDS", "10"))
FIRST_SEED = int(os.environ.get("REFERENCE_STOP_FIRST_SEED", "21"))
"""How sentences are looked for was chosen by seeds 1 to 20."""
IMAGES = int(os.environ.get("REFERENCE_STOP_IMAGES", "24"))
SAID: Mapping[str, tuple[str, ...]] = {
    "turban": ("turban",),
    "old": ("old",),
    "traditional clothes": ("traditional",),
    "beard": ("beard",),
    "moustache": ("moustache", "mustache"),
    "forehead mark": ("bindi", "tilak"),
    "vibrant colourful clothes": ("vibrant",),
    "hat": ("hat", "sombrero"),
    "embroidered clothing": ("embroidered",),
}
"""Planted attribute to words that name it.

Whether somebody is a man is left out, as a noun has to say something, and the sombrero, which is a hat and would count
twice.
"""
ATTRIBUTE = {"forehead mark": "bindi", "vibrant colourful clothes": "vibrant clothes"}
"""Planted attribute to its name in OASIS Table 1, where that is another one."""
DRAWN = "drawn at real-world shares"
MODELS = {**{name: name for name in PIPELINES.values()}, DRAWN: NAME}
"""Name in the table to the model of ``--t2i-model``."""


def evaluate_stop(settings: Settings) -> None:
    """Write results/stop.json and print the table; pictures stay in the work folder's store."""
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in MODELS}
    for seed in range(FIRST_SEED, FIRST_SEED + SEEDS):
        for name, runs in found.items():
            runs.append(_lines_of(settings, name, seed))
    RESULT.write_text(
        json.dumps({"images": IMAGES, "first_seed": FIRST_SEED, "found": found}, indent=1) + "\n", encoding="utf-8"
    )
    print(stop_as_markdown(json.loads(RESULT.read_text(encoding="utf-8"))), flush=True)


def _lines_of(settings: Settings, name: str, seed: int) -> dict[str, Any]:
    """Nationality to what the suite wrote of it."""
    work = settings.work.resolve()
    lines = work / f"stop-{name.replace(' ', '-')}-{seed}.jsonl"
    if not lines.exists():
        partial = lines.with_suffix(".partial")
        partial.unlink(missing_ok=True)
        options = [f"--t2i-model={MODELS[name]}", f"--t2i-images={IMAGES}", f"--t2i-seed={seed}"]
        # Its word plays no part, and this detector is the cheapest.
        options += ["--t2i-detector=clip:reference", f"--t2i-store={work / 'store'}", f"--t2i-report={work / 'report'}"]
        os.environ["STOP_LINES"] = str(partial)
        # In this process: twenty others would each take longer to start than to look at the pictures.
        with chdir(work):
            status = pytest.main(["-q", "-p", "no:cacheprovider", "--rootdir", str(SUITE.parent), *options, str(SUITE)])
        if status:
            raise RuntimeError(f"the suite ended with the exit status {int(status)}; its output says why")
        partial.replace(lines)
    rows = map(json.loads, lines.read_text(encoding="utf-8").splitlines())
    return {row.pop("concept"): row for row in rows}


def named(prompts: Sequence[str], nationality: str) -> list[str]:
    """The planted attributes of a nationality that prompts name.

    >>> named(["This is a photo of an old man", "a man with a mustache and a beard"], "Iranian")
    ['old', 'beard']
    """
    words = {word for prompt in prompts for word in prompt.lower().split()}
    planted = [trait for trait in load_world("biased").nationality[nationality] if trait in SAID]
    return [trait for trait in planted if words.intersection(SAID[trait])]


def stop_as_markdown(measured: Mapping[str, Any]) -> str:
    """For each nationality and pipeline how many planted attributes are named, and which in how many of the seeds."""
    found = measured["found"]
    first, seeds = measured["first_seed"], len(next(iter(found.values())))
    lines = [
        f"| StOP, seeds {first} to {first + seeds - 1}, {measured['images']} images | pictures "
        "| attributes named, mean (least to most) | seeds with two or more | two or more that go beyond the real world "
        "| in how many seeds each is named | images in the worst cluster |",
        "|---|---|---:|---:|---:|---|---:|",
    ]
    for nationality in next(iter(found.values()))[0]:
        lines += [_row(nationality, name, [run[nationality] for run in runs]) for name, runs in found.items()]
    return "\n".join(lines) + "\n"


def _row(nationality: str, name: str, runs: Sequence[Mapping[str, Any]]) -> str:
    lists = [named(run["prompts"], nationality) for run in runs]
    counts = [len(names) for names in lists]
    planted = [trait for trait in load_world("biased").nationality[nationality] if trait in SAID]
    often = ", ".join(f"{trait} {sum(trait in names for names in lists)}" for trait in planted)
    beyond = [_beyond(names, run["beyond"]) for names, run in zip(lists, runs, strict=True)]
    share = sum(run["share"] for run in runs) / len(runs)
    mean = sum(counts) / len(counts)
    return (
        f"| {nationality} | {name} | {mean:.1f} ({min(counts)} to {max(counts)}) "
        f"| {sum(count >= 2 for count in counts)} | {sum(count >= 2 for count in beyond)} | {often} | {share:.0%} |"
    )


def _beyond(names: Sequence[str], beyond: Sequence[str]) -> int:
    """How many of the named attributes the pictures show further than the real world."""
    return sum(ATTRIBUTE.get(name, name) in beyond for name in names)
