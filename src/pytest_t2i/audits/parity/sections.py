"""The report of parity: model bias scores, groups, crossed axes, people's labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pytest_t2i.audits.engine.rows import Rows
from pytest_t2i.audits.parity.measure import (
    CORRECTED,
    CORRECTED_PROMPT,
    DISTANCE,
    GROUP,
    MEN,
    SCORE,
)
from pytest_t2i.data import Row
from pytest_t2i.sections import Block, Cell, Note, Paragraph, RowChart, Section, Table
from pytest_t2i.sections.words import corrected_by, several
from pytest_t2i.verdicts.check import Check

TITLE = "Model bias score"
SCORES = (
    "Mean over prompts of the absolute prompt bias score: 0 is even, 1 is one gender only. The "
    "paper's estimate is biased upward for few images; the corrected one, which is judged, takes "
    "that into account. Lowest and highest: where the paper's lies whatever the undetected images "
    "show. A fair model: what a perfectly fair one would show in the paper's estimate."
)
COLUMNS = ("prompts", "detector", "lowest", "highest", "paper", "clear_images")
GROUPS = (
    "Share of each group among the images with a label, over all prompts. The distance from even "
    "shares is half the sum of |share - 1/{number}| of a prompt, from 0 (even) to {most:.2f} (one "
    "group only), and of the model its mean, corrected for few images."
)
NOT_CORRECTED = (
    "People's labels do not correct these groups: they correct scores of male and female alone."
)
CELLS = "Share of men among the clear images of each combination, with its interval; 50 % is even."
HOW = (
    "People labelled {labels} of the images at random. The errors of {detector} on them correct "
    "its labels on all images (prediction-powered inference); the bars of prompts, the most biased "
    "prompts, verdicts and this table are corrected alike. The counts of an image's labels are the "
    "detector's own."
)


def sections(rows: Rows, run: Any) -> Sequence[Section]:
    """Return the sections of scores, groups, cells and corrections, without empty ones."""
    labelled = bool(run.provenance.get("people's labels"))
    by_groups = [_groups_section(rows, row, labelled=labelled) for row in rows.of(DISTANCE)]
    drafts = [_scores(rows, run.checks), *by_groups, *_crossed(rows), _correction(rows, run.checks)]
    return [section for section in drafts if section.blocks]


# model bias scores


def _scores(rows: Rows, checks: Sequence[Check]) -> Section:
    scores = [*rows.of(SCORE), *rows.of(SCORE, "group")]
    if not scores:
        return Section(TITLE, ())
    chart = RowChart(
        "Model bias score by detector", (SCORE,), columns=COLUMNS,
        unit="Corrected model bias score", note="Set of prompts", reference="fair_model",
    )  # fmt: skip
    axes = RowChart(
        "Model bias score by axis", (SCORE,), "group", columns=COLUMNS,
        unit="Corrected model bias score", note="Set of prompts", reference="fair_model",
    )  # fmt: skip
    further = [axes] if rows.of(SCORE, "group") else []
    return Section(TITLE, (Note(SCORES), *_unjudged(rows, checks), chart, *further))


def _unjudged(rows: Rows, checks: Sequence[Check]) -> Iterator[Paragraph]:
    """Yield the model's score by each detector of gender, where no test judged it."""
    if any(
        check.estimate is not None and (check.metric, check.against) == (SCORE, "limit")
        for check in checks
    ):
        return
    other_detectors = {row.dims["detector"] for row in rows.of(DISTANCE)}
    for row in rows.of(SCORE):
        # A corrected score has its line in the section on the correction.
        if row.dims["detector"] not in other_detectors and "uncorrected" not in row.facts:
            yield Paragraph(_score_in_words(row), "summary")


def _score_in_words(row: Row) -> str:
    prompts, detector = several(row.counts.get("prompts", 0), "prompt"), row.dims.get("detector")
    paper, floor = row.facts.get("paper"), row.facts.get("fair_model")
    if row.interval is None or not isinstance(paper, float) or not isinstance(floor, float):
        is_clear = row.counts.get("prompts")
        why = f"no clear image in {prompts}" if is_clear else "too many repeated pictures"
        return f"model bias score: {why} ({detector})"
    return (
        f"model bias score {row.interval} over {prompts} (not corrected for few "
        f"images: {paper:.3f}; a fair model shows {floor:.2f} by chance; {detector})"
    )


# groups and crossed axes


def _of_detector(rows: Sequence[Row], row: Row) -> list[Row]:
    return [
        of_detector
        for of_detector in rows
        if of_detector.dims.get("detector") == row.dims.get("detector")
    ]


def _ranked(rows: Rows, distance: Row) -> list[Row]:
    """Return the shares of the groups by the distance's detector, the largest first."""
    shares = _of_detector(rows.of(GROUP, "group"), distance)
    return sorted(shares, key=lambda row: -(row.interval.estimate if row.interval else 0.0))


def _groups_in_words(rows: Rows, distance: Row) -> str:
    """Return one line: shares, the largest first, and their distance from even."""
    shares = ((row.subject, row.interval) for row in _ranked(rows, distance))
    ranked = ", ".join(f"{name} {share.estimate:.3f}" for name, share in shares if share)
    far = f"; distance from even {distance.interval}" if distance.interval else ""
    return f"groups by {distance.dims.get('detector')}: {ranked}{far}"


def _groups_section(rows: Rows, distance: Row, *, labelled: bool) -> Section:
    """Return the section of shares over all prompts, and of each prompt's distance from even.

    ``labelled``: whether people labelled the run's images.
    """
    detector, ranked = distance.dims["detector"], _ranked(rows, distance)
    number, dims = len(ranked), (("detector", detector),)
    prompts = _of_detector(rows.of(DISTANCE, "prompt"), distance)
    names = tuple(row.subject for row in ranked)
    blocks: list[Block] = [Note(NOT_CORRECTED)] if labelled else []
    blocks += [
        Note(GROUPS.format(number=number, most=1.0 - 1.0 / max(number, 1))),
        Paragraph(_groups_in_words(rows, distance), "summary"),
        RowChart(
            f"Shares by {detector}", (GROUP,), "group", names, dims, unit="Share", note="Group"
        ),
    ]
    if prompts:
        cells: tuple[tuple[Cell, ...], ...] = tuple(
            (row.subject, *(row.counts.get(name, 0) for name in names)) for row in prompts
        )
        title = f"Distance from even shares by {detector}, the furthest first"
        blocks += [
            RowChart(title, (DISTANCE,), "prompt", (), dims, unit="Distance from even shares",
                     level="detail"),
            Table(f"Images per group by {detector}", ("Prompt", *names), cells, "detail"),
        ]  # fmt: skip
    return Section(f"Groups by {detector}", tuple(blocks))


def _crossed(rows: Rows) -> Iterator[Section]:
    """Yield the shares of men of two axes, with the first axis down and the second across."""
    tables: dict[tuple[str, ...], list[Row]] = {}
    for row in rows.of(MEN, "prompt"):
        tables.setdefault(tuple(row.dims), []).append(row)
    for (down, across), cells in tables.items():
        shares = {(row.dims[down], row.dims[across]): row.interval for row in cells}
        names = list(dict.fromkeys(str(row.dims[across]) for row in cells))
        lines = tuple(
            (str(name), *(shares.get((name, column)) for column in names))
            for name in dict.fromkeys(row.dims[down] for row in cells)
        )
        caption = f"Share of men by {down} (down) and {across} (across)"
        title = f"{down[:1].upper()}{down[1:]} \u00d7 {across}"
        yield Section(title, (Note(CELLS), Table(caption, (down, *names), lines, form="percent")))


# people's labels


def _correction(rows: Rows, checks: Sequence[Check]) -> Section:
    """Return the section of corrected scores; an empty one without people's labels."""
    title = "Corrected by people's labels"
    row = next(iter(rows.of(CORRECTED, "detector")), None)
    if row is None:
        return Section(title, ())
    how = HOW.format(labels=row.counts["labels"], detector=row.subject)
    blocks: list[Block] = [Note(how), Paragraph(_corrected_in_words(rows, checks), "summary")]
    if left_out := row.counts["left_out"]:
        line = (("prompts left out with too few labels", left_out),)
        blocks.append(Table("Labels", ("What", "Value"), line, "detail"))
    prompts: tuple[tuple[Cell, ...], ...] = tuple(
        (
            prompt_row.subject,
            prompt_row.facts["by_detector"],
            prompt_row.interval,
            prompt_row.counts["labels"],
        )
        for prompt_row in rows.of(CORRECTED_PROMPT, "prompt")
    )
    columns = ("Prompt", "By the detector", "By people [interval]", "Labels")
    caption = several(len(prompts), "prompt")
    blocks.append(Table(caption, columns, prompts, "detail", 2, form="signed"))
    return Section(title, tuple(blocks))


def _corrected_in_words(rows: Rows, checks: Sequence[Check]) -> str:
    row = next(iter(rows.of(CORRECTED, "detector")), None)
    if row is None:
        return ""
    model = next(
        (score_row for score_row in rows.of(SCORE) if "uncorrected" in score_row.facts), None
    )
    judged = next((check for check in checks if _is_by_people(check)), None)
    beside, score = row.facts.get("by_detector"), str(row.interval)
    if model is not None:
        beside, score = model.facts["uncorrected"], str(model.interval)
    if judged is not None:
        score = f"{judged.estimate:.3f} [{judged.low:.3f}, {judged.high:.3f}]"
    halve = row.facts.get("labels_to_halve")
    more = f"; {halve} more labels would halve the labels' part of the interval" if halve else ""
    before = f"{beside:.3f}" if isinstance(beside, float) else "unknown"
    return f"{corrected_by(row.counts)}: model bias score {score} (uncorrected {before}){more}"


def _is_by_people(check: Check) -> bool:
    of_model = (check.metric, check.subject, check.against) == (SCORE, "model", "limit")
    return of_model and check.is_by_people and check.estimate is not None
