"""Does a mitigation help, and does it harm nothing? An audit of plain and mitigated pictures.

Every start of pytest loads this module for its fixture, so the methods import heavy modules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pytest_t2i import (
    AskedTest,
    Audit,
    AuditContext,
    Fixture,
    Keyword,
    Rows,
    T2IError,
)

from pytest_t2i_mitigation.mitigated.known import (
    AUTO,
    CONTENT,
    DISTANCES,
    HARMS,
    HELPS,
    PASSES,
    TITLE,
    TURNOVER,
)

if TYPE_CHECKING:
    from pytest_t2i import Need, Row, sections

    from pytest_t2i_mitigation.mitigated.measure import Mitigated

UNMET = "t2i: no mitigation is named; run with --t2i-mitigation NAME (t2i list mitigations)"


def _mitigated(context: AuditContext, test: AskedTest) -> Mitigated:
    from pytest_t2i_mitigation.mitigated.measure import mitigated_of

    return mitigated_of(context, test)


def _unmet(settings: Any) -> str:
    return "" if settings.mitigation else UNMET


def _axes(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(map(str, value))


def _distances(value: Any) -> tuple[str, ...]:
    from pytest_t2i_mitigation.mitigated.spaces import SPACES

    spaces = _axes(value)
    for space in spaces:
        if space not in SPACES:
            raise T2IError(
                f"distances: expected spaces among {', '.join(SPACES)}, got {space!r}. The marker "
                "names the spaces of bias distances."
            )
    return spaces


class MitigatedAudit(Audit):
    """The audit of plain and mitigated pictures of the same prompts and seeds."""

    name = "mitigated"
    title = TITLE
    place = 15
    metrics = (*HELPS, *HARMS, PASSES)
    keywords = MappingProxyType(
        {
            "second_judge": Keyword(str, AUTO),
            "content": Keyword(_axes, CONTENT),
            "distances": Keyword(_distances, DISTANCES),
        }
    )
    fixtures: Mapping[str, Fixture] = MappingProxyType(
        {
            "mitigated": Fixture(
                _mitigated,
                "triplets",
                doc="Plain and mitigated pictures of every triplet of the t2i marker.",
                unmet=_unmet,
            )
        }
    )

    def needs(self, context: AuditContext, test: AskedTest) -> Iterable[Need]:
        """Return the pictures with and without the mitigation, and those of both genders."""
        from pytest_t2i_mitigation.mitigated import needs

        return needs.needs(context, test)

    def too_few(
        self, metric: str, bound: float, cases: Sequence[AskedTest], level: float
    ) -> Iterable[str]:
        """Yield a note where images are too few for even pictures to pass the limit of turnover."""
        if metric == TURNOVER.name:
            from pytest_t2i_mitigation.mitigated.needs import too_few_for_turns

            yield from too_few_for_turns(cases, bound, level)

    def rows(self, context: AuditContext) -> Iterable[Row | sections.Block]:
        """Yield what the mitigation gains and loses, with pictures before and after."""
        from pytest_t2i_mitigation.mitigated import rows

        return rows.measured(context)

    def in_words(self, rows: Rows) -> str:
        """Return nothing: the line with its verdict is among the blocks."""
        del rows
        return ""

    def blocks(self, rows: Rows, run: Any) -> Sequence[sections.Block]:
        """Return gain against cost, every verdict, pictures before and after."""
        from pytest_t2i_mitigation.mitigated import report

        return report.shown(rows, run)

    def compare(
        self, models: Sequence[tuple[str, Rows, Any]], *, level: float, seed: int
    ) -> Sequence[sections.Section]:
        """Return a section with several mitigations in one chart."""
        del level, seed
        from pytest_t2i_mitigation.mitigated import report

        return report.compared(models)
