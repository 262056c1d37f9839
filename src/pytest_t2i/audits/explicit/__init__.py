"""Explicit: is the gender that a prompt asks for drawn, and that of one as often as of the other?

Tests ask with the fixture ``explicit``.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType
from typing import TYPE_CHECKING

from pytest_t2i.audits.context import AskedTest, AuditContext
from pytest_t2i.audits.fixture import Fixture
from pytest_t2i.audits.packaged import PackagedAudit

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
    """Who is drawn where the prompt says who."""

    name = "explicit"
    keeps = "ExplicitPart"
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
