"""``t2i label-import``: import labels from a table of another shape, or from Label Studio."""

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
        help="folder of the pictures; its labels.csv is written",
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
    known = read_labels(folder)
    vocabulary = vocabulary_of(folder)
    form = ""
    if read := reader_of(table):
        given = read(table)
    elif columns:
        given, form = read_wide(table, columns, vocabulary, file=file, words=meanings(words))
    else:
        given, form = read_long(
            table, vocabulary, file=file, label=label or "label",
            annotator=annotator or "annotator", words=meanings(words),
        )  # fmt: skip
    if not given:
        raise ConfigurationError(f"{table} holds no label")
    if form:
        say(f"{table} is read {form}")
    given = _of_pictures(folder, table, given)
    write_labels(folder, _together(known, given))
    people = dict.fromkeys(one.annotator for one in given)
    say(f"{several(len(given), 'label')} of {', '.join(people)}: {folder / FILE_NAME}")
    if differing := open_disagreements(read_labels(folder)):
        count = len(differing)
        pictures = "1 picture has" if count == 1 else f"{count} pictures have"
        say(f"{pictures} different labels; settle them: t2i label {folder} --review")
    return 0


def _of_pictures(folder: Path, table: Path, given: Sequence[Label]) -> list[Label]:
    """Return the labels with the names that their pictures have on the disk."""
    spellings = FileNames(folder)
    names = {file: spellings.on_disk(file) for file in dict.fromkeys(one.file for one in given)}
    if absent := sorted(file for file, name in names.items() if name is None):
        cause = spellings.cause(absent)
        raise ConfigurationError(
            f"{table} names pictures that are not in {folder}: {some(absent)}. "
            f"{cause + ' ' if cause else ''}Nothing was written."
        )
    return [replace(one, file=names[one.file] or one.file) for one in given]


def _together(known: Sequence[Label], given: Sequence[Label]) -> list[Label]:
    labels = {(one.file, one.annotator): one for one in known}
    for one in given:
        before = labels.setdefault((one.file, one.annotator), one)
        if before.label != one.label:
            raise ConfigurationError(
                f"{one.annotator} gives {one.file} both {before.label} and {one.label}. Nothing "
                "was written."
            )
    return list(labels.values())
