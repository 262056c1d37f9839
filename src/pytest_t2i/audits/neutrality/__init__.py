"""Neutrality: do neutral prompts come out nearer to masculine or to feminine ones (Wu eq. 1-2)?

Tests ask with the fixtures ``triplet`` and ``triplets``; ``spaces`` of the mark says where.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pytest_t2i.audits.audit import Audit
from pytest_t2i.audits.context import AskedTest, AuditContext
from pytest_t2i.audits.fixture import Fixture, Keyword
from pytest_t2i.audits.summary import Summary
from pytest_t2i.errors import ConfigurationError, names_of
from pytest_t2i.generation.spaces import PAPER, SPACES, is_space

if TYPE_CHECKING:
    from pytest_t2i.audits.neutrality.measure import TripletSample, TripletSamples
    from pytest_t2i.audits.neutrality.record import NeutralityPart
    from pytest_t2i.generation.plan import Need
    from pytest_t2i.sections import Section


def _triplet(context: AuditContext, test: AskedTest) -> TripletSample:
    return _triplets(context, test).members[0]


def _triplets(context: AuditContext, test: AskedTest) -> TripletSamples:
    from pytest_t2i.audits.neutrality import measure

    return measure.triplets_of(context, test)


def _spaces(value: Any) -> tuple[str, ...]:
    spaces = names_of("a space", value)
    for space in spaces:
        if not is_space(space):
            known = ", ".join(dict.fromkeys((*SPACES, *PAPER)))
            raise ConfigurationError(
                f"mark t2i: a space is one of {known}, or an encoder with its weights such as "
                f"clip:reference, got {space!r}"
            )
    return spaces


class NeutralityAudit(Audit["NeutralityPart"]):
    """In which spaces neutral prompts lean towards one gender."""

    name = "neutrality"
    place = 40
    unmeasured = (
        "Whether neutral prompts come out nearer to one gender was not measured in this run."
    )
    formerly = ("gaps", "leaning")
    keywords = MappingProxyType({"spaces": Keyword(_spaces, SPACES)})
    fixtures = MappingProxyType(
        {
            "triplet": Fixture(
                _triplet,
                "triplets",
                one_by_one=True,
                doc="The images of one triplet; the test runs once per triplet of its t2i marker.",
            ),
            "triplets": Fixture(
                _triplets, "triplets", doc="The images of every triplet of the t2i marker."
            ),
        }
    )

    @property
    def record_type(self) -> type[NeutralityPart]:
        """Its part of run.json."""
        from pytest_t2i.audits.neutrality.record import NeutralityPart

        return NeutralityPart

    def needs(self, context: AuditContext, test: AskedTest) -> Iterable[Need]:
        """The three variants from the same seeds, with traces and features."""
        from pytest_t2i.audits.neutrality import measure

        return measure.needs(context, test)

    def record(self, context: AuditContext) -> NeutralityPart | None:
        """The gap in every space that was asked for, and the test over all of them."""
        from pytest_t2i.audits.neutrality import record

        return record.measured(context)

    def sections(self, record: NeutralityPart, run: Any) -> Sequence[Section]:
        """A chart of each space, and a table of all."""
        from pytest_t2i.audits.neutrality import report

        return report.sections(record, run.checks)

    def summary(self, record: NeutralityPart) -> Summary:
        """The gaps in words, as series and as a table."""
        from pytest_t2i.audits.neutrality import report

        return report.summary(record)
