"""The content of a picture: a digest of its pixels, and a hash that nearly equal pictures share."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from pytest_t2i.verdicts.caveats.equal_pictures import Repeats

if TYPE_CHECKING:
    from PIL.Image import Image

AT_ONCE = 1024
"""Number of pictures compared with all earlier ones at a time."""
PLACES = 16
"""Number of rows, and of places in a row, whose brightness a picture's likeness compares."""
NEARLY = 5
"""Largest number of differing bits, of 256, between two pictures that are called nearly equal."""


class Pixels(NamedTuple):
    """The content of a picture, whatever its file format and metadata.

    >>> from PIL import Image
    >>> grey = Image.new("RGB", (64, 64), "grey")
    >>> pixels_of(grey) == pixels_of(grey.convert("L"))
    True
    """

    digest: str
    """Hex SHA-256 of size and RGB pixels: equal for equal pictures only."""
    likeness: str
    """Difference hash of 256 bits in hex: whether each of 16 x 16 places is darker than the place
    to its right. Pictures that differ by noise or compression have nearly the same."""


def pixels_of(image: Image) -> Pixels:
    """Return the content of a picture."""
    import numpy as np
    from PIL.Image import Resampling

    plain = image.convert("RGB")
    hasher = hashlib.sha256(repr(plain.size).encode())
    hasher.update(plain.tobytes())
    small = plain.convert("L").resize((PLACES + 1, PLACES), Resampling.BOX)
    grey = np.asarray(small, dtype=np.int16)
    darker = grey[:, :-1] < grey[:, 1:]
    return Pixels(hasher.hexdigest(), np.packbits(darker).tobytes().hex())


def _count_nearly_equal(pictures: Iterable[Pixels]) -> int:
    """Count the pictures that are nearly equal to an earlier one; equal ones count once.

    >>> flat = Pixels("a", "00" * 32)
    >>> one, near, far = (Pixels(d, h * 32) for d, h in (("b", "f0"), ("c", "f0"), ("d", "0f")))
    >>> _count_nearly_equal([flat, flat._replace(digest="e"), one, near, far, one])
    1
    """
    import numpy as np

    codes = {picture.digest: bytes.fromhex(picture.likeness) for picture in pictures}
    bits = [np.unpackbits(np.frombuffer(code, np.uint8)) for code in codes.values()]
    signs = np.array([row for row in bits if row.any()], np.float32) * 2 - 1
    nearly = 0
    for start in range(0, len(signs), AT_ONCE):
        part = signs[start : start + AT_ONCE]
        # Equal bits less differing ones; the lower triangle holds the earlier pictures.
        alike = np.tril(part @ signs[: start + len(part)].T, start - 1)
        nearly += int((alike >= signs.shape[1] - 2 * NEARLY).any(axis=1).sum())
    return nearly


def repeats_among(pictures: Iterable[Pixels | None]) -> Repeats:
    """Count the pictures of one prompt; None stands for one that shows nothing."""
    visible = [picture for picture in pictures if picture is not None]
    distinct = len({picture.digest for picture in visible})
    return Repeats(len(visible), distinct, _count_nearly_equal(visible))
