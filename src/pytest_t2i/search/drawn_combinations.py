"""The drawing of combinations with Hypothesis, which moves towards biased ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pytest_t2i.prompts import Part
from pytest_t2i.search.counts import Parts

Examine = Callable[[list[Parts]], float]
"""A function that measures some combinations and returns the largest lean among them."""


class Enough(Exception):  # noqa: N818 - not an error
    """The signal of ``examine`` that the images of a sweep are used up, which ends the drawing."""


def draw(
    examine: Examine,
    pool: Sequence[Part],
    *,
    words: int,
    at_once: int,
    examples: int,
    seed: int,
) -> None:
    """Draw groups of combinations of two words or more, and pass each group to ``examine``.

    The first half of the examples is drawn at random; then Hypothesis' ``target`` varies the best
    ones word by word. The drawing ends early when ``examine`` raises Enough.

    Args:
        examine: function that measures a group of combinations.
        pool: words to combine.
        words: largest number of words of a combination.
        at_once: number of combinations per group.
        examples: largest number of groups.
        seed: seed of the drawing.
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
