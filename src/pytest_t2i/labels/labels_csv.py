"""The reader and writer of labels.csv and of the log beside it."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, fields
from pathlib import Path

import msgspec

from pytest_t2i.adapters.models.manifest import listed_in
from pytest_t2i.adapters.tables import CsvRow, exact_cell, literal, of_cell, read_csv
from pytest_t2i.errors import ConfigurationError, FileFormatError, StoreError
from pytest_t2i.files import FileLock, explain, outside, write_whole
from pytest_t2i.labels.label import Label, Labels, reader_of
from pytest_t2i.labels.vocabulary import Vocabulary, keep_vocabulary, vocabulary_of
from pytest_t2i.read_files import TABLE, check_length, content_of, read_text

LOG_NAME = ".labels.log"


class LoggedWord(msgspec.Struct):
    """One line of the log: a label, or the removal of one (``label`` is null)."""

    file: str
    annotator: str
    label: str | None
    reason: str = ""
    prompt: str = ""
    model: str = ""

    def as_label(self) -> Label | None:
        """Return the label; None for a removal. Raises ValueError for a malformed label."""
        if self.label is None:
            return None
        return Label(self.file, self.label, self.annotator, self.reason, self.prompt, self.model)

    def with_texts(self, of: Callable[[str], str]) -> LoggedWord:
        texts = {
            name: of(text)
            for name, text in msgspec.structs.asdict(self).items()
            if text is not None
        }
        return msgspec.structs.replace(self, **texts)


def _add(folder: Path, word: LoggedWord) -> None:
    """Append a label or its removal to the log; StoreError where it cannot be written."""
    path = folder / LOG_NAME
    line = msgspec.json.encode(word.with_texts(_as_kept))
    try:
        with path.open("ab", buffering=0) as file:
            # After a line that a full disk cut short, this one starts on a new line.
            start = b"\n" if _is_cut_short(path) else b""
            file.write(start + line + b"\n")
            os.fsync(file.fileno())
    except OSError as error:
        raise StoreError(explain(path, error)) from error


def _as_kept(text: str) -> str:
    """Return a text as JSON can hold it: half a surrogate pair cannot be in it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return literal(text)
    return literal(text) if of_cell(text) != text else text


def _is_cut_short(path: Path) -> bool:
    with path.open("rb") as file:
        if not file.seek(0, os.SEEK_END):
            return False
        file.seek(-1, os.SEEK_END)
        return file.read(1) != b"\n"


def _read_log(folder: Path) -> Iterator[LoggedWord]:
    """Yield the lines, oldest first; lines that were cut short are left out."""
    path = folder / LOG_NAME
    if not path.exists():
        return
    lines = read_text(path).split("\n")
    for number, line in enumerate(lines, 1):
        if line:
            check_length(path, line, f"line {number}")
            try:
                yield msgspec.json.decode(line, type=LoggedWord).with_texts(of_cell)
            except (msgspec.MsgspecError, RecursionError) as error:
                if number < len(lines) and line.endswith("}"):
                    raise FileFormatError(path, f"{error}.", where=f"line {number}") from None


FILE_NAME = "labels.csv"
COLUMNS = tuple(column.name for column in fields(Label))
NEEDED = ("file", "label", "annotator")
PICTURES = {".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff"}
EXPECTED = (
    f"Expected {FILE_NAME} with the columns {','.join(NEEDED)} "
    "and, where known, reason,prompt,model."
)


def read_labels(source: str | Path) -> Labels:
    """Return every label of a folder, or of a label file of another program.

    A folder keeps its labels in labels.csv and in the log beside it; without either the list is
    empty.

    Raises:
        ConfigurationError: the folder does not exist, or the reader of the file is not installed.
        FileFormatError: a column is absent or a row cannot be used (file, line, value).
    """
    folder = Path(source)
    if not folder.is_dir() and reader_of(folder):
        return read_label_file(folder, vocabulary_of(folder.parent))
    _check_folder(folder)
    vocabulary = vocabulary_of(folder)
    # The log is read first: a label that another process moves into the table meanwhile is then
    # read twice and never missed.
    words = list(_read_log(folder))
    path = folder / FILE_NAME
    # A dangling link raises an error below.
    labels = _read_label_table(path, vocabulary) if os.path.lexists(path) else {}
    for word in words:
        label = _of_log(folder, word, vocabulary)
        if label is None:
            labels.pop((word.file, word.annotator), None)
        else:
            labels[_key(label)] = label
    return Labels(labels.values())


def read_label_file(path: Path, vocabulary: Vocabulary) -> Labels:
    """Return the labels of a file of another program, else of a table like labels.csv."""
    if reader := reader_of(path):
        return reader(path, vocabulary)
    return Labels(_read_label_table(path, vocabulary).values())


def _read_label_table(path: Path, vocabulary: Vocabulary) -> dict[tuple[str, str], Label]:
    labels: dict[tuple[str, str], Label] = {}
    for row in read_csv(path, NEEDED, remedy=EXPECTED):
        label = _label(path, row, vocabulary)
        first = labels.setdefault(_key(label), label)
        if first.label != label.label:
            raise FileFormatError(
                path,
                f"{label.annotator} says both {first.label} and {label.label} "
                f"of {label.file}. Keep one of the two rows.",
                where=row.where,
            )
    return labels


def write_labels(folder: str | Path, labels: Iterable[Label]) -> None:
    """Write FOLDER/labels.csv atomically, sorted by file and annotator, and remove the log.

    The table takes the place of the earlier one, and the log is removed, only after the table was
    read back and holds these labels.

    Raises:
        ValueError: a label is not in the folder's vocabulary.
        StoreError: the table cannot be written, or is read back otherwise.
    """
    folder = Path(folder)
    with _lock(folder):
        _write(folder, labels)


def _write(folder: Path, labels: Iterable[Label]) -> None:
    vocabulary = vocabulary_of(folder)
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    rows = sorted(labels, key=lambda label: (label.file, label.annotator))
    expected: dict[tuple[str, str], Label] = {}
    for row in rows:
        vocabulary.check(row.label)
        expected.setdefault(_key(row), row)
    writer.writerows(
        {name: exact_cell(getattr(row, name)) for name in COLUMNS} | {"file": _file_cell(row.file)}
        for row in rows
    )
    table, draft = folder / FILE_NAME, folder / f".{FILE_NAME}.new"
    try:
        write_whole(draft, text.getvalue().encode())
        # Write a file to the disk, so that the log is not removed before the table is there.
        with draft.open("rb+") as stream:
            os.fsync(stream.fileno())
        _check_read_back(table, draft, vocabulary, expected)
        draft.replace(table)
    except OSError as error:
        raise StoreError(explain(table, error)) from error
    finally:
        draft.unlink(missing_ok=True)
    (folder / LOG_NAME).unlink(missing_ok=True)


def _file_cell(name: str) -> str:
    cell = exact_cell(name)
    return literal(name) if cell == f"'{name}" else str(cell)


def _check_read_back(
    table: Path, draft: Path, vocabulary: Vocabulary, expected: dict[tuple[str, str], Label]
) -> None:
    """Raise StoreError where a new table does not hold these labels."""
    try:
        is_equal, because = _read_label_table(draft, vocabulary) == expected, ""
    except FileFormatError as error:
        is_equal, because = False, f" ({error})"
    if not is_equal:
        raise StoreError(
            f"{table}: expected to read back the labels as they were written{because}. The table "
            f"and the log {LOG_NAME} beside it stay as they are: no label is lost"
        )


def record(folder: Path, label: Label) -> None:
    """Record a label, which replaces an earlier label of the file by the same annotator.

    The label is appended to the log beside labels.csv, so that the cost does not grow with the
    number of labels. Several processes may record labels at the same time.

    Raises ValueError for a label that is not in the folder's vocabulary.
    """
    vocabulary_of(folder).check(label.label)
    with _lock(folder):
        _add(folder, LoggedWord(**asdict(label)))


def forget(folder: Path, file: str, annotator: str) -> None:
    with _lock(folder):
        _add(folder, LoggedWord(file, annotator, None))


def compact(folder: Path) -> None:
    """Move the labels of the log into labels.csv.

    If the process is killed in between, both hold the labels; reading takes each once.
    """
    _check_folder(folder)
    if not (folder / LOG_NAME).exists():
        return
    with _lock(folder):
        if (folder / LOG_NAME).exists():
            _write(folder, read_labels(folder))


def choose_vocabulary(folder: Path, vocabulary: Vocabulary) -> None:
    """Write FOLDER/labels.toml for a vocabulary.

    Raises ConfigurationError if the folder does not exist, or has labels that the vocabulary lacks.
    """
    extra = {label.label for label in read_labels(folder)} - set(vocabulary.names)
    if extra:
        raise ConfigurationError(
            f"{folder} has labels that are none of {', '.join(vocabulary.clear)}: "
            f"{', '.join(sorted(extra))}. Label another copy of the images, or leave --labels out."
        )
    keep_vocabulary(folder, vocabulary)


def image_files(folder: str | Path) -> list[str]:
    """List every picture below a folder as sorted relative paths.

    Hidden files and links to files outside of the folder are left out.

    Raises ConfigurationError when the folder does not exist.
    """
    folder = Path(folder)
    _check_folder(folder)
    files = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    pictures = [
        path.as_posix()
        for path in files
        if path.suffix.lower() in PICTURES and not any(p.startswith(".") for p in path.parts)
    ]
    links = [file for file in pictures if (folder / file).is_symlink()]
    return sorted(set(pictures) - set(outside(folder, links)))


def prompts_of(folder: str | Path) -> dict[str, str]:
    """Return the prompt of each file by the folder's manifest (as for images:DIR), if any.

    Raises FileFormatError if the manifest is malformed.
    """
    return dict(listed_in(Path(folder), "prompt"))


def questions_of(folder: Path) -> dict[str, str]:
    """Return the question about each file by the column ``question`` of the manifest, if any.

    Raises FileFormatError if the manifest is malformed.
    """
    return dict(listed_in(folder, "question"))


def _label(path: Path, row: CsvRow, vocabulary: Vocabulary) -> Label:
    try:
        texts = {name: of_cell(row.values.get(name, "")) for name in COLUMNS}
        vocabulary.check(texts["label"])
        return Label(**texts)
    except ValueError as error:
        raise FileFormatError(path, f"{error}.", where=row.where) from None


def _of_log(folder: Path, word: LoggedWord, vocabulary: Vocabulary) -> Label | None:
    try:
        label = word.as_label()
        if label is not None:
            vocabulary.check(label.label)
    except ValueError as error:
        raise FileFormatError(folder / LOG_NAME, f"{error}.") from None
    return label


def _key(label: Label) -> tuple[str, str]:
    return label.file, label.annotator


def _lock(folder: Path) -> FileLock:
    return FileLock(folder / f".{FILE_NAME}.lock")


def _check_folder(folder: Path) -> None:
    if folder.is_dir():
        return
    if (content := content_of(folder)).kind == TABLE:
        kind = f"is {content.name}: save it as {FILE_NAME} in the folder of the images"
    else:
        kind = "is a file, not a folder" if folder.exists() else "does not exist"
    raise ConfigurationError(f"folder of labelled images {folder} {kind}. {EXPECTED}")
