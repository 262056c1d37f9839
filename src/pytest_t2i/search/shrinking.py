"""A biased combination loses words as long as its bias stays."""

from __future__ import annotations

from pytest_t2i.search.counts import Parts, without_one
from pytest_t2i.search.explaining import Suspect
from pytest_t2i.search.ledger import Ledger
from pytest_t2i.search.plan import PART_LOOKS

AS_BIASED = 0.5
"""Promise from which a part is held to be beyond the bound, too."""
OPEN_RANGE = (0.1, 0.9)
"""Promise between which a part is looked at again."""


def shrink(ledger: Ledger, suspect: Suspect, beyond: float) -> Suspect:
    """The fewest of its words that are biased the same way, beyond the same bound.

    Words are dropped, never replaced. Every combination with one word less is looked at; the most
    promising of those that are as biased goes on.
    """
    parts, sign = suspect
    while candidates := without_one(parts):
        promise = _looked_at(ledger, candidates, sign, beyond)
        best = max(promise, key=lambda candidate: promise[candidate])
        if promise[best] < AS_BIASED:
            break
        parts = best
    return Suspect(parts, sign)


def _looked_at(
    ledger: Ledger, candidates: list[Parts], sign: int, beyond: float
) -> dict[Parts, float]:
    """What each promises, after as many looks as it needs."""
    low, high = OPEN_RANGE
    waiting = list(candidates)
    for images in PART_LOOKS:
        ledger.look(dict.fromkeys(waiting, images))
        promise = {
            candidate: ledger.of(candidate).promise(sign, beyond) for candidate in candidates
        }
        waiting = [candidate for candidate in candidates if low < promise[candidate] < high]
    return promise
