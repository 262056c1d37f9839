"""Tables with a column for each annotator, or with other names of columns and labels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pytest_t2i.errors import ConfigurationError, FileFormatError
from pytest_t2i.files import CsvRow, read_csv
from pytest_t2i.labels.label import Label
from pytest_t2i.labels.vocabulary import Vocabulary

MORE = ("reason", "prompt", "model")
"""Columns that are taken over where the table has them."""
REMEDY = "Name the columns with --file and --columns, or --label and --annotator."


def read_wide(
    path: Path,
    annotators: Sequence[str],
    vocabulary: Vocabulary,
    *,
    file: str = "file",
    words: Mapping[str, str] | None = None,
) -> list[Label]:
    """Labels of a table with one column for each annotator.

    Args:
        path: the CSV file.
        annotators: names of the columns; they become the annotators' names.
        vocabulary: the labels that there are.
        file: the column with the pictures' names.
        words: what the table calls a label -> the label; others stand for themselves.

    Returns:
        One label for each cell that is not empty.

    Raises:
        FileFormatError: a column is absent, or a cell holds no label (file, line, value).
    """
    rows = read_csv(path, (file, *annotators), remedy=REMEDY)
    return [
        label
        for row in rows
        for name in annotators
        for label in _label(path, row, row.values[file], row.values[name], name, vocabulary, words)
    ]


def read_long(
    path: Path,
    vocabulary: Vocabulary,
    *,
    file: str = "file",
    label: str = "label",
    annotator: str = "annotator",
    words: Mapping[str, str] | None = None,
) -> list[Label]:
    """Labels of a table with one row for each word, whose columns have other names.

    Raises as ``read_wide`` does.
    """
    rows = read_csv(path, (file, label, annotator), remedy=REMEDY)
    return [
        one
        for row in rows
        for one in _label(
            path, row, row.values[file], row.values[label], row.values[annotator], vocabulary, words
        )
    ]


def _label(
    path: Path,
    row: CsvRow,
    file: str,
    word: str,
    annotator: str,
    vocabulary: Vocabulary,
    words: Mapping[str, str] | None,
) -> Iterator[Label]:
    """None for an empty cell: this annotator did not see the picture."""
    if not word.strip():
        return
    known = {_plain(name): name for name in vocabulary.names}
    plain = (words or {}).get(word.strip(), word.strip())
    meant = known.get(_plain(plain))
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
    """A word without case, blanks, hyphens and underscores."""
    return re.sub(r"[\W_]+", "", word).casefold()


def meanings(text: str) -> dict[str, str]:
    """``m=male,f=female`` as a table.

    Raises ConfigurationError for a part without an equals sign.

    >>> meanings("m=male, f=female")
    {'m': 'male', 'f': 'female'}
    """
    told: dict[str, str] = {}
    for part in filter(None, text.split(",")):
        word, sign, label = part.partition("=")
        if not sign or not word.strip() or not label.strip():
            raise ConfigurationError(f"--words: expected word=label, such as m=male, got {part!r}")
        told[word.strip()] = label.strip()
    return told
