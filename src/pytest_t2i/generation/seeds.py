"""The seeds of a prompt's images."""

from __future__ import annotations

import hashlib

from pytest_t2i.generation.named_component import NamedComponent
from pytest_t2i.protocols import ReadyMade, TextToImage

# Every test case needs the seeds of all cases that share its error level, so they are cached.
_KNOWN: dict[tuple[int, str], tuple[int, ...]] = {}
MOST_KNOWN = 32_768
"""Number of prompts whose seeds are cached."""


def seeds_of(base: int, neutral_text: str, count: int) -> tuple[int, ...]:
    """The seeds of one prompt: the same for its triplet, unrelated to those of other prompts.

    If all prompts shared one list of seeds, an initial noise that favours masculine pictures would
    shift every prompt at once, and intervals that resample prompts would be too narrow. Seed k
    does not depend on ``count``: a run of 40 images after one of 20 makes 20 more.

    >>> seeds_of(0, "a photo of a person", 2) == seeds_of(0, "a photo of a person", 3)[:2]
    True
    """
    known = _KNOWN.get((base, neutral_text), ())
    if len(known) < count:
        more = range(len(known), count)
        known += tuple(_seed(f"{base}|{neutral_text}|{k}") for k in more)
        if len(_KNOWN) >= MOST_KNOWN:
            _KNOWN.clear()
        _KNOWN[base, neutral_text] = known
    return known[:count]


def _seed(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1


def seeds_for(
    handle: NamedComponent[TextToImage], base: int, neutral_text: str, count: int
) -> tuple[int, ...]:
    """The first ``count`` seeds of a prompt.

    A model of existing images (``available``) has its own seeds. For any other model the seeds
    follow from ``base`` and the neutral text, so that a triplet shares them.
    """
    model = handle.get() if handle.lists_images else None
    if isinstance(model, ReadyMade):
        return tuple(sorted(model.available(neutral_text))[:count])
    return seeds_of(base, neutral_text, count)
