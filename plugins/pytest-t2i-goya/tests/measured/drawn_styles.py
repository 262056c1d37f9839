"""Folders of drawn people in styles, with a manifest: what heads are trained and tried on.

    python plugins/pytest-t2i-goya/tests/measured/drawn_styles.py train DIR
    python plugins/pytest-t2i-goya/tests/measured/drawn_styles.py held-out DIR

A content is a gender, a place and something on the head: "a woman in an office, with a helmet". Of
all 192 contents 144 are trained on, 48 are held out: their parts were seen, together they were not.
Drawings of the two parts share no seed.
"""

from __future__ import annotations

import argparse
import csv
import random
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import NamedTuple

from PIL import Image
from pytest_t2i_reference.drawing import STYLES, Drawing, Scene, draw_scene, in_style
from pytest_t2i_reference.drawing.attributes import COLOURS, GENDERS, PLACES
from pytest_t2i_reference.worlds import draw_plain_person

ON_HEAD = ("none", "hat", "hard hat", "chef hat", "helmet", "sombrero")
PARTS = {"train": (0, 144, 5, 5), "held-out": (144, 192, 5, 3)}
"""Part -> first and last content, styles of each, pictures of each prompt."""
SEED = 21


class Content(NamedTuple):
    """What a picture shows."""

    gender: str
    place: str
    on_head: str

    def __str__(self) -> str:
        where = f"a {self.gender} at the {self.place}"
        return where if self.on_head == "none" else f"{where} with a {self.on_head}"


class Styled(NamedTuple):
    """A prompt with its labels and a drawing."""

    prompt: str
    content: Content
    style: str
    drawing: Drawing


def contents() -> list[Content]:
    """All of them, in an order that says nothing."""
    every = [Content(*parts) for parts in product(GENDERS, PLACES, ON_HEAD)]
    random.Random(SEED).shuffle(every)
    return every


def drawn(content: Content, style: str, rng: random.Random) -> Styled:
    """One picture; all that its content leaves open is drawn at random."""
    person = replace(draw_plain_person(rng, content.gender, ornate=False), headwear=content.on_head)
    scene = Scene("one", content.place, (person,), rng.choice(COLOURS))
    seed = rng.getrandbits(31)
    plain = draw_scene(scene, seed)
    return Styled(f"{content}, {style}", content, style, in_style(plain, style, seed))


def part(name: str) -> Iterator[Styled]:
    """The pictures of a part."""
    first, last, styles, images = PARTS[name]
    for content in contents()[first:last]:
        rng = random.Random(f"{SEED} {name} {content}")
        for style in rng.sample(list(STYLES), styles):
            for _ in range(images):
                yield drawn(content, style, rng)


def write(folder: Path, pictures: Iterable[tuple[str, Drawing]]) -> int:
    """A folder as ``images:DIR`` takes it, from prompts and drawings; how many pictures.

    Seeds count the pictures of each prompt, so that the variants of a triplet share theirs.
    """
    folder.mkdir(parents=True, exist_ok=True)
    count, seeds = 0, Counter[str]()
    with (folder / "manifest.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(("file", "prompt", "seed"))
        for prompt, drawing in pictures:
            name = f"{count:05}.png"
            Image.fromarray(drawing.image).save(folder / name, compress_level=1)
            rows.writerow((name, prompt, seeds[prompt]))
            seeds[prompt] += 1
            count += 1
    return count


def main() -> int:
    """Write one part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    count = write(given.folder, ((one.prompt, one.drawing) for one in part(given.part)))
    print(f"{count} pictures in {given.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
