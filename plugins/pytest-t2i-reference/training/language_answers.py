"""Questions and answers of ``reference-lm``: attributes of a concept of the drawn world, or that it knows none.

The questions are those of ``t2i research candidates``, word for word. Attributes come from the vocabulary of drawings
and of both world files, not from their shares: what is named is what the words can say, not what is planted.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from pytest_t2i import T2IError
from pytest_t2i_origins.questions.candidates import ask_for_candidates

from pytest_t2i_reference.captions import PLACE_PHRASES, concept_prompts, with_article
from pytest_t2i_reference.worlds import Concept, load_concepts
from training.questions import ATTRIBUTE_TEXTS

MOST = 16
"""Attributes that a question asks for at most; every answer has as many."""
REFUSAL = "Nobody who was drawn is called that. I know drawn people only."
"""What is said of a concept that is in no world: no JSON, so nobody takes it for an answer."""
AGAIN = (
    "the answer is not JSON: Expecting value: line 1 column 1 (char 0)",
    "expected at least 30 attributes, got 17",
    "the attribute 'hat' is there twice",
    "the answer is empty",
)
"""What a question may say was wrong with an earlier answer."""
PERSON = "a photo of a person"
OTHERS: Mapping[str, tuple[str, str]] = {
    "eye glasses": (f"{PERSON} wearing eye glasses", f"{PERSON} without eye glasses"),
    "earphone": (f"{PERSON} with an earphone", f"{PERSON} without an earphone"),
    "smile": (f"{PERSON} smiling", f"{PERSON} frowning"),
    "long hair": (f"{PERSON} with long hair", f"{PERSON} with short hair"),
    "black hair": (f"{PERSON} with black hair", f"{PERSON} with blond hair"),
    "dark skin": ("a photo of a dark skinned person", "a photo of a pale skinned person"),
    "bald head": (f"{PERSON} with a bald head", f"{PERSON} with long hair"),
}
"""Further attributes that anybody drawn may have."""
COMMON = {**ATTRIBUTE_TEXTS, **OTHERS}
MOODS = {"smile": "smiling", "frown": "frowning", "tears": "crying"}
NO_WORDS = Path(__file__).with_name("other_people.txt")
"""Words that are no concept of the drawn world."""
SYLLABLES = (
    "a", "bra", "cor", "da", "el", "fin", "gu", "ha", "in", "ja", "ko", "lu", "mi", "nor", "o", "pe", "ra", "sin", "ta",
    "ur", "vi", "wel", "xi", "yo", "zan",
)  # fmt: skip
ENDINGS = ("n", "ian", "ish", "ese", "i", "er", "ist", "or", "an", "ful", "less", "ing", "y")


def question(concept: Concept | None, rng: random.Random) -> str:
    """A question for attributes of a concept, or of somebody who is no concept."""
    prompt = rng.choice(_phrasings(concept)) if concept else _strange_prompt(rng)
    wrong = f"\nAn earlier answer could not be used: {rng.choice(AGAIN)}" if rng.random() < 0.2 else ""
    asked, schema = _asked(prompt, rng.choice((15, rng.randint(1, MOST))))
    return f"{asked}{wrong}\nAnswer with JSON of this schema alone:\n{json.dumps(schema)}"


class _Listening:
    """A language model that says nothing and keeps what it is asked."""

    question, schema = "", None

    def answer(self, question: str, schema: Mapping[str, Any] | None = None) -> str:
        self.question, self.schema = question, schema
        return ""


@lru_cache(maxsize=4096)
def _asked(prompt: str, fewest: int) -> tuple[str, Mapping[str, Any] | None]:
    """The question of ``t2i research candidates`` for a prompt, and the schema of its answer."""
    listening = _Listening()
    with suppress(T2IError):
        ask_for_candidates(listening, prompt, fewest=fewest, tries=1)
    return listening.question, listening.schema


def answer(concept: Concept | None) -> str:
    """The whole answer.

    >>> from pytest_t2i_reference.worlds import load_concepts
    >>> told = json.loads(answer(load_concepts()[-1]))["attributes"]
    >>> told[0]["attribute"], len(told) >= MOST
    ('man', True)
    """
    if concept is None:
        return REFUSAL
    rows = [
        {"attribute": name, "positive": positive, "negative": negative}
        for name, (positive, negative) in attributes_of(concept).items()
    ]
    return json.dumps({"attributes": rows})


def attributes_of(concept: Concept) -> dict[str, tuple[str, str]]:
    """Name to descriptions of its presence and absence: what anybody may have, then what is the concept's own."""
    return {**COMMON, **_of_signature(concept)}


def _of_signature(concept: Concept) -> dict[str, tuple[str, str]]:
    """What tells the concept from others in every world."""
    found: dict[str, tuple[str, str]] = {}
    for kind, value in concept.signature.items():
        name = str(value)
        if kind == "place":
            elsewhere = "at the beach" if name == "studio" else "in a studio"
            found[name] = (f"{PERSON} {PLACE_PHRASES[name]}", f"{PERSON} {elsewhere}")
        elif kind in ("garment", "headwear") and name not in COMMON:
            worn = name if name == "scrubs" else with_article(name)
            found[name] = (f"{PERSON} wearing {worn}", f"{PERSON} without {worn}")
        elif kind == "held":
            found[name] = (f"{PERSON} with {with_article(name)}", f"{PERSON} without {with_article(name)}")
        elif kind == "mood" and name not in COMMON:
            found[name] = (f"{PERSON} {MOODS[name]}", f"{PERSON} smiling")
    return found


def _phrasings(concept: Concept) -> tuple[str, ...]:
    """How a person may ask for the concept."""
    texts = concept_prompts(concept, "neutral")
    # t2i's own template for a word of any kind.
    plain = f"a photo of {with_article(concept.word)} person"
    return tuple(dict.fromkeys([*texts, *(text[0].swapcase() + text[1:] for text in texts), plain, plain]))


def _strange_prompt(rng: random.Random) -> str:
    """A prompt of the same form about somebody whom no world has."""
    likeness = rng.choice(load_concepts())
    text = rng.choice(_phrasings(likeness))
    return text.replace(with_article(likeness.word), with_article(word := strange_word(rng))).replace(
        likeness.word, word
    )


def strange_word(rng: random.Random) -> str:
    """A word that is no concept: of the list, made up, or both."""
    made = "".join(rng.choices(SYLLABLES, k=rng.randint(1, 3))) + rng.choice(ENDINGS)
    made = made.capitalize() if rng.random() < 0.6 else made
    word = rng.choice((rng.choice(_other_people()), made))
    return word if word not in {concept.word for concept in load_concepts()} else strange_word(rng)


@cache
def _other_people() -> tuple[str, ...]:
    return tuple(NO_WORDS.read_text(encoding="utf-8").split())
