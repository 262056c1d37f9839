"""The plan of a run: which images are needed, and what must be known of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from pytest_t2i.data import (
    FORESEEN,
    TEXT_EMBEDDING,
    VELOCITY,
    Attribute,
    GenerationSettings,
    Prompt,
    Request,
    Variation,
)
from pytest_t2i.generation.mitigating import Mitigating, varied

FEATURES = "features"
"""Features of the images and of an attribute's descriptions: for WALS."""
ATTRIBUTE_IMAGES = "attribute_images"
"""Features of images made from the descriptions, too: for a direction learnt from them."""
OBSERVED = (FEATURES, ATTRIBUTE_IMAGES, VELOCITY, FORESEEN)
"""What a mark may ask to be observed."""


@dataclass(frozen=True, slots=True)
class DetectorRef:
    """A detector by name, looking for its own labels or for one attribute.

    >>> DetectorRef("clip:reference").attribute is None
    True
    """

    name: str
    """As given to --t2i-detector: "clip", "clip:reference"."""
    attribute: Attribute | None = None


@dataclass(frozen=True, slots=True)
class Need:
    """What one test asks to be known of one prompt.

    >>> from pytest_t2i import PLAIN
    >>> Need(Prompt("a nurse", "job", "nurse"), seeds=(0, 1), variation=PLAIN).detectors
    frozenset()
    """

    prompt: Prompt
    seeds: tuple[int, ...]
    detectors: frozenset[DetectorRef] = frozenset()
    encoders: frozenset[str] = frozenset()
    finders: frozenset[str] = frozenset()
    """Of objects."""
    observe: frozenset[str] = frozenset()
    attributes: frozenset[Attribute] = frozenset()
    """What velocities are held against."""
    texts: frozenset[str] = frozenset()
    """Texts whose features by these encoders are compared with those of images."""
    variation: Variation | None = None
    """How these images are made otherwise; one run may hold them beside the plain ones. None: as
    the run makes them, by its mitigation where it has one; ``PLAIN``: without that."""


@dataclass(slots=True)
class ImageNeeds:
    """All that is asked of one image."""

    detectors: set[DetectorRef] = field(default_factory=set)
    encoders: set[str] = field(default_factory=set)
    finders: set[str] = field(default_factory=set)
    observe: set[str] = field(default_factory=set)
    attributes: set[Attribute] = field(default_factory=set)
    """What velocities are held against."""

    @classmethod
    def of(cls, need: Need) -> ImageNeeds:
        """What one test asks."""
        return cls(
            set(need.detectors),
            set(need.encoders),
            set(need.finders),
            set(need.observe),
            set(need.attributes),
        )

    def take(self, need: Need) -> None:
        """Add what another test asks."""
        self.detectors |= need.detectors
        self.encoders |= need.encoders
        self.finders |= need.finders
        self.observe |= need.observe
        self.attributes |= need.attributes


@dataclass(slots=True)
class Plan:
    """Everything that all collected tests ask for; equal requests stand in it once."""

    settings: GenerationSettings
    mitigating: Mitigating | None = None
    """The run's mitigation."""
    needs: dict[Request, ImageNeeds] = field(default_factory=dict)
    prompts: dict[str, Prompt] = field(default_factory=dict)
    """By text; the first test that asked names it."""
    texts: dict[str, set[str]] = field(default_factory=dict)
    """Encoder -> texts whose features are asked for."""
    extras: set[str] = field(default_factory=set)
    """Extras that tests need besides these parts."""

    def add(self, need: Need) -> None:
        """Merge what one test needs."""
        self.prompts.setdefault(need.prompt.text, need.prompt)
        for encoder in need.encoders if need.texts else ():
            self.texts.setdefault(encoder, set()).update(need.texts)
        for seed in need.seeds:
            request = self.request(need.prompt, seed, need.variation)
            if request in self.needs:
                self.needs[request].take(need)
            else:
                self.needs[request] = ImageNeeds.of(need)

    def add_all(self, needs: Iterable[Need]) -> None:
        """Merge several."""
        for need in needs:
            self.add(need)

    def request(self, prompt: Prompt, seed: int, variation: Variation | None = None) -> Request:
        """The request for one prompt and seed under this plan's settings, or the variation's."""
        variation = varied(self.mitigating, prompt, variation)
        settings = (variation and variation.settings) or self.settings
        return Request(prompt.text, seed, settings, variation=variation)

    def beyond(self, done: Mapping[Request, ImageNeeds]) -> Plan:
        """What it asks for that was not asked for already, all of an image or none of it."""
        new = {one: asked for one, asked in self.needs.items() if done.get(one) != asked}
        return replace(self, needs=new)

    def __len__(self) -> int:
        return len(self.needs)

    def __iter__(self) -> Iterator[Request]:
        return iter(self.needs)

    def embedded_texts(self) -> list[str]:
        """Prompts whose text embedding is asked for, each once."""
        asked = (r.prompt for r, needs in self.needs.items() if TEXT_EMBEDDING in needs.observe)
        return list(dict.fromkeys(asked))
