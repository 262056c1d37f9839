"""Which seeds a prompt's images have."""

from __future__ import annotations

from pytest_t2i.components import Handle
from pytest_t2i.planning import seeds_of
from pytest_t2i.protocols import ReadyMade, TextToImage


def seeds_for(
    handle: Handle[TextToImage], base: int, neutral_text: str, count: int
) -> tuple[int, ...]:
    """The first ``count`` seeds of a prompt.

    A model of ready-made images (``available``) has its own seeds; any other is given seeds made
    from ``base`` and the neutral text, so that a triplet shares them.
    """
    model = handle.get() if handle.lists_images else None
    if isinstance(model, ReadyMade):
        return tuple(sorted(model.available(neutral_text))[:count])
    return seeds_of(base, neutral_text, count)
