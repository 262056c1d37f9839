"""What the store holds about a run's images."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_t2i.data import (
    TEXT_EMBEDDING,
    Detection,
    FoundObject,
    Prompt,
    Variation,
)
from pytest_t2i.errors import T2IError
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.plan import DetectorRef, RequestSettings
from pytest_t2i.generation.seeds import seeding_of
from pytest_t2i.generation.store import Store, StoredImage
from pytest_t2i.generation.store.pixels import Pixels, repeats_among
from pytest_t2i.generation.traces import TEXT_FEATURES, text_key
from pytest_t2i.verdicts.caveats.equal_pictures import Repeats

if TYPE_CHECKING:
    import numpy as np
    from PIL.Image import Image

R = TypeVar("R")


@dataclass(slots=True)
class Observations:
    """A reader of images, detections, traces and features; it makes none.

    >>> from pytest_t2i import Sample
    >>> def readable(sample: Sample) -> int:
    ...     pictures = sample.observations.pictures(sample.prompt, sample.seeds)
    ...     return sum(picture is not None for picture in pictures)
    """

    components: Components
    settings: RequestSettings
    variation: Variation | None = None
    """The variation whose images are read; None for the plain images."""
    derived: dict[tuple[Any, ...], Any] = field(default_factory=dict)
    """Values that audits computed from images and need again."""
    _images: dict[str, StoredImage] = field(default_factory=dict)
    """Images by key, as all further rows of the store: each is read once."""
    _detections: dict[str, dict[str, Detection]] = field(default_factory=dict)
    """Fingerprint of a detector -> its detections by key."""
    _pixels: dict[str, Pixels | None] = field(default_factory=dict)
    _keys: dict[tuple[str, tuple[int, ...]], list[str]] = field(default_factory=dict)
    """Text of a prompt and seeds -> keys."""
    _views: dict[Variation, Observations] = field(default_factory=dict)
    _plain: Observations | None = None
    """Observations of the plain images; None where these are the plain images."""

    def under(self, variation: Variation | None) -> Observations:
        """Return the observations of a variation's images, of the same prompts and seeds."""
        if self._plain is not None:
            return self._plain.under(variation)
        if variation is None:
            return self
        if variation not in self._views:
            self._views[variation] = replace(
                self, variation=variation, derived={}, _keys={}, _views={}, _plain=self
            )
        return self._views[variation]

    @property
    def store(self) -> Store:
        """The store of images, detections and features."""
        return self.components.store

    @property
    def model_fingerprint(self) -> str:
        """Fingerprint of the model that made the images."""
        return self.components.model().fingerprint

    @property
    def is_of_flow(self) -> bool:
        """Whether the model that made the images uses a flow-matching scheduler of diffusers."""
        scheduler = self.components.model().provenance.get("scheduler", "")
        return str(scheduler).startswith("FlowMatch")

    def draws_anew(self, *models: str) -> bool:
        """Return whether one of these models was found to ignore the seed, so that pictures differ.

        ``models`` are fingerprints; without any, the model under test is meant. Pictures of one
        seed are no pairs then.
        """
        fingerprints = models or (self.model_fingerprint,)
        name = ("draws anew", fingerprints)
        if name not in self.derived:
            seedings = [seeding_of(self.store, model) for model in fingerprints]
            self.derived[name] = any(
                seeding is not None and seeding.kind == "draws" for seeding in seedings
            )
        draws: bool = self.derived[name]
        return draws

    def keys(self, prompt: Prompt, seeds: Sequence[int]) -> list[str]:
        """Return the store keys of the prompt's images, in the order of the seeds."""
        name = prompt.text, tuple(seeds)
        if name not in self._keys:
            requests = self.settings.requests(prompt, seeds, self.variation)
            self._keys[name] = self.components.keys(requests)
        return self._keys[name]

    def images(self, prompt: Prompt, seeds: Sequence[int]) -> list[StoredImage]:
        """Return the prompt's images, in the order of the seeds."""
        return _all_of(prompt, self._images, self.keys(prompt, seeds), self.store.images)

    def pixels(self, prompt: Prompt, seeds: Sequence[int]) -> list[Pixels | None]:
        """Return the content of each picture; None where there is none that shows anything."""
        return self.pixels_of(self.keys(prompt, seeds))

    def pixels_of(self, keys: Sequence[str]) -> list[Pixels | None]:
        """Return the content of the picture of each key; None as in ``pixels``."""
        if new := [key for key in keys if key not in self._pixels]:
            _read(self._images, new, self.store.images)
            # An image that is not there is not known to be absent for ever.
            images = [self._images[key] for key in new if key in self._images]
            pixels = self.store.pixels(images)
            self._pixels.update((image.key, pixels.get(image.key)) for image in images)
        return list(map(self._pixels.get, keys))

    def distinct(self, prompts: Sequence[Prompt], seeds: Sequence[int]) -> tuple[int, ...]:
        """Return the seeds without those whose picture of a prompt repeats an earlier one.

        Equal pictures are one observation. Refused, black and unreadable ones are never equal.
        Several prompts are variants, whose pictures of one seed are compared with each other: the
        seed stays where its picture of every prompt is new.
        """
        name = ("distinct", *(prompt.text for prompt in prompts), tuple(seeds))
        if name not in self.derived:
            self.derived[name] = self._distinct(prompts, seeds)
        seeds_of_distinct: tuple[int, ...] = self.derived[name]
        return seeds_of_distinct

    def _distinct(self, prompts: Sequence[Prompt], seeds: Sequence[int]) -> tuple[int, ...]:
        distinct_seeds: list[int] = []
        before: list[set[str]] = [set() for _ in prompts]
        contents = [self.pixels(prompt, seeds) for prompt in prompts]
        for seed, *pictures in zip(seeds, *contents, strict=True):
            digests = [picture and picture.digest for picture in pictures]
            if not any(digest in earlier for digest, earlier in zip(digests, before, strict=True)):
                distinct_seeds.append(seed)
                for digest, earlier in zip(digests, before, strict=True):
                    earlier.update({digest} if digest else ())
        return tuple(distinct_seeds)

    def repeats(self, prompt: Prompt, seeds: Sequence[int]) -> Repeats:
        """Return how many of a prompt's pictures repeat an earlier one."""
        return self.repeats_of(self.keys(prompt, seeds))

    def repeats_of(self, keys: Sequence[str]) -> Repeats:
        """Return how many of the pictures of these keys, of one prompt, repeat an earlier one."""
        name = ("repeats", *keys)
        if name not in self.derived:
            self.derived[name] = repeats_among(self.pixels_of(keys))
        repeats: Repeats = self.derived[name]
        return repeats

    def revised_prompts(self, prompt: Prompt, seeds: Sequence[int]) -> list[str | None]:
        """Return the service's rewritten prompts, in the order of the seeds; None where unknown."""
        keys = self.keys(prompt, seeds)
        by_key = self.store.revised_prompts(keys)
        return [by_key.get(key) for key in keys]

    def detections(
        self, prompt: Prompt, seeds: tuple[int, ...], ref: DetectorRef
    ) -> list[Detection]:
        """Return a detector's detections of the prompt's images, in the order of the seeds."""
        detector = self.components.detector(ref).fingerprint
        detections = self._detections.setdefault(detector, {})
        keys = self.keys(prompt, seeds)
        return _all_of(prompt, detections, keys, lambda new: self.store.detections(new, detector))

    def labels(self, ref: DetectorRef) -> tuple[str, ...]:
        """Return every label that a detector may give."""
        return self.components.detector(ref).labels

    def text_embedding(self, prompt: Prompt) -> np.ndarray | None:
        """Return the text embedding, [n_tokens, d]; None when the model does not expose one."""
        key = text_key(self.components.model().fingerprint, prompt.text)
        result = self.store.arrays([key], TEXT_EMBEDDING)
        return self.store.open_array(result[key]) if key in result else None

    def text_features(self, encoder: str, text: str) -> np.ndarray | None:
        """Return an encoder's features of a text, [d]; None where they were not computed."""
        key = text_key(self.components.encoder(encoder).fingerprint, text)
        result = self.store.arrays([key], TEXT_FEATURES)
        return self.store.open_array(result[key]) if key in result else None

    def arrays(self, prompt: Prompt, seeds: Sequence[int], name: str) -> list[np.ndarray | None]:
        """Return one array per image; None where there is none, such as for a refused image."""
        keys = self.keys(prompt, seeds)
        stored = self.store.arrays(keys, name)
        arrays = {key: self.store.open_array(array) for key, array in stored.items()}
        return [arrays[key] if key in arrays and arrays[key].size else None for key in keys]

    def objects(
        self, prompt: Prompt, seeds: Sequence[int], finder: str
    ) -> list[tuple[FoundObject, ...] | None]:
        """Return the objects found in each image; None for an image that was not examined."""
        keys = self.keys(prompt, seeds)
        by_key = self.store.objects(keys, self.components.finder(finder).fingerprint)
        return [by_key.get(key) for key in keys]

    def pictures(self, prompt: Prompt, seeds: Sequence[int]) -> list[Image | None]:
        """Return the pictures themselves; None for a refused one."""
        return [
            None if image.file is None else self.store.open_image(image)
            for image in self.images(prompt, seeds)
        ]


def _read(
    known: dict[str, R], keys: Sequence[str], reader: Callable[[list[str]], Mapping[str, R]]
) -> None:
    """Add the rows of the keys that are not known, as far as the store has them."""
    if new := [key for key in keys if key not in known]:
        known.update(reader(new))


def _all_of(
    prompt: Prompt,
    known: dict[str, R],
    keys: Sequence[str],
    reader: Callable[[list[str]], Mapping[str, R]],
) -> list[R]:
    _read(known, keys, reader)
    if lost := sum(key not in known for key in keys):
        raise T2IError(
            f"{prompt.id}: {lost} of {len(keys)} images are no longer in the store. "
            "Was the store changed while the tests ran? Run again to make the images anew."
        )
    return list(map(known.__getitem__, keys))
