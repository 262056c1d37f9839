"""Objects: do they depend on the gender that the prompt names (Wu section 5)?

Tests use the fixture ``objects``; the marker's ``expected`` names objects that may differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pytest_t2i.audits.audit import Fixture, Keyword, PackagedAudit
from pytest_t2i.audits.context import AskedTest, AuditContext
from pytest_t2i.errors import ConfigurationError

if TYPE_CHECKING:
    from pytest_t2i.generation.plan import Need


def _expected(value: Any) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, Mapping):
        raise ConfigurationError(
            f"marker t2i: expected must map objects to why they may differ, got {value!r}"
        )
    for word, reason in value.items():
        if not isinstance(reason, str) or not reason.strip():
            raise ConfigurationError(
                f"marker t2i: expected[{word!r}] must say why it may differ, got {reason!r}"
            )
    return tuple((str(word).lower(), reason) for word, reason in value.items())


EXPECTED = Keyword(_expected, ())
"""The keyword for objects that are expected to depend on gender, with the reasons."""


class ObjectsAudit(PackagedAudit):
    """The audit of which objects come with masculine prompts, and which with feminine ones."""

    name = "objects"
    keeps = "ObjectsRecord"
    place = 50
    keywords = MappingProxyType({"expected": EXPECTED})
    fixtures = MappingProxyType(
        {
            "objects": Fixture(
                f"{__name__}.measure:objects_of",
                "triplets",
                doc="The objects in the images of every triplet of the t2i marker.",
                finds=True,
            )
        }
    )

    def needs(self, context: AuditContext, test: AskedTest) -> Iterable[Need]:
        """Return the need for the three variants from the same seeds, for the object detector."""
        from pytest_t2i.audits.objects import counts

        return counts.needs(context, test) if self.name in test.selection.fixtures else ()
