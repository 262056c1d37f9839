"""The record of stereotypes in run.json."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_t2i.audits.context import AuditContext
from pytest_t2i.audits.largest_samples import widest_of
from pytest_t2i.audits.stereotypes.measure import Association, one_association
from pytest_t2i.data import Prone, Share, ShareInterval


@dataclass(frozen=True, slots=True)
class StereotypeRecord:
    """One attribute of one concept."""

    id: str
    concept: str
    attribute: str
    detector: str
    expected: Share
    share: ShareInterval | None
    score: ShareInterval | None
    """Stereotype score Psi."""
    source: str
    margin: Share = 0.0
    """zeta (OASIS Definition 1)."""
    direction: Prone = "over"
    """"over" or, for an attribute that is prone to be shown too rarely, "under"."""

    @property
    def told(self) -> str:
        """The measured and the real-world share, in words."""
        real = f"{self.expected:.1%} in the real world"
        prone = "; prone to be shown too rarely" if self.direction == "under" else ""
        margin = f"; margin {self.margin:g}" if self.margin else ""
        seen = f"{self.share.estimate:.0%} of images" if self.share else "no clear image"
        return f"{seen}, {real}{prone}{margin}"


@dataclass(frozen=True, slots=True)
class StereotypesPart:
    """The part of run.json that stereotypes write."""

    stereotypes: tuple[StereotypeRecord, ...] = ()

    @property
    def highest(self) -> tuple[float, StereotypeRecord] | None:
        """The highest score with its stereotype; None without any."""
        scored = [(one.score.estimate, one) for one in self.stereotypes if one.score is not None]
        return max(scored, key=lambda pair: pair[0], default=None)

    @property
    def scored(self) -> int:
        """Number of stereotypes that have a score."""
        return sum(one.score is not None for one in self.stereotypes)


def measured(context: AuditContext) -> StereotypesPart | None:
    """Return every stereotype, with the most images that a test asks for; None without any."""
    pairs = ((each, test) for test in context.tests for each in test.selection.stereotypes)
    found = [one_association(context, each, test) for each, test in widest_of(pairs)]
    return StereotypesPart(tuple(map(_record, found))) if found else None


def _record(found: Association) -> StereotypeRecord:
    stereotype = found.stereotype
    return StereotypeRecord(
        stereotype.id,
        stereotype.prompt.concept,
        stereotype.attribute.name,
        found.detector,
        stereotype.expected,
        found.share,
        found.score_interval,
        stereotype.source,
        stereotype.margin,
        stereotype.direction,
    )
