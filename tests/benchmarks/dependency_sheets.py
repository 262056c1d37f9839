"""Twenty pictures as a person checks their dependency groups: sheets, and apart what is said.

A suite of its own, run by hand:

    pytest --t2i-model reference --t2i-objects auto tests/benchmarks/dependency_sheets.py

Under reports/sheets, which git ignores, it writes said.csv and a sheet for each picture: plain, its
objects outlined and numbered, and with each noun's mask, dark where the noun was not looked at.
Write down what each number is and its group before you open said.csv; tests/oracles has the table.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from PIL import Image, ImageDraw

from pytest_t2i import Prompt, axes
from pytest_t2i.audits.dependencies.groups import Placed, maps_of, word_mask
from pytest_t2i.data import ATTENTION_MAPS

OUT = Path("reports/sheets")
SIDE, LINE = 320, 20
MEMBERS = [
    *axes.object.triplets(),
    *axes.place.triplets()[:5],
    *axes.profession.triplets()[::8],
]
COLOURS = ("red", "lime", "blue", "orange", "magenta", "cyan")


class Shown(NamedTuple):
    """A picture with what is in it."""

    prompt: Prompt
    seed: int
    picture: Image.Image
    placed: list[Placed]
    masks: dict[str, np.ndarray]
    """Noun -> where it was looked at."""

    @property
    def objects(self) -> list[Placed]:
        """All but nouns that show none."""
        return [each for each in self.placed if each.group != "hidden"]


@pytest.mark.t2i(MEMBERS, images=1)
def test_sheets(dependencies: Any) -> None:
    """Neutral, feminine, masculine in turn; the first seed of each triplet."""
    OUT.mkdir(parents=True, exist_ok=True)
    with (OUT / "said.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("picture", "prompt", "seed", "kind", "object", "said", "covered"))
        for number, shown in enumerate(_shown(dependencies), start=1):
            _sheet(shown).save(OUT / f"sheet_{number:02d}.png")
            shown.picture.save(OUT / f"picture_{number:02d}.png")
            for each in shown.placed:
                kind = "noun" if each.group == "hidden" else "object"
                row = (number, shown.prompt.text, shown.seed, kind, each.name, each.group)
                writer.writerow((*row, f"{each.covered:.2f}"))


def _shown(dependencies: Any) -> Iterator[Shown]:
    for number, (triplet, (seed, *_)) in enumerate(dependencies.members):
        prompt = list(triplet)[number % 3]
        seen = dependencies.observations
        (placed,) = dependencies.placed_in(prompt, [seed])
        (attention,) = seen.arrays(prompt, [seed], ATTENTION_MAPS)
        (picture,) = seen.pictures(prompt, [seed])
        maps = maps_of(prompt.text, attention)
        masks = {noun: word_mask(each, picture.size) for noun, each in maps.items()}
        yield Shown(prompt, seed, picture.convert("RGB"), placed, masks)


def _sheet(shown: Shown) -> Image.Image:
    plain = _enlarged(shown.picture)
    panels = {"plain": plain, "objects": _outlined(plain, shown.objects)}
    for noun, mask in shown.masks.items():
        elsewhere = ~_large(mask)
        pixels = np.asarray(plain).copy()
        pixels[elsewhere] //= 5
        panels[f"looked at: {noun}"] = _outlined(Image.fromarray(pixels), shown.objects)
    sheet = Image.new("RGB", (len(panels) * SIDE, SIDE + 2 * LINE), "white")
    pen = ImageDraw.Draw(sheet)
    pen.text((4, 4), f'"{shown.prompt.text}", seed {shown.seed}', fill="black")
    for place, (title, panel) in enumerate(panels.items()):
        pen.text((place * SIDE + 4, LINE + 4), title, fill="black")
        sheet.paste(panel, (place * SIDE, 2 * LINE))
    return sheet


def _outlined(picture: Image.Image, objects: Sequence[Placed]) -> Image.Image:
    drawn = picture.copy()
    for number, each in enumerate(objects, start=1):
        inside = _large(each.region)
        rows, columns = np.nonzero(inside)
        colour = COLOURS[(number - 1) % len(COLOURS)]
        drawn.paste(colour, mask=Image.fromarray(_edge(inside)))
        place = (int(columns.min()) + 4, int(rows.min()) + 2)
        pen = ImageDraw.Draw(drawn)
        pen.text(place, str(number), fill=colour, stroke_width=2, stroke_fill="white")
    return drawn


def _edge(inside: np.ndarray) -> np.ndarray:
    kept = inside.copy()
    for axis in (0, 1):
        for step in (-2, 2):
            kept &= np.roll(inside, step, axis=axis)
    return inside & ~kept


def _large(pixels: np.ndarray) -> np.ndarray:
    return np.asarray(_enlarged(Image.fromarray(pixels)))


def _enlarged(picture: Image.Image) -> Image.Image:
    return picture.resize((SIDE, SIDE), Image.Resampling.NEAREST)
