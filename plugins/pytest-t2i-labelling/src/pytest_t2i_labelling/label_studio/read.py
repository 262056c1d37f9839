"""Read labels from a Label Studio export (JSON): the choice of every annotation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from pytest_t2i import FileFormatError, decode_json
from pytest_t2i.labels import Label, Labels, Vocabulary

EXPECTED = (
    "Expected a Label Studio export in JSON (not JSON-MIN): a list of tasks with data.image and "
    "annotations whose choices are labels of the folder (labels.toml; without this file: male, "
    "female, low_quality, others)."
)
SHOWN = 3
"""Largest number of annotations that a note names."""
PREFIX = 8
"""The number of hex digits that Label Studio puts before the name of an uploaded file."""


def read_export(path: Path, vocabulary: Vocabulary) -> Labels:
    """Return every annotation of an export as a label; an empty one is left out, and counted.

    The annotator is the annotation's ``completed_by`` (an id or an e-mail address). The image is
    named by ``data.image``: the part after the last upload prefix is the file's name. Of several
    questions, the one is read whose name is that of the vocabulary, else the only one whose choices
    are all in it.

    Raises:
        FileFormatError: the file is no such export, or a choice is none of the labels.
    """
    tasks = decode_json(path, list[_Task], remedy=EXPECTED)
    answers = [
        _Answer(f"[{place}] task {'?' if task.id is None else task.id}", task, annotation)
        for place, task in enumerate(tasks)
        for annotation in task.annotations
        if not annotation.was_cancelled
    ]
    questions: dict[str, list[str]] = {}
    for answer in answers:
        for result in answer.annotation.result:
            questions.setdefault(result.from_name, []).extend(result.value.choices)
    questions = {name: sorted(set(choices)) for name, choices in questions.items() if choices}
    if answers and not questions:
        problem = f"none of its annotations ({len(answers)}) has a choice."
        raise FileFormatError(path, problem, remedy=EXPECTED)
    question = _question(path, questions, vocabulary)
    empty = [answer.where for answer in answers if not answer.choices(question)]
    notes = [
        f"{path}: the question {_words({name: choices})} is another attribute and was not read: "
        "import it into a folder of its own, whose labels.toml has these labels"
        for name, choices in questions.items()
        if name != question
    ]
    if empty:
        where = ", ".join(empty[:SHOWN]) + (", ..." if len(empty) > SHOWN else "")
        notes.append(
            f"{path}: annotations without a choice were left out, {len(empty)} of {len(answers)}: "
            f"{where}"
        )
    read = (_label(path, answer, question, vocabulary) for answer in answers)
    return Labels((label for label in read if label is not None), notes)


def _question(path: Path, questions: Mapping[str, list[str]], vocabulary: Vocabulary) -> str:
    fitting = [name for name in questions if _plain(name) == _plain(vocabulary.name)] or [
        name
        for name, choices in questions.items()
        if set(map(_plain, choices)) <= set(map(_plain, vocabulary.names))
    ]
    if len(questions) > 1 and len(fitting) != 1:
        problem = (
            "expected one question with the labels of the folder "
            f"({', '.join(vocabulary.names)}), got {_words(questions)}."
        )
        remedy = 'Write the labels of one question into labels.toml, and its name: name = "...".'
        raise FileFormatError(path, problem, remedy=remedy)
    return next(iter(fitting or questions), "")


def _words(questions: Mapping[str, list[str]]) -> str:
    return "; ".join(f"{name!r} ({', '.join(choices)})" for name, choices in questions.items())


@dataclass(frozen=True, slots=True)
class _Choices:
    """The chosen labels; other kinds of results have none."""

    choices: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Result:
    """One part of an annotation."""

    value: _Choices = field(default_factory=_Choices)
    from_name: str = ""
    """Name of the question."""


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


class _Answer(NamedTuple):
    """One annotation, with its task and the task's place in the file."""

    where: str
    task: _Task
    annotation: _Annotation

    def choices(self, question: str) -> list[str]:
        """What was chosen, each once; Label Studio can be set to allow several choices."""
        results = (r for r in self.annotation.result if r.from_name == question)
        return list(dict.fromkeys(word for result in results for word in result.value.choices))


def _label(path: Path, answer: _Answer, question: str, vocabulary: Vocabulary) -> Label | None:
    """Return what a person answered to a question; None without a choice."""
    choices, data = answer.choices(question), answer.task.data
    if not choices:
        return None
    if len(choices) > 1:
        problem = f"expected one choice in an annotation, got {', '.join(map(repr, choices))}."
        raise FileFormatError(path, problem, where=answer.where, remedy="Keep one of them.")
    try:
        who = answer.annotation.completed_by
        if isinstance(who, _Person):
            who = who.email or who.id or None
        return Label(
            _file(data.image),
            _known(choices[0], vocabulary),
            ("unknown" if who is None else str(who)),
            prompt=_text(data.prompt),
            model=_text(data.model),
        )
    except ValueError as error:
        raise FileFormatError(path, f"{error}.", where=answer.where, remedy=EXPECTED) from None


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
