"""The report of parity: model bias scores, other choices, groups, crossed axes, people's labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

from pytest_t2i.audits.parity.record import (
    CellsRecord,
    CorrectionRecord,
    CrossedRecord,
    GroupCorrectionRecord,
    GroupPrompt,
    GroupsRecord,
    ModelScoreRecord,
    ParityPart,
    SensitivityRecord,
)
from pytest_t2i.audits.peoples_labels import of_annotators, told_accuracy
from pytest_t2i.audits.summary import Figure, Frame, Summary, Value
from pytest_t2i.data import Interval, MetricInfo, Outcome
from pytest_t2i.metrics import INFO
from pytest_t2i.sections import Bar, BarChart, Block, Cell, Note, Paragraph, Section, Table
from pytest_t2i.sections.words import of_hundred_images, several
from pytest_t2i.statistics import share_interval
from pytest_t2i.verdicts.check import Check, judged

HOW = (
    "People labelled {labels} of the images at random{where}. The errors of {detector} on them "
    "correct its labels on all images (prediction-powered inference)"
)


def _corrections(part: ParityPart, checks: Sequence[Check]) -> Iterator[Section]:
    """Yield the sections of corrected scores and groups; nothing without people's labels."""
    if part.correction is not None:
        note, tables = _scores_by_people(part.correction)
        line = Paragraph(_corrected_in_words(part, checks), "summary")
        yield Section("Corrected by people's labels", (Note(note), line, *tables))
    if part.group_correction is not None:
        note, tables = _groups_by_people(part.group_correction)
        line = Paragraph(_corrected_groups_in_words(part.group_correction), "summary")
        yield Section("Groups corrected by people's labels", (Note(note), line, *tables))


def _scores_by_people(correction: CorrectionRecord) -> tuple[str, tuple[Table, ...]]:
    """Return how the scores were corrected, and tables of them."""
    if not correction.prompts:  # labels of images that were drawn where the detector is unsure
        return (
            f"People labelled {several(correction.labels, 'image')}, drawn with known "
            f"probabilities where {correction.detector} is unsure. Its errors on "
            "them, weighted by 1 / probability, "
            "correct the model bias score; prompts keep the predicted labels; "
            "the same score stands in the verdict."
        ), ()
    how = HOW.format(labels=correction.labels, where="", detector=correction.detector)
    note = (
        f"{how}; the bars of prompts, the most biased prompts, verdicts and this table "
        "are corrected alike. The counts of an image's labels are the detector's own."
    )
    rows: list[tuple[Cell, ...]] = []
    if correction.adjusted is not None:
        # Its interval leaves out the sampling of images, and never covers a fair model's score.
        label = "second opinion: adjusted count (Rogan-Gladen), no interval"
        rows.append((label, correction.adjusted.estimate))
    if correction.left_out:
        rows.append(("prompts left out with too few labels", correction.left_out))
    more = (Table("Labels", ("What", "Value"), tuple(rows), "detail"),) if rows else ()
    prompts = tuple((p.id, p.by_detector, p.corrected, p.labels) for p in correction.prompts)
    columns = ("Prompt", "By the detector", "By people [interval]", "Labels")
    title = "1 prompt" if len(prompts) == 1 else f"{len(prompts)} prompts"
    return note, (*more, Table(title, columns, prompts, "detail", 2, form="signed"))


def _groups_by_people(correction: GroupCorrectionRecord) -> tuple[str, tuple[Table, ...]]:
    """Return how the groups were corrected, and the table of their shares."""
    where = f", on {several(correction.prompts, 'prompt')}"
    how = HOW.format(labels=correction.labels, where=where, detector=correction.detector)
    out = f" {correction.left_out} prompts have too few labels." if correction.left_out else ""
    rows = tuple(
        (name, correction.by_detector[name], share) for name, share in correction.corrected.items()
    )
    columns = ("Group", "By the detector", "By people")
    return f"{how}.{out}", (Table("Share of the clear images", columns, rows),)


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


def _corrected_groups_in_words(correction: GroupCorrectionRecord) -> str:
    """Return distance and shares in a line, with the uncorrected distance."""
    shares = ", ".join(f"{name} {share}" for name, share in correction.corrected.items())
    by = _by_labels(correction.labels, correction.annotators)
    far = "" if correction.distance is None else f"distance from even {correction.distance}"
    uncorrected = correction.distance_by_detector
    beside = f" (uncorrected {uncorrected:.3f})" if far and uncorrected is not None else ""
    text = "; ".join(filter(None, (f"{far}{beside}", shares)))
    return f"{by}, {correction.detector}: {text}"


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
    "Share of each group among the images with a label, over all prompts. Gap between the largest "
    "and the smallest {gap:.2f}; entropy {entropy:.2f}, where 1 is even and 0 one group only. The "
    "distance from even shares is half the sum of |share - 1/{number}| of a prompt, from 0 (even) "
    "to {most:.2f} (one group only), and of the model its mean, corrected for few images."
)
ALONE = (
    "By the predicted labels alone: people's labels correct the model's distance and shares, "
    "shown in a later section, but no single prompt."
)
CROSSED = (
    "Both detectors gave {images} images a label. The intervals of all {number} combinations hold "
    "together (Bonferroni). Even would be {even:.3f} each."
)


def _groups_in_words(groups: GroupsRecord) -> str:
    """Return one line: shares, the largest first, and their distance from even."""
    ranked = ", ".join(f"{name} {share.estimate:.3f}" for name, share in _ranked(groups.shares))
    far = f"; distance from even {groups.distance}" if groups.distance else ""
    return f"groups by {groups.detector}: {ranked} (entropy {groups.entropy:.2f}, even is 1{far})"


def groups_section(groups: GroupsRecord, checks: Sequence[Check], *, told: bool = True) -> Section:
    """Return the section of shares over all prompts, and of each prompt's distance from even."""
    number = len(groups.shares)
    note = GROUPS.format(
        gap=groups.gap, entropy=groups.entropy, number=number, most=1.0 - 1.0 / number
    )
    line = Paragraph(_groups_in_words(groups), "summary" if told else "detail")
    blocks: tuple[Block, ...] = (
        Note(note),
        line,
        _shares(f"Shares by {groups.detector}", groups.shares),
    )
    if not told:
        blocks = (Note(ALONE), *blocks)
    if groups.prompts:
        charts = _indices(groups, checks)
        blocks = (
            *blocks,
            _prompt_distances(groups, judged(checks, DISTANCE)),
            *charts,
            _counts(groups),
        )
    return Section(f"Groups by {groups.detector}", blocks)


def _crossed_section(crossed: CrossedRecord) -> Section:
    """Return the section of shares of combinations, whose intervals hold together."""
    number = len(crossed.shares)
    far = f"; distance from even {crossed.distance}" if crossed.distance else ""
    (most, share), (least, small) = (_ranked(crossed.shares)[place] for place in (0, -1))
    text = (
        f"{crossed.detectors}: most {most} {share.estimate:.3f}, least {least} "
        f"{small.estimate:.3f}{far}"
    )
    note = CROSSED.format(images=crossed.images, number=number, even=1.0 / number)
    chart = _shares(f"Shares of {crossed.detectors}", crossed.shares)
    return Section(f"Crossed: {crossed.detectors}", (Note(note), Paragraph(text, "summary"), chart))


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


def _indices(groups: GroupsRecord, checks: Sequence[Check]) -> Iterator[BarChart]:
    """Yield a chart of each index that a test judged, the worst prompt first."""
    for name in groups.prompts[0].indices if groups.prompts else ():
        metric, by_prompt = INFO.get(name), judged(checks, name)
        if metric is not None and by_prompt:
            pairs = [(prompt, prompt.indices.get(name)) for prompt in groups.prompts]
            pairs.sort(key=lambda pair: _badness(pair[1], metric))
            bars = tuple(
                Bar.judged(
                    prompt.id, interval, by_prompt.get(prompt.id, ()),
                    note=_most(prompt), absent="too few images with a label",
                )
                for prompt, interval in pairs
            )  # fmt: skip
            title = f"{metric.words.capitalize()} by {groups.detector}, the least even first"
            yield BarChart(title, bars, 0.0, 1.0, metric.words.capitalize(), level="detail")


def _badness(interval: Interval | None, metric: MetricInfo) -> float:
    """Return a sort key: the worst first, unknown ones last."""
    if interval is None:
        return 2.0
    return interval.estimate if metric.worse == "lower" else -interval.estimate


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


def _groups_figure(groups: GroupsRecord, corrected: GroupCorrectionRecord | None) -> Figure:
    """Return the figure of the distance, corrected where there are labels."""
    title, section = "Distance from even shares", f"Groups by {groups.detector}"
    distance = groups.distance if corrected is None else corrected.distance
    if distance is None:
        few = "no image with a label" if corrected is None else "too few labels to correct it"
        return Figure(title, "none", (few,), section)
    most, share = _ranked(groups.shares if corrected is None else corrected.corrected)[0]
    uncorrected = None if corrected is None else corrected.distance_by_detector
    notes = (
        f"{len(groups.shares)} groups by {groups.detector}; 0 is even",
        f"{distance.level:.0%} interval [{distance.low:.3f}, {distance.high:.3f}]",
        f"most often {most}: {share.estimate:.3f} of the images with a label",
        *(
            ()
            if uncorrected is None
            else (f"corrected by people's labels; uncorrected {uncorrected:.3f}",)
        ),
    )
    return Figure(title, f"{distance.estimate:.3f}", notes, section, distance)


def groups_frames(part: ParityPart) -> dict[str, Frame]:
    """Return tables of the groups of the model, prompts and crossings, and of prompts' indices."""
    columns = ("set", "detector", "group", "images", "share")
    return {
        "groups": Frame(columns, list(_group_rows(part)), ("share",)),
        "group_indices": _indices_frame(part),
    }


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
    for crossed in part.crossed:
        for name, share in crossed.shares.items():
            images = round(share.estimate * crossed.images)
            yield "model", crossed.detectors, name, images, share


def _indices_frame(part: ParityPart) -> Frame:
    """Return a table with one row per prompt, detector and index of groups."""
    rows = [
        (prompt.id, groups.detector, name, interval)
        for groups in part.groups
        for prompt in groups.prompts
        for name, interval in prompt.indices.items()
    ]
    return Frame(("prompt", "detector", "metric", "value"), rows, ("value",))


METRIC = "model_bias_score"
TITLE = "Model bias score"
SCORES = (
    "Mean over prompts of the absolute prompt bias score: 0 is even, 1 is one gender only. The "
    "paper's estimate is biased upward for few images; the corrected one, which is judged, takes "
    "that into account. Worst case: where the paper's lies whatever the undetected images show. A "
    "fair model: what a perfectly fair one would show in the paper's "
    "estimate."
)
FRAGILE = "fragile: another detector or filter turns the verdict (table in the report)"
CHOICES = (
    "The same images, the same limit ≤ {bound}, by other detectors and filters; the "
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
    drafts = [
        _scores(part, checks),
        _choices(part.sensitivity),
        *(
            groups_section(groups, checks, told=_correction(part, groups) is None)
            for groups in part.groups
        ),
        *map(_crossed_section, part.crossed),
        *map(_cells, part.cells),
        *_corrections(part, checks),
    ]
    return [section for section in drafts if section.blocks]


def _correction(part: ParityPart, groups: GroupsRecord) -> GroupCorrectionRecord | None:
    """Return the correction of a detector's groups, which takes the headline; None without one."""
    correction = part.group_correction
    return correction if correction is not None and correction.detector == groups.detector else None


def _distance(part: ParityPart, groups: GroupsRecord) -> Interval | None:
    """Return the model's distance from even shares, corrected where there are labels."""
    corrected = _correction(part, groups)
    return groups.distance if corrected is None else corrected.distance


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


# other choices, groups, cells


def _choices(records: Iterable[SensitivityRecord]) -> Section:
    choices = [record for record in records if len(record.variations) > 1]
    blocks: list[Block] = []
    if any(record.fragile for record in choices):
        blocks.append(Paragraph(FRAGILE, "summary", Outcome.INCONCLUSIVE))
    for record in choices:
        text = IS_FRAGILE if record.fragile else IS_FIRM
        blocks.append(Note(CHOICES.format(bound=record.bound, told=text)))
        rows = tuple(
            (v.detector, v.choice, v.interval or "no clear image", v.outcome)
            for v in record.variations
        )
        columns = ("Detector", "Choice", "Score [interval]", "Verdict")
        blocks.append(Table("Verdict under other choices", columns, rows))
    return Section("Would another choice turn the verdict?", tuple(blocks))


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
    series = {
        f"{METRIC}/{score.name}": score.corrected
        for score in part.of_deciding()
        if score.corrected is not None
    }
    distances = {groups.detector: _distance(part, groups) for groups in part.groups}
    series |= {
        f"group_distance/{name}": distance
        for name, distance in distances.items()
        if distance is not None
    }
    texts = [
        _groups_in_words(groups) if correction is None else _corrected_groups_in_words(correction)
        for groups in part.groups
        for correction in (_correction(part, groups),)
    ]
    return Summary(
        "; ".join(texts) if model is None else _headline(part, model),
        series,
        {"scores": _frame(part), **groups_frames(part), **_correction_frames(part)},
        values=[
            *(Value(METRIC, s.name, s.corrected, s.detector) for s in part.model_scores),
            *(Value("group_distance", "model", x, name) for name, x in distances.items()),
        ],
        figures=(
            *(() if model is None else (_figure(model),)),
            *(_groups_figure(groups, _correction(part, groups)) for groups in part.groups),
        ),
        scope=_scope(part),
        measured={
            record.detector: told_accuracy(record.labels, record.accuracy)
            for record in (part.correction, part.group_correction)
            if record is not None and record.accuracy
        },
        labels=next(
            (
                _by_labels(record.labels, record.annotators)
                for record in (part.correction, part.group_correction)
                if record is not None
            ),
            "",
        ),
        limitations=()
        if part.correction
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
