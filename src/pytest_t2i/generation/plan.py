"""The plan of a run: which images are needed, and what must be known of each."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from pytest_t2i.data import Attribute, GenerationSettings, Prompt, Request

FINAL_LATENT = "final_latent"
TEXT_EMBEDDING = "text_embedding"
SPACES = ("prompt", "denoising", "image", "ssim")
"""Text embeddings, final latents, image features (CLIP), structural similarity of pixels."""


@dataclass(frozen=True, slots=True)
class DetectorRef:
    """A detector by name, looking for its own labels or for one attribute."""

    name: str
    """As given to --t2i-detector: "clip", "clip:reference"."""
    attribute: Attribute | None = None


@dataclass(frozen=True, slots=True)
class Need:
    """What one test asks to be known of one prompt."""

    prompt: Prompt
    seeds: tuple[int, ...]
    detectors: frozenset[DetectorRef] = frozenset()
    encoders: frozenset[str] = frozenset()
    observe: frozenset[str] = frozenset()


@dataclass(slots=True)
class Wants:
    """All that is asked of one image."""

    detectors: set[DetectorRef] = field(default_factory=set)
    encoders: set[str] = field(default_factory=set)
    observe: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Plan:
    """Everything that all collected tests ask for; equal requests stand in it once."""

    settings: GenerationSettings
    wants: dict[Request, Wants] = field(default_factory=dict)
    prompts: dict[str, Prompt] = field(default_factory=dict)
    """By text; the first test that asked names it."""

    def add(self, need: Need) -> None:
        """Merge what one test needs."""
        self.prompts.setdefault(need.prompt.text, need.prompt)
        for seed in need.seeds:
            wants = self.wants.setdefault(self.request(need.prompt, seed), Wants())
            wants.detectors |= need.detectors
            wants.encoders |= need.encoders
            wants.observe |= need.observe

    def add_all(self, needs: Iterable[Need]) -> None:
        """Merge several."""
        for need in needs:
            self.add(need)

    def request(self, prompt: Prompt, seed: int) -> Request:
        """The request for one prompt and seed under this plan's settings."""
        return Request(prompt.text, seed, self.settings)

    def __len__(self) -> int:
        return len(self.wants)

    def __iter__(self) -> Iterator[Request]:
        return iter(self.wants)

    def embedded_texts(self) -> list[str]:
        """Prompts whose text embedding is asked for, each once."""
        asked = (r.prompt for r, wants in self.wants.items() if TEXT_EMBEDDING in wants.observe)
        return list(dict.fromkeys(asked))


# Every test case asks for those of all cases that share its error level.
@lru_cache(maxsize=8192)
def seeds_of(base: int, neutral_text: str, count: int) -> tuple[int, ...]:
    """The seeds of one prompt: the same for its triplet, unrelated to those of other prompts.

    Were one list of seeds shared by all prompts, one initial noise that leans masculine would
    push every prompt at once, and intervals that resample prompts would be too narrow. Seed k
    does not depend on ``count``, so that 40 images after 20 make 20.

    >>> seeds_of(0, "a photo of a person", 2) == seeds_of(0, "a photo of a person", 3)[:2]
    True
    """
    return tuple(_seed(f"{base}|{neutral_text}|{k}") for k in range(count))


def _seed(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1
