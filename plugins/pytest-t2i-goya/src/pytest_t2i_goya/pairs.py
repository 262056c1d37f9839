"""Which contents count as the same: near texts, or equal texts alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
import torch
from pytest_t2i import Encoder, T2IError, TextEncoder

Distance = Literal["text", "same"]
DISTANCES: tuple[str, ...] = get_args(Distance)
"""The distance D^T of thesis eq. 2.5. ``text``: 1 - cosine of the encoder's features of both
contents. ``same``: 0 for equal contents and 1 for others, for encoders that read no texts."""


def same_contents(
    contents: Sequence[str], distance: Distance, threshold: float, encoder: Encoder
) -> torch.Tensor:
    """Return whether each pair of contents counts as the same: [n, n] of bool.

    Raises T2IError where the encoder reads no texts.
    """
    if distance == "same":
        return torch.eye(len(contents), dtype=torch.bool)
    if not isinstance(encoder, TextEncoder):
        raise T2IError(
            "--content-distance text needs an encoder that reads texts, such as clip: name one "
            "with --encoder, or use --content-distance same"
        )
    rows = np.asarray(encoder.encode_text(contents), dtype=np.float64)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return torch.from_numpy(1.0 - unit @ unit.T <= threshold)
