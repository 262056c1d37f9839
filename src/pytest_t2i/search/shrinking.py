"""The shrinking of a biased combination, which drops words while the bias stays."""

from __future__ import annotations

from pytest_t2i.search.counts import Parts, without_one
from pytest_t2i.search.explaining import Suspect
from pytest_t2i.search.ledger import Ledger
from pytest_t2i.search.plan import PART_LOOKS

AS_BIASED = 0.5
"""Least promise of a part that counts as biased, too."""
OPEN_RANGE = (0.1, 0.9)
"""Range of promises for which a part has its next look."""


def shrink(ledger: Ledger, suspect: Suspect, beyond: float) -> Suspect:
    """Return the fewest words of a suspect with the same direction, beyond the same bound.

    Each step measures every combination with one word less and continues with the most promising
    one that counts as biased. Words are dropped, never replaced.
    """
    parts, sign = suspect
    while candidates := without_one(parts):
        promise = _promises(ledger, candidates, sign, beyond)
        best = max(promise, key=lambda candidate: promise[candidate])
        if promise[best] < AS_BIASED:
            break
        parts = best
    return Suspect(parts, sign)


def _promises(
    ledger: Ledger, candidates: list[Parts], sign: int, beyond: float
) -> dict[Parts, float]:
    """Return the promise of each candidate, after as many looks as it needs."""
    low, high = OPEN_RANGE
    waiting = list(candidates)
    for images in PART_LOOKS:
        ledger.look(dict.fromkeys(waiting, images))
        promise = {
            candidate: ledger.of(candidate).promise(sign, beyond) for candidate in candidates
        }
        waiting = [candidate for candidate in candidates if low < promise[candidate] < high]
    return promise
