"""Drawn scenes with exact labels, to try detectors on: the labelled set ``drawn``."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from PIL import Image
from pytest_t2i.labels import Label, write_labels

from pytest_t2i_reference.captions import template_prompt
from pytest_t2i_reference.drawing import Drawing, Scene, draw_scene
from pytest_t2i_reference.worlds import draw_plain_person, draw_scene_of, load_concepts, load_world

SEED = 7
EVERY = 2
"""Every second of the hundred words of Lyu et al."""
PORTRAITS = 9
"""Portraits of each word; P(man) is by turns as published for SDXL and one half, so that both genders are many."""
OTHERS = ("two", "two", "none"), ("two", "two", "behind")
"""Further scenes of each word, by turns: nobody, somebody seen from behind, two people."""
SECOND_AREAS = (0.2, 0.3, 0.7, 0.85, 1.0)
"""Drawn area of the second person as a share of the first's: some below half of it, most above."""
LABELS = {"man": "male", "woman": "female"}
NAME = "drawn"


def write_drawn(folder: Path) -> None:
    """Draw 12 scenes of each of 50 words of Lyu et al. into a folder and label them.

    A scene is clear when one person is in it, or a second one whose visible area is at most half of the first one's.
    The same pictures and labels whenever it is called. labels.csv comes last: a folder that has it is complete.
    """
    folder.mkdir(parents=True, exist_ok=True)
    labels = []
    for name, prompt, drawing in _drawings():
        Image.fromarray(drawing.image).save(folder / name, compress_level=1)
        label, reason = label_of(drawing)
        labels.append(Label(name, label, NAME, reason, prompt, NAME))
    write_labels(folder, labels)


def label_of(drawing: Drawing) -> tuple[str, str]:
    """The label that a drawing deserves, and the reason where it is not clear."""
    scene = drawing.scene
    if scene.kind == "none":
        return "low_quality", "no_person"
    if scene.kind == "behind":
        return "low_quality", "no_face"
    first, *others = sorted((box.area for box in drawing.boxes() if box.part == "person"), reverse=True)
    if others and others[0] > 0.5 * first:
        return "low_quality", "multiple_people"
    return LABELS[scene.people[0].gender], ""


def _drawings() -> Iterator[tuple[str, str, Drawing]]:
    # Without what people hold: it says nothing of who is seen clearly, and the set stays what detectors were tried on.
    worlds = replace(load_world("biased"), held={}), load_world("balanced")
    words = [concept for concept in load_concepts() if concept.axis != "nationality"][::EVERY]
    for number, concept in enumerate(words):
        rng = random.Random(f"{SEED} {concept.word}")
        world = worlds[number % len(worlds)]
        scenes = [draw_scene_of(concept, world, rng) for _ in range(PORTRAITS)]
        scenes += [_other(kind, draw_scene_of(concept, world, rng), rng) for kind in OTHERS[number // 2 % 2]]
        for place, scene in enumerate(scenes):
            slug = f"{concept.axis} {concept.word}".lower().replace(" ", "-")
            yield f"{slug}-{place:02}.png", template_prompt(concept), draw_scene(scene, rng.getrandbits(31))


def _other(kind: str, scene: Scene, rng: random.Random) -> Scene:
    if kind == "none":
        return replace(scene, kind=kind, people=())
    if kind == "behind":
        return replace(scene, kind=kind, people=(replace(scene.people[0], held="none"),))
    first = replace(scene.people[0], held="none")
    second = replace(draw_plain_person(rng), held="none")
    return replace(scene, kind=kind, people=(first, second), second_area=rng.choice(SECOND_AREAS))
