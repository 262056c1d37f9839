"""What the store holds about a run's images."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
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
    _images: dict[str, dict[int, StoredImage]] = field(default_factory=dict)
    """Images by text of the prompt, then by seed."""
    _detections: dict[tuple[str, DetectorRef], dict[int, Detection]] = field(default_factory=dict)
    _pixels: dict[str, dict[int, Pixels | None]] = field(default_factory=dict)
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
            self._views[variation] = Observations(
                self.components, self.settings, variation, _plain=self
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
        return self.components.keys(
            self.settings.request(prompt, seed, self.variation) for seed in seeds
        )

    def _read(
        self,
        by_seed: dict[int, R],
        prompt: Prompt,
        seeds: Sequence[int],
        reader: Callable[[list[str]], Mapping[str, R]],
    ) -> list[R]:
        """Return what is known per seed, after reading missing seeds from the store."""
        if new := [seed for seed in seeds if seed not in by_seed]:
            keys = self.keys(prompt, new)
            by_key = reader(keys)
            _complete(prompt, len(by_key), len(keys))
            by_seed.update(zip(new, map(by_key.__getitem__, keys), strict=True))
        return [by_seed[seed] for seed in seeds]

    def images(self, prompt: Prompt, seeds: Sequence[int]) -> list[StoredImage]:
        """Return the prompt's images, in the order of the seeds."""
        by_seed = self._images.setdefault(prompt.text, {})
        return self._read(by_seed, prompt, seeds, self.store.images)

    def pixels(self, prompt: Prompt, seeds: Sequence[int]) -> list[Pixels | None]:
        """Return the content of each picture; None where there is none that shows anything."""
        by_seed = self._pixels.setdefault(prompt.text, {})
        if new := [seed for seed in seeds if seed not in by_seed]:
            keys = self.keys(prompt, new)
            images = self.store.images(keys)
            by_key = self.store.pixels(images.values())
            # An image that is not there is not known to be absent for ever.
            pairs = zip(new, keys, strict=True)
            by_seed.update((seed, by_key.get(key)) for seed, key in pairs if key in images)
        return [by_seed.get(seed) for seed in seeds]

    def distinct(self, prompts: Sequence[Prompt], seeds: Sequence[int]) -> tuple[int, ...]:
        """Return the seeds without those whose picture of a prompt repeats an earlier one.

        Equal pictures are one observation. Refused, black and unreadable ones are never equal.
        Several prompts are variants, whose pictures of one seed are compared with each other: the
        seed stays where its picture of every prompt is new.
        """
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
        return repeats_among(self.pixels(prompt, seeds))

    def revised_prompts(self, prompt: Prompt, seeds: Sequence[int]) -> list[str | None]:
        """Return the service's rewritten prompts, in the order of the seeds; None where unknown."""
        keys = self.keys(prompt, seeds)
        by_key = self.store.revised_prompts(keys)
        return [by_key.get(key) for key in keys]

    def detections(
        self, prompt: Prompt, seeds: tuple[int, ...], ref: DetectorRef
    ) -> list[Detection]:
        """Return a detector's detections of the prompt's images, in the order of the seeds."""
        by_seed = self._detections.setdefault((prompt.text, ref), {})
        detector = self.components.detector(ref).fingerprint
        return self._read(
            by_seed, prompt, seeds, lambda keys: self.store.detections(keys, detector)
        )

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


def _complete(prompt: Prompt, count: int, total: int) -> None:
    if count < total:
        raise T2IError(
            f"{prompt.id}: {total - count} of {total} images are no longer in the store. "
            "Was the store changed while the tests ran? Run again to make the images anew."
        )
