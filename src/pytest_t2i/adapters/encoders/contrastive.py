"""What every CLIP has in common, whichever library loads it: features, made once per picture."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from pytest_t2i.adapters.support.decoding import picture_digest
from pytest_t2i.data import digest

if TYPE_CHECKING:
    from PIL.Image import Image

BATCH = 32
"""Pictures or texts that go through the network at once."""
REMEMBERED = 4096
"""Pictures whose features are kept: 12 MB at 768 dimensions."""

Item = TypeVar("Item")


class ContrastiveEncoder(ABC):
    """Encodes pictures and texts into one space; obeys Encoder and TextEncoder.

    Features are kept by the pixels of the picture, so that several detectors that look at the
    same picture through the same weights encode it once.
    """

    def __init__(self, facts: Mapping[str, str]) -> None:
        self._facts = dict(facts)
        self._pictures: OrderedDict[bytes, np.ndarray] = OrderedDict()
        self._texts: dict[str, np.ndarray] = {}

    @property
    @abstractmethod
    def logit_scale(self) -> float:
        """Factor on cosine similarities before a softmax makes them probabilities."""

    @abstractmethod
    def _encode_images(self, images: Sequence[Image]) -> np.ndarray:
        """Features of at most BATCH RGB pictures: [n, d] float32."""

    @abstractmethod
    def _encode_texts(self, texts: Sequence[str]) -> np.ndarray:
        """Features of at most BATCH texts: [n, d] float32."""

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the weights, their preprocessing, dtype, device type and libraries."""
        return digest(self._facts)

    @property
    def provenance(self) -> Mapping[str, str]:
        """The facts behind the fingerprint, readable."""
        return dict(self._facts)

    def encode(self, images: Sequence[Image]) -> np.ndarray:
        """Features of pictures: [n_images, d] float32, not normalised."""
        names = [picture_digest(image) for image in images]
        missing = {n: i for n, i in zip(names, images, strict=True) if n not in self._pictures}
        pictures = [image.convert("RGB") for image in missing.values()]
        found = dict(zip(missing, _in_batches(self._encode_images, pictures), strict=True))
        features = [found[n] if n in found else self._pictures[n] for n in names]
        self._pictures.update(found)
        for name in names:
            self._pictures.move_to_end(name)
        while len(self._pictures) > REMEMBERED:
            self._pictures.popitem(last=False)
        return _stacked(features)

    def encode_text(self, texts: Sequence[str]) -> np.ndarray:
        """Features of texts: [n_texts, d] float32, not normalised."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._texts]
        rows = _in_batches(self._encode_texts, missing)
        self._texts.update(zip(missing, rows, strict=True))
        return _stacked([self._texts[text] for text in texts])

    def similarities(self, images: Sequence[Image], texts: Sequence[str]) -> np.ndarray:
        """Cosine similarity of every picture with every text: [n_images, n_texts] float32."""
        if not images:
            return np.empty((0, len(texts)), np.float32)
        cosines: np.ndarray = _unit(self.encode(images)) @ _unit(self.encode_text(texts)).T
        return cosines


def _in_batches(
    encode: Callable[[Sequence[Item]], np.ndarray], items: Sequence[Item]
) -> list[np.ndarray]:
    rows: list[np.ndarray] = []
    for start in range(0, len(items), BATCH):
        rows.extend(encode(items[start : start + BATCH]))
    return rows


def _stacked(rows: Sequence[np.ndarray]) -> np.ndarray:
    return np.stack(rows).astype(np.float32) if rows else np.empty((0, 0), np.float32)


def _unit(rows: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1)
