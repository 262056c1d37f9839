"""Try every mitigation that fits on the reference models, whose lean is planted.

    python plugins/pytest-t2i-mitigation/tests/measured/planted.py PART --report DIR [--store DIR]

PART is one of PARTS. Each tries ``suites/mitigation`` with the words and images of that part and
prints the table of ``t2i mitigate --all``. Seeds begin at SEED, which no other test uses. What was
printed stands in planted.md.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

SUITE = Path(__file__).parents[4] / "suites" / "mitigation" / "test_mitigation.py"
SEED = 70_000
SD3 = ("text-interpolation", "pre-attention-interpolation", "post-attention-interpolation")
LATER = ("fair-diffusion", "random-counterpart", "rewriter:words=gender", "rewriter")
"""Mitigations that later papers compare with, and the floor."""
LATER_SD3 = ("random-counterpart", "text-interpolation", "fair-diffusion", "rewriter")

PROFESSIONS = (
    "postman", "programmer", "taxi driver", "banker", "electrician", "architect", "musician",
    "economist", "chef", "engineer", "doctor", "police", "scientist", "pilot", "judge", "singer",
    "model", "nurse", "housekeeper", "psychologist",
)  # fmt: skip
PLACES = ("bus station", "gym", "office", "library", "mall")
OBJECTS = ("book", "cleaner", "desktop", "pen", "cup")
FOUR = (("engineer", "nurse"), ("gym",), ("pen",))
FIVE = (("taxi driver", "nurse", "doctor"), ("gym",), ("cleaner",))
TEN = (
    ("chef", "engineer", "pilot", "judge", "nurse", "model"),
    ("gym", "library"),
    ("pen", "cleaner"),
)
THIRTY = (PROFESSIONS, PLACES, OBJECTS)

Words = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True)
class Part:
    """One table."""

    models: tuple[str, ...]
    mitigations: tuple[str, ...]
    words: Words | None
    """Of professions, places and objects; None for those of the suite."""
    images: int
    steps: tuple[int | None, ...] = (None,)
    """None for the model's own."""
    keys: Mapping[str, str] | None = None
    has_latents: bool = False
    """Whether bias distances are measured in denoising space, too."""
    guidance: float | None = None
    """None for the model's own."""


PARTS: Mapping[str, Part] = {
    "steps": Part(("reference-sd3-biased",), SD3, FIVE, 20, (4, 8, 12, 28)),
    "warm-up": Part(
        ("reference-sd3-biased",),
        tuple(f"post-attention-interpolation:warm_up={share}" for share in (0.1, 0.2, 0.3, 0.5)),
        FIVE,
        20,
        (28,),
    ),
    "single": Part(("reference-sd3-biased",), SD3, THIRTY, 20, (8,)),
    "path": Part(
        ("reference-sd3-biased",), tuple(f"{name}:mode=path" for name in SD3), TEN, 5, (8,)
    ),
    "unbiased-sd3": Part(("reference-sd3",), SD3, None, 20, (8,)),
    "chapter-4": Part(
        ("reference-sd3-biased",),
        (*SD3, "random-counterpart", "rewriter"),
        None,
        40,
        (8,),
        has_latents=True,
    ),
    "unet": Part(("reference-biased",), ("random-counterpart",), THIRTY, 40),
    "unbiased": Part(("reference",), ("random-counterpart",), None, 20),
    "later": Part(("reference-biased",), LATER, FOUR, 12, (4,), guidance=3.0),
    "later-suite": Part(("reference-biased",), LATER, None, 20, (4,), guidance=3.0),
    "later-sd3": Part(("reference-sd3-biased",), LATER_SD3, None, 20, (8,), guidance=3.0),
}


def suite(part: Part) -> str:
    """``suites/mitigation`` with the words and images of the part."""
    text = SUITE.read_text(encoding="utf-8")
    text = re.sub(r"(?m)^IMAGES = \d+$", f"IMAGES = {part.images}", text)
    if part.has_latents:
        spaces = 'distances=("image", "ssim", "denoising")'
        text = text.replace("images=IMAGES)", f"images=IMAGES, {spaces})")
    if part.words is None:
        return text
    axes = ("profession", "place", "object")
    rows = [f"    axes.{axis}.only{words!r}," for axis, words in zip(axes, part.words, strict=True)]
    rows = [row.replace(",)", ")") for row in rows]
    return re.sub(r"(?ms)^PROMPTS = \(.*?^\)$", "\n".join(["PROMPTS = (", *rows, ")"]), text)


def commands(name: str, report: Path, store: Path) -> Iterator[list[str]]:
    """The command of each model and number of steps."""
    part = PARTS[name]
    folder = report / name
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "test_mitigation.py"
    file.write_text(suite(part), encoding="utf-8")
    shutil.copy(SUITE.with_name("limits.toml"), folder)
    for model in part.models:
        for steps in part.steps:
            options = {"model": model, "images": part.images, "store": store}
            more = {"steps": steps, "guidance": part.guidance}
            options |= {key: value for key, value in more.items() if value is not None}
            place = folder / f"{model}-{steps or 'own'}"
            tried = [f"--mitigation={mitigation}" for mitigation in part.mitigations]
            options |= {"seed": SEED, "report": place}
            yield ["t2i", "mitigate", "--all", str(file), *words(options), *tried]


def words(options: Mapping[str, object]) -> list[str]:
    """Options of a command line."""
    return [f"--{name}={value}" for name, value in options.items()]


def main() -> int:
    """Run the commands of one part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--report", type=Path, required=True)
    parser.add_argument("--store", type=Path)
    given = parser.parse_args()
    store = given.store or given.report / "store"
    for command in commands(given.part, given.report, store):
        print("$", " ".join(command), flush=True)
        subprocess.run(command, check=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
