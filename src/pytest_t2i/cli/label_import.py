"""``t2i label import``: add the labels of another table, or of Label Studio, to a folder's."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from pytest_t2i.cli.support.arguments import path, say
from pytest_t2i.errors import ConfigurationError, some
from pytest_t2i.files import inside
from pytest_t2i.labels import FILE_NAME, Label, read_labels, vocabulary_of, write_labels
from pytest_t2i.labels.consensus import open_disagreements
from pytest_t2i.labels.labels_csv import image_files, read_label_file
from pytest_t2i.reporting.formatting import several


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: the table, and the folder of pictures."""
    parser.add_argument(
        "table",
        type=path,
        metavar="TABLE",
        help="CSV file with the columns of labels.csv, or a Label Studio export (.json)",
    )
    parser.add_argument(
        "folder",
        type=path,
        metavar="FOLDER",
        help="folder of the pictures, or an empty one where they are elsewhere; its labels.csv is "
        "written",
    )


def run(table: Path, folder: Path) -> int:
    """Add the labels to FOLDER/labels.csv; return 0."""
    old_labels = read_labels(folder)
    new_labels = read_label_file(table, vocabulary_of(folder))
    if not new_labels:
        raise ConfigurationError(f"{table} holds no label")
    for note in new_labels.notes:
        say(note)
    _check_pictures(folder, table, new_labels)
    write_labels(folder, _together(old_labels, new_labels))
    people = dict.fromkeys(new_label.annotator for new_label in new_labels)
    say(f"{several(len(new_labels), 'label')} of {', '.join(people)}: {folder / FILE_NAME}")
    if differing := open_disagreements(read_labels(folder)):
        count = len(differing)
        pictures = "1 picture has" if count == 1 else f"{count} pictures have"
        say(f"{pictures} different labels; settle them: t2i label page {folder} --review")
    return 0


def _check_pictures(folder: Path, table: Path, labels: Sequence[Label]) -> None:
    """Raise ConfigurationError where pictures of the labels are not in the folder of pictures."""
    names = dict.fromkeys(label.file for label in labels)
    absent = [name for name in names if inside(folder, name) is None]
    if len(absent) == len(names) and not image_files(folder):
        say(
            f"{folder} holds no picture: the labels are kept under the names of the table. How far "
            "annotators agree needs no pictures; t2i label and detectors do."
        )
    elif absent:
        raise ConfigurationError(
            f"{table} names pictures that are not in {folder}: {some(absent)}. Nothing was written."
        )


def _together(old_labels: Sequence[Label], new_labels: Sequence[Label]) -> list[Label]:
    labels = {(label.file, label.annotator): label for label in old_labels}
    for label in new_labels:
        before = labels.setdefault((label.file, label.annotator), label)
        if before.label != label.label:
            raise ConfigurationError(
                f"{label.annotator} gives {label.file} both {before.label} and {label.label}. "
                "Nothing was written."
            )
    return list(labels.values())
