"""Labels from a Label Studio export (JSON): the first choice of every annotation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec

from pytest_t2i.errors import FileFormatError, shown
from pytest_t2i.files import convert, parse_json, read_text
from pytest_t2i.labels.label import Label
from pytest_t2i.labels.vocabulary import Vocabulary, vocabulary_of

EXPECTED = (
    "Expected a Label Studio export in JSON: a list of tasks with data.image and annotations "
    "whose choices are labels of the folder (labels.toml; without one male, female, low_quality, "
    "others)."
)


def read_label_studio(path: str | Path) -> list[Label]:
    """Every annotation of an export as a label.

    The annotator is the annotation's ``completed_by`` (an id or an e-mail address). The image is
    named by ``data.image``: the part after the last upload prefix is the file's name.

    Raises:
        FileFormatError: it is no such export, or a choice is none of the labels (task and value).
    """
    path = Path(path)
    tasks = parse_json(path, read_text(path))
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        raise FileFormatError(path, "it is no list of tasks.", remedy=EXPECTED)
    vocabulary = vocabulary_of(path.parent)
    return [
        label
        for place, task in enumerate(tasks)
        for label in _labels(path, place, task, vocabulary)
    ]


class _Choices(msgspec.Struct):
    """What was chosen; other kinds of regions have none."""

    choices: list[str] = []


class _Result(msgspec.Struct):
    """One part of an annotation."""

    value: _Choices = msgspec.field(default_factory=_Choices)


class _Person(msgspec.Struct):
    """Who annotated, where an export spells it out."""

    email: str | None = None
    id: int | str | None = None


class _Annotation(msgspec.Struct):
    """One person's answer."""

    result: list[_Result] = []
    was_cancelled: bool | None = None
    completed_by: _Person | int | str | None = None


class _Data(msgspec.Struct):
    """What a task shows."""

    image: str
    prompt: str | int | float | None = None
    model: str | int | float | None = None


class _Task(msgspec.Struct):
    """One image with all that was said of it."""

    data: _Data
    annotations: list[_Annotation] = []
    id: int | str | None = None


def _labels(
    path: Path, place: int, plain: Mapping[str, Any], vocabulary: Vocabulary
) -> Iterator[Label]:
    data = plain.get("data")
    if not isinstance(data, dict) or not isinstance(data.get("image"), str):
        raise FileFormatError(path, "no data.image.", where=f"[{place}]", remedy=EXPECTED)
    task = convert(path, plain, _Task, where=f"[{place}]")
    where = f"[{place}] task {'?' if task.id is None else task.id}"
    for annotation in task.annotations:
        if annotation.was_cancelled:
            continue
        choices = _choices(annotation)
        if not choices:
            raise FileFormatError(path, "an annotation has no choice.", where=where)
        if len(choices) > 1:
            problem = f"expected one choice in an annotation, got {', '.join(map(shown, choices))}."
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
    """What a person chose, each once; Label Studio lets several be chosen where it is told to."""
    chosen = (word for result in annotation.result for word in result.value.choices or ())
    return list(dict.fromkeys(chosen))


def _known(choice: str, vocabulary: Vocabulary) -> str:
    """The label as we write it; Label Studio shows what its configuration says.

    Raises ValueError for what is none.
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
    """The file's name below the folder: local storage names it as ``?d=path``.

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
        uploaded = dash and len(prefix) == 8  # noqa: PLR2004 - Label Studio puts 8 hex digits before
        return rest if uploaded else path.name
    return path.as_posix().lstrip("/")
