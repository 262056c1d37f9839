"""The domain of an encoder: a direction along which pictures of other kinds lie further out.

The domain is a file ``domain.json`` beside the weights. Whoever trains an encoder on one kind of
pictures fits the domain with pictures of that kind and of others, which are not needed afterwards.
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
    """Read the domain of the weights in a folder; None where there is none.

    Args:
        folder: folder of the weights.
        width: number of values in a summary.

    Raises:
        FileFormatError: the file is invalid.
    """
    path = folder / FILE
    if not path.is_file():
        return None
    domain = convert(path, parse_json(path, read_text(path)), Domain)
    if len(domain.direction) != width:
        problem = f"expected {width} numbers, as the encoder has, got {len(domain.direction)}."
        raise FileFormatError(path, problem, where="direction")
    return domain
