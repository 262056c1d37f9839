"""Variety: do the images of a prompt differ from one another along an attribute?

It measures WALS (OASIS eq. 7). Tests use the fixtures ``sample``, ``samples``
and ``stereotype``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pytest_t2i.audits.audit import Audit, attributes
from pytest_t2i.audits.engine.context import AskedTest, AuditContext
from pytest_t2i.audits.engine.rows import Rows
from pytest_t2i.data import Row
from pytest_t2i.sections import Block, RowChart, round_end
from pytest_t2i.sections.words import several

if TYPE_CHECKING:
    from pytest_t2i.audits.variety.measure import Variety
    from pytest_t2i.generation.plan import Need

METRIC = "wals"
REACHES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
"""Possible upper ends of a scale of WALS."""
SOURCES = {
    "text": "direction from the descriptions",
    "images": "direction from images of the descriptions",
    "kernel": "direction from images of the descriptions, by a kernel",
}


class VarietyAudit(Audit):
    """The audit of the spread along an attribute."""

    name, place = "variety", 35
    of_sample = attributes(f"{__name__}.sample_members:PromptVariety", METRIC)
    of_samples = attributes(f"{__name__}.sample_members:ModelVariety", METRIC)
    title = "Variety along an attribute"
    reading = (
        "WALS: how much of the spread of a concept's images lies along an attribute, from 0 to 1; "
        "lower is less variety. Whiskers are confidence intervals. Scores compare between equal "
        "numbers of images by one encoder."
    )

    @property
    def recorded_type(self) -> Any:
        from pytest_t2i.audits.variety.change import RECORDED

        return RECORDED

    def needs(self, context: AuditContext, test: AskedTest) -> Iterable[Need]:
        """Return the need for features of images, of descriptions and of images of descriptions."""
        from pytest_t2i.audits.variety import measure

        return measure.needs(context, test)

    def recorded(self, context: AuditContext) -> dict[str, Any] | None:
        """Return WALS of every prompt and attribute, for a baseline."""
        from pytest_t2i.audits.variety import measure

        return measure.recorded(context)

    def rows(self, context: AuditContext) -> Iterator[Row]:
        """Yield WALS of every prompt along every attribute that tests ask to be observed."""
        from pytest_t2i.audits.variety import measure

        subjects: set[str] = set()
        for variety in measure.varieties(context):
            yield _row(variety, is_first=variety.id not in subjects)
            subjects.add(variety.id)

    def in_words(self, rows: Rows) -> str:
        """Return the lowest score along a direction that is not centred; "" without any."""
        plain = [row for row in rows.of(METRIC, "prompt") if not row.dims["centred"]]
        estimates = [(row.interval, row) for row in plain if row.interval is not None]
        if not estimates:
            return ""
        wals, least = min(estimates, key=lambda pair: pair[0].estimate)
        return (
            f"variety (WALS): lowest {wals} ({least.facts['concept']}: {least.name}, "
            f"direction from {least.dims['direction']}) of {len(estimates)}"
        )

    def blocks(self, rows: Rows, run: Any) -> Sequence[Block]:
        """Return a chart for each concept and source of the direction, all on one scale."""
        del run
        every = rows.of(METRIC, "prompt")
        high = round_end((row.interval for row in every), REACHES)
        groups: dict[tuple[Any, ...], list[str]] = {}
        for row in every:
            # Scores compare between equal numbers of images by one encoder.
            how = row.counts["images"], row.facts["encoder"]
            key = row.facts["concept"], row.dims["direction"], row.dims["centred"], *how
            groups.setdefault(key, []).append(row.subject)
        return [
            RowChart(
                concept, (METRIC,), "prompt", tuple(dict.fromkeys(subjects)),
                (("direction", direction), ("centred", centred)), unit="WALS",
                note=f"{SOURCES.get(direction, direction)}{', centred' * centred}; "
                f"{several(images, 'image')}, by {encoder}",
                high=high,
            )
            for (concept, direction, centred, images, encoder), subjects in groups.items()
        ]  # fmt: skip


def _row(variety: Variety, *, is_first: bool) -> Row:
    """Return the row of a variety; attributes of one name are told apart by descriptions."""
    apart = {} if is_first else {"descriptions": variety.descriptions[:8]}
    return Row(
        METRIC,
        variety.id,
        "prompt",
        variety.interval,
        {"direction": variety.direction, "centred": variety.center, **apart},
        {
            "name": variety.attribute.name,
            "concept": variety.prompt.concept,
            "prompt": variety.prompt.id,
            "encoder": variety.instruments.encoder,
        },
        {"images": len(variety.features)},
        variety.absent,
    )
