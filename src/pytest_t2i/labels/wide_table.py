"""Readers of label tables with a column per annotator, or with other column and label names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pytest_t2i.errors import ConfigurationError, FileFormatError
from pytest_t2i.files import CsvRow, read_table
from pytest_t2i.labels.label import Label
from pytest_t2i.labels.vocabulary import Vocabulary

MORE = ("reason", "prompt", "model")
"""Optional columns."""
REMEDY = "Name the columns with --file and --columns, or --label and --annotator."


class ReadLabels(NamedTuple):
    """The labels of a table."""

    labels: list[Label]
    form: str
    """How the table was read where it is not UTF-8 with commas, in words."""


def read_wide(
    path: Path,
    annotators: Sequence[str],
    vocabulary: Vocabulary,
    *,
    file: str = "file",
    words: Mapping[str, str] | None = None,
) -> ReadLabels:
    """Read the labels of a table with one column per annotator."""
    table = read_table(path, (file, *annotators), optional=MORE, remedy=REMEDY)
    labels = [
        label
        for row in table.rows
        for name in annotators
        for label in _label(path, row, row.values[file], row.values[name], name, vocabulary, words)
    ]
    return ReadLabels(labels, ", ".join(table.form))


def read_long(
    path: Path,
    vocabulary: Vocabulary,
    *,
    file: str = "file",
    label: str = "label",
    annotator: str = "annotator",
    words: Mapping[str, str] | None = None,
) -> ReadLabels:
    """Read the labels of a table with one row per label, whose columns have other names.

    ``words`` and errors are those of ``read_wide``.
    """
    table = read_table(path, (file, label, annotator), optional=MORE, remedy=REMEDY)
    labels = [
        entry
        for row in table.rows
        for entry in _label(
            path, row, row.values[file], row.values[label], row.values[annotator], vocabulary, words
        )
    ]
    return ReadLabels(labels, ", ".join(table.form))


def _label(
    path: Path,
    row: CsvRow,
    file: str,
    word: str,
    annotator: str,
    vocabulary: Vocabulary,
    words: Mapping[str, str] | None,
) -> Iterator[Label]:
    """Yield the label of a cell; nothing for an empty cell, whose image was not labelled."""
    if not word.strip():
        return
    by_spelling = {_plain(name): name for name in vocabulary.names}
    plain = (words or {}).get(word.strip(), word.strip())
    meant = by_spelling.get(_plain(plain))
    if meant is None:
        raise FileFormatError(
            path,
            f"{annotator} says {word.strip()!r} of {file}, expected one of "
            f"{', '.join(vocabulary.names)}. Say what it means: --words {word.strip()}=LABEL",
            where=row.where,
        )
    more = {name: row.values.get(name, "") for name in MORE}
    try:
        yield Label(file.strip(), meant, annotator.strip(), **more)
    except ValueError as error:
        raise FileFormatError(path, str(error), where=row.where) from None


def _plain(word: str) -> str:
    """Return a word without case, blanks, hyphens and underscores."""
    return re.sub(r"[\W_]+", "", word).casefold()


def meanings(text: str) -> dict[str, str]:
    """Parse ``m=male,f=female`` as word -> label.

    >>> meanings("m=male, f=female")
    {'m': 'male', 'f': 'female'}
    """
    labels: dict[str, str] = {}
    for part in filter(None, text.split(",")):
        word, sign, label = part.partition("=")
        if not sign or not word.strip() or not label.strip():
            raise ConfigurationError(f"--words: expected word=label, such as m=male, got {part!r}")
        labels[word.strip()] = label.strip()
    return labels
