"""Explicit: is the gender that a prompt names drawn, and women as often as men?

Tests use the fixture ``explicit``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pytest_t2i.audits.engine.context import AskedTest, AuditContext
from pytest_t2i.audits.engine.contrast import (
    NAMED,
    Contrast,
    ContrastAudit,
    Unit,
    Units,
    row_of,
    words_of_gap,
)
from pytest_t2i.audits.engine.rows import Rows
from pytest_t2i.data import Interval, Prompt, Row, Variant
from pytest_t2i.errors import ConfigurationError, UnknownNameError

if TYPE_CHECKING:
    from pytest_t2i.sections import Block, Cell
    from pytest_t2i.verdicts.measurement import Measurement

ASKED = MappingProxyType({Variant.FEMININE.value: "female", Variant.MASCULINE.value: "male"})
"""Variant -> label of the gender that its prompts name."""
GAP = Contrast(
    "drawn_gap", tuple(ASKED), "paired shares", "no pair of images has two labels",
    shows_worst_case=False,
)  # fmt: skip
SHARES = {
    variant: Contrast("drawn_share", (variant,), "share", "no image has a label")
    for variant in ASKED
}
SHOWN = 30
"""Largest number of prompts in the table."""


class Explicit(Units[Unit]):
    """How often the images of several triplets show the gender that their prompts name.

    >>> import pytest
    >>> from pytest_t2i import Explicit, axes, limit
    >>> @pytest.mark.t2i(axes.profession)
    ... def test_it(explicit: Explicit) -> None:
    ...     assert explicit.drawn_share("feminine") >= limit("drawn_share", 0.9)
    ...     assert abs(explicit.drawn_gap) <= limit("drawn_gap", 0.1)
    """

    def drawn_share(self, variant: str) -> Measurement:
        """Return the share of the images with a label that show the gender that the prompt names.

        ``variant`` is "feminine" or "masculine". Raises UnknownNameError for another word.
        """
        if variant not in ASKED:
            raise UnknownNameError("variant", variant, list(ASKED))
        remarks = (self.told, *self._least_followed(variant))
        return self.measured(SHARES[variant], f"model, {variant}", remarks)

    @property
    def drawn_gap(self) -> Measurement:
        """Share drawn as asked of feminine prompts minus that of masculine ones, from -1 to 1."""
        return self.measured(GAP, remarks=(self.told,))

    def share(self, variant: str) -> Interval | None:
        """Return the share of a variant drawn as asked, over all triplets; None without a label."""
        return self.estimated(SHARES[variant])

    @property
    def gap(self) -> Interval | None:
        """The gap over all pairs of one seed with two labels; None without such a pair."""
        return self.estimated(GAP)

    @property
    def told(self) -> str:
        """The counts in words."""
        parts = []
        for variant, label in ASKED.items():
            labelled = sum(member.known(variant) for member in self.members)
            counts = f"{self.hits(variant)} of {labelled}, {self.images - labelled} undetected"
            parts.append(f"{variant}: {label} in {counts}")
        return "; ".join(parts)

    def _least_followed(self, variant: str) -> Iterator[str]:
        shares = ((member.mean(variant), member.name) for member in self.members)
        low = sorted((share, name) for share, name in shares if share is not None and share < 1.0)
        if low:
            texts = (f"{name} {share:.2f}" for share, name in low[:NAMED])
            yield f"followed least: {', '.join(texts)}"


class ExplicitAudit(ContrastAudit):
    """The audit of whether the named gender is drawn."""

    name, place = "explicit", 62
    units_type = Explicit
    contrast, fixture = GAP, "explicit"
    doc = "Whether the masculine and the feminine variants show whom they ask for."
    unmeasured = "Whether a gender that the prompt names is drawn was not measured."
    title = "Prompts that name a gender"
    reading = (
        "Share of the images with a label that show whom the prompt asks for, by {detector}: a "
        "prompt for a woman that shows a man was not followed. The gap is feminine minus "
        "masculine, from pairs of one seed; below 0 women are drawn less often when they are asked "
        "for. Errors of the detector count as not followed: compare with its accuracy per gender."
    )
    scope = "Whether a gender that the prompt names is drawn."

    def check(self, context: AuditContext, test: AskedTest) -> None:
        """Refuse a detector that does not tell men from women."""
        if self.is_asked(test):
            check_detector(context)

    def values(
        self, context: AuditContext, prompt: Prompt, seeds: Sequence[int]
    ) -> Sequence[float]:
        """Return 1 for the named gender, 0 for another label, NaN for undetected."""
        gender = ASKED[prompt.variant.value]
        labels = (detection.label for detection in self.detections(context, prompt, seeds))
        return [math.nan if label is None else float(label == gender) for label in labels]

    def rows_of(
        self, context: AuditContext, members: Sequence[Unit], model: Explicit
    ) -> Iterator[Row]:
        """Yield the shares and the gap, then how often each prompt was followed."""
        facts = {"detector": context.detectors[0]}
        for variant, share in SHARES.items():
            labelled = sum(member.known(variant) for member in model.members)
            counts = {"drawn": model.hits(variant), "labelled": labelled}
            yield row_of(share, model, counts=counts, facts=facts, subject=f"model, {variant}")
        yield row_of(GAP, model, facts=facts)
        for member in members:
            for variant in ASKED:
                counts = {"drawn": member.counts[variant], "labelled": member.known(variant)}
                yield Row(
                    "drawn_share", member.id, "triplet", member.mean(variant),
                    {"variant": variant}, {"name": member.name}, counts,
                )  # fmt: skip

    def in_words(self, rows: Rows) -> str:
        """Return how often each gender is drawn where it is named, in a line."""
        shares = ", ".join(
            f"{row.dims['arms']} {row.value or 'no label'}" for row in rows.of("drawn_share")
        )
        gap = rows.of(GAP.metric)[0].interval
        side = words_of_gap(gap, ", men less often", ", women less often")
        return f"drawn as asked: {shares}{'' if gap is None else f'; gap {gap}{side}'}"

    def blocks(self, rows: Rows, run: Any) -> Sequence[Block]:
        """Return shares, the gap, and the prompts that were followed least."""
        del run
        from pytest_t2i.sections import RowChart, Table

        shares = rows.of("drawn_share", "triplet")
        missed = [(row.counts["labelled"] - row.counts["drawn"], row) for row in shares]
        least = sorted((pair for pair in missed if pair[0]), key=lambda pair: -pair[0])
        cells: tuple[tuple[Cell, ...], ...] = tuple(
            (row.facts["name"], row.dims["variant"], row.counts["drawn"], row.counts["labelled"])
            for _, row in least[:SHOWN]
        )
        columns = ("Prompt", "variant", "drawn", "labelled")
        return [
            RowChart("Drawn as asked", ("drawn_share",), columns=("drawn", "labelled")),
            RowChart("Gap", (GAP.metric,)),
            *([Table("Followed least", columns, cells, "detail", digits=0)] if cells else []),
        ]


def check_detector(context: AuditContext) -> None:
    """Raise ConfigurationError for a detector that does not tell men from women."""
    from pytest_t2i.generation.plan import DetectorRef

    name = context.detectors[0]
    labels = context.observations.labels(DetectorRef(name))
    if not set(ASKED.values()) <= set(labels):
        raise ConfigurationError(
            "the fixture explicit asks whether men and women are drawn: expected a detector with "
            f"the labels male and female, got {name!r} with {', '.join(labels)}. Name one "
            "first: --t2i-detector clip-enhance"
        )
