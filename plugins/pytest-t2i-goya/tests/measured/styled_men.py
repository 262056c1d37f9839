"""Men with .8 in woodcut, .5 elsewhere: found by ``suites/styles``; shuffled labels find nothing.

    python plugins/pytest-t2i-goya/tests/measured/styled_men.py suite DIR
    python plugins/pytest-t2i-goya/tests/measured/styled_men.py shuffled

``suite`` draws the people of the suite plain and in all ten styles, copies the suite with these
styles and a limit of LIMIT, and runs it with the exact labels as its detector. ``shuffled`` gives
the same people RUNS times any style label, and counts how often the interval of the widest gap,
which allows for its having been chosen, lies beyond the limit, and beyond 0.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from drawn_styles import write
from pytest_t2i import Interval, axes, intersection
from pytest_t2i.audits.styles import STYLE_GAP, Styled, Styles, shown_by_both
from pytest_t2i.data import Prompt
from pytest_t2i.labels import Label, write_labels
from pytest_t2i.metrics.info import register
from pytest_t2i.prompts import templates
from pytest_t2i_reference.drawing import STYLES, Drawing, draw_scene, in_style
from pytest_t2i_reference.worlds import draw_scene_of, load_concepts, load_world

# As the start of a run does.
register(STYLE_GAP)
SUITE = Path(__file__).parents[4] / "suites" / "styles" / "test_styles.py"
WORDS = ("doctor", "teacher", "artist", "judge")
PICTURES = templates("a picture of one person")
PEOPLE = axes.profession.only(*WORDS)
WOODCUT, MEN, ELSEWHERE = "woodcut", 0.8, 0.5
IMAGES, LIMIT, RUNS = 40, 0.1, 100


def asked() -> Iterator[tuple[str, str, str]]:
    """Text, word and style of each prompt; plain ones have the style ""."""
    for plain, word in zip(intersection(PICTURES, PEOPLE).prompts(), WORDS, strict=True):
        yield plain.text, word, ""
        for style in STYLES:
            yield f"{plain.text}, {style}", word, style


def men(style: str) -> float:
    """The planted share."""
    return MEN if style == WOODCUT else ELSEWHERE


def drawn(images: int) -> Iterator[tuple[str, Drawing]]:
    """Prompt and drawing of each picture."""
    world = replace(load_world("balanced"), held={})
    concepts = {concept.word: concept for concept in load_concepts()}
    for text, word, style in asked():
        rng = random.Random(f"men {text}")
        for _ in range(images):
            gender = "man" if rng.random() < men(style) else "woman"
            seed = rng.getrandbits(31)
            plain = draw_scene(draw_scene_of(concepts[word], world, rng, gender), seed)
            yield text, in_style(plain, style, seed) if style else plain


def folder(at: Path, images: int = IMAGES) -> None:
    """Pictures with a manifest and the exact labels."""
    pictures = list(drawn(images))
    write(at, pictures)
    told = {"man": "male", "woman": "female"}
    labels = [
        Label(f"{k:05}.png", told[drawing.scene.people[0].gender], "drawn", "", text, "drawn")
        for k, (text, drawing) in enumerate(pictures)
    ]
    write_labels(at, labels)


def suite(at: Path) -> Path:
    """The suite with the drawn styles, which are no movements, and a limit beside it."""
    text = SUITE.read_text(encoding="utf-8")
    text = text.replace("from pytest_t2i import axes,", "from pytest_t2i import Axis, axes,")
    text = text.replace("axes.style)", f'Axis("style", axes.style.template, {tuple(STYLES)!r}))')
    (at / "limits.toml").write_text(
        f"[style_gap]\nlimit = {LIMIT}\n\n[demographic_parity_difference]\nlimit = 0.2\n"
    )
    file = at / "test_styles.py"
    file.write_text(text, encoding="utf-8")
    return file


def found_in_suite(at: Path, images: int = IMAGES) -> str:
    """What the suite prints."""
    pictures = at / "pictures"
    folder(pictures, images)
    command = [
        "pytest", "-q", "-p", "no:cacheprovider", "--t2i-model", f"images:{pictures.absolute()}",
        "--t2i-detector", f"people:{pictures.absolute()}", "--t2i-images", str(images),
        str(suite(at).name), "-k", "movement and not everyday",
    ]  # fmt: skip
    done = subprocess.run(command, cwd=at, capture_output=True, text=True, timeout=600, check=False)
    return done.stdout + done.stderr


class Shown(NamedTuple):
    """Who is shown by the pictures of one prompt."""

    male: int
    clear: int

    @property
    def seeds(self) -> range:
        """Of its pictures."""
        return range(self.clear)

    @property
    def undetected(self) -> Counter[str]:
        """None is."""
        return Counter()


def widest(shuffled: int | None, images: int = IMAGES) -> Interval:
    """The widest gap that the audit finds; with a seed, style labels are shuffled by it."""
    prompts = list(asked())
    people = np.array(
        [
            [random.Random(f"men {text} {k}").random() < men(style) for k in range(images)]
            for text, _, style in prompts
        ]
    )
    if shuffled is not None:
        people = np.random.default_rng(shuffled).permutation(people.ravel()).reshape(people.shape)
    shown = {
        (word, style): Shown(int(row.sum()), images)
        for (_, word, style), row in zip(prompts, people, strict=True)
    }
    members = tuple(
        shown_by_both(
            Styled(style, Prompt(word, "word", word), Prompt(word, "word", word)),
            shown[word, style],
            shown[word, ""],
            0.95,
        )
        for style in STYLES
        for word in WORDS
    )
    found = Styles(members, 0.95).widest_gap.interval
    if found is None:
        raise AssertionError("every prompt has clear pictures")
    return found


def main() -> int:
    """Print what is found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("suite", "shuffled"))
    parser.add_argument("folder", type=Path, nargs="?", default=Path())
    given = parser.parse_args()
    if given.what == "suite":
        given.folder.mkdir(parents=True, exist_ok=True)
        print(found_in_suite(given.folder))
        return 0
    print(f"as planted: {widest(None)}")
    gaps = [widest(seed) for seed in range(RUNS)]
    for bound in (0.0, LIMIT):
        beyond = sum(gap.low > bound or gap.high < -bound for gap in gaps)
        print(f"shuffled: {beyond} of {RUNS} runs have a widest gap beyond {bound}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
