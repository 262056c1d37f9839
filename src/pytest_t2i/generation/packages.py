"""Missing packages of everything that a plan takes, told at once and before an image is made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from types import MappingProxyType

from pytest_t2i.adapters.registry import EXTRAS
from pytest_t2i.errors import MissingExtraError, MissingExtrasError
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.plan import Plan

FEATURES = MappingProxyType(
    {"nouns": "nouns of prompts", "origins": "clusters of faces", "faces": "dlib's face detectors"}
)
"""Extra -> what it is for, where its name does not say so."""
OF_TESTS = tuple(sorted(set(EXTRAS.values())))
"""Extras that a test may say it needs."""


def check_packages(plan: Plan, components: Components) -> None:
    """Find out now, before a GPU second is spent, that a part of the run cannot be had.

    Raises MissingExtraError for one missing package, MissingExtrasError for several.
    """
    missing = [*_of_extras(plan.extras), *_of_parts(plan, components)]
    if len({error.missing for error in missing}) > 1:
        raise MissingExtrasError(missing)
    for error in missing:
        raise error


def _of_extras(extras: Iterable[str]) -> Iterator[MissingExtraError]:
    for extra in sorted(extras):
        for module, brought_by in EXTRAS.items():
            if brought_by == extra and not _is_there(module):
                yield MissingExtraError(FEATURES.get(extra, extra), extra, module)


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ValueError:  # imported by hand, without a spec
        return True


def _of_parts(plan: Plan, components: Components) -> Iterator[MissingExtraError]:
    """What asking each part for its fingerprint comes to; other errors are raised as they come."""
    for ask in _parts(plan, components):
        try:
            ask()
        except MissingExtraError as error:
            yield error


def _parts(plan: Plan, components: Components) -> Iterator[Callable[[], str]]:
    yield lambda: components.model().fingerprint
    for kind, of in (
        ("detectors", components.detector),
        ("encoders", components.encoder),
        ("finders", components.finder),
    ):
        for name in dict.fromkeys(n for needs in plan.needs.values() for n in getattr(needs, kind)):
            yield lambda of=of, name=name: of(name).fingerprint  # type: ignore[misc]
