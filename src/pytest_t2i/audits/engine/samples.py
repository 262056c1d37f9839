"""The values of the fixtures ``sample`` and ``samples``: detections, with what audits measure.

An audit adds its measurements by ``Audit.of_sample`` and ``Audit.of_samples``; none is named here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Self, TypeVar

from pytest_t2i.adapters.registry import INSTALL
from pytest_t2i.audits.audit import Audit, Member
from pytest_t2i.audits.discovery import installed_audits
from pytest_t2i.audits.engine.detected import DetectedPrompt, DetectedPrompts, Siblings
from pytest_t2i.data import Prompt
from pytest_t2i.errors import UnknownNameError
from pytest_t2i.sections.words import several

Prompted = TypeVar("Prompted", bound=DetectedPrompt)


@dataclass(frozen=True, repr=False)
class Sample(DetectedPrompt):
    """All detections of one prompt; every audit adds its measurements as attributes.

    >>> import pytest
    >>> from pytest_t2i import Sample, axes, limit
    >>> @pytest.mark.t2i(axes.profession)
    ... def test_it(sample: Sample) -> None:
    ...     assert abs(sample.prompt_bias_score) <= limit("prompt_bias_score", 0.5)
    """

    siblings: Siblings[Any] | None = field(default=None, compare=False)
    """The prompts of the same test function; None for a prompt on its own."""
    audits: tuple[Audit, ...] = field(default=(), kw_only=True, compare=False)
    """The audits of the run, whose ``of_sample`` names are attributes; (): the installed ones."""

    def __repr__(self) -> str:
        return f"<Sample of {self.prompt.id}: {several(len(self.seeds), 'image')}, {self.ref.name}>"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Return what an audit measures of the sample."""
            return _measured(self, name, "of_sample")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *_members(self, "of_sample")]

    @classmethod
    def attributes_with(cls, audits: Iterable[Audit]) -> tuple[str, ...]:
        """Return all attributes of a sample in a run with these audits."""
        return _attributes(cls, audits, "of_sample")

    @property
    def together(self) -> Siblings[Any]:
        """The prompts that share its error level, the prompt itself included."""
        return self.siblings or Siblings([self], [self.prompt.id])


@dataclass(frozen=True, repr=False)
class Samples(DetectedPrompts):
    """The samples of several prompts; every audit adds its measurements of the model.

    >>> import pytest
    >>> from pytest_t2i import Samples, axes, limit
    >>> @pytest.mark.t2i(axes.profession)
    ... def test_it(samples: Samples) -> None:
    ...     assert samples.model_bias_score <= limit("model_bias_score", 0.2)
    """

    members: tuple[Sample, ...]
    corrected: Any = None
    """The correction by people's labels; None without labels."""
    why_no_verdict: str = field(default="", kw_only=True)
    """Why people's labels give no verdict on the model; "" where they may, or without labels."""
    audits: tuple[Audit, ...] = field(default=(), kw_only=True, compare=False)
    """The audits of the run, whose ``of_samples`` names are attributes; (): the installed ones."""

    def __repr__(self) -> str:
        return f"<Samples of {len(self.members)}>"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Return what an audit measures of the samples."""
            return _measured(self, name, "of_samples")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *_members(self, "of_samples")]

    @classmethod
    def attributes_with(cls, audits: Iterable[Audit]) -> tuple[str, ...]:
        """Return all attributes of samples in a run with these audits."""
        return _attributes(cls, audits, "of_samples")

    def __iter__(self) -> Iterator[Sample]:
        return iter(self.members)

    def by_axis(self) -> dict[str, Self]:
        """Return the samples of each axis, in order of appearance."""
        names = dict.fromkeys(sample.prompt.axis for sample in self.members)
        return {
            name: self._part(tuple(s for s in self.members if s.prompt.axis == name))
            for name in names
        }

    def by(self, axis: str) -> dict[str, Self]:
        """Return the samples of each concept of an axis; a crossed prompt has several concepts.

        Raises UnknownNameError for an axis that no prompt has.
        """
        parts = by_concept(self.members, axis)
        return {concept: self._part(members) for concept, members in parts.items()}

    def _part(self, members: tuple[Sample, ...]) -> Self:
        return replace(self, members=members, corrected=None, why_no_verdict="")


def _attributes(kind: type[Any], audits: Iterable[Audit], door: str) -> tuple[str, ...]:
    added = (name for audit in audits for name in getattr(audit, door))
    return (*dir(kind), *(each.name for each in fields(kind)), *added)


def _members(owner: Any, door: str) -> dict[str, Member]:
    """Return what audits add to samples by ``of_sample`` or ``of_samples``, by name."""
    audits = owner.__dict__.get("audits") or installed_audits()
    return {name: member for audit in audits for name, member in getattr(audit, door).items()}


def _measured(owner: Any, name: str, door: str) -> Any:
    """Return the member of this name; raise AttributeError, with the command that installs it."""
    if name.startswith("_"):
        raise AttributeError(name)
    members = _members(owner, door)
    if name in members:
        return members[name](owner)
    install = INSTALL.get(("sample", name))
    hint = f". Run: {install}" if install else ""
    raise AttributeError(f"{owner!r} has no {name!r}{hint}")


def concepts(prompt: Prompt) -> dict[str, str]:
    """Return the concept of a prompt by axis; a crossed prompt has several."""
    return dict(prompt.parts) or {prompt.axis: prompt.concept}


def by_concept(members: tuple[Prompted, ...], axis: str) -> dict[str, tuple[Prompted, ...]]:
    """Return the prompts of each concept of an axis, without those that do not name the axis."""
    member_concepts = [concepts(sample.prompt).get(axis) for sample in members]
    if not any(member_concepts):
        names = {name for sample in members for name in concepts(sample.prompt)}
        raise UnknownNameError("axis of these prompts", axis, names)
    return {
        concept: tuple(s for s, its in zip(members, member_concepts, strict=True) if its == concept)
        for concept in dict.fromkeys(filter(None, member_concepts))
    }
