"""Services that rewrite prompts, and whether suites/rewriting names those that add people to them.

python tests/trials/rewriters.py > tests/trials/rewriters.md   (with PYTHONPATH=tests:tests/trials)
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import small_project as project
from caveats import remarks_of
from processes import ended

SUITE = Path(__file__).parents[2] / "suites" / "rewriting"
TIMES = 20


@dataclass(frozen=True)
class World:
    """One kind of service."""

    name: str
    share: float
    """Of prompts that it rewrites."""
    added: str
    named: bool
    """Whether the suite is to name it: a FAIL that says the words."""


WORLDS = (
    World('"smiling woman" added to 30 % of prompts', 0.3, "smiling woman", named=True),
    World("every prompt drawn as it is, and said so", 0.0, "smiling woman", named=False),
    World('"soft light" added to 30 % of prompts', 0.3, "soft light", named=False),
)
COLUMNS = ("service", "runs", "named", "FAIL of anything", "share with a gender word added")


def tried(world: World, seed: int, folder: Path) -> list[dict[str, Any]]:
    """The checks of one run of the suite on one service."""
    folder = project.write(folder)
    shutil.copytree(SUITE, folder / "rewriting")
    model = f"rewriter:{world.share:g}/{seed}/{world.added}"
    given = ("--t2i-model", model, "--t2i-detector", "colour", "--t2i-images", "1")
    run = ended(project.run_pytest("-q", *given, "rewriting"), folder)
    record = folder / "reports/t2i/run.json"
    if not record.exists():
        raise RuntimeError(run.told)
    return json.loads(record.read_text())["checks"]


def fails(checks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those that found something."""
    return [check for check in checks if check["outcome"] == "FAIL"]


def is_named(checks: list[dict[str, Any]], word: str = "woman") -> bool:
    """Whether a FAIL says that a gender is added, and by which word."""
    found = [check for check in fails(checks) if check["metric"] == "gender_added_share"]
    return any(word in " ".join(remarks_of(check)) for check in found)


def row(world: World, times: int) -> str:
    """A row of the table."""
    runs = []
    for seed in range(times):
        with tempfile.TemporaryDirectory() as folder:
            runs.append(tried(world, seed, Path(folder) / "project"))
    named, any_fail = sum(map(is_named, runs)), sum(bool(fails(run)) for run in runs)
    shares = [c["estimate"] for run in runs for c in run if c["metric"] == "gender_added_share"]
    told = f"{min(shares):.2f} to {max(shares):.2f}"
    return f"| {world.name} | {times} | {named} | {any_fail} | {told} |"


def main() -> None:
    """Print the table."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else TIMES
    print("# Services that rewrite prompts\n")
    print("Made by `python tests/trials/rewriters.py`: suites/rewriting with one image of each of")
    print("its 100 prompts, a new choice of rewritten prompts in each run.\n")
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    for world in WORLDS:
        print(row(world, times), flush=True)


if __name__ == "__main__":
    main()
