"""The first screen: the most uneven prompts in words and pictures, and the key numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from pytest_t2i.audits.audit import loaded
from pytest_t2i.audits.summary import Figure as AuditFigure
from pytest_t2i.audits.summary import FirstScreen
from pytest_t2i.data import Interval, Outcome
from pytest_t2i.reporting.baseline import TITLE
from pytest_t2i.reporting.charts import UNIT, Track, around_zero
from pytest_t2i.reporting.formatting import (
    allowed_drawn,
    anchor,
    chance_words,
    counted_beside,
    function_of,
    metric_words,
    plain,
    sentence,
    signed,
    tells_others,
    unreasoned,
)
from pytest_t2i.reporting.pictures import Picture, PictureAlbum
from pytest_t2i.reporting.run_facts import undetected_table
from pytest_t2i.runs.record.record import PromptRecord, RunRecord
from pytest_t2i.runs.record.summaries import first_screens, summaries
from pytest_t2i.sections import Section
from pytest_t2i.sections.blocks import worst
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
    for screen in first_screens():
        checks = [
            check
            for check in record.checks
            if (check.metric, check.subject) == (screen.metric, "model")
            and check.against == "limit"
            and check.estimate is not None
        ]
        if checks:
            check = _foremost(checks)
            return sentence(loaded(screen.words)(check.estimate, check.bound)) + "."
    return ""


def _furthest(record: RunRecord) -> list[tuple[PromptRecord, Sequence[Check]]]:
    """Return the prompts furthest from even with their checks."""
    has_other_labels = tells_others(record)
    scores = [screen.of_prompts[has_other_labels] for screen in first_screens()]
    checks = record.checks_of(next(iter(scores), ""))
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
    yield from _model_figures(record)
    judged = {c.metric for c in record.checks if c.is_of_model and c.against == "limit"}
    audit_figures = (figure for summary in summaries(record) for figure in summary.figures)
    yield from (_of_audit(figure) for figure in audit_figures if figure.metric not in judged)
    undetected = undetected_table(record)
    if undetected:
        name, reasons, total = undetected[0]
        notes = (f"of {total} images, by {name}", "never counted as a gender")
        yield ScreenFigure("Undetected", str(sum(reasons.values())), notes, target="work")


def _model_figures(record: RunRecord) -> Iterator[ScreenFigure]:
    """Yield each score of the model by its checks against limits and against the baseline."""
    for screen in first_screens():
        of_model = [c for c in record.checks if (c.metric, c.subject) == (screen.metric, "model")]
        judged = [check for check in of_model if check.against == "limit"]
        compared = [check for check in of_model if check.against == "baseline"]
        if judged:
            yield _judged_figure(screen, judged)
        if compared:
            yield _change_figure(screen, compared)
        if anchored := [check for check in of_model if check.against == "anchor"]:
            yield _change_figure(screen, anchored)


def _judged_figure(screen: FirstScreen, checks: Sequence[Check]) -> ScreenFigure:
    check, name = _foremost(checks), metric_words(screen.metric)
    title, target = sentence(name), Section(screen.section, ()).anchor
    if check.estimate is None:
        return ScreenFigure(
            title, "none", tuple(filter(None, (check.message, _by(checks)))), target=target
        )
    notes = [
        loaded(screen.words)(check.estimate, check.bound),
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
    return ScreenFigure(
        title, plain(check.estimate), tuple(notes), track, screen.ends, target=target
    )


def _change_figure(screen: FirstScreen, checks: Sequence[Check]) -> ScreenFigure:
    check, name = _foremost(checks), metric_words(screen.metric)
    since = " since the anchor" if check.against == "anchor" else ""
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
    below, above = screen.change
    ends = (f"{signed(scale.low)} {below}", f"{signed(scale.high)} {above}")
    notes = tuple(_change_notes(check, checks))
    return ScreenFigure(title, signed(check.estimate, 3), notes, track, ends, AGAINST)


def _change_notes(check: Check, checks: Sequence[Check]) -> Iterator[str]:
    if check.before is not None and check.after is not None:
        yield f"{plain(check.before)} \u2192 {plain(check.after)} over {_prompts(check)}"
    yield f"{_level(check)} [{signed(check.low or 0.0, 3)}, {signed(check.high or 0.0, 3)}]"
    allowed = f"allowed {allowed_drawn(check)}{unreasoned(check)}"
    yield "; ".join(filter(None, (allowed, _by(checks))))


def _of_audit(figure: AuditFigure) -> ScreenFigure:
    track = None
    if figure.interval is not None:
        track = Track(
            label=f"{figure.title} {figure.value}",
            bar=UNIT.span(0.0, figure.interval.estimate),
            whisker=(UNIT.at(figure.interval.low), UNIT.at(figure.interval.high)),
            reference=None if figure.reference is None else UNIT.at(figure.reference),
        )
    target = Section(figure.target, ()).anchor if figure.target else ""
    return ScreenFigure(figure.title, figure.value, figure.notes, track, figure.ends, target)


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
