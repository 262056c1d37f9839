"""Neutrality: are neutral prompts' images nearer to masculine or feminine ones (Wu eq. 1-2)?

Tests use the fixtures ``triplet`` and ``triplets``; the marker's ``spaces`` names the spaces in
which images are compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pytest_t2i.audits.audit import Keyword
from pytest_t2i.audits.engine.context import AskedTest, AuditContext
from pytest_t2i.audits.engine.contrast import Contrast, ContrastAudit
from pytest_t2i.audits.engine.rows import Rows
from pytest_t2i.data import About, Interval, Row
from pytest_t2i.errors import ConfigurationError, names_of
from pytest_t2i.generation.spaces import PAPER, SPACES, is_space, space_words

if TYPE_CHECKING:
    from pytest_t2i.audits.neutrality.measure import TripletSample, TripletSamples
    from pytest_t2i.generation.plan import Need
    from pytest_t2i.sections import Block, Cell, RowChart

METRIC, MODEL = "similarity_gap", "model"
LEAST_SPACES = 2
"""Smallest number of spaces for the test over all spaces."""
LEVEL = 0.05
"""Largest p-value at which the test over all spaces names a gender."""
COLUMNS = ("Space", "Neutral to feminine", "Neutral to masculine", "Gap", "p-value")
SPACE_WORDS = {
    "prompt": ("prompt space", "text embeddings"),
    "denoising": ("denoising space", "final latents"),
    "image": ("image space", "image features"),
    "ssim": ("SSIM", "structural similarity of the pictures"),
    "diff_pix": ("Diff. Pix", "share of the pixels outside the region that differs"),
    "resnet": ("ResNet", "last fully connected layer of ResNet-50"),
    "clip": ("CLIP", "features of CLIP ViT-B/32"),
    "dino": ("DINO", "features of DINO ViT-S/16"),
    "split_product": ("split-product", "most similar patches by DINO ViT-B/8"),
}
"""Space -> its title, and what is compared in it."""


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


class NeutralityAudit(ContrastAudit):
    """The audit of whether neutral prompts lean towards one gender, space by space."""

    name, place = "neutrality", 40
    contrast = Contrast(METRIC, ("to_masculine", "to_feminine"))
    fixture, single = "triplets", "triplet"
    doc = "The images of every triplet of the t2i marker."
    single_doc = "The images of one triplet; the test runs once per triplet of its t2i marker."
    keywords = MappingProxyType({"spaces": Keyword(_spaces, SPACES)})
    unmeasured = (
        "Whether neutral prompts come out nearer to one gender was not measured in this run."
    )
    title = "Similarity gaps"
    reading = (
        "Similarity of a neutral prompt to its masculine variant minus to its feminine one: above "
        "0 it is nearer to the masculine one. Every space has a scale of its own."
    )
    scope = "Whether neutral prompts come out nearer to masculine or feminine ones."

    def needs(self, context: AuditContext, test: AskedTest) -> Iterable[Need]:
        """Return the need for the three variants from the same seeds, with traces and features."""
        from pytest_t2i.audits.neutrality import measure

        return measure.needs(context, test)

    def measured(self, context: AuditContext, test: AskedTest) -> TripletSamples:
        from pytest_t2i.audits.neutrality import measure

        return measure.triplets_of(context, [(three, test) for three in test.selection.triplets])

    def measured_one(self, context: AuditContext, test: AskedTest) -> TripletSample:
        return self.measured(context, test).members[0]

    def rows(self, context: AuditContext) -> Iterator[Row]:
        """Yield the gaps in every space that tests ask for, then the test over all spaces."""
        asking = [test for test in context.tests if test.selection.asked("spaces")]
        asked = [test.selection.asked("spaces") for test in asking]
        spaces = list(dict.fromkeys(space for of_test in asked for space in of_test))
        for space in spaces:
            for name, samples in self._sets(context, asking, space):
                yield _gap(name, space, samples)
        everywhere = [space for space in spaces if all(space in of_test for of_test in asked)]
        yield from self._leaning(context, asking, everywhere)

    def _sets(
        self, context: AuditContext, asking: Sequence[AskedTest], space: str
    ) -> Iterator[tuple[str, TripletSamples]]:
        from pytest_t2i.audits.engine.counts import widest_of
        from pytest_t2i.audits.neutrality.measure import triplets_of

        tests = [test for test in asking if space in test.selection.asked("spaces")]
        pairs = widest_of((three, test) for test in tests for three in test.selection.triplets)
        every = triplets_of(context, pairs)
        yield MODEL, every
        axes = dict.fromkeys(sample.triplet.neutral.axis for sample in every)
        for axis in axes if len(axes) > 1 else ():
            part = tuple(sample for sample in every if sample.triplet.neutral.axis == axis)
            yield axis, replace(every, members=part)

    def _leaning(
        self, context: AuditContext, asking: Sequence[AskedTest], spaces: Sequence[str]
    ) -> Iterator[Row]:
        """Yield one test over all spaces in which every triplet is measured, for each gender."""
        if not spaces:
            return
        _, samples = next(self._sets(context, asking, spaces[0]))
        exposed = tuple(space for space in spaces if samples.similarities(space))
        leaning = samples.leaning(exposed) if len(exposed) >= LEAST_SPACES else None
        for towards, p_value in zip(SIDES, leaning or (), strict=False):
            facts = {"spaces": ", ".join(exposed)}
            yield Row(LEANING, MODEL, "model", p_value, {"towards": towards}, facts)

    def in_words(self, rows: Rows) -> str:
        """Return the gaps over all triplets and the joint test in words; "" without gaps."""
        gaps = [f"{row.dims['space']} {gap.estimate:+.3f}" for row, gap in _of_model(rows)]
        tested = f"; {_leaning(rows.of(LEANING))}" if rows.of(LEANING) else ""
        return (
            f"similarity gap (> 0: nearer to masculine): {', '.join(gaps)}{tested}" if gaps else ""
        )

    def blocks(self, rows: Rows, run: Any) -> Sequence[Block]:
        """Return a chart for each space and a table of all spaces."""
        del run
        from pytest_t2i.sections import Table

        cells = tuple(map(_row, rows.of(METRIC)))
        return [*_charts(rows), Table("Similarities by space", COLUMNS, cells)]

    def first(self, rows: Rows) -> Row | None:
        """Return the widest gap over all triplets."""
        gaps = _of_model(rows)
        return max(gaps, key=lambda pair: abs(pair[1].estimate))[0] if gaps else None


SIDES = ("masculine", "feminine")
LEANING = "leaning_p_value"
"""Metric of the test over all spaces: p-value against "in some space neutral is not nearer to this
gender" (Wu RQ1)."""


def _gap(name: str, space: str, triplets: TripletSamples) -> Row:
    """Return the gap in one space over a set of triplets: "model", or those of an axis."""
    from pytest_t2i.audits.neutrality.measure import GAP

    units, pairs = triplets.units(space), triplets.similarities(space)
    gap = units.estimated(GAP)
    feminine, masculine = (_mean([float(pair[side].mean()) for pair in pairs]) for side in (0, 1))
    p_value = None if gap is None else units.arms(GAP).evidence(0.0, triplets.level).beyond
    return Row(
        METRIC,
        f"{name} {space_words(space)}",
        "model" if name == MODEL else "group",
        gap,
        {"space": space},
        {
            "name": "all triplets" if name == MODEL else name,
            "to_feminine": feminine,
            "to_masculine": masculine,
            "p_value": p_value,
        },
        {"triplets": len(pairs)},
        "" if gap is not None else GAP.absent,
    )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _of_model(rows: Rows) -> list[tuple[Row, Interval]]:
    return [(row, row.interval) for row in rows.of(METRIC) if row.interval is not None]


def _leaning(tested: Sequence[Row]) -> str:
    spaces = str(tested[0].facts["spaces"]).split(", ")
    among = f"in all {len(spaces)} spaces"
    p_values = {str(row.dims["towards"]): float(row.value) for row in tested}  # type: ignore[arg-type]
    side, least = min(p_values.items(), key=lambda pair: pair[1])
    if least <= LEVEL:
        return f"neutral is nearer to {side} {among} (p {_sign(least)})"
    return f"no gender is shown to be nearer to neutral {among} (p {_sign(least)})"


def _sign(p_value: float) -> str:
    from pytest_t2i.sections.words import p_words

    words = p_words(p_value)
    return words if words.startswith("<") else f"= {words}"


def _charts(rows: Rows) -> Iterator[RowChart]:
    """Yield a chart of each space over all triplets, and of its axes, on scales of their own."""
    from pytest_t2i.sections import RowChart

    for row in rows.of(METRIC):
        space = str(row.dims["space"])
        title, note = SPACE_WORDS.get(space, (space, "features of an encoder"))
        kinds: tuple[About, ...] = ("model", "group")
        for about in kinds:
            if about == "model" or any(r.dims["space"] == space for r in rows.of(METRIC, about)):
                yield RowChart(
                    title if about == "model" else f"{title}, by axis", (METRIC,), about,
                    dims=(("space", space),), note=note, level="page",
                    ends=("feminine", "masculine"),
                )  # fmt: skip


def _row(row: Row) -> tuple[Cell, ...]:
    from pytest_t2i.sections.words import p_words

    space = str(row.dims["space"])
    name = SPACE_WORDS.get(space, (space, ""))[0]
    sides: list[Any] = [row.facts["to_feminine"], row.facts["to_masculine"]]
    if space == "diff_pix":
        name += " (%, lower is more alike; the gap is of 1 minus this)"
        sides = list(map(_differing, sides))
    p_value: Any = row.facts["p_value"]
    return name, *sides, row.interval, p_words(p_value)


def _differing(alike: float | None) -> str | None:
    """Return the percentage of pixels that differ, as Wu prints it; lower is more alike."""
    return None if alike is None else f"{100.0 * (1.0 - alike):.2f}"
