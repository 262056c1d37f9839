"""Neutrality: are neutral prompts' images nearer to masculine or feminine ones (Wu eq. 1-2)?

Tests use the fixtures ``triplet`` and ``triplets``; the marker's ``spaces`` names the spaces in
which images are compared.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pytest_t2i.audits.audit import Fixture, Keyword, PackagedAudit
from pytest_t2i.audits.context import AskedTest, AuditContext
from pytest_t2i.errors import ConfigurationError, names_of
from pytest_t2i.generation.spaces import PAPER, SPACES, is_space

if TYPE_CHECKING:
    from pytest_t2i.audits.neutrality.measure import TripletSample, TripletSamples
    from pytest_t2i.generation.plan import Need


def _triplet(context: AuditContext, test: AskedTest) -> TripletSample:
    return _triplets(context, test).members[0]


def _triplets(context: AuditContext, test: AskedTest) -> TripletSamples:
    from pytest_t2i.audits.neutrality import measure

    return measure.triplets_of(context, test)


def _spaces(value: Any) -> tuple[str, ...]:
    spaces = names_of("a space", value)
    for space in spaces:
        if not is_space(space):
            names = ", ".join(dict.fromkeys((*SPACES, *PAPER)))
            raise ConfigurationError(
                f"marker t2i: a space is one of {names}, or an encoder with its weights such as "
                f"clip:reference, got {space!r}"
            )
    return spaces


class NeutralityAudit(PackagedAudit):
    """The audit of whether neutral prompts lean towards one gender, space by space."""

    name = "neutrality"
    keeps = "NeutralityPart"
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

    def needs(self, context: AuditContext, test: AskedTest) -> Iterable[Need]:
        """Return the need for the three variants from the same seeds, with traces and features."""
        from pytest_t2i.audits.neutrality import measure

        return measure.needs(context, test)
