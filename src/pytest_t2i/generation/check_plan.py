"""Check before an image is made that packages are installed, and that the model can vary."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import MappingProxyType

from pytest_t2i.adapters.loading import is_installed
from pytest_t2i.adapters.registry import BROUGHT
from pytest_t2i.errors import ConfigurationError, MissingExtraError, MissingExtrasError
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.plan import Plan
from pytest_t2i.protocols import Varying

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


def check_variations(plan: Plan, components: Components) -> None:
    """Raise ConfigurationError for a variation that the model cannot make.

    Otherwise the model's plain images would be stored as varied ones.
    """
    variations = {request.variation for request in plan if request.variation is not None}
    mitigating, model = components.mitigating(), components.model()
    for variation in variations:
        # The run's own mitigation wraps the model when the model is loaded.
        if not variation.name or (mitigating is not None and mitigating.named.makes(variation)):
            continue
        loaded = model.get()
        if not (isinstance(loaded, Varying) and loaded.takes(variation)):
            raise ConfigurationError(
                f"model {model.name!r} makes no images of the variation {variation.name!r}: "
                "expected a model whose takes(variation) returns True for it. Choose another "
                "model, or deselect these tests with -k"
            )
