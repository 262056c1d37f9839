"""The kind of pictures that an encoder was made for: a direction in which others stand out.

It lies beside the weights as ``domain.json``. Someone who trains an encoder on one kind of pictures
fits it with pictures of that kind and others; the pictures themselves are not needed afterwards.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec
import numpy as np

from pytest_t2i.errors import FileFormatError
from pytest_t2i.files import convert, parse_json, read_text

FILE = "domain.json"


class Domain(msgspec.Struct, frozen=True):
    """Pictures whose summary does not reach a threshold along a direction.

    >>> import numpy as np
    >>> domain = Domain("drawings", (1.0, -1.0), 0.5)
    >>> domain.holds(np.array([[0.2, 0.1], [2.0, 0.1]])).tolist()
    [True, False]
    """

    made_for: str
    """The kind of pictures in words, as in "made for ..."."""
    direction: tuple[float, ...]
    """One number for each number of a summary (``ClipEncoder.summaries``)."""
    threshold: float
    """Pictures further along the direction are of another kind."""

    def holds(self, summaries: np.ndarray) -> np.ndarray:
        """Whether each of these pictures is of this kind: [n, d] becomes [n] of bool."""
        holds: np.ndarray = summaries @ np.array(self.direction) <= self.threshold
        return holds

    def __str__(self) -> str:
        """All that changes its word, for fingerprints."""
        content = hashlib.sha256(msgspec.json.encode(self)).hexdigest()
        return f"{self.made_for} (sha256:{content})"


def read_domain(folder: Path, width: int) -> Domain | None:
    """The domain of the weights in a folder; None where they have none.

    Args:
        folder: of the weights.
        width: Numbers in a summary.

    Raises:
        FileFormatError: that names the file and what is wrong with it.
    """
    path = folder / FILE
    if not path.is_file():
        return None
    domain = convert(path, parse_json(path, read_text(path)), Domain)
    if len(domain.direction) != width:
        problem = f"expected {width} numbers, as the encoder has, got {len(domain.direction)}."
        raise FileFormatError(path, problem, where="direction")
    return domain
