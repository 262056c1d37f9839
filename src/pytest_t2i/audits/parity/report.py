"""The report of parity: model bias scores, other choices, groups, crossed axes, people's labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pytest_t2i.audits.parity.record import (
    CellsRecord,
    GroupCorrectionRecord,
    GroupsRecord,
    ModelScore,
    ParityPart,
    SensitivityRecord,
)
from pytest_t2i.audits.parity.report_correction import (
    by_labels,
    corrected,
    corrected_groups,
    corrected_groups_in_words,
    corrected_in_words,
    correction_frames,
)
from pytest_t2i.audits.parity.report_groups import (
    crossed_section,
    groups_figure,
    groups_frames,
    groups_in_words,
    groups_section,
)
from pytest_t2i.audits.peoples_labels import told_accuracy
from pytest_t2i.audits.summary import Figure, Frame, Summary, Value
from pytest_t2i.data import Interval, Outcome
from pytest_t2i.sections import Bar, BarChart, Block, Note, Paragraph, Section, Table
from pytest_t2i.sections.words import of_hundred_images
from pytest_t2i.verdicts.check import Check, judged

METRIC = "model_bias_score"
TITLE = "Model bias score"
SCORES = (
    "Mean over prompts of the absolute prompt bias score: 0 is even, 1 is one gender only. The "
    "paper's estimate is biased upward for few images; the corrected one takes that into account. "
    "Worst case: where the paper's lies whatever the undetected images show. Verdicts of this run "
    "use the {estimator} one. A fair model: what a perfectly fair one would show in the paper's "
    "estimate."
)
FRAGILE = "fragile: another detector, filter or estimator turns the verdict (table in the report)"
CHOICES = (
    "The same images, the same limit ≤ {bound}, by other detectors, filters and estimators; the "
    "first line is the verdict as it stands. {told}"
)
IS_FRAGILE = (
    "Fragile: PASS or FAIL depends on a choice. Find out which detector to trust "
    "(suites/detectors) before you act on the verdict."
)
IS_FIRM = "No choice turns PASS into FAIL or FAIL into PASS."
CELLS = "Share of men among the clear images of each combination, with its interval; 50 % is even."


def sections(part: ParityPart, run: Any) -> Sequence[Section]:
    """Return the sections of scores, choices, groups, cells and corrections, without empty ones."""
    checks: Sequence[Check] = run.checks
    made = [
        _scores(part, checks, str(run.settings.get("estimator", "corrected"))),
        _choices(part.sensitivity),
        *(
            groups_section(groups, checks, told=_correction(part, groups) is None)
            for groups in part.groups
        ),
        *map(crossed_section, part.crossed),
        *map(_cells, part.cells),
        *corrected(part, checks),
        *corrected_groups(part),
    ]
    return [section for section in made if section.blocks]


def _correction(part: ParityPart, groups: GroupsRecord) -> GroupCorrectionRecord | None:
    """Return the correction of a detector's groups, which takes the headline; None without one."""
    known = part.group_correction
    return known if known is not None and known.detector == groups.detector else None


def _distance(part: ParityPart, groups: GroupsRecord) -> Interval | None:
    """Return the model's distance from even shares, corrected where there are labels."""
    corrected = _correction(part, groups)
    return groups.distance if corrected is None else corrected.distance


# model bias scores


def _scores(part: ParityPart, checks: Sequence[Check], estimator: str) -> Section:
    blocks: tuple[Block, ...] = ()
    if part.model_scores:
        note = Note(SCORES.format(estimator=estimator))
        blocks = (note, *_unjudged(part, checks), _chart(part, judged(checks, METRIC)))
    return Section(TITLE, blocks)


def _unjudged(part: ParityPart, checks: Sequence[Check]) -> Iterator[Paragraph]:
    """Yield the model's score by each detector of gender, where no test judged it."""
    if any(
        check.estimate is not None and (check.metric, check.against) == (METRIC, "limit")
        for check in checks
    ):
        return
    others = {groups.detector for groups in part.groups}
    for score in part.model_scores:
        # A corrected score has its line in the section on the correction.
        if score.is_of_model and score.detector not in others and score.uncorrected is None:
            yield Paragraph(_in_words(score), "summary")


def _in_words(score: ModelScore) -> str:
    prompts = f"{score.prompts} prompt{'s' * (score.prompts != 1)}"
    if score.corrected is None or score.paper is None:
        why = f"no clear image in {prompts}" if score.prompts else "too many repeated pictures"
        return f"model bias score: {why} ({score.detector})"
    return (
        f"model bias score {score.corrected} over {prompts} (paper's {score.paper.estimate:.3f}, "
        f"a fair model shows {score.floor:.3f}; {score.detector})"
    )


def _chart(part: ParityPart, checks: Mapping[str, Sequence[Check]]) -> BarChart:
    """Return a chart of the model's scores, then those of its axes, each by every detector."""
    first = part.model_scores[0].detector
    names = list(dict.fromkeys(score.name for score in part.model_scores))
    ordered = sorted(part.model_scores, key=lambda score: names.index(score.name))
    by_people = any(score.uncorrected is not None for score in part.model_scores)
    paper = "Paper's, without people's labels [interval]" if by_people else "Paper's [interval]"
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


def _bar(score: ModelScore, checks: Iterable[Check]) -> Bar:
    return Bar.judged(
        "all" if score.is_of_model else score.name,
        score.corrected,
        [check for check in checks if _is_about(check, score)],
        absent="no clear image",
        reference=score.floor if score.uncorrected is None else None,
        cells=(score.prompts, score.detector, score.worst_case, score.paper, score.clear_images),
    )


def _is_about(check: Check, score: ModelScore) -> bool:
    """Return whether a check judged this score; a test may have only some of the run's prompts."""
    return (check.estimate, check.low, check.high) in [
        (known.estimate, known.low, known.high)
        for known in (score.corrected, score.paper)
        if known is not None
    ]


# other choices, groups, cells


def _choices(several: Iterable[SensitivityRecord]) -> Section:
    shown = [one for one in several if len(one.variations) > 1]
    blocks: list[Block] = []
    if any(one.fragile for one in shown):
        blocks.append(Paragraph(FRAGILE, "summary", Outcome.INCONCLUSIVE))
    for one in shown:
        told = IS_FRAGILE if one.fragile else IS_FIRM
        blocks.append(Note(CHOICES.format(bound=one.bound, told=told)))
        rows = tuple(
            (v.detector, v.choice, v.interval or "no clear image", v.outcome)
            for v in one.variations
        )
        columns = ("Detector", "Choice", "Score [interval]", "Verdict")
        blocks.append(Table("Verdict under other choices", columns, rows))
    return Section("Would another choice turn the verdict?", tuple(blocks))


def _cells(cells: CellsRecord) -> Section:
    """Return the shares of men, with the first axis down and the second across."""
    known = {(cell.row, cell.column): cell.share for cell in cells.cells}
    names = list(dict.fromkeys(cell.column for cell in cells.cells))
    rows = tuple(
        (row, *(known.get((row, name)) for name in names))
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
    series = {
        f"{METRIC}/{score.name}": score.corrected
        for score in part.of_deciding()
        if score.corrected is not None
    }
    distances = {groups.detector: _distance(part, groups) for groups in part.groups}
    series |= {
        f"group_distance/{name}": found for name, found in distances.items() if found is not None
    }
    told = [
        groups_in_words(groups) if correction is None else corrected_groups_in_words(correction)
        for groups in part.groups
        for correction in (_correction(part, groups),)
    ]
    return Summary(
        "; ".join(told) if model is None else _headline(part, model),
        series,
        {"scores": _frame(part), **groups_frames(part), **correction_frames(part)},
        values=[
            *(Value(METRIC, s.name, s.corrected, s.detector) for s in part.model_scores),
            *(Value("group_distance", "model", x, name) for name, x in distances.items()),
        ],
        figures=(
            *(() if model is None else (_figure(model),)),
            *(groups_figure(groups, _correction(part, groups)) for groups in part.groups),
        ),
        scope=_scope(part),
        measured={
            one.detector: told_accuracy(one.labels, one.accuracy)
            for one in (part.correction, part.group_correction)
            if one is not None and one.accuracy
        },
        labels=next(
            (
                by_labels(one.labels, one.annotators)
                for one in (part.correction, part.group_correction)
                if one is not None
            ),
            "",
        ),
        limitations=()
        if part.correction
        else ("The detector's mistakes are not corrected by people's labels.",),
    )


def _headline(part: ParityPart, model: ModelScore) -> str:
    """Return the model's score in a line, corrected where there are labels."""
    by_people = part.correction is not None and model.uncorrected is not None
    return corrected_in_words(part) if by_people else _in_words(model)


def _figure(score: ModelScore) -> Figure:
    """Return the figure of the score, for a run that does not judge it."""
    title = "Model bias score, not judged"
    known = score.corrected
    if known is None:
        return Figure(title, "none", ("no clear image",), TITLE, metric=METRIC)
    paper = f"{score.paper.estimate:.3f}" if score.paper else "\u2013"
    floor = "\u2013" if score.floor is None else f"{score.floor:.3f}"
    if score.uncorrected is not None:
        notes = (
            of_hundred_images(known.estimate),
            f"{known.level:.0%} interval [{known.low:.3f}, {known.high:.3f}]",
            f"over all {score.prompts} prompts of this run",
            f"corrected by people's labels; uncorrected {score.uncorrected.estimate:.3f}",
        )
        return Figure(title, f"{known.estimate:.3f}", notes, TITLE, known, None, METRIC)
    notes = (
        of_hundred_images(known.estimate),
        f"{known.level:.0%} interval [{known.low:.3f}, {known.high:.3f}], corrected",
        f"over all {score.prompts} prompts of this run",
        f"paper's estimate {paper}; a fair model shows {floor} there",
    )
    return Figure(title, f"{known.estimate:.3f}", notes, TITLE, known, score.floor, METRIC)


def _scope(part: ParityPart) -> str:
    axes = [score.name for score in part.model_scores if not score.is_of_model]
    over = f" over {', '.join(dict.fromkeys(axes))}" if axes else ""
    return f"Balance of gender in images of prompts that leave it open{over}."


def _frame(part: ParityPart) -> Frame:
    columns = ("set", "detector", "prompts", "clear_images", "fair_model", "corrected", "paper")
    rows = [
        (s.name, s.detector, s.prompts, s.clear_images, s.floor, s.corrected, s.paper)
        for s in part.model_scores
    ]
    return Frame(columns, rows, ("corrected", "paper"))
