"""What a test asks for: the t2i marker, read once and checked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_t2i.data import Prompt, Triplet, Variant
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.generation.plan import SPACES
from pytest_t2i.prompts import Axis, Intersection, Stereotype, builtin_axes, triplet

ONE_BY_ONE = {"sample": "prompts", "triplet": "triplets", "stereotype": "stereotypes"}
"""Fixture that makes one test case per member -> what its members are."""
TRIALS = ("trial", "trials")
"""Fixtures that are about detectors: one test case per detector, or all together."""
TOGETHER = {"samples": "prompts", "triplets": "triplets", "stereotypes": "stereotypes"}
"""Fixture that gives all members to one test case -> what its members are."""


@dataclass(frozen=True, slots=True)
class Ask:
    """The arguments of one ``@pytest.mark.t2i(...)``."""

    prompts: tuple[Prompt, ...] = ()
    triplets: tuple[Triplet, ...] = ()
    stereotypes: tuple[Stereotype, ...] = ()
    images: int | None = None
    """At most that many images per prompt, when the run has more."""
    spaces: tuple[str, ...] = SPACES
    """Where similarity gaps are measured."""
    labelled: bool = False
    """Whether detectors are to be tried on the labelled set."""
    most: int | None = None
    """Of a test that is stopped early: images per prompt that it might have had at most."""

    def members(self, fixture: str) -> Sequence[Any]:
        """What the fixture of this name is about."""
        kind = (ONE_BY_ONE | TOGETHER)[fixture]
        return getattr(self, kind)  # type: ignore[no-any-return]

    def restricted(self, fixture: str, member: Any) -> Ask:
        """The same, about one member alone."""
        about: dict[str, Any] = {ONE_BY_ONE[fixture]: (member,)}
        return Ask(images=self.images, spaces=self.spaces, labelled=self.labelled, **about)

    def count(self, images: int) -> int:
        """Images per prompt, when the run has so many."""
        return min(images, self.images or images)

    @property
    def texts(self) -> list[str]:
        """Every text that images are made of."""
        prompts = [*self.prompts, *(one.prompt for one in self.stereotypes)]
        prompts += [one for three in self.triplets for one in three]
        return [one.text for one in prompts]

    @property
    def needs_model(self) -> bool:
        """Whether a model has to make or show something for it."""
        return bool(self.prompts or self.triplets or self.stereotypes or not self.labelled)


def parse(args: Iterable[Any], kwargs: dict[str, Any]) -> Ask:
    """The marker's arguments: axes, prompts, triplets, stereotypes, or names of axes.

    Raises ConfigurationError that names the argument.
    """
    unknown = sorted(set(kwargs) - {"images", "spaces"})
    if unknown:
        raise ConfigurationError(
            f"mark t2i: unknown argument {unknown[0]!r}; known are images and spaces"
        )
    found = _Found()
    for argument in _flat(args):
        _add(found, argument)
    return Ask(
        _once(found.prompts),
        _once(found.triplets),
        _once(found.stereotypes),
        _images(kwargs.get("images")),
        _spaces(kwargs.get("spaces", SPACES)),
    )


def images_wanted(asks: Iterable[Ask], images: int) -> dict[str, int]:
    """Images per prompt text that all of these need together."""
    wanted: dict[str, int] = {}
    for ask in asks:
        for text in ask.texts:
            wanted[text] = max(ask.count(images), wanted.get(text, 0))
    return wanted


@dataclass(slots=True)
class _Found:
    prompts: list[Prompt] = field(default_factory=list)
    triplets: list[Triplet] = field(default_factory=list)
    stereotypes: list[Stereotype] = field(default_factory=list)


def _flat(args: Iterable[Any]) -> Iterable[Any]:
    for argument in args:
        if isinstance(argument, list | tuple | set | frozenset):
            yield from _flat(argument)
        else:
            yield argument


def _add(found: _Found, argument: Any) -> None:
    if isinstance(argument, str):
        argument = _axis_or_prompt(argument)
    if isinstance(argument, Axis | Intersection):
        found.prompts += argument.prompts()
        found.triplets += argument.triplets()
    elif isinstance(argument, Prompt):
        found.prompts.append(argument)
    elif isinstance(argument, Triplet):
        found.prompts.append(argument.neutral)
        found.triplets.append(argument)
    elif isinstance(argument, Stereotype):
        found.stereotypes.append(argument)
    else:
        raise ConfigurationError(
            "mark t2i takes axes, intersections of axes, prompts, triplets, stereotypes, names of "
            f"axes or whole prompts as texts, got {argument!r}"
        )


def _axis_or_prompt(text: str) -> Any:
    if " " not in text.strip():
        return builtin_axes()[text]
    try:
        return triplet(text)
    except ConfigurationError:
        return Prompt(text, "prompt", text, Variant.NEUTRAL)


def _once(members: list[Any]) -> tuple[Any, ...]:
    found: dict[str, Any] = {}
    for one in members:
        if found.setdefault(one.id, one) != one:
            raise ConfigurationError(
                f"mark t2i: two different members have the id {one.id!r}; give one of them another "
                "axis name or concept"
            )
    return tuple(found.values())


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
