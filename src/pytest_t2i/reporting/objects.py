"""Objects by gender: which come with whom, and whether any does (Wu section 5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pytest_t2i.reporting.charts import UNIT, Row, Track
from pytest_t2i.reporting.formatting import interval_text, plain
from pytest_t2i.reporting.neutrality import p_words
from pytest_t2i.runs.record import ObjectRecord, ObjectsRecord, RunRecord

MIDDLE = 0.5
SHOWN = 30
"""Objects in the chart; run.json has them all."""
NAMED = 5
"""Objects that the terminal and the summary name."""
ALL_VARIANTS = 3


@dataclass(frozen=True, slots=True)
class ObjectsSection:
    """The section of the page."""

    record: ObjectsRecord
    rows: list[Row]
    """Objects that are judged, the most one-sided first."""
    expected: list[Row]
    """Those that are expected to differ, each with its reason."""
    left_out: int
    """Objects beyond those shown."""
    tests: list[tuple[str, str, str]]
    """Variants, p-value by permutation, Pearson's."""
    similarity: str


def section(record: RunRecord) -> ObjectsSection | None:
    """What is said of objects; None where no test asked."""
    objects = record.objects
    if objects is None:
        return None
    judged = [row for row in objects.objects if not row.expected]
    return ObjectsSection(
        objects,
        [object_row(each) for each in judged[:SHOWN]],
        [object_row(each) for each in objects.objects if each.expected],
        max(0, len(judged) - SHOWN),
        [
            (", ".join(t.variants), interval_text(t.p_value), p_words(t.chi_square_p_value))
            for t in objects.independence
        ],
        _similarity(objects),
    )


def object_row(of: ObjectRecord) -> Row:
    """An object in a chart from 0 (feminine) to 1 (masculine)."""
    counts = f"{of.neutral} neutral, {of.feminine} feminine, {of.masculine} masculine"
    if of.score is None:
        return Row(of.name, Track(counts, zero=50.0), "with neither", counts)
    score = of.score
    note = f"{counts}; {of.expected or f'p {p_words(of.p_value)}, adjusted'}"
    track = Track(
        label=f"object bias score {interval_text(score)}; {note}",
        kind="male"
        if score.estimate > MIDDLE
        else "female"
        if score.estimate < MIDDLE
        else "plain",
        bar=UNIT.span(MIDDLE, score.estimate),
        whisker=(UNIT.at(score.low), UNIT.at(score.high)),
        zero=50.0,
    )
    return Row(of.name, track, f"{plain(score.estimate, 2)} ({of.feminine}:{of.masculine})", note)


def _similarity(objects: ObjectsRecord) -> str:
    if objects.gap is None:
        return "too few images show objects in all three variants to compare them"
    women, men = plain(objects.to_feminine), plain(objects.to_masculine)
    return f"to feminine {women}, to masculine {men}, gap {interval_text(objects.gap)}"


def told(record: RunRecord) -> Iterator[str]:
    """Objects in a few lines of text."""
    objects = record.objects
    if objects is None:
        return
    of = f"{objects.triplets} triplets ({objects.images} images) by {objects.finder}"
    judged = [row for row in objects.objects if not row.expected]
    sure = [row for row in judged if row.p_value is not None and row.p_value <= 0.05]  # noqa: PLR2004
    named = "; ".join(f"{row.name} {interval_text(row.score)}" for row in sure[:NAMED])
    more = f"; and {len(sure) - NAMED} more" if len(sure) > NAMED else ""
    yield (
        f"objects of {of}: {len(judged)} judged, {len(objects.objects) - len(judged)} expected to "
        f"differ, {objects.rare} too rare (below {objects.least})"
    )
    if sure:
        yield f"come with one gender (0 feminine, 1 masculine): {named}{more}"
    tested = next((t for t in objects.independence if len(t.variants) == ALL_VARIANTS), None)
    p_value = (
        "cannot be tested"
        if tested is None or tested.p_value is None
        else (f"p {p_words(tested.p_value.estimate)}")
    )
    yield (
        f"all objects, expected ones included, depend on the variant: {p_value}; co-occurrence "
        f"{_similarity(objects)}"
    )
