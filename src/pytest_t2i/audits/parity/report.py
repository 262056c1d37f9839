"""The report of parity: model bias scores, groups, crossed axes, people's labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

from pytest_t2i.audits.parity.record import (
    CellsRecord,
    CorrectionRecord,
    GroupPrompt,
    GroupsRecord,
    ModelScoreRecord,
    ParityPart,
)
from pytest_t2i.audits.peoples_labels import of_annotators, told_accuracy
from pytest_t2i.audits.summary import Figure, Frame, Summary, Value
from pytest_t2i.data import Interval
from pytest_t2i.sections import Bar, BarChart, Block, Cell, Note, Paragraph, Section, Table
from pytest_t2i.sections.words import of_hundred_images, several
from pytest_t2i.statistics import share_interval
from pytest_t2i.verdicts.check import Check, judged

HOW = (
    "People labelled {labels} of the images at random. The errors of {detector} on them "
    "correct its labels on all images (prediction-powered inference)"
)


def _corrections(part: ParityPart, checks: Sequence[Check]) -> Iterator[Section]:
    """Yield the sections of corrected scores and groups; nothing without people's labels."""
    if part.correction is not None:
        note, tables = _scores_by_people(part.correction)
        line = Paragraph(_corrected_in_words(part, checks), "summary")
        yield Section("Corrected by people's labels", (Note(note), line, *tables))


def _scores_by_people(correction: CorrectionRecord) -> tuple[str, tuple[Table, ...]]:
    """Return how the scores were corrected, and tables of them."""
    how = HOW.format(labels=correction.labels, detector=correction.detector)
    note = (
        f"{how}; the bars of prompts, the most biased prompts, verdicts and this table "
        "are corrected alike. The counts of an image's labels are the detector's own."
    )
    rows: list[tuple[Cell, ...]] = []
    if correction.left_out:
        rows.append(("prompts left out with too few labels", correction.left_out))
    more = (Table("Labels", ("What", "Value"), tuple(rows), "detail"),) if rows else ()
    prompts = tuple((p.id, p.by_detector, p.corrected, p.labels) for p in correction.prompts)
    columns = ("Prompt", "By the detector", "By people [interval]", "Labels")
    title = "1 prompt" if len(prompts) == 1 else f"{len(prompts)} prompts"
    return note, (*more, Table(title, columns, prompts, "detail", 2, form="signed"))


def _corrected_in_words(part: ParityPart, checks: Sequence[Check] = ()) -> str:
    """Return the corrected score in words, with the number of labels and the uncorrected score."""
    correction = part.correction
    if correction is None:
        return ""
    model = next((s for s in part.of_deciding() if s.is_of_model), None)
    judged = next((check for check in checks if _is_by_people(check)), None)
    beside = f"{correction.by_detector:.3f}"
    if model is not None and model.uncorrected is not None:
        beside = f"{model.uncorrected.estimate:.3f}"
    score = str(correction.corrected)
    if judged is not None:
        score = f"{judged.estimate:.3f} [{judged.low:.3f}, {judged.high:.3f}]"
    elif model is not None and model.uncorrected is not None:
        score = str(model.corrected)
    more = (
        f"; {correction.labels_to_halve} more labels would halve the labels' part of the interval"
        if correction.labels_to_halve
        else ""
    )
    by = _by_labels(correction.labels, correction.annotators)
    return f"{by}: model bias score {score} (uncorrected {beside}){more}"


def _by_labels(labels: int, annotators: int | None) -> str:
    """Return ``corrected by 30 labels of 2 annotators`` with these numbers."""
    return f"corrected by {several(labels, 'label')}{of_annotators(annotators)}"


def _is_by_people(check: Check) -> bool:
    of_model = (check.metric, check.subject, check.against) == (
        "model_bias_score",
        "model",
        "limit",
    )
    return of_model and check.is_by_people and check.estimate is not None


def _correction_frames(part: ParityPart) -> dict[str, Frame]:
    """Return the corrected scores of the model and of prompts, for pandas and CSV."""
    correction = part.correction
    columns = ("detector", "labels", "annotators", "left_out", "by_detector", "corrected")
    of_prompt = ("id", "labels", "by_detector", "corrected")
    records = [] if correction is None else [correction]
    prompts = () if correction is None else correction.prompts
    return {
        "correction": Frame(columns, list(map(attrgetter(*columns), records)), ("corrected",)),
        "corrected_prompts": Frame(
            of_prompt, list(map(attrgetter(*of_prompt), prompts)), ("corrected",)
        ),
    }


DISTANCE = "group_distance"
GROUPS = (
    "Share of each group among the images with a label, over all prompts. The distance from even "
    "shares is half the sum of |share - 1/{number}| of a prompt, from 0 (even) to {most:.2f} (one "
    "group only), and of the model its mean, corrected for few images."
)
NOT_CORRECTED = (
    "People's labels do not correct these groups: they correct scores of male and female alone."
)


def _groups_in_words(groups: GroupsRecord) -> str:
    """Return one line: shares, the largest first, and their distance from even."""
    ranked = ", ".join(f"{name} {share.estimate:.3f}" for name, share in _ranked(groups.shares))
    far = f"; distance from even {groups.distance}" if groups.distance else ""
    return f"groups by {groups.detector}: {ranked}{far}"


def _groups_section(
    groups: GroupsRecord, checks: Sequence[Check], *, labelled: bool = False
) -> Section:
    """Return the section of shares over all prompts, and of each prompt's distance from even.

    ``labelled``: whether people labelled the run's images.
    """
    number = len(groups.shares)
    note = GROUPS.format(number=number, most=1.0 - 1.0 / number)
    line = Paragraph(_groups_in_words(groups), "summary")
    blocks: tuple[Block, ...] = (
        Note(note),
        line,
        _shares(f"Shares by {groups.detector}", groups.shares),
    )
    if labelled:
        blocks = (Note(NOT_CORRECTED), *blocks)
    if groups.prompts:
        blocks = (
            *blocks,
            _prompt_distances(groups, judged(checks, DISTANCE)),
            _counts(groups),
        )
    return Section(f"Groups by {groups.detector}", blocks)


def _ranked(shares: Mapping[str, Interval]) -> list[tuple[str, Interval]]:
    return sorted(shares.items(), key=lambda pair: -pair[1].estimate)


def _shares(title: str, shares: Mapping[str, Interval]) -> BarChart:
    even = 1.0 / len(shares)
    bars = tuple(Bar(name, share, reference=even) for name, share in _ranked(shares))
    return BarChart(title, bars, 0.0, 1.0, "Share", "Group", reference="Even")


def _prompt_distances(groups: GroupsRecord, checks: Mapping[str, Sequence[Check]]) -> BarChart:
    bars = tuple(
        Bar.judged(
            prompt.id,
            prompt.distance,
            checks.get(prompt.id, ()),
            note=_most(prompt),
            absent="no image with a label",
        )
        for prompt in groups.prompts
    )
    title = f"Distance from even shares by {groups.detector}, the furthest first"
    return BarChart(title, bars, 0.0, 1.0, "Distance from even shares", level="detail")


def _most(prompt: GroupPrompt) -> str:
    """Return the largest group of a prompt in words: ``20-29: 18 of 20``."""
    if not prompt.images:
        return ""
    name, count = max(prompt.counts.items(), key=lambda pair: pair[1])
    return f"{name}: {count} of {prompt.images}"


def _counts(groups: GroupsRecord) -> Table:
    names = tuple(groups.shares)
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (prompt.id, *(prompt.counts.get(name, 0) for name in names)) for prompt in groups.prompts
    )
    return Table(f"Images per group by {groups.detector}", ("Prompt", *names), rows, "detail")


def _groups_figure(groups: GroupsRecord) -> Figure:
    """Return the figure of the distance."""
    title, section = "Distance from even shares", f"Groups by {groups.detector}"
    distance = groups.distance
    if distance is None:
        return Figure(title, "none", ("no image with a label",), section)
    most, share = _ranked(groups.shares)[0]
    notes = (
        f"{len(groups.shares)} groups by {groups.detector}; 0 is even",
        f"{distance.level:.0%} interval [{distance.low:.3f}, {distance.high:.3f}]",
        f"most often {most}: {share.estimate:.3f} of the images with a label",
    )
    return Figure(title, f"{distance.estimate:.3f}", notes, section, distance)


def _groups_frame(part: ParityPart) -> Frame:
    """Return a table of the groups of the model and of prompts."""
    columns = ("set", "detector", "group", "images", "share")
    return Frame(columns, list(_group_rows(part)), ("share",))


LEVEL = 0.95
"""Level of a prompt's shares where the model has none."""


def _group_rows(part: ParityPart) -> Iterator[tuple[Cell, ...]]:
    for groups in part.groups:
        for name, share in groups.shares.items():
            images = sum(prompt.counts.get(name, 0) for prompt in groups.prompts)
            yield "model", groups.detector, name, images, share
        for prompt in groups.prompts:
            level = next((share.level for share in groups.shares.values()), LEVEL)
            for name, images in prompt.counts.items():
                of_prompt = share_interval(images, n, level) if (n := prompt.images) else None
                yield prompt.id, groups.detector, name, images, of_prompt


METRIC = "model_bias_score"
TITLE = "Model bias score"
SCORES = (
    "Mean over prompts of the absolute prompt bias score: 0 is even, 1 is one gender only. The "
    "paper's estimate is biased upward for few images; the corrected one, which is judged, takes "
    "that into account. Worst case: where the paper's lies whatever the undetected images show. A "
    "fair model: what a perfectly fair one would show in the paper's "
    "estimate."
)
CELLS = "Share of men among the clear images of each combination, with its interval; 50 % is even."


def sections(part: ParityPart, run: Any) -> Sequence[Section]:
    """Return the sections of scores, groups, cells and corrections, without empty ones."""
    checks: Sequence[Check] = run.checks
    labelled = bool(run.provenance.get("people's labels"))
    drafts = [
        _scores(part, checks),
        *(_groups_section(groups, checks, labelled=labelled) for groups in part.groups),
        *map(_cells, part.cells),
        *_corrections(part, checks),
    ]
    return [section for section in drafts if section.blocks]


# model bias scores


def _scores(part: ParityPart, checks: Sequence[Check]) -> Section:
    blocks: tuple[Block, ...] = ()
    if part.model_scores:
        blocks = (Note(SCORES), *_unjudged(part, checks), _chart(part, judged(checks, METRIC)))
    return Section(TITLE, blocks)


def _unjudged(part: ParityPart, checks: Sequence[Check]) -> Iterator[Paragraph]:
    """Yield the model's score by each detector of gender, where no test judged it."""
    if any(
        check.estimate is not None and (check.metric, check.against) == (METRIC, "limit")
        for check in checks
    ):
        return
    detectors = {groups.detector for groups in part.groups}
    for score in part.model_scores:
        # A corrected score has its line in the section on the correction.
        if score.is_of_model and score.detector not in detectors and score.uncorrected is None:
            yield Paragraph(_in_words(score), "summary")


def _in_words(score: ModelScoreRecord) -> str:
    prompts = f"{score.prompts} prompt{'s' * (score.prompts != 1)}"
    if score.corrected is None or score.paper is None:
        why = f"no clear image in {prompts}" if score.prompts else "too many repeated pictures"
        return f"model bias score: {why} ({score.detector})"
    return (
        f"model bias score {score.corrected} over {prompts} (not corrected for few "
        f"images: {score.paper:.3f}; a fair model shows {score.floor:.2f} by chance; "
        f"{score.detector})"
    )


def _chart(part: ParityPart, checks: Mapping[str, Sequence[Check]]) -> BarChart:
    """Return a chart of the model's scores, then those of its axes, each by every detector."""
    first = part.model_scores[0].detector
    names = list(dict.fromkeys(score.name for score in part.model_scores))
    ordered = sorted(part.model_scores, key=lambda score: names.index(score.name))
    by_people = any(score.uncorrected is not None for score in part.model_scores)
    paper = "Paper's, without people's labels" if by_people else "Paper's"
    # Limits are compared with the deciding detector's score alone.
    bars = (
        _bar(score, checks.get(score.name, ()) if score.detector == first else ())
        for score in ordered
    )
    return BarChart(
        "Model bias score by set of prompts and detector",
        tuple(bars),
        0.0,
        1.0,
        "Corrected model bias score",
        "Set of prompts",
        columns=("Prompts", "Detector", "Worst case", paper, "Clear images"),
        reference="Fair model",
    )


def _bar(score: ModelScoreRecord, checks: Iterable[Check]) -> Bar:
    return Bar.judged(
        "all" if score.is_of_model else score.name,
        score.corrected,
        [check for check in checks if _is_about(check, score)],
        absent="no clear image",
        reference=score.floor if score.uncorrected is None else None,
        cells=(score.prompts, score.detector, score.worst_case, score.paper, score.clear_images),
    )


def _is_about(check: Check, score: ModelScoreRecord) -> bool:
    """Return whether a check judged this score; a test may have only some of the run's prompts."""
    interval = score.corrected
    return interval is not None and (check.estimate, check.low, check.high) == (
        interval.estimate,
        interval.low,
        interval.high,
    )


# groups and cells


def _cells(cells: CellsRecord) -> Section:
    """Return the shares of men, with the first axis down and the second across."""
    shares = {(cell.row, cell.column): cell.share for cell in cells.cells}
    names = list(dict.fromkeys(cell.column for cell in cells.cells))
    rows = tuple(
        (row, *(shares.get((row, name)) for name in names))
        for row in dict.fromkeys(cell.row for cell in cells.cells)
    )
    caption = f"Share of men by {cells.rows} (down) and {cells.columns} (across)"
    table = Table(caption, (cells.rows, *names), rows, form="percent")
    title = f"{cells.rows[:1].upper()}{cells.rows[1:]} \u00d7 {cells.columns}"
    return Section(title, (Note(CELLS), table))


# outside the sections


def summary(part: ParityPart) -> Summary:
    """Return the score in words, the deciding detector's scores as series, all as a table."""
    model = next((score for score in part.model_scores if score.is_of_model), None)
    correction = part.correction
    series = {
        f"{METRIC}/{score.name}": score.corrected
        for score in part.of_deciding()
        if score.corrected is not None
    }
    distances = {groups.detector: groups.distance for groups in part.groups}
    series |= {
        f"group_distance/{name}": distance
        for name, distance in distances.items()
        if distance is not None
    }
    return Summary(
        "; ".join(map(_groups_in_words, part.groups)) if model is None else _headline(part, model),
        series,
        {"scores": _frame(part), "groups": _groups_frame(part), **_correction_frames(part)},
        values=[
            *(Value(METRIC, s.name, s.corrected, s.detector) for s in part.model_scores),
            *(Value("group_distance", "model", x, name) for name, x in distances.items()),
        ],
        figures=(
            *(() if model is None else (_figure(model),)),
            *map(_groups_figure, part.groups),
        ),
        scope=_scope(part),
        measured={correction.detector: told_accuracy(correction.labels, correction.accuracy)}
        if correction is not None and correction.accuracy
        else {},
        labels="" if correction is None else _by_labels(correction.labels, correction.annotators),
        limitations=()
        if correction
        else ("The detector's mistakes are not corrected by people's labels.",),
    )


def _headline(part: ParityPart, model: ModelScoreRecord) -> str:
    """Return the model's score in a line, corrected where there are labels."""
    by_people = part.correction is not None and model.uncorrected is not None
    return _corrected_in_words(part) if by_people else _in_words(model)


def _figure(score: ModelScoreRecord) -> Figure:
    """Return the figure of the score, for a run that does not judge it."""
    title = "Model bias score, not judged"
    interval = score.corrected
    if interval is None:
        return Figure(title, "none", ("no clear image",), TITLE, metric=METRIC)
    paper = "\u2013" if score.paper is None else f"{score.paper:.3f}"
    floor = "\u2013" if score.floor is None else f"{score.floor:.3f}"
    by_people = score.uncorrected is not None
    fair = f"a fair model shows {floor} by chance (the dotted line)"
    beside = f"not corrected for few images: {paper}; {fair}"
    if score.uncorrected is not None:
        beside = f"corrected by people's labels; uncorrected {score.uncorrected.estimate:.3f}"
    ends = f"{interval.level:.0%} interval [{interval.low:.3f}, {interval.high:.3f}]"
    over = f"over all {score.prompts} prompts of this run"
    in_images = of_hundred_images(interval.estimate)
    notes = (in_images, ends if by_people else f"{ends}, corrected", over, beside)
    reference = None if by_people else score.floor
    return Figure(title, f"{interval.estimate:.3f}", notes, TITLE, interval, reference, METRIC)


def _scope(part: ParityPart) -> str:
    axes = [score.name for score in part.model_scores if not score.is_of_model]
    over = f" over {', '.join(dict.fromkeys(axes))}" if axes else ""
    return f"Balance of gender in images of prompts that leave it open{over}."


def _frame(part: ParityPart) -> Frame:
    columns = ("set", "detector", "prompts", "clear_images", "fair_model", "corrected", "paper")
    row = attrgetter("name", "detector", "prompts", "clear_images", "floor", "corrected", "paper")
    return Frame(columns, list(map(row, part.model_scores)), ("corrected",))
