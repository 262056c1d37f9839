"""Which contents count as the same: by the distance of their texts, or by their words alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
import torch
from pytest_t2i import Encoder, T2IError, TextEncoder

Distance = Literal["text", "same"]
DISTANCES: tuple[str, ...] = get_args(Distance)
"""D^T of thesis eq. 2.5: ``text``, 1 - cosine of the encoder's features of both descriptions; or
``same``, 0 for the same description and 1 for another, where an encoder cannot read them."""


def same_contents(
    contents: Sequence[str], distance: Distance, threshold: float, encoder: Encoder
) -> torch.Tensor:
    """Whether each two distinct contents are a positive pair: [n, n] of bool.

    Raises T2IError where the encoder reads no texts.
    """
    if distance == "same":
        return torch.eye(len(contents), dtype=torch.bool)
    if not isinstance(encoder, TextEncoder):
        raise T2IError(
            "--content-distance text needs an encoder that reads texts, such as clip: give one by "
            "--encoder, or --content-distance same"
        )
    rows = np.asarray(encoder.encode_text(contents), dtype=np.float64)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return torch.from_numpy(1.0 - unit @ unit.T <= threshold)
