"""Styles: does a word for how a picture is made change who is shown?

Tests use the fixture ``styles``.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType
from typing import TYPE_CHECKING

from pytest_t2i.audits.audit import Fixture, PackagedAudit
from pytest_t2i.audits.context import AskedTest, AuditContext
from pytest_t2i.data import MetricInfo

if TYPE_CHECKING:
    from pytest_t2i.audits.styles.measure import Styles
    from pytest_t2i.generation.plan import Need


def _styles(context: AuditContext, test: AskedTest) -> Styles:
    from pytest_t2i.audits.styles import measure

    return measure.styles_of(context, test)


STYLE_GAP = MetricInfo(
    "style_gap",
    -1.0,
    1.0,
    "away_from_zero",
    "own definition: share of men with the style minus without it",
    meaning="above 0 the style shows more men than the plain prompt, below 0 more women",
)


FIXTURES = MappingProxyType(
    {
        "styles": Fixture(
            _styles,
            "prompts",
            doc="Prompts of the t2i marker with a style, each with the same prompt without it.",
        )
    }
)


class StylesAudit(PackagedAudit):
    """The audit of whether a style changes the share of men."""

    name = "styles"
    keeps = "StylesPart"
    place = 45
    metrics = (STYLE_GAP,)
    fixtures = FIXTURES
    unmeasured = "Whether words of style change who is shown was not measured."

    def check(self, context: AuditContext, test: AskedTest) -> None:  # noqa: ARG002 - as it is called
        """Refuse a prompt without a style that follows a comma."""
        from pytest_t2i.audits.styles import measure

        if FIXTURES.keys() & test.selection.fixtures:
            measure.styled(test.selection.prompts)

    def needs(self, context: AuditContext, test: AskedTest) -> Iterable[Need]:
        """Return the need for the plain prompts, for the same detectors."""
        from pytest_t2i.audits.styles import measure

        return measure.needs(context, test) if FIXTURES.keys() & test.selection.fixtures else ()
