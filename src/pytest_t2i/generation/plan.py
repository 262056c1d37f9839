"""The plan of a run: the images needed, and the detectors, encoders and traces for each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

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
from pytest_t2i.errors import ConfigurationError, shown
from pytest_t2i.files import MOST_TEXT
from pytest_t2i.generation.run_mitigation import Mitigating, varied

FEATURES = "features"
"""Observation: features of the images and of an attribute's descriptions, for WALS."""
ATTRIBUTE_IMAGES = "attribute_images"
"""Observation: features of images made from the descriptions, too, to learn a direction from."""
OBSERVED = (FEATURES, ATTRIBUTE_IMAGES, VELOCITY, FORESEEN)
"""Values of a marker's ``observe``."""


@dataclass(frozen=True, slots=True)
class DetectorRef:
    """A detector by name, with its own labels or for one attribute.

    >>> DetectorRef("clip:reference").attribute is None
    True
    """

    name: str
    """As given to --t2i-detector: "clip", "clip:reference"."""
    attribute: Attribute | None = None


@dataclass(frozen=True, slots=True)
class Need:
    """What one test needs of one prompt: images, and detectors and traces for them.

    >>> from pytest_t2i import PLAIN
    >>> Need(Prompt("a nurse", "job", "nurse"), seeds=(0, 1), variation=PLAIN).detectors
    frozenset()
    """

    prompt: Prompt
    seeds: tuple[int, ...]
    detectors: frozenset[DetectorRef] = frozenset()
    encoders: frozenset[str] = frozenset()
    finders: frozenset[str] = frozenset()
    """Object detectors."""
    observe: frozenset[str] = frozenset()
    attributes: frozenset[Attribute] = frozenset()
    """Attributes that velocities are compared with."""
    texts: frozenset[str] = frozenset()
    """Texts whose features by these encoders are compared with those of images."""
    variation: Variation | None = None
    """Variation of these images; a run may have varied and plain images. None: the run's
    mitigation, where there is one; ``PLAIN``: no mitigation."""


class ImageNeeds(NamedTuple):
    """Everything that all tests need of one image."""

    detectors: frozenset[DetectorRef] = frozenset()
    encoders: frozenset[str] = frozenset()
    finders: frozenset[str] = frozenset()
    observe: frozenset[str] = frozenset()
    attributes: frozenset[Attribute] = frozenset()
    """Attributes that velocities are compared with."""

    @classmethod
    def of(cls, need: Need) -> ImageNeeds:
        return cls(need.detectors, need.encoders, need.finders, need.observe, need.attributes)

    def with_those(self, of_another: ImageNeeds) -> ImageNeeds:
        return ImageNeeds(
            self.detectors | of_another.detectors,
            self.encoders | of_another.encoders,
            self.finders | of_another.finders,
            self.observe | of_another.observe,
            self.attributes | of_another.attributes,
        )


@dataclass(frozen=True, slots=True)
class RequestSettings:
    """What all requests of a run share: its plans and its reader of the store have the same."""

    generation: GenerationSettings
    mitigating: Mitigating | None = None
    """The run's mitigation."""
    _requests: dict[Any, list[Request]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """Requests that were asked for, by prompt, seeds and variation: most are asked for again."""

    def requests(
        self, prompt: Prompt, seeds: Sequence[int], variation: Variation | None = None
    ) -> Sequence[Request]:
        """The requests for a prompt and its seeds, with these settings or the variation's."""
        key = (prompt, tuple(seeds), variation)
        if key not in self._requests:
            self._requests[key] = [self._request(prompt, seed, variation) for seed in seeds]
        return self._requests[key]

    def _request(self, prompt: Prompt, seed: int, variation: Variation | None) -> Request:
        variation = varied(self.mitigating, prompt, variation)
        settings = (variation and variation.settings) or self.generation
        text = prompt.text_of(seed)
        if len(text) > MOST_TEXT:
            raise ConfigurationError(
                f"expected a prompt of at most {MOST_TEXT} characters, got {len(text)}: "
                f"{shown(text)}"
            )
        return Request(text, seed, settings, variation=variation)


@dataclass(slots=True)
class Plan:
    """Everything that all collected tests need; equal requests are merged."""

    settings: RequestSettings
    needs: dict[Request, ImageNeeds] = field(default_factory=dict)
    keys: dict[Request, str] = field(default_factory=dict)
    """The store's key of every request, from when the model is known; {} before."""
    prompts: dict[str, Prompt] = field(default_factory=dict)
    """Text -> prompt; the first test with this text counts."""
    wordings: dict[str, str] = field(default_factory=dict)
    """Wording -> text of the prompt that draws it."""
    texts: dict[str, set[str]] = field(default_factory=dict)
    """Encoder -> texts whose features are needed."""
    extras: set[str] = field(default_factory=set)
    """Extras that tests need besides these parts."""

    def add(self, need: Need) -> None:
        self.prompts.setdefault(need.prompt.text, need.prompt)
        for wording in need.prompt.wordings:
            self.wordings.setdefault(wording, need.prompt.text)
        for encoder in need.encoders if need.texts else ():
            self.texts.setdefault(encoder, set()).update(need.texts)
        image_needs = ImageNeeds.of(need)
        for request in self.settings.requests(need.prompt, need.seeds, need.variation):
            before = self.needs.setdefault(request, image_needs)
            if before is not image_needs and before != image_needs:
                self.needs[request] = before.with_those(image_needs)

    def add_all(self, needs: Iterable[Need]) -> None:
        for need in needs:
            self.add(need)

    def prompt_text(self, request: Request) -> str:
        """The text of the prompt of a request, which may have drawn one of its wordings."""
        text = request.prompt
        return text if text in self.prompts else self.wordings.get(text, text)

    def beyond(self, done: Mapping[Request, ImageNeeds]) -> Plan:
        """The plan without the images whose needs are all in ``done``."""
        new = {
            request: needs for request, needs in self.needs.items() if done.get(request) != needs
        }
        return replace(self, needs=new)

    def __len__(self) -> int:
        return len(self.needs)

    def __iter__(self) -> Iterator[Request]:
        return iter(self.needs)

    def embedded_texts(self) -> list[str]:
        """Prompts whose text embedding is needed, each once."""
        prompts = (r.prompt for r, needs in self.needs.items() if TEXT_EMBEDDING in needs.observe)
        return list(dict.fromkeys(prompts))
