"""The prompts, triplets or stereotypes of a run, each with the test that asks for most images."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from pytest_t2i.audits.context import AskedTest, AuditContext
from pytest_t2i.data import Triplet


def widest_of(pairs: Iterable[tuple]) -> list[tuple]:  # type: ignore[type-arg]
    """Return every member once, in order of appearance, with the test that asks for most images.

    ``pairs`` holds (member, test); members are told apart by their text, or by their id without
    one.
    """
    widest: dict[str, tuple] = {}  # type: ignore[type-arg]
    for member, test in pairs:
        name = getattr(member, "text", member.id)
        known = widest.get(name)
        if known is None or known[1].images < test.images:
            widest[name] = (member, test)
    return list(widest.values())


def widest_triplets(
    context: AuditContext,
    fixtures: Collection[str],
    measure: Callable[[AuditContext, Triplet, AskedTest], Any],
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Measure, once, every triplet that tests with these fixtures ask for.

    Returns:
        Each triplet with all its images, and each with the smallest number of images among the
        triplets, so that a triplet with more images does not weigh more in a mean.
    """
    asking = [test for test in context.tests if not test.selection.fixtures.isdisjoint(fixtures)]
    pairs = widest_of((three, test) for test in asking for three in test.selection.triplets)
    members = tuple(measure(context, three, test) for three, test in pairs)
    least = min((member.images for member in members), default=0)
    return members, tuple(member.first(least) for member in members)
