"""Conversion of the arguments of a t2i marker to a Selection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_t2i.audits.audit import Keyword
from pytest_t2i.data import EMPTY, Attribute, Prompt, Triplet, Variant
from pytest_t2i.errors import ConfigurationError, names_of, shown
from pytest_t2i.generation.check_plan import OF_TESTS
from pytest_t2i.generation.plan import OBSERVED
from pytest_t2i.prompts import Axes, Axis, Captions, Intersection, Stereotype, builtin_axes, triplet
from pytest_t2i.runs.session.prompt_ids import tagged, tags_of
from pytest_t2i.runs.session.selection import Selection
from pytest_t2i.settings import MOST_IMAGES

KEYWORDS = ("images", "attributes", "observe", "extras")
"""Keywords of every marker; audits add others."""


def select(
    arguments: Iterable[Any],
    keywords: dict[str, Any],
    captions: Sequence[Triplet] = (),
    of_audits: Mapping[str, Keyword] = EMPTY,
) -> Selection:
    unknown = sorted(set(keywords) - {*KEYWORDS, *of_audits})
    if unknown:
        names = ", ".join((*KEYWORDS, *of_audits))
        raise ConfigurationError(f"marker t2i: unknown argument {unknown[0]!r}; known are {names}")
    members = _Members()
    for argument in _flat(arguments, captions):
        members.add(argument)
    return Selection(
        prompts=_distinct(members.prompts),
        triplets=_distinct(members.triplets),
        stereotypes=_distinct(members.stereotypes),
        most_images=_images(keywords.get("images")),
        keywords=tuple(
            (name, keyword.read(keywords[name]) if name in keywords else keyword.default)
            for name, keyword in of_audits.items()
        ),
        attributes=_attributes(keywords.get("attributes", ())),
        observe=_observe(keywords.get("observe", ())),
        extras=_extras(keywords.get("extras", ())),
    ).checked()


@dataclass(slots=True)
class _Members:
    prompts: list[Prompt] = field(default_factory=list)
    triplets: list[Triplet] = field(default_factory=list)
    stereotypes: list[Stereotype] = field(default_factory=list)

    def add(self, argument: Any) -> None:
        """Add an argument of the marker; raise ConfigurationError for one of another type."""
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
                "marker t2i takes axes, intersections of axes, prompts, triplets, stereotypes, "
                f"names of axes or whole prompts as texts, got {argument!r}"
            )


def _flat(arguments: Iterable[Any], captions: Sequence[Triplet]) -> Iterable[Any]:
    for argument in arguments:
        if isinstance(argument, Captions):
            fallback = argument.otherwise or (builtin_axes().profession,)
            yield from captions or _flat(fallback, captions)
        elif isinstance(argument, list | tuple | set | frozenset | Axes):
            yield from _flat(argument, captions)
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
                f"marker t2i: two different members have the id {member.id!r}; give one of them "
                "another axis name or concept"
            )
    return tuple(by_id.values())


def _images(value: Any) -> int | None:
    if value is not None and (type(value) is not int or not 1 <= value <= MOST_IMAGES):
        raise ConfigurationError(
            f"marker t2i: images is a whole number of at least 1 and at most {MOST_IMAGES}, got "
            f"{shown(value)}"
        )
    return value


def _observe(value: Any) -> tuple[str, ...]:
    names = names_of("what to observe", value)
    for name in names:
        if name not in OBSERVED:
            raise ConfigurationError(
                f"marker t2i: what to observe is one of {', '.join(OBSERVED)}, got {name!r}"
            )
    return tuple(dict.fromkeys(names))


def _extras(value: Any) -> frozenset[str]:
    names = names_of("an extra", value)
    for name in names:
        if name not in OF_TESTS:
            raise ConfigurationError(
                f"marker t2i: an extra is one of {', '.join(OF_TESTS)}, got {name!r}"
            )
    return frozenset(names)


def _attributes(value: Any) -> tuple[Attribute, ...]:
    is_several = isinstance(value, Iterable) and not isinstance(value, str)
    attributes = tuple(value) if is_several else (value,)
    for attribute in attributes:
        if not isinstance(attribute, Attribute):
            name = attribute if isinstance(attribute, str) else "hat"
            raise ConfigurationError(
                f"marker t2i: expected an Attribute, got {attribute!r}. One has a name and the "
                f"descriptions of its presence and absence: from pytest_t2i import Attribute, and "
                f'Attribute({name!r}, "a photo of a person with a {name}", "a photo of a person")'
            )
    return tuple(dict.fromkeys(attributes))
