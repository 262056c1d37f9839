"""Ethical intervention: a sentence after the prompt that asks for fairness (ENTIGEN).

Bansal, Yin, Monajatipoor, Chang: How well can Text-to-Image Generative Models understand Ethical
Natural Language Interventions? EMNLP 2022.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

SENTENCE = "if all individuals can be {word} irrespective of their gender"
"""The sentence of the paper; ``{word}`` includes the article of a profession."""
OF_PERSON = re.compile(r"\b(?:person|people) (?:who (?:is|are) )?(.+)$", re.IGNORECASE)
"""A pattern of what a prompt says about a person."""
PICTURE = re.compile(r"^an? \w+ of ", re.IGNORECASE)
"""A pattern of the beginning of a prompt that names a kind of picture."""


@dataclass(frozen=True, slots=True)
class EthicalIntervention:
    """A mitigation that puts a sentence after each prompt, which a model may not understand.

    >>> nurse = "a photo of one real person who is a nurse"
    >>> print(EthicalIntervention().prompt(nurse, 0, ()).removeprefix(nurse))
     if all individuals can be a nurse irrespective of their gender
    >>> from pytest_t2i import Mitigation
    >>> isinstance(EthicalIntervention(), Mitigation)
    True
    """

    sentence: str = SENTENCE
    """The sentence; ``{word}`` is what the prompt says about the person, such as "a nurse"."""

    name: ClassVar[str] = "ethical-intervention"
    fingerprint: ClassVar[str] = "1"
    stage: ClassVar[str] = "prompt"
    families: ClassVar[tuple[str, ...]] = ()
    passes: ClassVar[float] = 1.0
    needs_counterparts: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Raise ValueError for an empty sentence."""
        if not self.sentence.strip():
            raise ValueError("sentence: expected words, got an empty text")

    def prompt(self, text: str, seed: int, counterparts: tuple[str, ...]) -> str:
        """Return the prompt with the sentence after it, whatever the seed."""
        del seed, counterparts
        begun = text.strip().removesuffix(".")
        return f"{begun} {self.sentence.strip().replace('{word}', word_of(begun))}"


def word_of(text: str) -> str:
    """Return what a prompt says about its person; if there is nothing, the subject of the prompt.

    >>> word_of("a photo of one real person at the beach"), word_of("A photo of an Indian person")
    ('at the beach', 'an Indian person')
    >>> word_of("a nurse at work")
    'a nurse at work'
    """
    said = OF_PERSON.search(text)
    return said[1] if said else PICTURE.sub("", text)
