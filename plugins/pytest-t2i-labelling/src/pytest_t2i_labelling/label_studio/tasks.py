"""Tasks for Label Studio, and the labelling interface."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import quoteattr

from pytest_t2i.labels import Vocabulary

IMAGE, CHOICE = "image", "label"
"""The names of the picture and of the question in the labelling interface."""


@dataclass(frozen=True, slots=True)
class Task:
    """One image to label."""

    file: str
    """The path below the folder that Label Studio serves."""
    prompt: str = ""
    model: str = ""
    said: Mapping[str, tuple[str, float | None]] = field(default_factory=dict)
    """Detector -> predicted label, and its score if there is one."""
    labels: Sequence[tuple[str, str]] = ()
    """Annotator and label, for each label that people gave."""


def tasks(given: Iterable[Task], *, predictions: bool, blind: bool = True) -> list[dict[str, Any]]:
    """Return the tasks as Label Studio imports them.

    ``blind`` leaves out prompt and model, as both can suggest an answer. Predictions suggest
    answers, too: they serve to review predicted labels, not to evaluate the detector.
    """
    return [_task(task, predictions=predictions, blind=blind) for task in given]


def _task(task: Task, *, predictions: bool, blind: bool) -> dict[str, Any]:
    data = {IMAGE: f"/data/local-files/?d={quote(task.file)}"}
    if not blind:
        known = {"prompt": task.prompt, "model": task.model}
        data |= {name: text for name, text in known.items() if text}
    plain: dict[str, Any] = {"data": data}
    if task.labels:
        plain["annotations"] = [
            {"completed_by": {"email": who}, "result": [_choice(label)]}
            for who, label in task.labels
        ]
    if predictions and task.said:
        plain["predictions"] = [
            {"model_version": detector, "result": [_choice(label)]}
            | ({} if sure is None else {"score": sure})
            for detector, (label, sure) in task.said.items()
        ]
    return plain


def _choice(label: str) -> dict[str, Any]:
    return {
        "from_name": CHOICE,
        "to_name": IMAGE,
        "type": "choices",
        "value": {"choices": [label]},
    }


def interface(vocabulary: Vocabulary) -> str:
    """Return the labelling interface (XML) with the labels, their keys and colours."""
    lines = [
        "<View>",
        f'  <Image name="{IMAGE}" value="${IMAGE}"/>',
        f'  <Choices name="{CHOICE}" toName="{IMAGE}" choice="single" required="true">',
    ]
    lines += [
        f'    <Choice value={quoteattr(choice.name)} hotkey="{choice.key}" '
        f'background="{choice.colour}" hint={quoteattr(choice.meaning)}/>'
        for choice in vocabulary.choices
    ]
    return "\n".join([*lines, "  </Choices>", "</View>"]) + "\n"
