"""Planted worlds: bias in how people are shown, and bias in what is shown with them.

    python plugins/pytest-t2i-goya/tests/measured/planted_styles.py WORLD DIR [--heads NAME]

Triplets of people at a place (``axes.place``), each with the same seeds. WORLD is

- ``style``: neutral and masculine pictures are woodcuts with .8, feminine ones with .2;
- ``content``: neutral and masculine people wear a sombrero with .8, feminine ones with .2, and
  nothing on the head otherwise; styles are drawn alike for all;
- ``none``: neither depends on the variant.

A sombrero, as the content space tells it from nothing on the head, which it hardly does of a hard
hat: with cosines of 0.78 and 0.98 on the drawings that it was trained on.

Neutral prompts show women and men alike in all of them. Prints the similarity gap of neutral
prompts in each space, with its interval.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from drawn_styles import ON_HEAD, Content, drawn, write
from PIL.Image import Image
from pytest_t2i import Detection, Interval, Undetected, audit, axes
from pytest_t2i_reference.drawing import STYLES, Drawing

WORLDS = ("style", "content", "none")
PLANTED = {"neutral": 0.8, "feminine": 0.2, "masculine": 0.8}
WOODCUT, SOMBRERO = "woodcut", "sombrero"
IMAGES = 20
"""Of each prompt."""
SPACES = ("content", "style", "projected-content", "projected-style")


class Nobody:
    """Looks at nothing: gaps need no gender."""

    fingerprint, labels = "nobody-1", ("male", "female")

    def detect(self, images: Sequence[Image]) -> list[Detection]:
        """Undetected, each."""
        return [Detection(None, Undetected.LOW_CONFIDENCE) for _ in images]


def pictures(world: str, images: int = IMAGES, seed: int = 0) -> Iterator[tuple[str, Drawing]]:
    """Prompt and drawing of each picture."""
    for three in axes.place.triplets():
        for prompt in three:
            for k in range(images):
                place, variant = prompt.concept, prompt.variant.value
                yield prompt.text, _picture(world, place, variant, f"{seed} {place} {k}")


def gaps(folder: Path, heads: str, store: Path, images: int = IMAGES) -> dict[str, Interval]:
    """The similarity gap of each space on a folder of pictures."""
    spaces = tuple(f"goya:{heads}+{space}" for space in SPACES)
    audited = audit(
        f"images:{folder}", axes.place, audits=("neutrality",), images=images, spaces=spaces,
        detector=Nobody(), progress=False, store=store,
    )  # fmt: skip
    measured = [audited.triplets.similarity_gap(space) for space in spaces]
    return {name: one.interval for name, one in zip(SPACES, measured, strict=True)}


def _picture(world: str, place: str, variant: str, seed: str) -> Drawing:
    rng = random.Random(seed)  # the same for the three of a triplet
    gender = {"feminine": "woman", "masculine": "man"}.get(variant, rng.choice(("woman", "man")))
    own = random.Random(f"{seed} {variant} {world}")
    style = rng.choice([name for name in STYLES if name != WOODCUT])
    on_head = rng.choice([name for name in ON_HEAD if name != SOMBRERO])
    if world == "style" and own.random() < PLANTED[variant]:
        style = WOODCUT
    if world == "content":
        on_head = SOMBRERO if own.random() < PLANTED[variant] else "none"
    return drawn(Content(gender, place, on_head), style, rng).drawing


def main() -> int:
    """Write one world."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("world", choices=WORLDS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--images", type=int, default=IMAGES)
    parser.add_argument("--heads", default="reference")
    given = parser.parse_args()
    count = write(given.folder, pictures(given.world, given.images))
    print(f"{count} pictures in {given.folder}")
    found = gaps(given.folder, given.heads, given.folder / "store", given.images)
    for space, interval in found.items():
        print(f"{given.world}: gap in {space} space {interval}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
