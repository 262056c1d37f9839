"""The pictures and labels of one sitting at the labelling page, without HTTP.

As in Lyu section 3.3, two people label every image on their own, then settle their disagreements
together. An annotator therefore sees no labels of other people or detectors, and no file name or
prompt, as both can suggest an answer. Each annotator gets an own order of the pictures, so that
fatigue affects different pictures. A reviewer sees everything.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from pytest_t2i import T2IError, labels
from pytest_t2i.labels import ADJUDICATED, OTHERS, Label, Vocabulary

LONGEST_NAME = 60
"""The largest number of characters of a name."""
LONGEST_REASON = 300
"""The largest number of characters of a reason."""


class Desk(Protocol):
    """Pictures to go through, and the labels of these pictures."""

    folder: Path
    files: tuple[str, ...]
    """The pictures, in the order in which they are shown."""
    vocabulary: Vocabulary
    """The labels to choose from."""

    def title(self) -> Mapping[str, Any]:
        """Return what the page says about the sitting as a whole."""

    def entry(self, index: int) -> Mapping[str, Any]:
        """Return what the page shows beside a picture."""

    def entries(self) -> list[Mapping[str, Any]]:
        """Return what the page shows beside every picture."""

    def put(self, index: int, label: str, reason: str) -> None:
        """Keep a label."""

    def take_back(self, index: int) -> None:
        """Forget a label."""


@dataclass(slots=True)
class Memory:
    """The labels of a folder, which are read again where another process changed labels.csv."""

    folder: Path
    counts: Callable[[Label], bool]
    """Whether a label is to be kept."""
    _by_file: dict[str, dict[str, Label]] = field(default_factory=dict)
    _stamp: str | None = ""

    def of(self, file: str) -> Mapping[str, Label]:
        if labels.state_of(self.folder) != self._stamp:
            self.read()
        return self._by_file.get(file, {})

    def read(self) -> None:
        before = labels.state_of(self.folder)
        by_file: dict[str, dict[str, Label]] = {}
        for label in labels.read_labels(self.folder):
            if self.counts(label):
                by_file.setdefault(label.file, {})[label.annotator] = label
        self._by_file, self._stamp = by_file, before

    def keep(self, label: Label) -> None:
        """Write a label to disk, then remember it."""
        labels.record(self.folder, label)
        self._by_file.setdefault(label.file, {})[label.annotator] = label

    def forget(self, file: str, annotator: str) -> None:
        """Remove a label from disk, then from memory."""
        labels.forget(self.folder, file, annotator)
        self._by_file.get(file, {}).pop(annotator, None)


@dataclass(slots=True)
class Annotation:
    """The desk of one annotator.

    Raises:
        T2IError: the folder holds no picture, or the name cannot be used.
        FileFormatError: labels.csv or labels.toml cannot be read.
    """

    folder: Path
    annotator: str
    model: str = ""
    """The model that made the pictures; it is kept with every label."""
    files: tuple[str, ...] = field(init=False)
    vocabulary: Vocabulary = field(init=False)
    _memory: Memory = field(init=False)
    _prompts: Mapping[str, str] = field(init=False)
    _questions: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.annotator = usable_name(self.annotator)
        pictures = labels.image_files(self.folder)
        if not pictures:
            raise T2IError(f"{self.folder} holds no picture to label.")
        self.files = tuple(sorted(pictures, key=self._place))
        self.vocabulary = labels.vocabulary_of(self.folder)
        self._prompts = labels.prompts_of(self.folder)
        self._questions = labels.questions_of(self.folder)
        self._memory = Memory(self.folder, lambda label: label.annotator == self.annotator)
        self._memory.read()

    def _place(self, file: str) -> str:
        """Return a sort key: a random order that is always the same for one annotator."""
        text = json.dumps([self.annotator, file], separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()

    def title(self) -> Mapping[str, Any]:
        """Return the mode, the annotator and the folder."""
        return {"mode": "label", "who": self.annotator, "folder": self.folder.name}

    def entry(self, index: int) -> Mapping[str, Any]:
        """Return the question of a picture and the annotator's own label, and nothing else."""
        file = self.files[index]
        label = self._memory.of(file).get(self.annotator)
        return {
            "label": label.label if label else "",
            "reason": label.reason if label else "",
            "question": self._questions.get(file, ""),
        }

    def entries(self) -> list[Mapping[str, Any]]:
        """Return the entries of all pictures, with labels read again."""
        self._memory.read()
        return [self.entry(index) for index in range(len(self.files))]

    def put(self, index: int, label: str, reason: str) -> None:
        """Keep a label.

        Raises:
            ValueError: no such label, or no reason where one is needed.
        """
        file = self.files[index]
        known = self._memory.of(file).get(self.annotator)
        prompt = self._prompts.get(file) or (known.prompt if known else "")
        model = self.model or (known.model if known else "")
        reason = usable_reason(label, reason)
        self._memory.keep(Label(file, label, self.annotator, reason, prompt, model))

    def take_back(self, index: int) -> None:
        self._memory.forget(self.files[index], self.annotator)


@dataclass(slots=True)
class Review:
    """The desk of a reviewer: pictures with different labels, and the labels of each annotator.

    A settled label is kept as a further row; the labels of annotators do not change.

    Raises:
        T2IError: the folder has no labels.
    """

    folder: Path
    files: tuple[str, ...] = field(init=False)
    vocabulary: Vocabulary = field(init=False)
    _memory: Memory = field(init=False)
    _questions: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        known = labels.read_labels(self.folder)
        if not known:
            raise T2IError(
                f"{self.folder} has no {labels.FILE_NAME}, so there is nothing to review. Label "
                "it first: t2i label page FOLDER --annotator NAME."
            )
        present = set(labels.image_files(self.folder))
        self.files = tuple(file for file in labels.disagreements(known) if file in present)
        self.vocabulary = labels.vocabulary_of(self.folder)
        self._questions = labels.questions_of(self.folder)
        shown = set(self.files)
        self._memory = Memory(self.folder, lambda label: label.file in shown)
        self._memory.read()

    def title(self) -> Mapping[str, Any]:
        return {"mode": "review", "who": "", "folder": self.folder.name}

    def entry(self, index: int) -> Mapping[str, Any]:
        """Return every annotator's label of a picture, and the settled one."""
        said = self._memory.of(self.files[index])
        settled = said.get(ADJUDICATED)
        return {
            "label": settled.label if settled else "",
            "reason": settled.reason if settled else "",
            "file": self.files[index],
            "question": self._questions.get(self.files[index], ""),
            "prompt": next((label.prompt for label in said.values() if label.prompt), ""),
            "said": [
                {"who": who, "label": label.label, "reason": label.reason}
                for who, label in sorted(said.items())
                if who != ADJUDICATED
            ],
        }

    def entries(self) -> list[Mapping[str, Any]]:
        """Return the entries of all pictures, with labels read again."""
        self._memory.read()
        return [self.entry(index) for index in range(len(self.files))]

    def put(self, index: int, label: str, reason: str) -> None:
        """Settle a disagreement.

        Raises:
            ValueError: no such label, or no reason where one is needed.
        """
        file = self.files[index]
        said = next(iter(self._memory.of(file).values()))
        reason = usable_reason(label, reason)
        self._memory.keep(Label(file, label, ADJUDICATED, reason, said.prompt, said.model))

    def take_back(self, index: int) -> None:
        """Remove the settled label, so that the disagreement is open again."""
        self._memory.forget(self.files[index], ADJUDICATED)


def usable_name(name: str) -> str:
    """Return an annotator's name without surrounding spaces.

    Raises:
        T2IError: the name is empty, too long, not printable, or the reviewer's.
    """
    plain = name.strip()
    if not plain or len(plain) > LONGEST_NAME or not plain.isprintable() or plain == ADJUDICATED:
        raise T2IError(
            f"expected a name of 1 to {LONGEST_NAME} printable characters other than "
            f"{ADJUDICATED!r}, got --annotator={name!r}"
        )
    return plain


def usable_reason(label: str, reason: str) -> str:
    """Return a reason on one line.

    Raises:
        ValueError: the reason is missing where one is needed, or too long.
    """
    plain = " ".join(reason.split())
    if label == OTHERS and not plain:
        raise ValueError("a reason is needed for the label 'others'")
    if len(plain) > LONGEST_REASON:
        raise ValueError(f"expected a reason of at most {LONGEST_REASON} characters")
    return plain
