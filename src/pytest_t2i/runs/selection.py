"""What was asked: the t2i marker of a test, read once, and the selected tests of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from pytest_t2i.audits.instruments import described
from pytest_t2i.data import Attribute, Prompt, Triplet, Variant
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.generation.plan import OBSERVED, SPACES
from pytest_t2i.prompts import Axis, Intersection, Stereotype, builtin_axes, triplet
from pytest_t2i.runs.telling_apart import Tags, tagged, tags_of

ONE_BY_ONE = {"sample": "prompts", "triplet": "triplets", "stereotype": "stereotypes"}
"""Fixture that makes one test case per member -> what its members are."""
KINDS = ("prompts", "triplets", "stereotypes")
"""Kinds of members."""
TRIALS = ("trial", "trials")
"""Fixtures that are about detectors: one test case per detector, or all together."""
TOGETHER = {"samples": "prompts", "triplets": "triplets", "stereotypes": "stereotypes"}
"""Fixture that gives all members to one test case -> what its members are."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What one ``@pytest.mark.t2i(...)`` selects."""

    prompts: tuple[Prompt, ...] = ()
    triplets: tuple[Triplet, ...] = ()
    stereotypes: tuple[Stereotype, ...] = ()
    spaces: tuple[str, ...] = SPACES
    """Where similarity gaps are measured."""
    labelled: bool = False
    """Whether detectors are to be tried on the labelled set."""
    attributes: tuple[Attribute, ...] = ()
    """What the instruments look for in the images of prompts; a stereotype has its own."""
    observe: tuple[str, ...] = ()
    """What is kept for the instruments: names of generation.plan.OBSERVED."""
    most_images: int | None = None
    """At most that many images per prompt, when the run has more."""

    def members(self, fixture: str) -> Sequence[Any]:
        """What the fixture of this name is about."""
        kind = (ONE_BY_ONE | TOGETHER)[fixture]
        return getattr(self, kind)  # type: ignore[no-any-return]

    def restricted(self, fixture: str, member: Any) -> Selection:
        """The same, about one member alone."""
        about: dict[str, Any] = {ONE_BY_ONE[fixture]: (member,)}
        return replace(self, **{"prompts": (), "triplets": (), "stereotypes": (), **about})

    def only(self, kinds: Iterable[str]) -> Selection:
        """The same, about these kinds of members alone."""
        about: dict[str, Any] = {kind: getattr(self, kind) for kind in kinds}
        return replace(self, **{"prompts": (), "triplets": (), "stereotypes": (), **about})

    @property
    def all_members(self) -> tuple[Prompt | Triplet | Stereotype, ...]:
        """Prompts, triplets and stereotypes."""
        return (*self.prompts, *self.triplets, *self.stereotypes)

    def tagged(self, tags: Tags) -> Selection:
        """The same, its prompts told from others of the same id."""
        members = {kind: tuple(tagged(m, tags) for m in getattr(self, kind)) for kind in KINDS}
        return replace(self, **members)  # type: ignore[arg-type]

    def images(self, images: int) -> int:
        """Images per prompt, in a run that has so many."""
        return min(images, self.most_images or images)

    @property
    def texts(self) -> list[str]:
        """Every text that images are made of."""
        prompts = [*self.prompts, *(stereotype.prompt for stereotype in self.stereotypes)]
        prompts += [prompt for three in self.triplets for prompt in three]
        return [prompt.text for prompt in prompts]

    def checked(self) -> Selection:
        """Itself; ConfigurationError for an attribute that the instruments cannot look for."""
        for _, attribute in self.subjects if self.observe else ():
            described(attribute)
        return self

    @property
    def subjects(self) -> list[tuple[Prompt, Attribute]]:
        """Whose images the instruments look at, and for which attribute."""
        of_prompts = [(prompt, one) for prompt in self.prompts for one in self.attributes]
        return [*of_prompts, *((s.prompt, s.attribute) for s in self.stereotypes)]

    @property
    def needs_model(self) -> bool:
        """Whether a model has to make or show something for it."""
        return bool(self.prompts or self.triplets or self.stereotypes or not self.labelled)


class Comparison(NamedTuple):
    """``fixture.metric <= limit("name")`` as it stands in a test."""

    fixture: str
    metric: str
    absolute: bool
    """Whether it is the absolute value that is compared."""
    operator: str
    name: str
    """The limit's name."""
    bound: float | None
    """Given in the call; None where the limits file is asked."""


@dataclass(frozen=True, slots=True)
class SelectedTest:
    """A collected test with what it asks for, its images per prompt resolved."""

    node_id: str
    file: Path
    """Where it stands."""
    selection: Selection
    images: int
    """Per prompt."""
    planned: int
    """Images per prompt that it may have at most; more than ``images`` once it stopped early."""
    comparisons: tuple[Comparison, ...] = ()
    """All that it compares, where that is known before it runs."""
    sequential: bool = False
    """Whether its images are chosen while looking at them."""

    @property
    def function(self) -> str:
        """The test function, whose cases share one error level."""
        return self.node_id.partition("[")[0]

    def stopped(self, images: int, planned: int) -> SelectedTest:
        """The same with the images at which it stopped."""
        return replace(self, images=images, planned=planned, sequential=True)


def told_apart(tests: Mapping[str, SelectedTest]) -> dict[str, SelectedTest]:
    """The tests with prompts of one id and several texts tagged; by node id."""
    tags = tags_of(
        member
        for test in tests.values()
        for kind in KINDS
        for member in getattr(test.selection, kind)
    )
    if not tags:
        return dict(tests)
    return {
        node: replace(test, selection=test.selection.tagged(tags)) for node, test in tests.items()
    }


def images_wanted(tests: Iterable[tuple[Selection, int]]) -> dict[str, int]:
    """Images per prompt text that all of these (selection, images) need together."""
    wanted: dict[str, int] = {}
    for selection, images in tests:
        for text in selection.texts:
            wanted[text] = max(images, wanted.get(text, 0))
    return wanted


KEYWORDS = ("images", "spaces", "attributes", "observe")
"""Keywords of the mark."""


def select(arguments: Iterable[Any], keywords: dict[str, Any]) -> Selection:
    """The marker's arguments: axes, prompts, triplets, stereotypes, or names of axes.

    Raises ConfigurationError that names the argument.
    """
    unknown = sorted(set(keywords) - set(KEYWORDS))
    if unknown:
        raise ConfigurationError(
            f"mark t2i: unknown argument {unknown[0]!r}; known are {', '.join(KEYWORDS)}"
        )
    members = _Members()
    for argument in _flat(arguments):
        members.add(argument)
    return Selection(
        prompts=_distinct(members.prompts),
        triplets=_distinct(members.triplets),
        stereotypes=_distinct(members.stereotypes),
        most_images=_images(keywords.get("images")),
        spaces=_spaces(keywords.get("spaces", SPACES)),
        attributes=_attributes(keywords.get("attributes", ())),
        observe=_observe(keywords.get("observe", ())),
    ).checked()


@dataclass(slots=True)
class _Members:
    prompts: list[Prompt] = field(default_factory=list)
    triplets: list[Triplet] = field(default_factory=list)
    stereotypes: list[Stereotype] = field(default_factory=list)

    def add(self, argument: Any) -> None:
        """Take over an argument of the marker."""
        if isinstance(argument, str):
            argument = _axis_or_prompt(argument)
        if isinstance(argument, Axis | Intersection):
            self.prompts += argument.prompts()
            self.triplets += argument.triplets()
        elif isinstance(argument, Prompt):
            self.prompts.append(argument)
        elif isinstance(argument, Triplet):
            self.prompts.append(argument.neutral)
            self.triplets.append(argument)
        elif isinstance(argument, Stereotype):
            self.stereotypes.append(argument)
        else:
            raise ConfigurationError(
                "mark t2i takes axes, intersections of axes, prompts, triplets, stereotypes, names "
                f"of axes or whole prompts as texts, got {argument!r}"
            )


def _flat(arguments: Iterable[Any]) -> Iterable[Any]:
    for argument in arguments:
        if isinstance(argument, list | tuple | set | frozenset):
            yield from _flat(argument)
        else:
            yield argument


def _axis_or_prompt(text: str) -> Any:
    if " " not in text.strip():
        return builtin_axes()[text]
    try:
        return triplet(text)
    except ConfigurationError:
        return Prompt(text, "prompt", text, Variant.NEUTRAL)


def _distinct(members: list[Any]) -> tuple[Any, ...]:
    by_id: dict[str, Any] = {}
    tags = tags_of(members)
    for member in [tagged(member, tags) for member in members] if tags else members:
        if by_id.setdefault(member.id, member) != member:
            raise ConfigurationError(
                f"mark t2i: two different members have the id {member.id!r}; give one of them "
                "another axis name or concept"
            )
    return tuple(by_id.values())


def _images(value: Any) -> int | None:
    if value is not None and (not isinstance(value, int) or value < 1):
        raise ConfigurationError(f"mark t2i: images is a whole number of at least 1, got {value!r}")
    return value


def _spaces(value: Any) -> tuple[str, ...]:
    spaces = (value,) if isinstance(value, str) else tuple(value)
    for space in spaces:
        if space not in SPACES:
            raise ConfigurationError(
                f"mark t2i: a space is one of {', '.join(SPACES)}, got {space!r}"
            )
    return spaces


def _observe(value: Any) -> tuple[str, ...]:
    names = (value,) if isinstance(value, str) else tuple(value)
    for name in names:
        if name not in OBSERVED:
            raise ConfigurationError(
                f"mark t2i: what to observe is one of {', '.join(OBSERVED)}, got {name!r}"
            )
    return tuple(dict.fromkeys(names))


def _attributes(value: Any) -> tuple[Attribute, ...]:
    attributes = (value,) if isinstance(value, Attribute) else tuple(value)
    for attribute in attributes:
        if not isinstance(attribute, Attribute):
            raise ConfigurationError(f"mark t2i: expected an Attribute, got {attribute!r}")
    return tuple(dict.fromkeys(attributes))
