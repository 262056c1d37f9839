"""Explicit: is the gender that a prompt names drawn, and women as often as men?

Tests use the fixture ``explicit``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pytest_t2i.audits.context import AskedTest, AuditContext
from pytest_t2i.audits.contrast_audit import NAMED, Contrast, ContrastAudit, Unit, Units, side_of
from pytest_t2i.audits.summary import Frame
from pytest_t2i.data import Count, Interval, Prompt, ShareInterval, SignedInterval, Variant
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
        """Yield a remark on the prompts that are followed least, if there are any."""
        shares = ((member.mean(variant), member.name) for member in self.members)
        low = sorted((share, name) for share, name in shares if share is not None and share < 1.0)
        if low:
            texts = (f"{name} {share:.2f}" for share, name in low[:NAMED])
            yield f"followed least: {', '.join(texts)}"


@dataclass(frozen=True, slots=True)
class AskedRecord:
    """One variant of one triplet."""

    drawn: Count
    """Number of images that show the gender that the prompt names."""
    labelled: Count
    """Number of images with a label."""


@dataclass(frozen=True, slots=True)
class ExplicitTriplet:
    """The two prompts of one triplet that name a gender."""

    triplet: str
    """The neutral prompt's id."""
    concept: str
    asked: Mapping[str, AskedRecord]
    """Variant ("feminine", "masculine") -> its counts."""

    @property
    def counts(self) -> list[tuple[int, int]]:
        """Images drawn as asked, and images with a label, of each variant."""
        records = (self.asked.get(variant, AskedRecord(0, 0)) for variant in ASKED)
        return [(record.drawn, record.labelled) for record in records]

    @property
    def missed(self) -> int:
        """Number of labelled images that show another gender than the prompt names."""
        return sum(labelled - hits for hits, labelled in self.counts)


@dataclass(frozen=True, slots=True)
class ExplicitPart:
    """The part of run.json about prompts that name a gender."""

    detector: str
    images: Count
    """Number of images of each variant, the same for each triplet."""
    shares: Mapping[str, ShareInterval | None]
    """Variant -> share of its labelled images that show the named gender; None without labels."""
    gap: SignedInterval | None
    """Share of the feminine minus that of the masculine variant; None without a pair of labels."""
    triplets: tuple[ExplicitTriplet, ...]


class ExplicitAudit(ContrastAudit):
    """The audit of whether the named gender is drawn."""

    name, place = "explicit", 62
    record_type, units_type = ExplicitPart, Explicit
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

    def part(self, context: AuditContext, members: Sequence[Unit], model: Explicit) -> ExplicitPart:
        """Return shares, the gap, and the counts of each triplet."""
        triplets = tuple(
            ExplicitTriplet(m.id, m.name, {v: AskedRecord(m.counts[v], m.known(v)) for v in ASKED})
            for m in members
        )
        shares = {variant: model.share(variant) for variant in ASKED}
        return ExplicitPart(context.detectors[0], model.images, shares, model.gap, triplets)

    def in_words(self, record: ExplicitPart) -> str:
        """Return how often each gender is drawn where it is named, in a line."""
        shares = ", ".join(f"{v} {record.shares.get(v) or 'no label'}" for v in ASKED)
        side = side_of(record.gap, ", men less often", ", women less often")
        gap = "" if record.gap is None else f"; gap {record.gap}{side}"
        return f"drawn as asked: {shares}{gap}"

    def blocks(self, record: ExplicitPart, run: Any) -> Sequence[Block]:
        """Return shares, the gap, and the prompts that were followed least."""
        from pytest_t2i.audits.shared_blocks import gap_bar, gap_chart
        from pytest_t2i.sections import Bar, BarChart, Table

        checks = run.checks_of("drawn_share")
        bars = tuple(
            Bar.judged(
                variant, record.shares.get(variant), checks.get(f"model, {variant}", ()),
                absent=contrast.absent,
            )
            for variant, contrast in SHARES.items()
        )  # fmt: skip
        judged = run.checks_of(GAP.metric).get("model", ())
        gap = gap_bar(GAP.name, record.gap, judged, absent="no pair of labels")
        missed = sorted(
            (triplet for triplet in record.triplets if triplet.missed),
            key=lambda triplet: (-triplet.missed, triplet.triplet),
        )
        rows: tuple[tuple[Cell, ...], ...] = tuple(
            (t.concept, *(f"{hits} of {labelled}" for hits, labelled in t.counts))
            for t in missed[:SHOWN]
        )
        table = Table("Followed least", ("Prompt", *ASKED), rows, "detail")
        return [
            BarChart("Drawn as asked", bars, 0.0, 1.0, "share drawn as asked"),
            gap_chart("Gap", [gap], "gap"),
            *([table] if rows else []),
        ]

    def series(self, record: ExplicitPart) -> dict[str, Interval]:
        """Return shares and the gap."""
        shares = {f"drawn_share/{v}": share for v, share in record.shares.items() if share}
        return shares | super().series(record)

    def frames(self, record: ExplicitPart) -> dict[str, Frame]:
        """Return a table of triplets."""
        names = (f"{variant}_{what}" for variant in ASKED for what in ("drawn", "labelled"))
        rows: list[tuple[Cell, ...]] = [
            (t.triplet, *(n for counts in t.counts for n in counts)) for t in record.triplets
        ]
        return {self.name: Frame(("prompt", *names), rows)}


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
