"""Labelled sets: images with people's labels, on which detectors are evaluated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_t2i.adapters.picture_files import picture_in, without_origin
from pytest_t2i.adapters.tables import of_cell, read_csv
from pytest_t2i.data import digest
from pytest_t2i.errors import ConfigurationError, FileFormatError, some
from pytest_t2i.files import checksum, inside, outside, stamp
from pytest_t2i.labels.consensus import agreed, by_file
from pytest_t2i.labels.label import ADJUDICATED, UNSETTLED, Label
from pytest_t2i.labels.labels_csv import EXPECTED, FILE_NAME, read_labels
from pytest_t2i.labels.vocabulary import Vocabulary, vocabulary_of
from pytest_t2i.read_files import TABLE, content_of

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True, slots=True)
class LabelledImage:
    """One image with its final label."""

    file: str
    """Path relative to the folder."""
    label: str
    """Final label by ``consensus.agreed``: adjudicated, by the set's rule, or "unsettled"."""
    clear: bool
    """Whether scores count the label, such as male and female."""
    reason: str = ""
    prompt: str = ""
    model: str = ""


@dataclass(frozen=True)
class LabelledSet:
    """A folder of images with final labels."""

    folder: Path
    images: tuple[LabelledImage, ...]
    labels: tuple[Label, ...]
    """Labels of all annotators."""
    vocabulary: Vocabulary
    """Allowed labels."""
    notes: tuple[str, ...] = ()
    """What the user should know of the file of labels."""

    def __iter__(self) -> Iterator[LabelledImage]:
        return iter(self.images)

    def __len__(self) -> int:
        return len(self.images)

    @cached_property
    def unsettled(self) -> tuple[LabelledImage, ...]:
        """The images whose annotators disagree and that nobody has adjudicated."""
        return tuple(image for image in self.images if image.label == UNSETTLED)

    @cached_property
    def settled(self) -> LabelledSet:
        """The set without unsettled images."""
        if not self.unsettled:
            return self
        return replace(self, images=tuple(i for i in self.images if i.label != UNSETTLED))

    @property
    def annotators(self) -> tuple[str, ...]:
        """The annotators, each once, without those who adjudicated."""
        return tuple(sorted({label.annotator for label in self.labels} - {ADJUDICATED}))

    def path(self, image: LabelledImage) -> Path:
        return self.folder / image.file

    @cached_property
    def checksums(self) -> dict[str, str]:
        """The hash of each file's content, without the metadata that name a picture's origin."""
        return {
            image.file: checksum(without_origin(self.path(image).read_bytes()))
            for image in self.images
        }

    @cached_property
    def fingerprint(self) -> str:
        """The hash of all images and final labels."""
        return digest(
            [[image.file, image.label, self.checksums[image.file]] for image in self.images]
        )


def load_labelled_set(source: str | Path) -> LabelledSet:
    """Load a folder with labels.csv (and labels.toml), or a label file of another program.

    Raises:
        ConfigurationError: there is no such folder, or it holds no label.
        FileFormatError: labels are malformed, or name images that are not there.
    """
    source = Path(source)
    labels = read_labels(source)
    folder, path = (source, source / FILE_NAME) if source.is_dir() else (source.parent, source)
    if not labels:
        tables = [file.name for file in folder.glob("labels.*") if content_of(file).kind == TABLE]
        there = f" There is {some(tables)}: save it as {FILE_NAME}." if tables else ""
        raise ConfigurationError(
            f"{source} holds no label.{there} {EXPECTED} "
            f"t2i label page {folder} --annotator NAME makes one."
        )
    vocabulary = vocabulary_of(folder)
    images = _images(folder, path, labels, vocabulary)
    return LabelledSet(folder, tuple(images), tuple(labels), vocabulary, labels.notes)


def labelled_set_of(
    table: Path, column: str, vocabulary: Vocabulary, spellings: Mapping[str, str]
) -> LabelledSet:
    """Load the images of a table by a further column, such as an attribute; "" is no label.

    ``spellings`` are other words of the column's cells -> labels of the vocabulary. The errors are
    those of ``load_labelled_set``.
    """
    labels = []
    for row in read_csv(table, ("file", column), remedy=f"--attribute names a column of {table}."):
        cell = row.values[column]
        if not cell:
            continue
        try:
            label = Label(of_cell(row.values["file"]), spellings.get(cell, cell), column)
            vocabulary.check(label.label)
        except ValueError as error:
            raise FileFormatError(table, f"{error}.", where=row.where) from None
        labels.append(label)
    if not labels:
        raise ConfigurationError(f"{table} holds no label in the column {column!r}")
    images = _images(table.parent, table, labels, vocabulary)
    return LabelledSet(table.parent, tuple(images), tuple(labels), vocabulary)


def _images(
    folder: Path, path: Path, labels: Sequence[Label], vocabulary: Vocabulary
) -> Iterator[LabelledImage]:
    final = agreed(labels, vocabulary.rule)
    led_out = outside(folder, final)
    absent = led_out or [file for file in final if inside(folder, file) is None]
    if absent:
        where = "lie outside of" if led_out else "are not in"
        raise FileFormatError(
            path,
            f"{len(absent)} of {len(final)} labelled images {where} {folder}: {some(absent)}.",
            remedy="Paths are relative to the folder of the labels and stay in it; so do links.",
        )
    grouped = by_file(labels)
    for file, label in final.items():
        of_file = grouped[file]
        yield LabelledImage(
            file,
            label,
            label in vocabulary.clear,
            _first([vote.reason for vote in of_file if vote.label == label]),
            _first([vote.prompt for vote in of_file]),
            _first([vote.model for vote in of_file]),
        )


def _first(values: Sequence[str]) -> str:
    return next((value for value in values if value), "")


def picture_file(folder: Path, file: str) -> Path | None:
    """Return the path of a picture; None if it is absent, or a link leads out of the folder.

    >>> picture_file(Path("nowhere"), "../a.png") is None
    True
    """
    return inside(folder, file)


def open_picture(file: Path) -> Image | None:
    """Open a picture as a viewer shows it: upright, on white, RGB; None if it cannot be read.

    >>> open_picture(Path("nowhere.png")) is None
    True
    """
    return picture_in(file)


def state_of(folder: Path) -> str | None:
    """Return a stamp that changes with every write of a folder's labels.csv; None without one.

    >>> state_of(Path("nowhere")) is None
    True
    """
    return stamp(folder / FILE_NAME)
