"""What ``reference-lm`` reads to learn its words: descriptions of drawn people, each attribute as likely for anybody.

No share of a world file plays a part: who the people are is drawn at random, and nationalities show what either world
has a word for.
"""

from __future__ import annotations

import random
from dataclasses import replace

from pytest_t2i_reference.captions import (
    PREFIX,
    TRAITS,
    VARIANTS,
    concept_prompts,
    describe,
    descriptions,
)
from pytest_t2i_reference.drawing.attributes import COLOURS, PLACES, Scene
from pytest_t2i_reference.worlds import Concept, draw_plain_person, load_concepts, plain_scene

START = "This is a photo of"
"""How StOP begins its prompts (OASIS 3.3)."""
STARTED = 0.7
"""Share of the texts that begin so."""
WHOLE = "a photo of"
"""A trait's words that begin so are a text of their own and follow no noun."""
SAID = tuple(text for trait in TRAITS.values() for text in trait.present if not text.startswith(WHOLE))
"""Every trait that either world plants, said after a noun."""


def description(rng: random.Random) -> str:
    """One description of somebody drawn."""
    kind = rng.random()
    if kind < 0.5:
        text = describe(plain_scene("one", rng), rng)
    elif kind < 0.95:
        text = _of_concept(rng.choice(_turns()), rng)
    else:
        text = describe(plain_scene(rng.choice(("none", "two", "behind")), rng), rng)
    return _started(text) if rng.random() < STARTED else text


def _of_concept(concept: Concept, rng: random.Random) -> str:
    """A prompt that asks for the concept, and up to three things that can be seen of a plain person."""
    variant = rng.choice(VARIANTS)
    person = replace(draw_plain_person(rng), garment=rng.choice(("shirt", "dress", "suit", "hoodie")))
    seen = sorted(descriptions(Scene("one", rng.choice(PLACES), (person,), rng.choice(COLOURS))))
    said = rng.sample((*seen, *SAID), rng.choices((0, 1, 2, 3), (0.2, 0.4, 0.25, 0.15))[0])
    return " ".join([rng.choice(concept_prompts(concept, variant)), *dict.fromkeys(said)])


def _turns() -> tuple[Concept, ...]:
    """Nationalities as often as all words of Lyu et al. together: there are three of them."""
    concepts = load_concepts()
    peoples = tuple(concept for concept in concepts if concept.axis == "nationality")
    return concepts + peoples * (len(concepts) // len(peoples) - 1)


def _started(text: str) -> str:
    """The text with the beginning that StOP uses.

    >>> _started("a photo of one real person who is loyal")
    'This is a photo of one real person who is loyal'
    >>> _started("an old man with a beard")
    'This is a photo of an old man with a beard'
    """
    for start in (PREFIX.removesuffix(" one real person"), "A photo of", "a portrait of"):
        text = text.removeprefix(f"{start} ")
    return f"{START} {text}"
