"""Crowds of processes on one store, its opening included: no error, and nothing made twice."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import fakes
from processes import start
from small_project import has_traceback, last_lines
from tally import Tally

from pytest_t2i.data import GenerationSettings, Prompt
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.generate import Runner
from pytest_t2i.generation.plan import DetectorRef, Need, Plan, RequestSettings
from pytest_t2i.generation.store import Store
from pytest_t2i.settings import Settings

WANTED = "0 errors, 0 twice"
FEWEST, MOST = 2, 8
LONGEST = 120.0
PROMPTS = [Prompt(f"a person called {name}", "name", name) for name in ("a", "b", "c")]
COLOUR = DetectorRef("colour")


def member(store: Path, images: int, batch: int, order: int) -> Callable[[], int]:
    """One process: it opens the store, and makes everything that nobody else makes."""

    def act() -> int:
        opened = Store(store)
        components = Components(Settings(model="fair", store=store), opened)
        components.registries.models.update({"fair": fakes.fair})
        components.registries.detectors.update({"colour": fakes.detector})
        plan = Plan(RequestSettings(GenerationSettings()))
        prompts = PROMPTS[order % 3 :] + PROMPTS[: order % 3]
        plan.add_all(Need(p, tuple(range(images)), frozenset({COLOUR})) for p in prompts)
        runner = Runner(components, opened, batch=batch)
        runner.run(plan)
        keys = list(runner.keys(plan).values())
        said = opened.detections(keys, components.detector(COLOUR).fingerprint)
        opened.close()
        return 0 if len(said) == len(keys) else 1

    return act


def crowd(folder: Path, random: Random, tally: Tally, name: str) -> None:
    """One crowd on one new store."""
    size = random.randint(FEWEST, MOST)
    together(folder, size, random.randint(1, 6), random.choice((1, 2, 8)), tally, name)


def together(folder: Path, size: int, images: int, batch: int, tally: Tally, name: str) -> None:
    """So many processes, each of which needs so many images of each prompt."""
    log = folder / "made.log"
    children = [
        start(member(folder / ".t2i", images, batch, order), folder, {"FAKE_LOG": str(log)})
        for order in range(size)
    ]
    for child in children:
        child.wait(LONGEST + images)
        tally.check(not child.hung, f"{name}: hung")
        failed = child.status != 0 or has_traceback(child.told)
        tally.check(not failed, f"{name}: status {child.status}: {last_lines(child.told)}")
        child.output.unlink()
    counts = Counter(line.split(" ", 1)[1] for line in log.read_text().splitlines())
    twice = sum(counts.values()) - len(counts)
    tally.check(not twice, f"{name}: {twice} made twice")
    tally.check(len(counts) == 3 * images, f"{name}: {len(counts)} of {3 * images} images")
    tally.tried(f"of {size}")


def at_scale(folder: Path, images: int) -> Tally:
    """Two processes that make so many images on one store."""
    tally = Tally("two processes at scale", WANTED)
    together(folder, 2, images // 3, 8, tally, "two")
    tally.facts["images"] = str(images // 3 * 3)
    return tally


def go(folder: Path, times: int, seed: int = 0) -> Tally:
    """So many crowds of 2 to 8 processes."""
    tally = Tally("crowds", WANTED)
    random = Random(seed)
    for number in range(times):
        place = folder / str(number)
        place.mkdir(parents=True)
        crowd(place, random, tally, f"crowd {number}")
    return tally


if __name__ == "__main__":
    print(go(Path(sys.argv[1]), int(sys.argv[2])).row)
