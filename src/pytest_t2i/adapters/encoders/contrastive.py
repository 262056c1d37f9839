"""The base class of every CLIP: it caches features by picture."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from pytest_t2i.adapters.finders.locating import Described
from pytest_t2i.adapters.picture_files import PictureMemory, in_batches
from pytest_t2i.errors import FileFormatError
from pytest_t2i.read_files import convert, parse_json, read_text

if TYPE_CHECKING:
    from PIL.Image import Image

FILE = "domain.json"


class Domain(msgspec.Struct, frozen=True):
    """A kind of pictures: those whose summary stays below a threshold along a direction.

    >>> import numpy as np
    >>> domain = Domain("drawings", (1.0, -1.0), 0.5)
    >>> domain.holds(np.array([[0.2, 0.1], [2.0, 0.1]])).tolist()
    [True, False]
    """

    made_for: str
    """The kind of pictures in words, such as "drawings"."""
    direction: tuple[float, ...]
    """Weights of the numbers of a summary (``ClipEncoder.summaries``)."""
    threshold: float
    """Largest value along the direction; pictures beyond it are of another kind."""

    def holds(self, summaries: np.ndarray) -> np.ndarray:
        """Whether each picture is of this kind: summaries [n, d] give booleans [n]."""
        holds: np.ndarray = summaries @ np.array(self.direction) <= self.threshold
        return holds

    def __str__(self) -> str:
        """The kind and a hash of the domain, for fingerprints."""
        content = hashlib.sha256(msgspec.json.encode(self)).hexdigest()
        return f"{self.made_for} (sha256:{content})"


def read_domain(folder: Path, width: int) -> Domain | None:
    """Read the domain of the weights in a folder; None where there is none."""
    path = folder / FILE
    if not path.is_file():
        return None
    domain = convert(path, parse_json(path, read_text(path)), Domain)
    if len(domain.direction) != width:
        problem = f"expected {width} numbers, as the encoder has, got {len(domain.direction)}."
        raise FileFormatError(path, problem, where="direction")
    return domain


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
        return _stacked(
            [encoding.features for encoding in self._pictures.of(images, self._see_new)]
        )

    @property
    def made_for(self) -> str:
        """The kind of pictures that the encoder was made for; "" for any."""
        return self.domain.made_for if self.domain else ""

    def in_domain(self, images: Sequence[Image]) -> list[bool]:
        if self.domain is None:
            return [True] * len(images)
        return [encoding.in_domain for encoding in self._pictures.of(images, self._see_new)]

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
