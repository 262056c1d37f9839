"""The base class of every CLIP: it caches features by picture."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pytest_t2i.adapters.encoders.domain import Domain
from pytest_t2i.adapters.support.locating import Described
from pytest_t2i.adapters.support.picture_memory import PictureMemory, in_batches

if TYPE_CHECKING:
    from PIL.Image import Image

BATCH = 32
"""Number of pictures or texts in one pass."""


class Seen(NamedTuple):
    """Result of one pass for a picture."""

    features: np.ndarray
    """Features, [d] float32."""
    in_domain: bool
    """Whether the picture is of the kind that the encoder was made for."""


class ContrastiveEncoder(Described, ABC):
    """An Encoder, TextEncoder and MadeFor that encodes pictures and texts into one space.

    Features are cached by a picture's pixels, so that detectors with the same weights encode a
    picture once.
    """

    def __init__(self, facts: Mapping[str, str], domain: Domain | None = None) -> None:
        """Args: all that changes the features, and the kind of pictures the CLIP was made for."""
        super().__init__({**facts, **({"domain": str(domain)} if domain else {})})
        self.domain = domain
        self._pictures: PictureMemory[Seen] = PictureMemory()
        self._texts: dict[str, np.ndarray] = {}

    @property
    @abstractmethod
    def logit_scale(self) -> float:
        """Factor on cosine similarities before the softmax."""

    @abstractmethod
    def _encode_images(self, images: Sequence[Image]) -> np.ndarray:
        """Features of at most BATCH RGB pictures: [n, d] float32."""

    @abstractmethod
    def _encode_texts(self, texts: Sequence[str]) -> np.ndarray:
        """Features of at most BATCH texts: [n, d] float32."""

    def encode(self, images: Sequence[Image]) -> np.ndarray:
        """Features of pictures: [n_images, d] float32, not normalised."""
        return _stacked([seen.features for seen in self._pictures.of(images, self._see_new)])

    @property
    def made_for(self) -> str:
        """The kind of pictures that the encoder was made for; "" for any."""
        return self.domain.made_for if self.domain else ""

    def in_domain(self, images: Sequence[Image]) -> list[bool]:
        """Whether each picture is of the kind that the encoder was made for."""
        if self.domain is None:
            return [True] * len(images)
        return [seen.in_domain for seen in self._pictures.of(images, self._see_new)]

    def _see_new(self, images: Sequence[Image]) -> list[Seen]:
        pictures = [image.convert("RGB") for image in images]
        return in_batches(pictures, BATCH, self._see)

    def _see(self, images: Sequence[Image]) -> list[Seen]:
        """One pass with at most BATCH RGB pictures; an encoder with a domain overrides this."""
        return [Seen(row, in_domain=True) for row in self._encode_images(images)]

    def encode_text(self, texts: Sequence[str]) -> np.ndarray:
        """Features of texts: [n_texts, d] float32, not normalised."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._texts]
        rows = in_batches(missing, BATCH, self._encode_texts)
        self._texts.update(zip(missing, rows, strict=True))
        return _stacked([self._texts[text] for text in texts])

    def similarities(self, images: Sequence[Image], texts: Sequence[str]) -> np.ndarray:
        """Cosine similarity of every picture with every text: [n_images, n_texts] float32."""
        if not images:
            return np.empty((0, len(texts)), np.float32)
        cosines: np.ndarray = _unit(self.encode(images)) @ _unit(self.encode_text(texts)).T
        return cosines


def _stacked(rows: Sequence[np.ndarray]) -> np.ndarray:
    return np.stack(rows).astype(np.float32) if rows else np.empty((0, 0), np.float32)


def _unit(rows: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1)
