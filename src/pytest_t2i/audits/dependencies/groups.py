"""Dependency groups: whether the prompt or the scene brought an object in (Wu 6.1-6.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image

from pytest_t2i.audits.objects.counts import PEOPLE
from pytest_t2i.data import FoundObject
from pytest_t2i.metrics import coverage
from pytest_t2i.prompts.words_in_prompts import attention_words, lemma, nouns

GROUPS = (
    "explicitly_guided",
    "implicitly_guided",
    "explicitly_independent",
    "implicitly_independent",
    "hidden",
)
"""The groups of Wu section 6.2, in the order of Tables 7 to 13."""
THRESHOLD = 0.35
"""theta: normalised attention from which a pixel belongs to a word (Wu section 6.1)."""
ANYBODY = "person"
"""The lemma that matches every word for people."""
SUFFICIENT, SUFFICIENT_OF_PEOPLE = 0.7, 0.25
"""sigma: covered share of an object from which a word guides it (Wu Definition 2)."""
Maps = Mapping[str, np.ndarray]
"""Word -> attention, [height, width]."""


def maps_of(prompt: str, attention: np.ndarray) -> Maps:
    """Return the attention of each noun of a prompt, by the noun's lemma."""
    words = attention_words(prompt)
    if len(attention) != len(words):
        raise ValueError(
            f"attention must hold {len(words)} words as the prompt does, got {len(attention)}"
        )
    places = {word: number for number, word in enumerate(words)}
    return {
        noun: attention[places[word]].astype(np.float32)
        for noun, word in nouns(prompt)
        if word in places
    }


def word_mask(attention: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Return where a word's attention, normalised to [0, 1], is at least the threshold.

    >>> word_mask(np.array([[0.0, 1.0]]), (4, 2)).tolist()[0]
    [False, False, True, True]
    """
    laid = np.asarray(
        Image.fromarray(attention.astype(np.float32)).resize(size, Image.Resampling.BICUBIC)
    )
    low, high = float(laid.min()), float(laid.max())
    # Attention that is the same everywhere marks no place.
    return np.zeros(laid.shape, bool) if high <= low else (laid - low) / (high - low) >= THRESHOLD


@dataclass(frozen=True, slots=True)
class Placed:
    """An object of a picture with its group, or a noun that no object shows.

    ``region`` is where the object lies, [height, width] of bool, all False for a hidden noun.
    ``noun`` is the noun whose attention covers most of the object ("" without any), ``mask`` the
    place of that noun's attention and ``covered`` the share of the region that the mask covers (Wu
    eq. 7).
    """

    name: str
    group: str
    region: np.ndarray
    noun: str
    mask: np.ndarray
    covered: float


def placed(
    prompt: str, objects: Sequence[FoundObject], maps: Maps, size: tuple[int, int]
) -> list[Placed]:
    """Sort a picture's objects, and the nouns that none shows, into groups (Wu section 6.2)."""
    masks = {noun: word_mask(attention, size) for noun, attention in maps.items()}
    prompt_nouns = dict.fromkeys(noun for noun, _ in nouns(prompt))
    names = {lemma(found_object.name) for found_object in objects}
    placements = [
        _placed(lemma(found_object.name), region, masks, prompt_nouns)
        for found_object, region in (
            (found_object, found_object.region(size)) for found_object in objects
        )
        if region.any()
    ]
    nothing = np.zeros(size[::-1], bool)
    hidden = [
        Placed(noun, "hidden", nothing, noun, masks.get(noun, nothing), 0.0)
        for noun in prompt_nouns
        if not any(_same(name, noun) for name in names)
    ]
    return placements + hidden


def _placed(name: str, region: np.ndarray, masks: Maps, prompt_nouns: Mapping[str, None]) -> Placed:
    shares = {noun: coverage(region, mask) for noun, mask in masks.items()}
    guided = any(
        share > (SUFFICIENT_OF_PEOPLE if {name, noun} <= PEOPLE else SUFFICIENT)
        for noun, share in shares.items()
    )
    noun = max(shares, key=lambda word: shares[word], default="")
    mask = masks[noun] if noun else np.zeros_like(region)
    explicit = any(_same(name, word) for word in prompt_nouns)
    return Placed(name, _group(explicit, guided), region, noun, mask, shares.get(noun, 0.0))


def tally(shown: Sequence[Placed]) -> dict[str, Counter[str]]:
    """Count the names of each group: nouns in the group "hidden", objects in the others."""
    groups: dict[str, Counter[str]] = {group: Counter() for group in GROUPS}
    for placement in shown:
        groups[placement.group][placement.name] += 1
    return groups


def _group(explicit: bool, guided: bool) -> str:
    return f"{'explicitly' if explicit else 'implicitly'}_{'guided' if guided else 'independent'}"


def _same(name: str, noun: str) -> bool:
    """Return whether an object is what a noun names.

    An object detector that only knows persons also finds the woman of a prompt; a man is no woman.

    >>> _same("tie", "tie"), _same("person", "woman"), _same("man", "woman")
    (True, True, False)
    """
    return name == noun or (ANYBODY in (name, noun) and {name, noun} <= PEOPLE)
