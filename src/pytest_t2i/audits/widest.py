"""Each member of a run once, with the test that asks for most images of it."""

from __future__ import annotations

from collections.abc import Iterable


def widest_of(pairs: Iterable[tuple]) -> list[tuple]:  # type: ignore[type-arg]
    """Every member once, in order of appearance, with the test that asks for most images."""
    widest: dict[str, tuple] = {}  # type: ignore[type-arg]
    for member, test in pairs:
        name = getattr(member, "text", member.id)
        known = widest.get(name)
        if known is None or known[1].images < test.images:
            widest[name] = (member, test)
    return list(widest.values())
