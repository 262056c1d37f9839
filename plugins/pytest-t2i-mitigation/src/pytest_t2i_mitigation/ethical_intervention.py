"""Ethical intervention: a sentence after the prompt asks for fairness (ENTIGEN).

Bansal, Yin, Monajatipoor, Chang: How well can Text-to-Image Generative Models understand Ethical
Natural Language Interventions? EMNLP 2022.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

SENTENCE = "if all individuals can be {word} irrespective of their gender"
"""Sentence of the paper; the article before a profession comes with its word."""
OF_PERSON = re.compile(r"\b(?:person|people) (?:who (?:is|are) )?(.+)$", re.IGNORECASE)
"""What a prompt says of a person."""
PICTURE = re.compile(r"^an? \w+ of ", re.IGNORECASE)
"""How a prompt begins that names a picture first."""


@dataclass(frozen=True, slots=True)
class EthicalIntervention:
    """Each prompt is followed by a sentence; whether a model understands it is to be tested.

    >>> nurse = "a photo of one real person who is a nurse"
    >>> print(EthicalIntervention().prompt(nurse, 0, ()).removeprefix(nurse))
     if all individuals can be a nurse irrespective of their gender
    >>> from pytest_t2i import Mitigation
    >>> isinstance(EthicalIntervention(), Mitigation)
    True
    """

    sentence: str = SENTENCE
    """``{word}`` stands for what the prompt says of its person: "a nurse", "at the beach"."""

    name: ClassVar[str] = "ethical-intervention"
    fingerprint: ClassVar[str] = "1"
    stage: ClassVar[str] = "prompt"
    families: ClassVar[tuple[str, ...]] = ()
    passes: ClassVar[float] = 1.0
    needs_counterparts: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Refuse a sentence that says nothing."""
        if not self.sentence.strip():
            raise ValueError("sentence: expected words, got an empty text")

    def prompt(self, text: str, seed: int, counterparts: tuple[str, ...]) -> str:
        """The prompt and the sentence behind it, whatever the seed."""
        del seed, counterparts
        begun = text.strip().removesuffix(".")
        return f"{begun} {self.sentence.strip().replace('{word}', word_of(begun))}"


def word_of(text: str) -> str:
    """What a prompt says of its person; without a person, or where it says nothing, whom it names.

    >>> word_of("a photo of one real person at the beach"), word_of("A photo of an Indian person")
    ('at the beach', 'an Indian person')
    >>> word_of("a nurse at work")
    'a nurse at work'
    """
    said = OF_PERSON.search(text)
    return said[1] if said else PICTURE.sub("", text)
