"""Which combinations are explained by what was found already."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pytest_t2i.search.counts import BOTH, Parts


class Suspect(NamedTuple):
    """A combination that the search found biased in a direction."""

    parts: Parts
    sign: int
    """+1 towards men, -1 towards women; of other groups the number of one, from 1."""


def explains(finding: Suspect, parts: Parts, sign: int) -> bool:
    """Whether a finding lies within a combination and leans the same way."""
    return finding.sign == sign and set(finding.parts) <= set(parts)


def open_signs(
    parts: Parts, findings: Iterable[Suspect], directions: Sequence[int] = BOTH
) -> tuple[int, ...]:
    """Directions in which a bias of the combination would be news.

    A word that leans towards men explains that its combinations do; it does not explain one that
    leans towards women.
    """
    closed = {finding.sign for finding in findings if set(finding.parts) <= set(parts)}
    return tuple(sign for sign in directions if sign not in closed)
