"""Read labels from a Label Studio export (JSON): the choice of every annotation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from urllib.parse import parse_qs, unquote, urlsplit

from pytest_t2i import FileFormatError, decode_json
from pytest_t2i.labels import Label, Vocabulary, vocabulary_of

EXPECTED = (
    "Expected a Label Studio export in JSON: a list of tasks with data.image and annotations "
    "whose choices are labels of the folder (labels.toml; without this file: male, female, "
    "low_quality, others)."
)
PREFIX = 8
"""The number of hex digits that Label Studio puts before the name of an uploaded file."""


def read_export(path: Path) -> list[Label]:
    """Return every annotation of an export as a label.

    The annotator is the annotation's ``completed_by`` (an id or an e-mail address). The image is
    named by ``data.image``: the part after the last upload prefix is the file's name.

    Raises:
        FileFormatError: the file is no such export, or a choice is none of the labels.
    """
    tasks = decode_json(path, list[_Task], remedy=EXPECTED)
    vocabulary = vocabulary_of(path.parent)
    return [
        label
        for place, task in enumerate(tasks)
        for label in _labels(path, place, task, vocabulary)
    ]


@dataclass(frozen=True, slots=True)
class _Choices:
    """The chosen labels; other kinds of results have none."""

    choices: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Result:
    """One part of an annotation."""

    value: _Choices = field(default_factory=_Choices)


@dataclass(frozen=True, slots=True)
class _Person:
    """The annotator, in exports that give more than an id."""

    email: str | None = None
    id: int | str | None = None


@dataclass(frozen=True, slots=True)
class _Annotation:
    """One person's answer."""

    result: list[_Result] = field(default_factory=list)
    was_cancelled: bool | None = None
    completed_by: _Person | int | str | None = None


@dataclass(frozen=True, slots=True)
class _Data:
    """The data that a task shows."""

    image: str
    prompt: str | int | float | None = None
    model: str | int | float | None = None


@dataclass(frozen=True, slots=True)
class _Task:
    """One image with its annotations."""

    data: _Data
    annotations: list[_Annotation] = field(default_factory=list)
    id: int | str | None = None


def _labels(path: Path, place: int, task: _Task, vocabulary: Vocabulary) -> Iterator[Label]:
    where = f"[{place}] task {'?' if task.id is None else task.id}"
    for annotation in task.annotations:
        if annotation.was_cancelled:
            continue
        choices = _choices(annotation)
        if not choices:
            raise FileFormatError(path, "an annotation has no choice.", where=where)
        if len(choices) > 1:
            problem = f"expected one choice in an annotation, got {', '.join(map(repr, choices))}."
            raise FileFormatError(path, problem, where=where, remedy="Keep one of them.")
        try:
            yield Label(
                _file(task.data.image),
                _known(choices[0], vocabulary),
                _annotator(annotation.completed_by),
                prompt=_text(task.data.prompt),
                model=_text(task.data.model),
            )
        except ValueError as error:
            raise FileFormatError(path, f"{error}.", where=where, remedy=EXPECTED) from None


def _choices(annotation: _Annotation) -> list[str]:
    """Return what a person chose, each once; Label Studio can be set to allow several choices."""
    chosen = (word for result in annotation.result for word in result.value.choices)
    return list(dict.fromkeys(chosen))


def _known(choice: str, vocabulary: Vocabulary) -> str:
    """Return the label of the vocabulary for a choice, whatever its capitals, spaces and hyphens.

    Raises ValueError where there is none.
    """
    spellings = {_plain(name): name for name in vocabulary.names}
    label = spellings.get(_plain(choice), choice)
    vocabulary.check(label)
    return label


def _plain(text: str) -> str:
    return text.strip().lower().replace(" ", "_").replace("-", "_")


def _annotator(who: _Person | int | str | None) -> str:
    if isinstance(who, _Person):
        who = who.email or who.id or None
    return "unknown" if who is None else str(who)


def _text(value: str | float | None) -> str:
    return "" if value is None else str(value)


def _file(image: str) -> str:
    """Return the path of the image below the folder; local storage gives it as ``?d=path``.

    >>> _file("/data/local-files/?d=run/a%20b.png"), _file("/data/upload/7/0f3e2a1b-a.png")
    ('run/a b.png', 'a.png')
    """
    parts = urlsplit(image)
    local = parse_qs(parts.query).get("d")
    if local:
        return str(PurePosixPath(local[0]))
    path = PurePosixPath(unquote(parts.path))
    if "upload" in path.parts:
        prefix, dash, rest = path.name.partition("-")
        return rest if dash and len(prefix) == PREFIX else path.name
    return path.as_posix().lstrip("/")
