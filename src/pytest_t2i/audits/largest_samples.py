"""Each member of a run once, with the test that asks for most images of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from pytest_t2i.audits.context import AskedTest, AuditContext
from pytest_t2i.data import Triplet


def widest_of(pairs: Iterable[tuple]) -> list[tuple]:  # type: ignore[type-arg]
    """Every member once, in order of appearance, with the test that asks for most images."""
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
    """What is measured of every triplet that tests with these fixtures ask for, once.

    Returns:
        Each with all its images, and each with as many as all of them have: where tests ask for
        more of some triplets, these would weigh more among all.
    """
    asking = [test for test in context.tests if not test.selection.fixtures.isdisjoint(fixtures)]
    pairs = widest_of((three, test) for test in asking for three in test.selection.triplets)
    members = tuple(measure(context, three, test) for three, test in pairs)
    least = min((member.images for member in members), default=0)
    return members, tuple(member.first(least) for member in members)
