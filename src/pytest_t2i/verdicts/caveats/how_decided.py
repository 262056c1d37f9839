"""What decides a comparison with a recorded run: a margin, a permutation test, equal pictures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

from pytest_t2i.verdicts.caveats.caveat import Caveat
from pytest_t2i.verdicts.measurement import DecidedBy

NAME = "decided by"


def how_decided(decided_by: DecidedBy) -> Caveat:
    return Caveat(NAME, "", {"how": decided_by})


def decided_by(caveats: Iterable[Caveat]) -> DecidedBy | None:
    """Return what decided a comparison with a recorded run; None for a limit.

    >>> decided_by([how_decided("margin")]), decided_by([])
    ('margin', None)
    """
    every: tuple[DecidedBy, ...] = get_args(DecidedBy)
    said = {caveat.facts.get("how") for caveat in caveats if caveat.name == NAME}
    return next((how for how in every if how in said), None)
