"""One person's word on one image."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_t2i.files import is_relative

MALE, FEMALE, LOW_QUALITY, OTHERS = "male", "female", "low_quality", "others"
CLEAR = (MALE, FEMALE)
"""Labels of images from which a bias score is computed; the others count on neither side."""
UNSETTLED = "unsettled"
"""In place of a label where people differ and nobody has settled it; no person can give it."""
ADJUDICATED = "adjudicated"
"""Name under which the label is kept that a disagreement was settled with."""


@dataclass(frozen=True, slots=True, order=True)
class Label:
    """What one annotator says of one image.

    Raises:
        ValueError: file, label or annotator is empty, or the file's name leaves the folder.

    >>> Label("0001.png", "male", "ada").label
    'male'
    """

    file: str
    """Path relative to the folder of the set, with forward slashes."""
    label: str
    """One of the folder's vocabulary: male, female, low_quality or others unless it says more."""
    annotator: str
    reason: str = ""
    """Why an image is low_quality or others."""
    prompt: str = ""
    """Text that the image was made from."""
    model: str = ""
    """Model that made it."""

    def __post_init__(self) -> None:
        for name in ("file", "label", "annotator"):
            if not getattr(self, name).strip():
                raise ValueError(f"{name} must not be empty, got {name}={getattr(self, name)!r}")
        if not is_relative(self.file):
            raise ValueError(
                f"file must be a path below the folder of the labels, got file={self.file!r}"
            )
