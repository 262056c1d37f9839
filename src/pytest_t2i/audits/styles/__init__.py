"""Styles: does a word for how a picture is made change who is shown?

Tests ask with the fixture ``styles``.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType
from typing import TYPE_CHECKING

from pytest_t2i.audits.context import AskedTest, AuditContext
from pytest_t2i.audits.fixture import Fixture
from pytest_t2i.audits.packaged import PackagedAudit
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
            doc="Prompts of the t2i marker with a style, each beside the same without it.",
        )
    }
)


class StylesAudit(PackagedAudit):
    """Whom a style shows that the plain prompt does not."""

    name = "styles"
    keeps = "StylesPart"
    place = 45
    metrics = (STYLE_GAP,)
    fixtures = FIXTURES
    unmeasured = "Whether words of style change who is shown was not measured."

    def check(self, context: AuditContext, test: AskedTest) -> None:  # noqa: ARG002 - as it is called
        """Every prompt names a style, which stands behind a comma."""
        from pytest_t2i.audits.styles import measure

        if FIXTURES.keys() & test.selection.fixtures:
            measure.styled(test.selection.prompts)

    def needs(self, context: AuditContext, test: AskedTest) -> Iterable[Need]:
        """The plain prompts, looked at by the same detectors."""
        from pytest_t2i.audits.styles import measure

        return measure.needs(context, test) if FIXTURES.keys() & test.selection.fixtures else ()
