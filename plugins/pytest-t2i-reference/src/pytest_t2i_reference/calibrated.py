"""The prompts that the reference models are calibrated for: the words and sentences that they were trained on.

What is planted is known of these alone. Of a word that they have never seen they draw somebody, and who that is
says nothing of them.
"""

from __future__ import annotations

from functools import cache

from pytest_t2i_reference.captions import VARIANTS, concept_prompts, triplet
from pytest_t2i_reference.combinations import all_combinations, combined_triplet
from pytest_t2i_reference.worlds import load_concepts


class ReferencePrompts:
    """Each word of the worlds in each of its sentences and variants, and all combinations of words.

    Obeys ``pytest_t2i.protocols.Calibrated``.
    """

    def is_calibrated_for(self, prompt: str) -> bool:
        """Whether a prompt is one of them, whatever its capitals and spaces.

        >>> prompts = ReferencePrompts()
        >>> [prompts.is_calibrated_for(text) for text in ("a photo of a nurse", "a photo of a welder")]
        [True, False]
        """
        plain = plainly(prompt)
        return plain in prompts_of_words() or plain in prompts_of_combinations()


@cache
def prompts_of_words() -> frozenset[str]:
    """One word each."""
    texts = [text for concept in load_concepts() for text in triplet(concept)]
    phrased = [
        text for concept in load_concepts() for variant in VARIANTS for text in concept_prompts(concept, variant)
    ]
    return frozenset(map(plainly, [*texts, *phrased]))


@cache
def prompts_of_combinations() -> frozenset[str]:
    """Two or three words each."""
    return frozenset(plainly(text) for concepts in all_combinations() for text in combined_triplet(concepts))


def plainly(prompt: str) -> str:
    """A text as the tokenizer reads it: in lower case, with single spaces, without a full stop."""
    return " ".join(prompt.casefold().split()).removesuffix(".")
