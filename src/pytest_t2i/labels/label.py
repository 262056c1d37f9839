"""A person's label of an image, and the files of labels."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from pytest_t2i.adapters.registry import INSTALL, Registries
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.files import is_relative

MALE, FEMALE, LOW_QUALITY, OTHERS = "male", "female", "low_quality", "others"
CLEAR = (MALE, FEMALE)
"""Labels that bias scores count; other labels count on neither side."""
UNSETTLED = "unsettled"
"""Final label of an image whose annotators disagree until somebody adjudicates; no annotator can
give it."""
ADJUDICATED = "adjudicated"
"""Annotator of the labels that settle disagreements."""


@dataclass(frozen=True, slots=True, order=True)
class Label:
    """The label of one image by one annotator.

    Raises:
        ValueError: file, label or annotator is empty, or the file's name leaves the folder.

    >>> Label("0001.png", "male", "ada").label
    'male'
    """

    file: str
    """Path relative to the folder of the set, with forward slashes."""
    label: str
    """Label of the folder's vocabulary, by default male, female, low_quality or others."""
    annotator: str
    reason: str = ""
    """Reason for low_quality or others."""
    prompt: str = ""
    """Text of the image's prompt."""
    model: str = ""
    """Model that made the image."""

    def __post_init__(self) -> None:
        for name in ("file", "label", "annotator"):
            if not getattr(self, name).strip():
                raise ValueError(f"{name} must not be empty, got {name}={getattr(self, name)!r}")
        if not is_relative(self.file):
            raise ValueError(
                f"file must be a path below the folder of the labels, got file={self.file!r}"
            )


class Labels(list[Label]):
    """The labels of a file, with what the user should know of the file.

    >>> Labels([], ["1 annotation is empty"]).notes
    ('1 annotation is empty',)
    """

    def __init__(self, labels: Iterable[Label] = (), notes: Iterable[str] = ()) -> None:
        super().__init__(labels)
        self.notes = tuple(notes)


Reader = Callable[..., Labels]
"""A function from the path of a label file and the Vocabulary that it may use to its labels; names
of images are relative to the folder of the file."""


def reader_of(file: Path) -> Reader | None:
    """Return the registered reader for the ending of this file; None if no reader is known."""
    ending = file.suffix.lower().removeprefix(".")
    registry = Registries().label_files
    if ending in registry:
        return cast("Reader", registry.get(ending))
    if brings := INSTALL.get((registry.kind, ending)):
        raise ConfigurationError(
            f"{file}: labels in a .{ending} file are read by a companion that is not installed. "
            f"Run: {brings}"
        )
    return None
