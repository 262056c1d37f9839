"""Explicit: is the gender that a prompt asks for drawn, and that of one as often as of the other?

Tests ask with the fixture ``explicit``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pytest_t2i.audits.audit import Audit
from pytest_t2i.audits.context import AskedTest, AuditContext
from pytest_t2i.audits.fixture import Fixture
from pytest_t2i.audits.summary import Summary

if TYPE_CHECKING:
    from pytest_t2i.audits.explicit.measure import Explicit
    from pytest_t2i.audits.explicit.record import ExplicitPart
    from pytest_t2i.generation.plan import Need
    from pytest_t2i.sections import Section


def _explicit(context: AuditContext, test: AskedTest) -> Explicit:
    from pytest_t2i.audits.explicit import measure

    return measure.explicit_of(context, test)


FIXTURES = MappingProxyType(
    {
        "explicit": Fixture(
            _explicit,
            "triplets",
            doc="Whether the masculine and the feminine variants show whom they ask for.",
        )
    }
)


class ExplicitAudit(Audit["ExplicitPart"]):
    """Who is drawn where the prompt says who."""

    name = "explicit"
    place = 62
    fixtures = FIXTURES
    unmeasured = "Whether a gender that the prompt names is drawn was not measured."

    def needs(self, context: AuditContext, test: AskedTest) -> Iterable[Need]:
        """Both variants from the same seeds, seen by the deciding detector."""
        from pytest_t2i.audits.explicit import measure

        return measure.needs(context, test) if FIXTURES.keys() & test.selection.fixtures else ()

    def check(self, context: AuditContext, test: AskedTest) -> None:
        """Refuse a detector that tells no men from women."""
        if FIXTURES.keys() & test.selection.fixtures:
            from pytest_t2i.audits.explicit import measure

            measure.check_detector(context)

    @property
    def record_type(self) -> type[ExplicitPart]:
        """Its part of run.json."""
        from pytest_t2i.audits.explicit.record import ExplicitPart

        return ExplicitPart

    def record(self, context: AuditContext) -> ExplicitPart | None:
        """Every triplet that a test asks for, each with its most images."""
        from pytest_t2i.audits.explicit import record

        return record.measured(context)

    def sections(self, record: ExplicitPart, run: Any) -> Sequence[Section]:
        """Shares of each gender and their gap, and the prompts that are followed least."""
        from pytest_t2i.audits.explicit import report

        return report.sections(record, run)

    def summary(self, record: ExplicitPart) -> Summary:
        """Shares and gap as series, prompts as a table."""
        from pytest_t2i.audits.explicit import report

        return report.summary(record)
