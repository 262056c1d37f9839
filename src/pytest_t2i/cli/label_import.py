"""``t2i label import``: import labels from a table of another shape, or from Label Studio."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pytest_t2i.cli.support.arguments import path, say, value
from pytest_t2i.errors import ConfigurationError, some
from pytest_t2i.files import FileNames
from pytest_t2i.labels import FILE_NAME, Label, read_labels, vocabulary_of, write_labels
from pytest_t2i.labels.consensus import open_disagreements
from pytest_t2i.labels.label import reader_of
from pytest_t2i.labels.labels_csv import image_files
from pytest_t2i.labels.wide_table import meanings, read_long, read_wide
from pytest_t2i.reporting.formatting import several
from pytest_t2i.settings import names


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: the table, its columns, and the folder of pictures."""
    parser.add_argument(
        "table", type=path, metavar="TABLE", help="CSV file, or a Label Studio export (.json)"
    )
    parser.add_argument(
        "folder",
        type=path,
        metavar="FOLDER",
        help="folder of the pictures, or an empty one where they are elsewhere; its labels.csv is "
        "written",
    )
    parser.add_argument(
        "--columns", type=value(names), default=(), metavar="A,B,C",
        help="columns of the annotators, in a table with one column of labels for each of them",
    )  # fmt: skip
    parser.add_argument(
        "--file",
        default="file",
        metavar="NAME",
        help="column of the picture files (default: file)",
    )
    parser.add_argument(
        "--label", metavar="NAME",
        help="column of the label, in a table with one label in each row (default: label)",
    )  # fmt: skip
    parser.add_argument(
        "--annotator", metavar="NAME",
        help="column of the annotator who gave the label (default: annotator)",
    )  # fmt: skip
    parser.add_argument(
        "--words", default="", metavar="WORD=LABEL,...",
        help="words that the table uses, and the labels they stand for, as in m=male,f=female",
    )  # fmt: skip


def run(
    table: Path,
    folder: Path,
    *,
    columns: Sequence[str],
    file: str,
    label: str | None,
    annotator: str | None,
    words: str,
) -> int:
    """Add the labels to FOLDER/labels.csv; return 0."""
    if columns and (label or annotator):
        raise ConfigurationError(
            "expected --columns (one column for each annotator) or --label and --annotator (one "
            "label in each row), got both: a table has one shape"
        )
    old_labels = read_labels(folder)
    vocabulary = vocabulary_of(folder)
    form = ""
    if reader := reader_of(table):
        new_labels = reader(table)
    elif columns:
        new_labels, form = read_wide(table, columns, vocabulary, file=file, words=meanings(words))
    else:
        new_labels, form = read_long(
            table, vocabulary, file=file, label=label or "label",
            annotator=annotator or "annotator", words=meanings(words),
        )  # fmt: skip
    if not new_labels:
        raise ConfigurationError(f"{table} holds no label")
    if form:
        say(f"{table} is read {form}")
    new_labels = _of_pictures(folder, table, new_labels)
    write_labels(folder, _together(old_labels, new_labels))
    people = dict.fromkeys(new_label.annotator for new_label in new_labels)
    say(f"{several(len(new_labels), 'label')} of {', '.join(people)}: {folder / FILE_NAME}")
    if differing := open_disagreements(read_labels(folder)):
        count = len(differing)
        pictures = "1 picture has" if count == 1 else f"{count} pictures have"
        say(f"{pictures} different labels; settle them: t2i label page {folder} --review")
    return 0


def _of_pictures(folder: Path, table: Path, labels: Sequence[Label]) -> list[Label]:
    """Return the labels with the names that their pictures have on the disk."""
    spellings = FileNames(folder)
    names = {
        file: spellings.on_disk(file) for file in dict.fromkeys(label.file for label in labels)
    }
    absent = sorted(file for file, name in names.items() if name is None)
    if len(absent) == len(names) and not image_files(folder):
        say(
            f"{folder} holds no picture: the labels are kept under the names of the table. How far "
            "annotators agree needs no pictures; t2i label and detectors do."
        )
        return list(labels)
    if absent:
        cause = spellings.cause(absent)
        raise ConfigurationError(
            f"{table} names pictures that are not in {folder}: {some(absent)}. "
            f"{cause + ' ' if cause else ''}Nothing was written."
        )
    return [replace(label, file=names[label.file] or label.file) for label in labels]


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
