"""The content of a picture: a digest of its pixels, and a hash that nearly equal pictures share."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

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


MOST_REPEATED = 0.1
"""Largest share of repeated pictures with which there is a verdict. Where more repeat, the distinct
pictures are no independent draws either."""


class Repeats(NamedTuple):
    """The numbers of pictures, and of distinct ones, of one prompt or of several.

    >>> (Repeats(20, 18, 0) + Repeats(20, 20, 1)).share, Repeats(20, 17, 0).are_too_many
    (0.05, True)
    """

    pictures: int
    """Pictures that show something: no refused, black or unreadable ones."""
    distinct: int
    """Pictures of different pixels; the others repeat one of these, of the same prompt."""
    nearly_equal: int
    """Distinct pictures that are nearly equal to another one of the same prompt."""

    @classmethod
    def among(cls, pictures: Iterable[Pixels | None]) -> Repeats:
        """Count the pictures of one prompt; None stands for one that shows nothing."""
        visible = [picture for picture in pictures if picture is not None]
        distinct = len({picture.digest for picture in visible})
        return cls(len(visible), distinct, _count_nearly_equal(visible))

    def __add__(self, other: Repeats) -> Repeats:  # type: ignore[override]
        return Repeats(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))

    @property
    def repeated(self) -> int:
        """Number of pictures that repeat an earlier one of their prompt."""
        return self.pictures - self.distinct

    @property
    def share(self) -> float:
        """Share of repeated pictures, 0 to 1."""
        return self.repeated / self.pictures if self.pictures else 0.0

    @property
    def are_too_many(self) -> bool:
        """Whether so many pictures repeat that there is no verdict."""
        return self.share > MOST_REPEATED

    @property
    def words(self) -> str:
        """Why there is no verdict; "" where few enough pictures repeat."""
        if not self.are_too_many:
            return ""
        return (
            f"{self.repeated} of {self.pictures} pictures repeat an earlier one of the same "
            f"prompt: with more than {MOST_REPEATED:.0%} there is no verdict. Look for a cache, a "
            "constant seed or copied files"
        )
