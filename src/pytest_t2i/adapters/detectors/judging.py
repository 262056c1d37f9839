"""Judges: detectors that put a rubric's question to a vision-language model, picture by picture.

One answer holds all attributes of the question. It is kept as soon as it is there, under the
picture and all that the answer depends on, so that the detectors of the other attributes, and a run
after a kill, find it. A tenth of the pictures, chosen by their pixels, is judged twice, which
measures the judge's agreement with itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter as Tally
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from pytest_t2i.adapters.black_or_unreadable import picture_digest
from pytest_t2i.adapters.detectors.rubrics import Rubric, RubricQuestion, bounded_line
from pytest_t2i.adapters.detectors.screening import screened
from pytest_t2i.adapters.endpoints.paid_requests import CountedPart
from pytest_t2i.data import Detection, FactKind, Undetected, digest

if TYPE_CHECKING:
    from PIL.Image import Image

    from pytest_t2i.adapters.endpoints.paid_requests import Counter
    from pytest_t2i.adapters.endpoints.spending import RunCounts

ONE_IN = 10
"""One in so many pictures is judged twice."""
NO_LABEL = "the judge's answer was none of the labels"


class Memory(Protocol):
    """Where answers are kept: a run's store."""

    def fact(self, name: str) -> Any:
        """The JSON value under a name; None where there is none."""

    def facts(self, prefix: str) -> Mapping[str, Any]:
        """The JSON values of all names that begin so."""

    def remember(self, name: str, value: Any) -> None:
        """Keep a JSON value under a name."""

    def forget(self, name: str) -> None:
        """Delete the value of a name."""


class _Forgetful:
    """The memory of a judge outside of any run."""

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}

    def fact(self, name: str) -> Any:
        return self._values.get(name)

    def facts(self, prefix: str) -> Mapping[str, Any]:
        return {name: value for name, value in self._values.items() if name.startswith(prefix)}

    def remember(self, name: str, value: Any) -> None:
        self._values[name] = value

    def forget(self, name: str) -> None:
        self._values.pop(name, None)


@dataclass
class JudgeRun:
    """What a run and its judges know of each other."""

    memory: Memory = field(default_factory=_Forgetful)
    spending: Counter | None = None
    """Counter of the costs of judged pictures; None where no price is known."""
    faults: RunCounts | None = None
    shared_id: str | None = None
    """Id of the xdist run, whose workers take a version that one of them has learned."""
    alone: Callable[[], Any] | None = None
    """A context in which no other process learns a version."""
    notes: list[str] = field(default_factory=list)
    """What a user must know of the judges."""
    versions: dict[str, Mapping[str, str]] = field(default_factory=dict)
    """Identity of a judge without its version -> the version that it has reported to this run."""
    judged: Tally[str] = field(default_factory=Tally)
    """Name of a judge -> pictures that were judged in this run, the second judgements included."""

    def say(self, note: str) -> None:
        """Keep a note, once."""
        if note not in self.notes:
            self.notes.append(note)


class Reply(NamedTuple):
    """One answer of a judge."""

    text: str = ""
    refusal: str = ""
    """The judge's words where it rejects the picture, as by its policy; "" otherwise."""
    versions: Mapping[str, str] = {}
    """The version that the answer reports."""
    problem: str = ""
    """What the answer lacks; "" where it has a whole text."""


class Task(NamedTuple):
    """A picture to judge."""

    name: str
    """The fact under which the answer is kept."""
    picture: Image


class Panel(ABC):
    """A model that answers one question about pictures; a subclass asks it."""

    judges_twice = True
    """Whether a tenth of the pictures is judged twice; False for a function of the picture."""
    needs_device = False
    """Whether it works on a device that the model under test uses, too."""

    def __init__(self, name: str, question: RubricQuestion) -> None:
        """Args: the name in messages, and the question."""
        self.name, self.question = name, question
        self.run = JudgeRun()

    @property
    @abstractmethod
    def facts(self) -> Mapping[str, str]:
        """All that changes an answer besides the question: model, version, form of pictures."""

    @abstractmethod
    def replies(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, Reply]]:
        """Each picture with the judge's answer, in any order."""

    def join(self, run: JudgeRun) -> None:
        """Take part in a run: its memory, its counters."""
        self.run = run

    def check(self) -> None:  # noqa: B027 - weights on this machine do not change
        """Raise an error where the judge has changed since the run learned its version."""

    @property
    def identity(self) -> str:
        """Hash of all that an answer depends on besides the picture."""
        return digest(["judge", dict(self.facts), self.question.digest])

    def judge(self, pictures: Sequence[Image]) -> list[dict[str, Detection]]:
        """Attribute -> detection, for each picture; only new pictures are asked about."""
        names = [picture_digest(picture).hex() for picture in pictures]
        tasks = dict(self._tasks(dict(zip(names, pictures, strict=True))))
        if tasks:
            self._ask(list(tasks.values()))
        stored = {name: self.run.memory.fact(self._fact(FactKind.JUDGED, name)) for name in names}
        return [_read(stored[name]) for name in names]

    def _tasks(self, pictures: Mapping[str, Image]) -> Iterator[tuple[str, Task]]:
        again = {n for n in pictures if self.judges_twice and int(n[:8], 16) % ONE_IN == 0}
        for kind, names in ((FactKind.JUDGED, pictures), (FactKind.JUDGED_AGAIN, again)):
            for name in names:
                fact = self._fact(kind, name)
                if self.run.memory.fact(fact) is None:
                    yield fact, Task(fact, pictures[name])

    def _ask(self, tasks: Sequence[Task]) -> None:
        landed: list[str] = []
        try:
            for task, reply in self.replies(tasks):
                self.run.memory.remember(task.name, _plain(self._detections(reply)))
                self.run.judged[self.name] += 1
                landed.append(task.name)
            self.check()
        except ChangedError:
            # A version that answers do not report may have changed before any of these.
            for name in landed:
                self.run.memory.forget(name)
            raise

    def _detections(self, reply: Reply) -> Mapping[str, Detection]:
        if reply.refusal:
            refused = Detection(None, Undetected.JUDGE_REFUSED, detail=bounded_line(reply.refusal))
            return {rubric.name: refused for rubric in self.question.rubrics}
        detail = f"{NO_LABEL}: {reply.problem}" if reply.problem else NO_LABEL
        nothing = Detection(None, Undetected.LOW_CONFIDENCE, detail=detail)
        none = {rubric.name: nothing for rubric in self.question.rubrics}
        return {**none, **self.question.detections(reply.text)}

    def agreement(self, attribute: str) -> tuple[int, int]:
        """(Equal answers, pictures asked about twice), over all that the memory holds."""
        prefix = self._fact(FactKind.JUDGED_AGAIN, "")
        pairs = [
            (
                _read(self.run.memory.fact(self._fact(FactKind.JUDGED, name.removeprefix(prefix)))),
                _read(plain),
            )
            for name, plain in self.run.memory.facts(prefix).items()
        ]
        words = [(first[attribute].said, again[attribute].said) for first, again in pairs if first]
        return sum(first == again for first, again in words), len(words)

    def _fact(self, kind: FactKind, picture: str) -> str:
        return kind.of(self.identity, picture)


class ChangedError(Exception):
    """Base of the error that a judge has changed; its answers are not kept."""


class Judge(CountedPart):
    """A Detector of one attribute, whose panel answers about several in one request."""

    def __init__(self, panel: Panel, rubric: Rubric) -> None:
        """Args: what asks the model, and the attribute that this detector is about."""
        self.panel, self.rubric = panel, rubric
        self.labels = tuple(rubric.labels)
        self.needs_device = panel.needs_device

    @property
    def fingerprint(self) -> str:
        """Hash of the model, its version, the whole question, and the attribute."""
        return digest(["vlm", self.panel.identity, self.rubric.name])

    @property
    def provenance(self) -> Mapping[str, str]:
        """The facts behind the fingerprint, readable."""
        return {
            **self.panel.facts,
            "attributes": ", ".join(rubric.name for rubric in self.panel.question.rubrics),
            "rubric": self.panel.question.digest,
        }

    def join(self, run: JudgeRun) -> None:
        """Take part in a run, before the fingerprint is read."""
        self.panel.join(run)

    @property
    def agreement(self) -> tuple[int, int] | None:
        """(Equal answers, pictures); None for a judge that is asked once."""
        return self.panel.agreement(self.rubric.name) if self.panel.judges_twice else None

    def detect(self, images: Sequence[Image]) -> list[Detection]:
        """One detection per picture, in order."""
        name = self.rubric.name
        return screened(images, lambda seen: [told[name] for told in self.panel.judge(seen)])


def _plain(detections: Mapping[str, Detection]) -> dict[str, Any]:
    return {
        name: [
            d.label,
            None if d.undetected is None else d.undetected.value,
            dict(d.scores),
            d.detail,
        ]
        for name, d in detections.items()
    }


def _read(plain: Mapping[str, Sequence[Any]] | None) -> dict[str, Detection]:
    return {
        name: Detection(label, None if reason is None else Undetected(reason), scores, detail)
        for name, (label, reason, scores, detail) in (plain or {}).items()
    }
