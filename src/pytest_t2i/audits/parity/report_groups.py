"""The report of groups: shares, prompts, two attributes crossed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_t2i.audits.parity.record import (
    CrossedRecord,
    GroupCorrectionRecord,
    GroupPrompt,
    GroupsRecord,
    ParityPart,
)
from pytest_t2i.audits.summary import Figure, Frame
from pytest_t2i.data import Interval, MetricInfo
from pytest_t2i.metrics import INFO
from pytest_t2i.sections import Bar, BarChart, Block, Cell, Note, Paragraph, Section, Table
from pytest_t2i.verdicts.check import Check, judged

METRIC = "group_distance"
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


def groups_in_words(groups: GroupsRecord) -> str:
    """Return one line: shares, the largest first, and their distance from even."""
    ranked = ", ".join(f"{name} {share.estimate:.3f}" for name, share in _ranked(groups.shares))
    far = f"; distance from even {groups.distance}" if groups.distance else ""
    return f"groups by {groups.detector}: {ranked} (entropy {groups.entropy:.2f}, even is 1{far})"


def groups_section(groups: GroupsRecord, checks: Sequence[Check], *, told: bool = True) -> Section:
    """Return the section of shares over all prompts, and of each prompt's distance from even.

    ``told`` says whether the groups have a line in summaries; else corrected groups have one.
    """
    number = len(groups.shares)
    note = GROUPS.format(
        gap=groups.gap, entropy=groups.entropy, number=number, most=1.0 - 1.0 / number
    )
    line = Paragraph(groups_in_words(groups), "summary" if told else "detail")
    blocks: tuple[Block, ...] = (
        Note(note),
        line,
        _shares(f"Shares by {groups.detector}", groups.shares),
    )
    if not told:
        blocks = (Note(ALONE), *blocks)
    if groups.prompts:
        charts = _indices(groups, checks)
        blocks = (*blocks, _prompts(groups, judged(checks, METRIC)), *charts, _counts(groups))
    return Section(f"Groups by {groups.detector}", blocks)


def crossed_section(crossed: CrossedRecord) -> Section:
    """Return the section of shares of combinations, whose intervals hold together."""
    number = len(crossed.shares)
    far = f"; distance from even {crossed.distance}" if crossed.distance else ""
    (most, share), (least, small) = (_ranked(crossed.shares)[place] for place in (0, -1))
    told = (
        f"{crossed.detectors}: most {most} {share.estimate:.3f}, least {least} "
        f"{small.estimate:.3f}{far}"
    )
    note = CROSSED.format(images=crossed.images, number=number, even=1.0 / number)
    chart = _shares(f"Shares of {crossed.detectors}", crossed.shares)
    return Section(f"Crossed: {crossed.detectors}", (Note(note), Paragraph(told, "summary"), chart))


def _ranked(shares: Mapping[str, Interval]) -> list[tuple[str, Interval]]:
    return sorted(shares.items(), key=lambda pair: -pair[1].estimate)


def _shares(title: str, shares: Mapping[str, Interval]) -> BarChart:
    even = 1.0 / len(shares)
    bars = tuple(Bar(name, share, reference=even) for name, share in _ranked(shares))
    return BarChart(title, bars, 0.0, 1.0, "Share", "Group", reference="Even")


def _prompts(groups: GroupsRecord, checks: Mapping[str, Sequence[Check]]) -> BarChart:
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
    for name in groups.prompts[0].indices:
        metric, by_prompt = INFO.get(name), judged(checks, name)
        if metric is not None and by_prompt:
            known = [(one, one.indices.get(name)) for one in groups.prompts]
            known.sort(key=lambda pair: _badness(pair[1], metric))
            bars = tuple(
                Bar.judged(
                    one.id, interval, by_prompt.get(one.id, ()),
                    note=_most(one), absent="too few images with a label",
                )
                for one, interval in known
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


def groups_figure(groups: GroupsRecord, corrected: GroupCorrectionRecord | None) -> Figure:
    """Return the figure of the distance, corrected where there are labels."""
    title, section = "Distance from even shares", f"Groups by {groups.detector}"
    known = groups.distance if corrected is None else corrected.distance
    if known is None:
        few = "no image with a label" if corrected is None else "too few labels to correct it"
        return Figure(title, "none", (few,), section)
    most, share = _ranked(groups.shares if corrected is None else corrected.corrected)[0]
    own = None if corrected is None else corrected.distance_by_detector
    notes = (
        f"{len(groups.shares)} groups by {groups.detector}; 0 is even",
        f"{known.level:.0%} interval [{known.low:.3f}, {known.high:.3f}]",
        f"most often {most}: {share.estimate:.3f} of the images with a label",
        *(() if own is None else (f"corrected by people's labels; uncorrected {own:.3f}",)),
    )
    return Figure(title, f"{known.estimate:.3f}", notes, section, known)


def groups_frames(part: ParityPart) -> dict[str, Frame]:
    """Return tables of the groups of the model, prompts and crossings, and of prompts' indices."""
    columns = ("set", "detector", "group", "images", "share")
    return {
        "groups": Frame(columns, list(_rows(part)), ("share",)),
        "group_indices": _indices_frame(part),
    }


def _rows(part: ParityPart) -> Iterator[tuple[Cell, ...]]:
    for groups in part.groups:
        for name, share in groups.shares.items():
            images = sum(prompt.counts.get(name, 0) for prompt in groups.prompts)
            yield "model", groups.detector, name, images, share
        for prompt in groups.prompts:
            for name, images in prompt.counts.items():
                yield prompt.id, groups.detector, name, images, None
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
