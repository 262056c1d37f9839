"""Labels from a Label Studio export (JSON): the first choice of every annotation."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from pytest_t2i.errors import FileFormatError
from pytest_t2i.labels.records import LABELS, Label

EXPECTED = (
    "Expected a Label Studio export in JSON: a list of tasks with data.image and annotations "
    f"whose choices are {', '.join(LABELS)}."
)


def read_label_studio(path: Path) -> list[Label]:
    """Every annotation of an export as a label.

    The annotator is the annotation's ``completed_by`` (an id or an e-mail address). The image is
    named by ``data.image``: the part after the last upload prefix is the file's name.

    Raises:
        FileFormatError: it is no such export, or a choice is none of the labels (task and value).
    """
    try:
        tasks = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise FileFormatError(path, f"cannot be read: {error}.") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        raise FileFormatError(path, f"is not valid JSON: {error.msg}.", where=where) from None
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        raise FileFormatError(path, "it is no list of tasks.", remedy=EXPECTED)
    return [label for place, task in enumerate(tasks) for label in _labels(path, place, task)]


def _labels(path: Path, place: int, task: Mapping[str, Any]) -> Iterator[Label]:
    data = task.get("data")
    if not isinstance(data, dict) or not isinstance(data.get("image"), str):
        raise FileFormatError(path, "no data.image.", where=f"[{place}]", remedy=EXPECTED)
    for annotation in task.get("annotations", []):
        if annotation.get("was_cancelled"):
            continue
        choice = _choice(annotation)
        where = f"[{place}] task {task.get('id', '?')}"
        if choice is None:
            raise FileFormatError(path, "an annotation has no choice.", where=where)
        try:
            yield Label(
                _file(data["image"]),
                choice.strip().lower().replace(" ", "_").replace("-", "_"),
                _annotator(annotation.get("completed_by")),
                prompt=str(data.get("prompt", "")),
                model=str(data.get("model", "")),
            )
        except ValueError as error:
            raise FileFormatError(path, f"{error}.", where=where, remedy=EXPECTED) from None


def _choice(annotation: Mapping[str, Any]) -> str | None:
    for result in annotation.get("result", []):
        choices = result.get("value", {}).get("choices")
        if choices:
            return str(choices[0])
    return None


def _annotator(who: Any) -> str:
    if isinstance(who, dict):
        return str(who.get("email") or who.get("id") or "unknown")
    return str(who) if who is not None else "unknown"


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
