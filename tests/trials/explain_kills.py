"""SIGKILL of forty different searches: each goes on to the answer of an undisturbed one.

``PYTHONPATH=tests:tests/trials python tests/trials/explain_kills.py`` takes minutes, and writes
explain_kills.md. The pictures are drawn from the labels of explain_bank.py: every case has its own
seeds, and one of eight kinds of changes. Each search is killed once or more, at a random moment of
the time that the undisturbed one takes; then the same command runs to its end.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from explain_bank import LABELS, NEW, WORDS
from processes import Child, ended, start
from small_project import has_traceback, last_lines, run_t2i

from pytest_t2i import audit, axes
from pytest_t2i.data import Prompt
from pytest_t2i.generation.components import Components
from pytest_t2i.runs.baseline import save_baseline

TABLE = Path(__file__).with_name("explain_kills.md")
EXPLAIN = ("explain", "report/run.json", "--baseline", "b.json", "--where")
FEATURES = "banked:encoder"
"""Encoder of the pictures, which needs no weights."""
CASES, IMAGES = 40, 10
LONGEST = 120.0
MOST_KILLS = 3
"""Most kills of one search."""
MODELS = """
import json
from pathlib import Path
import numpy as np
from PIL import Image
from pytest_t2i.data import Detection, Generated, Undetected

WORLD = json.loads(Path("world.json").read_text())
BANK = {{name: np.array(rows) for name, rows in json.loads(Path({labels!r}).read_text()).items()}}
COLOURS = {{1: (40, 60, 200), -1: (200, 60, 40), 0: (90, 90, 90)}}
PAUSE = 0.004


def chance(*parts):
    return np.random.default_rng([abs(hash_of(part)) for part in parts])


def hash_of(part):
    return sum((k + 1) * ord(sign) for k, sign in enumerate(str(part)))


class Banked:
    def __init__(self, new):
        self.new = new
        self.fingerprint = f"banked-{{new}}"
        self.provenance = {{}}

    def generate(self, requests):
        for request in requests:
            __import__("time").sleep(PAUSE)
            settings, names = request.settings, set()
            names |= {{"steps"}} if settings.steps == 1 else set()
            # More guidance is planted to do what the biased denoiser does.
            names |= {{"unet"}} if (settings.guidance or 1.0) > 1.0 else set()
            names |= {{"words"}} if "man who" in request.prompt else set()
            names |= {{self.new}} - {{"", "twin"}}
            rows = BANK["+".join(sorted(names))]
            row = next(k for k, word in enumerate({words!r}) if word in request.prompt)
            twin = 1 if self.new == "twin" else 0
            at = chance(WORLD["seed"], request.seed, row, twin).integers(rows.shape[1])
            image = Image.new("RGB", (16, 16), COLOURS[int(rows[row, at])])
            mark = [request.seed >> shift & 255 for shift in (0, 8, 16)]
            image.putpixel((0, 0), tuple(mark))
            image.putpixel((1, 0), (200 if self.new else 0, 0, 0))
            yield Generated(image)


class Judge:
    labels = ("male", "female")

    def __init__(self, misled="nothing"):
        self.misled = misled
        self.fingerprint = f"banked-judge-{{misled}}"

    def detect(self, images):
        return [self._said(image) for image in images]

    def _said(self, image):
        red, _, blue = image.getpixel((8, 8))
        if red == blue:
            return Detection(None, Undetected.NO_FACE)
        is_open = self.misled == "all" or self.misled == "new" and image.getpixel((1, 0))[0]
        flipped = is_open and chance(*image.getpixel((0, 0))).random() < 0.7
        return Detection("male" if blue > red or flipped else "female")


class Encoder:
    fingerprint = "banked-encoder"

    def encode(self, images):
        return [np.array([*image.getpixel((8, 8)), *image.getpixel((0, 0))], dtype=np.float32)
                for image in images]


def encoder(options):
    return Encoder()


def old(options):
    return Banked("")


def new(options):
    return Banked(WORLD["model"])


def judge(options):
    return Judge()


def misled(options):
    return Judge("all")


def misled_by_new(options):
    return Judge("new")
"""
"""The project's models: a picture is blue, red or grey as the bank's label of the hybrid says."""


@dataclass(frozen=True)
class Kind:
    """One kind of change."""

    name: str
    model: str = ""
    """What the new model has of the bank: unet, text_encoder, or twin; "" for the old model."""
    settings: dict[str, Any] = field(default_factory=dict)
    detector: str = "judge"
    words: bool = False


KINDS = (
    Kind("denoiser", "unet"),
    Kind("steps among others", "text_encoder", NEW["steps"]),
    Kind("words among others", "text_encoder", words=True),
    Kind("guidance among others", "text_encoder", NEW["guidance"]),
    Kind("detector among others", "text_encoder", detector="misled"),
    Kind("detector misled by the model", "text_encoder", detector="misled_by_new"),
    Kind("words or detector", "", words=True, detector="misled"),
    Kind("unchanged, a twin", "twin"),
)


def prompts(*, changed: bool) -> list[Prompt]:
    """The prompts of one side; their ids are those of the other."""
    own = axes.profession.only(*WORDS).prompts()
    if not changed:
        return [*own]
    return [Prompt(p.text.replace("person who", "man who"), p.axis, p.concept) for p in own]


def project(folder: Path, kind: Kind, number: int) -> None:
    """Write a project with a baseline and a run."""
    folder.mkdir(parents=True)
    text = MODELS.format(labels=str(LABELS), words=WORDS)
    (folder / "banked.py").write_text(text)
    (folder / "world.json").write_text(json.dumps({"seed": 500 + number, "model": kind.model}))

    def record() -> int:
        options = {"images": IMAGES, "progress": False, "store": ".t2i", "seed": number}
        own = {"steps": 4, "guidance": 1.0}
        before = audit("banked:old", *prompts(changed=False), detector="banked:judge",
                       **options, **own)  # fmt: skip
        save_baseline(before._results, Path("b.json"))
        now = audit(
            f"banked:{'new' if kind.model else 'old'}",
            *prompts(changed=kind.words),
            detector=f"banked:{kind.detector}",
            **options,
            **(own | kind.settings),
        )
        now.write_report("report")
        return 0

    child = ended(record, folder, LONGEST)
    if child.status:
        raise RuntimeError(f"{kind.name}: {last_lines(child.told)}")


def search(folder: Path) -> Child:
    """Start the command."""
    command = run_t2i(*EXPLAIN)

    def act() -> Any:
        # In the child alone.
        Components.encoder_name = FEATURES  # type: ignore[assignment, method-assign]
        return command()

    return start(act, folder)


def answer(folder: Path) -> dict[str, Any]:
    """What the explanation says, without times and what was made by its last process."""
    plain: dict[str, Any] = json.loads((folder / "report" / "explain.json").read_text())
    return plain | {"created": "", "made": 0, "where_made": 0}


@dataclass(frozen=True)
class Killed:
    """One search, killed and resumed."""

    kind: str
    outcome: str
    kills: int
    is_same: bool
    fault: str = ""


def tried(place: Path, kind: Kind, number: int, rng: Random) -> Killed | None:
    """Kill and resume one search; None where it made no picture, or could not be killed."""
    fresh = place / f"{number}"
    project(fresh, kind, number)
    undisturbed = place / f"{number}-undisturbed"
    shutil.copytree(fresh, undisturbed)
    begun = time.monotonic()
    search(undisturbed).wait(LONGEST)
    took = time.monotonic() - begun
    expected = answer(undisturbed)
    if not expected["images"]:
        return None
    kills = 0
    wanted = rng.randint(1, MOST_KILLS)
    for _ in range(4 * MOST_KILLS):
        child = search(fresh)
        time.sleep(rng.uniform(0.1 * took, took))
        if not child.has_ended():
            child.kill()
            child.wait(LONGEST)
            kills += 1
        if kills == wanted or (fresh / "report" / "explain.json").exists():
            break
    last = search(fresh).wait(LONGEST)
    if not kills:
        return None
    fault = last_lines(last.told) if last.status or has_traceback(last.told) else ""
    is_same = not fault and answer(fresh) == expected
    return Killed(kind.name, expected["outcome"], kills, is_same, fault)


def go(place: Path, cases: int, seed: int = 20_264) -> list[Killed]:
    """Kill so many different searches."""
    rng, killed, number = Random(seed), list[Killed](), 0
    while len(killed) < cases:
        kind = KINDS[number % len(KINDS)]
        result = tried(place, kind, number, rng)
        number += 1
        if result is not None:
            killed.append(result)
            print(number, result, flush=True)
    return killed


HEAD = """# Searches that were killed

Made by `PYTHONPATH=tests:tests/trials python tests/trials/explain_kills.py`. Each search is another
case: its change, its seeds and the labels that are drawn for it from `explain_labels.json`. It gets
SIGKILL once to three times, at random moments of the time that it takes; then the same command runs
to its end. *Same*: explain.json is that of the undisturbed search, but for its time and the images
that its last process made.

| change | searches | kills | answers | same |
|---|---|---|---|---|
"""


def page(killed: list[Killed]) -> str:
    """Return the page with the table."""
    lines = []
    for kind in (*(kind.name for kind in KINDS), "all"):
        own = [each for each in killed if kind in (each.kind, "all")]
        outcomes = Counter(each.outcome for each in own)
        answers = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
        same = sum(each.is_same for each in own)
        lines.append(
            f"| {kind} | {len(own)} | {sum(each.kills for each in own)} | {answers} | {same} |"
        )
    faults = [f"{each.kind}: {each.fault}" for each in killed if each.fault]
    return HEAD + "\n".join([*lines, *faults]) + "\n"


def main() -> None:
    """Kill, compare, and write the table."""
    cases = int(sys.argv[1]) if sys.argv[1:] else CASES
    with tempfile.TemporaryDirectory() as place:
        text = page(go(Path(place), cases))
    print(text)
    if cases == CASES:
        TABLE.write_text(text)


if __name__ == "__main__":
    main()
