"""Check that all packages that a plan needs are installed, before an image is made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import MappingProxyType

from pytest_t2i.adapters.loading import is_installed
from pytest_t2i.adapters.registry import BROUGHT
from pytest_t2i.errors import MissingExtraError, MissingExtrasError
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.plan import Plan

FEATURES = MappingProxyType({"nouns": "nouns of prompts", "faces": "dlib's face detectors"})
"""Extra -> its purpose, where its name does not show it."""
OF_TESTS = tuple(sorted(extra for extra in BROUGHT if "," not in extra))
"""Extras that a test may declare as needed."""


def check_packages(plan: Plan, components: Components) -> None:
    """Find missing packages of any part of the run before GPU time is spent."""
    missing = [*_of_extras(plan.extras), *_of_parts(plan, components)]
    if len({(error.missing, error.extra, error.distribution) for error in missing}) > 1:
        raise MissingExtrasError(missing)
    for error in missing:
        raise error


def _of_extras(extras: Iterable[str]) -> Iterator[MissingExtraError]:
    for extra in sorted(extras):
        for module in BROUGHT.get(extra, ()):
            if not is_installed(module):
                yield MissingExtraError(FEATURES.get(extra, extra), extra, module)


def _of_parts(plan: Plan, components: Components) -> Iterator[MissingExtraError]:
    """Missing extras of parts, found by reading their fingerprints; other errors are raised."""
    for ask in _parts(plan, components):
        try:
            ask()
        except MissingExtraError as error:
            yield error


def _parts(plan: Plan, components: Components) -> Iterator[Callable[[], str]]:
    yield lambda: components.model().fingerprint
    for kind, component in (
        ("detectors", components.detector),
        ("encoders", components.encoder),
        ("finders", components.finder),
    ):
        for name in dict.fromkeys(n for needs in plan.needs.values() for n in getattr(needs, kind)):
            yield lambda component=component, name=name: component(name).fingerprint  # type: ignore[misc]
