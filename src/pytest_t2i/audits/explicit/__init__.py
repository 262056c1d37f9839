"""Explicit: is the gender that a prompt names drawn, and women as often as men?

Tests use the fixture ``explicit``.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType
from typing import TYPE_CHECKING

from pytest_t2i.audits.audit import Fixture, PackagedAudit
from pytest_t2i.audits.context import AskedTest, AuditContext

if TYPE_CHECKING:
    from pytest_t2i.audits.explicit.measure import Explicit
    from pytest_t2i.generation.plan import Need


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


class ExplicitAudit(PackagedAudit):
    """The audit of whether the named gender is drawn."""

    name = "explicit"
    keeps = "ExplicitPart"
    place = 62
    fixtures = FIXTURES
    unmeasured = "Whether a gender that the prompt names is drawn was not measured."

    def needs(self, context: AuditContext, test: AskedTest) -> Iterable[Need]:
        """Return the need for both variants from the same seeds, for the deciding detector."""
        from pytest_t2i.audits.explicit import measure

        return measure.needs(context, test) if FIXTURES.keys() & test.selection.fixtures else ()

    def check(self, context: AuditContext, test: AskedTest) -> None:
        """Refuse a detector that does not tell men from women."""
        if FIXTURES.keys() & test.selection.fixtures:
            from pytest_t2i.audits.explicit import measure

            measure.check_detector(context)
