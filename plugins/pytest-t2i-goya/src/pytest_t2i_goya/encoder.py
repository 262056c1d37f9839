"""``goya:NAME+SPACE``: a space of GOYA as an encoder."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from pytest_t2i import Encoder, LoadOptions, T2IError, load_encoder

from pytest_t2i_goya.heads import SHIPPED, Heads, read_heads
from pytest_t2i_goya.networks import SPACES

if TYPE_CHECKING:
    from PIL.Image import Image


def load(options: LoadOptions) -> SpaceEncoder:
    """Return the encoder of ``reference+content``, ``heads.safetensors+style`` and so on.

    Raises T2IError that says in one line what was expected.
    """
    name, _, space = options.source.rpartition("+")
    if space not in SPACES or not name:
        raise T2IError(
            f"encoder goya: expected NAME+SPACE with a space of {', '.join(SPACES)}, such as "
            f"goya:{SHIPPED}+content, got {options.source!r}"
        )
    heads = read_heads(name)
    return SpaceEncoder(heads, space, load_encoder(heads.encoder, options))


class SpaceEncoder:
    """The encoder of one space; obeys Encoder.

    The encoder below may be calibrated for one kind of pictures, such as plain drawings. The heads
    were trained on pictures of many styles, so that calibration does not apply to this encoder.
    """

    def __init__(self, heads: Heads, space: str, below: Encoder) -> None:
        """Take the heads, the name of a space, and the encoder below the heads."""
        self._heads, self._space, self._below = heads, space, below
        facts = [below.fingerprint, heads.digest, space]
        self.fingerprint = hashlib.sha256("\n".join(facts).encode()).hexdigest()

    @property
    def provenance(self) -> Mapping[str, str]:
        """The readable facts behind the fingerprint."""
        of_below: Mapping[str, str] = getattr(self._below, "provenance", {})
        heads = {"space": self._space, "heads": f"sha256:{self._heads.digest}"}
        return {**heads, **{f"below: {name}": value for name, value in of_below.items()}}

    def encode(self, images: Sequence[Image]) -> np.ndarray:
        """Return the embeddings, [n_images, d] float32, not normalised."""
        if not images:
            return np.empty((0, 0), np.float32)
        return embedded(self._heads, self._below.encode(images))[self._space]


def embedded(heads: Heads, features: np.ndarray) -> dict[str, np.ndarray]:
    """Return the embeddings of features, [n, d], in every space of ``SPACES``.

    Raises T2IError where the heads take features of another length.
    """
    if features.shape[1:] != (heads.sizes.features,):
        raise T2IError(
            f"heads on {heads.encoder!r} take {heads.sizes.features} features, got "
            f"{features.shape[-1]}: they were trained on another encoder"
        )
    with torch.no_grad():
        said = heads.goya(torch.from_numpy(np.ascontiguousarray(features, dtype=np.float32)))
    return {space: said.space(space).numpy() for space in SPACES}
