"""Dependencies: did the prompt or the scene bring an object into a picture (Wu section 6)?

Tests use the fixture ``dependencies``.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType
from typing import TYPE_CHECKING

from pytest_t2i.audits.audit import Fixture, PackagedAudit
from pytest_t2i.audits.context import AskedTest, AuditContext
from pytest_t2i.audits.objects import EXPECTED

if TYPE_CHECKING:
    from pytest_t2i.generation.plan import Need


class DependenciesAudit(PackagedAudit):
    """The audit that sorts the objects of triplets by what brought them in."""

    name = "dependencies"
    keeps = "DependenciesRecord"
    after = ("objects",)
    place = 60
    keywords = MappingProxyType({"expected": EXPECTED})
    fixtures = MappingProxyType(
        {
            "dependencies": Fixture(
                f"{__name__}.measure:dependencies_of",
                "triplets",
                doc="The objects of triplets by what brought them in, the prompt or the scene.",
                finds=True,
                extras=("nouns",),
            )
        }
    )

    def needs(self, context: AuditContext, test: AskedTest) -> Iterable[Need]:
        """Return the objects and the word attention of all three variants."""
        from pytest_t2i.audits.dependencies import measure

        return measure.needs(context, test) if self.name in test.selection.fixtures else ()
