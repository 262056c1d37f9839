"""Combinations that earlier findings explain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pytest_t2i.search.counts import BOTH, Parts


class Suspect(NamedTuple):
    """A combination that is biased in a direction by the images of the search."""

    parts: Parts
    sign: int
    """Direction: +1 towards men, -1 towards women, or the number of another group, from 1."""


def explains(finding: Suspect, parts: Parts, sign: int) -> bool:
    """Whether a combination contains a finding's words and leans in the same direction."""
    return finding.sign == sign and set(finding.parts) <= set(parts)


def open_signs(
    parts: Parts, findings: Iterable[Suspect], directions: Sequence[int] = BOTH
) -> tuple[int, ...]:
    """Return the directions in which no finding explains a bias of the combination.

    A finding that leans towards men explains combinations with its words that lean towards men, but
    none that leans towards women.
    """
    closed = {finding.sign for finding in findings if set(finding.parts) <= set(parts)}
    return tuple(sign for sign in directions if sign not in closed)
