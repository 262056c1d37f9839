"""Hypothesis draws combinations, and climbs towards biased ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pytest_t2i.prompts import Part
from pytest_t2i.search.counts import Parts

Examine = Callable[[list[Parts]], float]
"""Measures some combinations; returns the largest lean among them."""


class Enough(Exception):  # noqa: N818 - no error: the images of a sweep are used up
    """Raised by ``examine`` to end the drawing."""


def draw(
    examine: Examine,
    pool: Sequence[Part],
    *,
    words: int,
    at_once: int,
    examples: int,
    seed: int,
) -> None:
    """Draw handfuls of combinations of two words or more, and have each examined.

    The first half of the examples is drawn at random, then ``target`` varies the best ones word by
    word. It ends early when ``examine`` raises Enough.
    """
    import hypothesis
    from hypothesis import HealthCheck, Phase, settings, target
    from hypothesis import strategies as st

    from pytest_t2i.prompts.strategies import some_of

    some = some_of(pool, min_words=2, max_words=words)

    @hypothesis.seed(seed)
    @settings(
        database=None,
        deadline=None,
        max_examples=examples,
        phases=(Phase.generate, Phase.target),
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(st.lists(some, min_size=at_once, max_size=at_once))
    def drawn(handful: list[Parts]) -> None:
        target(examine(list(dict.fromkeys(handful))))

    try:
        drawn()
    except Enough:
        return
