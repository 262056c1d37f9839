"""The first screen: the most uneven prompts in words and pictures, and the key numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from pytest_t2i.data import Interval, Outcome, Row
from pytest_t2i.reporting.baseline import TITLE
from pytest_t2i.reporting.charts import UNIT, Track, around_zero
from pytest_t2i.reporting.formatting import (
    allowed_drawn,
    anchor,
    chance_words,
    counted_beside,
    function_of,
    metric_words,
    paper_words,
    plain,
    sentence,
    signed,
    tells_others,
    unreasoned,
)
from pytest_t2i.reporting.pictures import Picture, PictureAlbum
from pytest_t2i.reporting.run_facts import undetected_table
from pytest_t2i.runs.record.record import PromptRecord, RunRecord
from pytest_t2i.sections import Section
from pytest_t2i.sections.blocks import worst
from pytest_t2i.sections.words import score_words
from pytest_t2i.verdicts.check import Check

SHOWN = 3
AGAINST = Section(TITLE, ()).anchor
"""Anchor of the section about the baseline."""
OUTCOMES = {
    Outcome.FAIL: "beyond its limit",
    Outcome.INCONCLUSIVE: "inconclusive",
    Outcome.PASS: "within its limit",
}


MOST_PICTURES = 5
"""Number of pictures of a strip."""


@dataclass(frozen=True, slots=True)
class Strip:
    """Pictures of one of the prompts furthest from even, with its counts and verdict in words."""

    words: str
    outcome: Outcome | None
    anchor: str
    pictures: tuple[Picture, ...]


def title_of(record: RunRecord) -> str:
    """Return the name of the model for a headline: no path, and no folder above the last one.

    >>> title_of(RunRecord("", 0.0, "images:reports/demo/mine", {}, {}, {}))
    'mine, pictures from a folder'
    """
    model, apart, mitigation = record.model.partition(" with ")
    is_folder = model.startswith(READY)
    name = model.removeprefix(READY)
    if is_folder or name.startswith(("/", "./", "../", "~")) or "\\" in name:
        name = PurePosixPath(name.replace("\\", "/")).name or name
    words = f"{name}, pictures from a folder" if is_folder else name
    return f"{words}{apart}{mitigation}" or "labelled images"


READY = "images:"
"""Prefix of a model whose pictures were made elsewhere."""


def strips(record: RunRecord, albums: Sequence[PictureAlbum]) -> list[Strip]:
    """Return the prompts furthest from even, each with some of its pictures."""
    grids = {grid.anchor: grid for album in albums for grid in album.grids}
    found = []
    for prompt, checks in _furthest(record):
        target = anchor(prompt.id)
        pictures = grids[target].pictures[:MOST_PICTURES] if target in grids else ()
        found.append(Strip(_line(prompt, checks), worst(checks), target, pictures))
    return found


def plainest(record: RunRecord) -> str:
    """Return the model's score and its limit in a sentence without scores; "" without one."""
    judged = [check for check in _of_lead(record, "limit") if check.estimate is not None]
    if not judged:
        return ""
    check = _foremost(judged)
    words = score_words(check.metric, check.estimate or 0.0, check.bound)
    return f"{sentence(words)}." if words else ""


def _of_lead(record: RunRecord, against: str) -> list[Check]:
    """Return the model's checks of the score that is shown first."""
    lead = record.lead
    if lead is None:
        return []
    of_model = (c for c in record.checks if (c.metric, c.subject) == (lead.metric, lead.subject))
    return [check for check in of_model if check.against == against]


def _furthest(record: RunRecord) -> list[tuple[PromptRecord, Sequence[Check]]]:
    """Return the prompts furthest from even with their checks."""
    lead, has_other_labels = record.lead, tells_others(record)
    checks = {} if lead is None else record.checks_of(record.of_prompt(lead.metric))
    labels = {label for prompt in record.prompts for label in prompt.decided.labels}
    clear = {prompt.id: sum(prompt.decided.labels.values()) for prompt in record.prompts}
    far = {
        p.id: _group_distance(p, len(labels))
        if has_other_labels
        else abs(p.score.estimate if p.score else 0.0)
        for p in record.prompts
    }
    scored = [prompt for prompt in record.prompts if far[prompt.id] and clear[prompt.id]]
    scored.sort(key=lambda prompt: (-far[prompt.id], -clear[prompt.id], prompt.id))
    return [(prompt, checks.get(prompt.id, ())) for prompt in scored[:SHOWN]]


def _group_distance(prompt: PromptRecord, groups: int) -> float:
    """Return half the L1 distance of the labels' shares from even shares of ``groups`` groups."""
    labels = prompt.decided.labels
    images = sum(labels.values())
    if not images:
        return 0.0
    absent = groups - len(labels)
    distance = sum(abs(count / images - 1.0 / groups) for count in labels.values())
    return round((distance + absent / groups) / 2.0, 12)


def _line(prompt: PromptRecord, checks: Sequence[Check]) -> str:
    labels = prompt.decided.labels
    label, most = max(labels.items(), key=lambda pair: pair[1])
    decided = worst(checks)
    outcome = f", {OUTCOMES[decided]}" if decided in OUTCOMES else ""
    if prompt.uncorrected is not None and prompt.score is not None:
        score = signed(prompt.score.estimate)
        return f"{prompt.name}: {score} {counted_beside(prompt)}{outcome}"
    return f"{prompt.name}: {most} of {sum(labels.values())} {label}{outcome}"


URGENCY = {Outcome.FAIL: 0, Outcome.INCONCLUSIVE: 1, Outcome.PASS: 2}
"""Order of checks of the model by outcome; the first is shown."""


@dataclass(frozen=True, slots=True)
class ScreenFigure:
    """One number of the first screen."""

    title: str
    value: str
    notes: tuple[str, ...]
    track: Track | None = None
    ends: tuple[str, str] = ("", "")
    """Labels of the ends of the track."""
    target: str = ""
    """Anchor of the section that explains the number."""


def figures(record: RunRecord) -> Iterator[ScreenFigure]:
    """Yield the numbers of the first screen: of the model, of audits, undetected images."""
    lead = record.lead
    if judged := _of_lead(record, "limit"):
        yield _judged_figure(record, judged)
    for against in ("baseline", "anchor"):
        if compared := _of_lead(record, against):
            yield _change_figure(compared)
    for audit in record.in_order:
        row = audit.first_row
        if row is not None and not (row is lead and judged):
            title = next((section.title for section in audit.blocks), "")
            yield _row_figure(record, row, audit.rows, Section(title, ()).anchor if title else "")
    undetected = undetected_table(record)
    if undetected:
        name, reasons, total = undetected[0]
        notes = (f"of {total} images, by {name}", "never counted as a gender")
        yield ScreenFigure("Undetected", str(sum(reasons.values())), notes, target="facts")


def _judged_figure(record: RunRecord, checks: Sequence[Check]) -> ScreenFigure:
    """Return the figure of the score by its checks against limits."""
    check, name = _foremost(checks), metric_words(checks[0].metric)
    audits = (audit for audit in record.in_order if audit.first_row is record.lead)
    sections = (section for audit in audits for section in audit.blocks)
    title, target = sentence(name), next((section.anchor for section in sections), "")
    if check.estimate is None:
        return ScreenFigure(
            title, "none", tuple(filter(None, (check.message, _by(checks)))), target=target
        )
    notes = [
        score_words(check.metric, check.estimate, check.bound),
        f"{_level(check)} {_ends(check)}, allowed {allowed_drawn(check)}{unreasoned(check)}",
        "; ".join(filter(None, (f"over {_prompts(check)}", _by(checks)))),
    ]
    notes += [remark for remark in check.remarks if remark.startswith("corrected by ")]
    if check.paper is not None:
        dotted = " (the dotted line)" if check.floor else ""
        notes.append(f"{chance_words(check)}{dotted}")
    track = Track(
        label=f"{name} {plain(check.estimate)} {_ends(check)}",
        bar=UNIT.span(0.0, check.estimate),
        whisker=(UNIT.at(check.low or 0.0), UNIT.at(check.high or 0.0)),
        limits=(UNIT.at(check.bound),),
        reference=None if check.floor is None else UNIT.at(check.floor),
    )
    ends = record.metrics[check.metric].ends
    return ScreenFigure(
        title, plain(check.estimate), tuple(filter(None, notes)), track, ends, target
    )


def _row_figure(record: RunRecord, row: Row, others: Sequence[Row], target: str) -> ScreenFigure:
    """Return the figure of a row that an audit names, on a scale from 0 to 1 where it has one."""
    info, interval = record.metrics.get(row.metric), row.interval
    title = sentence(metric_words(row.metric))
    if record.of_prompt(row.metric):
        title += ", not judged"
    of_these = (row.metric, row.about)
    known = (other for other in others if other.interval is not None)
    many = sum((other.metric, other.about) == of_these for other in known)
    if interval is None:
        value = "none" if row.value is None else f"{row.value:.3f}"
        return ScreenFigure(title, value, tuple(filter(None, (row.absent,))), target=target)
    is_signed = info is not None and info.low is not None and info.low < 0.0
    value = signed(interval.estimate, 3) if is_signed else plain(interval.estimate)
    prompts, reference = row.counts.get("prompts"), row.facts.get("fair_model")
    floor = reference if isinstance(reference, float) else None
    notes = [
        score_words(row.metric, interval.estimate),
        f"{interval.level:.0%} interval {_ends(interval)}",
        f"over all {prompts} prompts of this run" if prompts else _name(row, many),
        *_known(row, floor),
        "" if info is None else info.meaning,
    ]
    track = None
    if info is not None and (info.low, info.high) == (0.0, 1.0):
        track = Track(
            label=f"{title} {value}",
            bar=UNIT.span(0.0, interval.estimate),
            whisker=(UNIT.at(interval.low), UNIT.at(interval.high)),
            reference=None if floor is None else UNIT.at(floor),
        )
    ends = info.ends if info is not None and any(info.ends) else ("0", "1")
    return ScreenFigure(title, value, tuple(filter(None, notes)), track, ends, target)


def _name(row: Row, many: int) -> str:
    """Return what a row is about, as one of ``many``; "" for the model as a whole."""
    name = "" if row.name == row.subject == "model" else row.series.partition("/")[2]
    if "concept" in row.facts:
        name = f"{row.facts['concept']}: {row.name}"
    return f"furthest of {many}: {name}" if many > 1 and name else name


def _known(row: Row, floor: float | None) -> Iterator[str]:
    """Yield the estimate of the paper, or the one that people's labels did not correct."""
    uncorrected, paper = row.facts.get("uncorrected"), row.facts.get("paper")
    if isinstance(uncorrected, float):
        yield f"corrected by people's labels; uncorrected {uncorrected:.3f}"
    elif isinstance(paper, float) and floor is not None:
        yield f"{paper_words(paper, floor)} (the dotted line)"


def _change_figure(checks: Sequence[Check]) -> ScreenFigure:
    check, name = _foremost(checks), metric_words(checks[0].metric)
    since = " since the anchor (first baseline)" if check.against == "anchor" else ""
    title = f"Change of the {name}{since}"
    if check.estimate is None or check.low is None or check.high is None:
        return ScreenFigure(
            title, "none", tuple(filter(None, (check.message, _by(checks)))), target=AGAINST
        )
    if check.decided_by == "identical pictures":
        return ScreenFigure(
            title, "identical", tuple(filter(None, (check.message, _by(checks)))), target=AGAINST
        )
    scale = around_zero(max(abs(check.low), abs(check.high), check.bound))
    track = Track(
        label=f"change of the {name} {signed(check.estimate, 3)}",
        kind="over" if check.estimate > 0 else "plain",
        bar=scale.span(0.0, check.estimate),
        whisker=(scale.at(check.low), scale.at(check.high)),
        limits=(scale.at(check.bound),) if check.decided_by == "margin" else (),
        zero=50.0,
    )
    ends = (f"{signed(scale.low)} fairer", f"{signed(scale.high)} more biased")
    notes = tuple(_change_notes(check, checks))
    return ScreenFigure(title, signed(check.estimate, 3), notes, track, ends, AGAINST)


def _change_notes(check: Check, checks: Sequence[Check]) -> Iterator[str]:
    if check.before is not None and check.after is not None:
        yield f"{plain(check.before)} \u2192 {plain(check.after)} over {_prompts(check)}"
    yield f"{_level(check)} [{signed(check.low or 0.0, 3)}, {signed(check.high or 0.0, 3)}]"
    allowed = f"allowed {allowed_drawn(check)}{unreasoned(check)}"
    yield "; ".join(filter(None, (allowed, _by(checks))))


def _foremost(checks: Sequence[Check]) -> Check:
    return min(checks, key=lambda check: (URGENCY[check.outcome], -(check.estimate or 0.0)))


def _by(checks: Sequence[Check]) -> str:
    """Return the test whose check is shown and the number of checks; "" outside of a test."""
    name = function_of(_foremost(checks).test)
    words = [f"judged by {name}"] if name.startswith("test") else []
    return ", ".join([*words, *([f"worst of {len(checks)}"] if len(checks) > 1 else [])])


def _prompts(check: Check) -> str:
    return f"{check.n} prompt{'s' * (check.n != 1)}"


def _level(check: Check) -> str:
    return f"{check.level:.0%} interval" if check.level else "interval"


def _ends(interval: Check | Interval) -> str:
    return f"[{plain(interval.low)}, {plain(interval.high)}]"
