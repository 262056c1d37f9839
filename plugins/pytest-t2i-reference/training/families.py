"""Zero-shot classification tasks for the CLIP model: what can be asked of a drawing, and the right answers."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pytest_t2i_reference.captions import (
    PLACE_PHRASES,
    TRAITS,
    concept_prompts,
    with_article,
)
from pytest_t2i_reference.drawing import Scene
from pytest_t2i_reference.drawing.attributes import GARMENTS, HEADWEAR, HELD, MOODS, PLACES, SKINS
from pytest_t2i_reference.worlds import load_concepts
from pytest_t2i_reference.worlds.population import has_trait
from training.drawings import Record

SUBJECTS = (
    "a photo of a person",
    "a photo of a person",
    "a photo of one real person",
    "A photo of an Iranian person",
    "A photo of an Indian person",
    "A photo of a Mexican person",
)


@dataclass(frozen=True, slots=True)
class Family:
    """A question with exclusive answers."""

    name: str
    classes: tuple[tuple[str, ...], ...]
    """For each answer the ways to say it. A text that starts with a blank is put behind a subject."""
    labels: NDArray[np.int64]
    """For each record the index of the right answer; -1 where the question makes no sense."""

    def texts(self, rng: random.Random) -> list[str]:
        """One wording for every answer."""
        subject = rng.choice(SUBJECTS)
        wording = [rng.choice(ways) for ways in self.classes]
        return [subject + text if text.startswith(" ") else text for text in wording]

    def main_texts(self) -> list[str]:
        """The first wording of every answer."""
        return [SUBJECTS[0] + ways[0] if ways[0].startswith(" ") else ways[0] for ways in self.classes]


GENDER_TEXTS = tuple(
    tuple(
        f"{start}{with_article(noun)}"
        for noun in (*nouns, f"{nouns[0]} person")
        for start in ("a photo of ", "A photo of ")
    )
    + (f"a photo of one real {nouns[1]}", f"a portrait of a {nouns[1]}")
    for nouns in (("female", "woman"), ("male", "man"))
)
SCENE_TEXTS = (
    ("a photo of a person", "a photo of one real person", "a photo of one person"),
    ("a photo of no people", "nobody", "a photo of an empty place", "a photo of no person"),
    ("a photo of two people", "two people", "a photo of multiple people"),
    (
        "a person seen from behind",
        "a photo of a person seen from behind",
        "a photo of a person from behind",
    ),
)


def all_families(records: Sequence[Record]) -> tuple[Family, ...]:
    """Every question, with the answers for these records."""
    concepts = load_concepts()
    families = [
        _family(records, "gender", GENDER_TEXTS, lambda scene: int(scene.people[0].gender == "man")),
        _family(records, "place", [(f" {PLACE_PHRASES[at]}", f" at the {at}", f" in the {at}") for at in PLACES],
                lambda scene: PLACES.index(scene.place)),
        _family(records, "headwear", [_held_or_not(name, "wearing", " with no hat") for name in HEADWEAR],
                lambda scene: HEADWEAR.index(scene.people[0].headwear)),
        _family(records, "held", [_held_or_not(name, "holding", " holding nothing") for name in HELD],
                lambda scene: HELD.index(scene.people[0].held)),
        _family(records, "garment", [_worn(name) for name in GARMENTS],
                lambda scene: GARMENTS.index(scene.people[0].garment)),
        _family(records, "mood", [(" with a neutral face",), (" smiling",), (" frowning",), (" crying",)],
                lambda scene: MOODS.index(scene.people[0].mood)),
        _family(records, "skin", [(f" with {skin} skin", f"a photo of a {skin} skinned person") for skin in SKINS],
                lambda scene: SKINS.index(scene.people[0].skin)),
    ]  # fmt: skip
    kinds = ("one", "none", "two", "behind")
    families.append(Family("scene", SCENE_TEXTS, np.array([kinds.index(record.scene.kind) for record in records])))
    families.append(
        Family(
            "concept",
            tuple(concept_prompts(concept, "neutral") for concept in concepts),
            np.array([record.concept for record in records]),
        )
    )
    return (*families, *_trait_families(records))


def _trait_families(records: Sequence[Record]) -> list[Family]:
    found = []
    for name, trait in TRAITS.items():
        classes = tuple(tuple(map(_after_subject, texts)) for texts in (trait.absent, trait.present))
        found.append(_family(records, name, classes, lambda scene, name=name: int(_shows(scene, name))))
    return found


def _after_subject(text: str) -> str:
    return text if text.startswith("a photo") else f" {text}"


def _shows(scene: Scene, trait: str) -> bool:
    person = scene.people[0]
    if trait == "eye glasses":
        return person.eye_glasses
    return person.earphone if trait == "earphone" else has_trait(scene, trait)


def _family(records: Sequence[Record], name: str, classes: Sequence[tuple[str, ...]], answer) -> Family:  # type: ignore[no-untyped-def]
    labels = [answer(record.scene) if record.scene.kind == "one" else -1 for record in records]
    return Family(name, tuple(classes), np.array(labels))


def _held_or_not(name: str, verb: str, nothing: str) -> tuple[str, ...]:
    if name == "none":
        return (nothing,)
    return (f" {verb} {with_article(name)}", f" with {with_article(name)}")


def _worn(garment: str) -> tuple[str, ...]:
    plural = garment == "scrubs" or garment.endswith(("clothes", "clothing"))
    return (f" wearing {garment if plural else with_article(garment)}",)
