"""The report of objects: which come with which gender, and the tests (Wu section 5)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from pytest_t2i.audits.context import AuditContext
from pytest_t2i.audits.objects.counts import VARIANTS, all_counted
from pytest_t2i.audits.objects.measure import FAIR, FEWEST_JUDGED, Objects
from pytest_t2i.audits.summary import Frame, Summary
from pytest_t2i.data import Amount, Count, Interval, Number, Share, ShareInterval
from pytest_t2i.metrics import object_independence
from pytest_t2i.sections import Bar, BarChart, Block, Note, Paragraph, Section, Table
from pytest_t2i.sections.words import p_words, several


@dataclass(frozen=True, slots=True)
class ObjectRecord:
    """One object in the images of triplets."""

    name: str
    neutral: Count
    """Occurrences in images of neutral prompts."""
    feminine: Count
    masculine: Count
    score: ShareInterval | None
    """Object bias score (Wu eq. 5); None where the object occurs with neither gender."""
    p_value: Share | None
    """Two-sided p-value against "the object comes with both genders alike", adjusted for all
    objects; None for an object that is expected to differ."""
    expected: str = ""
    """Why the object is expected to depend on gender; "" where it is not."""


@dataclass(frozen=True, slots=True)
class IndependenceRecord:
    """The test of whether objects depend on the variant (Wu section 5.2)."""

    variants: tuple[str, ...]
    p_value: ShareInterval | None
    """p-value by permutation within triplets; None where no test is possible."""
    chi_square: Amount | None
    """Pearson's chi-square statistic."""
    chi_square_p_value: Share | None
    """Pearson's p-value, which assumes independent occurrences."""


@dataclass(frozen=True, slots=True)
class ObjectsRecord:
    """The objects in the images of all triplets of a run."""

    finder: str
    triplets: Count
    images: Count
    least: Count
    """Occurrences with feminine and masculine prompts together that an object had to reach."""
    rare: Count
    """Number of objects with fewer occurrences."""
    objects: tuple[ObjectRecord, ...]
    """The frequent objects, the most one-sided first."""
    independence: tuple[IndependenceRecord, ...]
    """Tests of all three variants together, and of each pair of them."""
    to_feminine: Number | None
    """Co-occurrence similarity of neutral and feminine images (Wu eq. 4)."""
    to_masculine: Number | None
    gap: Interval | None
    """``to_masculine`` minus ``to_feminine``; above 0 leans masculine."""


def measured(context: AuditContext) -> ObjectsRecord | None:
    """Return the objects of the run; None where no test asks for them."""
    objects = all_counted(Objects, context, "objects")
    if objects is None:
        return None
    rows = [pair for pair in objects.cooccurrences if len(pair)]
    means = np.mean([pair.mean(axis=0) for pair in rows], axis=0) if rows else (None, None)
    return ObjectsRecord(
        finder=objects.finder,
        triplets=len(objects.members),
        images=sum(3 * len(member.seeds) for member in objects.members),
        least=objects.least,
        rare=objects.rare,
        objects=scores(objects),
        independence=independence(objects),
        to_feminine=None if means[0] is None else float(means[0]),
        to_masculine=None if means[1] is None else float(means[1]),
        gap=objects.cooccurrence_gap.interval,
    )


def scores(objects: Objects) -> tuple[ObjectRecord, ...]:
    """Return the records of all frequent objects, the most one-sided first."""
    return tuple(
        ObjectRecord(s.name, *s.occurrences, s.interval, s.p_value, s.reason)
        for s in objects.scores
    )


def independence(objects: Objects) -> tuple[IndependenceRecord, ...]:
    """Return the tests of all three variants together, and of each pair of them."""
    comparisons = (VARIANTS, *combinations(VARIANTS, 2))
    return tuple(_independence(objects, variants) for variants in comparisons)


def _independence(objects: Objects, variants: tuple[str, ...]) -> IndependenceRecord:
    interval = objects.independence(*variants).interval
    if interval is None:
        return IndependenceRecord(variants, None, None, None)
    places = [VARIANTS.index(name) for name in variants]
    plain = object_independence(objects.frequent(places).counts.sum(axis=0))
    return IndependenceRecord(variants, interval, plain.statistic, plain.p_value)


SHOWN = 30
"""Largest number of objects in the chart; run.json has them all."""
NAMED = 5
"""Largest number of objects that the terminal and the summary name."""
ALL_VARIANTS = 3
SURE = 0.05
"""Adjusted p-value up to which an object is named."""
ENDS = ("feminine", "masculine")
UNIT = "object bias score"
READ = (
    "Share of an object's occurrences that come with masculine prompts: 0 feminine ones alone, "
    "0.5 both alike, 1 masculine ones alone."
)
WHISKERS = "Whiskers are over triplets; p-values share one false discovery rate."
OCCURRENCES = ("Neutral", "Feminine", "Masculine")


def sections(record: ObjectsRecord, run: Any) -> Sequence[Section]:  # noqa: ARG001 - as it is called
    """Return one section, with the judged objects and those that are expected to differ."""
    blocks: tuple[Block, ...] = (
        Note(f"{READ} {_looked_at(record)} {WHISKERS}"),
        *(Paragraph(line, "summary") for line in _told(record)),
        *_judged(record),
        *_expected(record),
        Note(
            "Do objects depend on the variant? Co-occurrence similarity of neutral images "
            f"{_similarity(record)}."
        ),
        _tests(record.independence),
    )
    return (Section("Objects", blocks),)


def _most_one_sided(record: ObjectsRecord) -> str:
    """Return the most one-sided judged object, in words."""
    judged = [entry for entry in record.objects if not entry.expected]
    if not judged:
        return f"no object occurs {record.least} times with both genders together"
    if len(judged) < FEWEST_JUDGED:
        few = f"only {len(judged)} object{'s' * (len(judged) != 1)} judged, too few for a PASS"
        return f"{few}: {scored(judged[0])}"
    return f"the most one-sided of {len(judged)} objects: {scored(judged[0])}"


def summary(record: ObjectsRecord) -> Summary:
    """Return a line for cards, and every frequent object as a table."""
    columns = (
        "object", "finder", "neutral", "feminine", "masculine", "object_bias_score", "p_value",
        "expected",
    )  # fmt: skip
    rows = [
        (
            entry.name, record.finder, entry.neutral, entry.feminine, entry.masculine, entry.score,
            entry.p_value, entry.expected,
        )
        for entry in record.objects
    ]  # fmt: skip
    frames = {"objects": Frame(columns, rows, ("object_bias_score",))}
    return Summary(_most_one_sided(record), frames=frames)


def object_chart(title: str, objects: Sequence[ObjectRecord], note: str = "") -> BarChart:
    """Return a chart of objects from 0 (feminine) to 1 (masculine)."""
    bars = tuple(_object_bar(entry) for entry in objects)
    return BarChart(
        title, bars, 0.0, 1.0, UNIT, note, digits=2, level="page", middle=FAIR, ends=ENDS
    )


def _object_bar(entry: ObjectRecord, cells: tuple[str | int, ...] = ()) -> Bar:
    """Return the bar of one object, coloured by the gender that it comes with more often."""
    kind = ""
    if entry.score is not None and entry.score.estimate != FAIR:
        kind = "male" if entry.score.estimate > FAIR else "female"
    counts = f"{entry.neutral} neutral, {entry.feminine} feminine, {entry.masculine} masculine"
    note = f"{counts}; {entry.expected or f'p {p_words(entry.p_value)}, adjusted'}"
    return Bar(
        entry.name,
        entry.score,
        note if entry.score else counts,
        absent="with neither gender",
        kind=kind,
        cells=cells,
    )


def known_p(p_value: float | None) -> str | None:
    """Return a p-value for a cell of a table; None where there is none."""
    return None if p_value is None else p_words(p_value)


def scored(of: ObjectRecord) -> str:
    """Return an object with its score, in words.

    >>> scored(ObjectRecord("tie", 0, 0, 0, None, None))
    'tie -'
    """
    return f"{of.name} {of.score or '-'}"


def _looked_at(record: ObjectsRecord) -> str:
    return (
        f"{record.triplets} triplets, {several(record.images, 'image')}, by "
        f"{record.finder}; objects that occur {record.least} times with feminine and "
        f"masculine prompts together, {record.rare} "
        "rarer ones left out."
    )


def _judged(record: ObjectsRecord) -> Iterator[Block]:
    judged = [entry for entry in record.objects if not entry.expected]
    if not judged:
        yield Note("No object occurs often enough to be judged.")
        return
    more = f"and {len(judged) - SHOWN} more in run.json" if len(judged) > SHOWN else ""
    yield object_chart("Judged", judged[:SHOWN], more)


def _expected(record: ObjectsRecord) -> Iterator[Block]:
    """Yield the objects that are expected to differ, as a table with the reasons."""
    bars = tuple(
        _object_bar(entry, (entry.neutral, entry.feminine, entry.masculine, entry.expected))
        for entry in record.objects
        if entry.expected
    )
    if bars:
        yield BarChart(
            "Expected to differ", bars, 0.0, 1.0, UNIT, "Expected to differ, not judged", 2,
            "page", (*OCCURRENCES, "Why"), middle=FAIR, ends=ENDS,
        )  # fmt: skip


def _tests(tests: Sequence[IndependenceRecord]) -> Table:
    rows = tuple(
        (", ".join(test.variants), test.p_value, known_p(test.chi_square_p_value)) for test in tests
    )
    columns = ("Variants", "p-value, permuted within triplets", "Pearson's")
    return Table("Do objects depend on the variant?", columns, rows, "page", digits=4)


def _similarity(record: ObjectsRecord) -> str:
    if record.gap is None or record.to_feminine is None or record.to_masculine is None:
        return "too few images show objects in all three variants to compare them"
    return (
        f"to feminine {record.to_feminine:.3f}, to masculine {record.to_masculine:.3f}, "
        f"gap {record.gap}"
    )


def _told(record: ObjectsRecord) -> Iterator[str]:
    """Yield the results in a few lines of text."""
    judged = [entry for entry in record.objects if not entry.expected]
    yield (
        f"objects of {record.triplets} triplets ({several(record.images, 'image')}) by "
        f"{record.finder}: {len(judged)} judged, {len(record.objects) - len(judged)} "
        "expected to differ, "
        f"{record.rare} too rare (below {record.least})"
    )
    sure = [entry for entry in judged if entry.p_value is not None and entry.p_value <= SURE]
    if sure:
        examples = "; ".join(scored(entry) for entry in sure[:NAMED])
        more = f"; and {len(sure) - NAMED} more" if len(sure) > NAMED else ""
        yield f"come with one gender (0 feminine, 1 masculine): {examples}{more}"
    tested = next((t for t in record.independence if len(t.variants) == ALL_VARIANTS), None)
    p_value = tested and tested.p_value
    yield (
        "all objects, expected ones included, depend on the variant: "
        f"{f'p {p_words(p_value.estimate)}' if p_value else 'cannot be tested'}; co-occurrence "
        f"{_similarity(record)}"
    )
