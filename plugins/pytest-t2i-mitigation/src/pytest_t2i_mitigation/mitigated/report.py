"""The section of a mitigation: gain against cost, verdicts, pictures before and after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from pytest_t2i import Frame, Interval, NamedRecord, Outcome, Summary
from pytest_t2i import sections as blocks

from pytest_t2i_mitigation.mitigated.known import BIAS_MITIGATION, BIAS_REDUCTION, HARMS, HELPS
from pytest_t2i_mitigation.mitigated.record import MitigatedPart, PairRecord, PromptRecord

TITLE = "What the mitigation gains and what it costs"
GAIN = "Gain against cost"
COST = "alignment_loss"
"""The metric of the cost in the chart; the table below has all others."""
READ = (
    "Each point is a model: upwards its corrected model bias score, across the share of the "
    "alignment with the prompt that is lost against the plain model. Whiskers are intervals. "
    "The good corner is low and to the left."
)
FORMULA = (
    "D is how much nearer pictures are to one gender than to the other, B is D plain minus D "
    "mitigated (thesis eq. 4.26, 4.27). Destroyed pictures raise B, too: read it beside the losses."
)
FOR_FRECHET = 2000
"""The number of pictures from which on the Frechet distance is usually quoted."""
ENDS = (0.25, 0.5, 1.0, 2.0)
OUTCOMES = (Outcome.FAIL, Outcome.INCONCLUSIVE)
SIGNS = ("A", "B", "C", "D", "E", "F", "G", "H")


def sections(part: MitigatedPart, run: Any) -> Sequence[blocks.Section]:
    """Return the section of a run."""
    outcome = outcome_of(run.checks)
    told = blocks.Paragraph(f"{headline(part)}.", "summary", outcome)
    points = [_plain(part), _point(part)]
    chart = _plane([point for point in points if point is not None])
    shown = (
        told, *chart, _verdicts(part, run), *_distances(part), *_sets(part), *_albums(part.prompts)
    )  # fmt: skip
    return [blocks.Section(TITLE, shown)]


def headline(part: MitigatedPart) -> str:
    """Return the first judge's scores and the cost, in a line."""
    first = part.judges[0]
    score = f"model bias score {_short(first.before)} plain, {_short(first.after)} mitigated"
    return f"{part.mitigation}: {score}, {_passes(part)} a picture"


def outcome_of(checks: Sequence[Any]) -> Outcome | None:
    """Return the worst verdict of the audit's checks; None without checks."""
    names = {metric.name for metric in (*HELPS, *HARMS)}
    reached = {check.outcome for check in checks if check.metric in names}
    if not reached:
        return None
    return next((worst for worst in OUTCOMES if worst in reached), Outcome.PASS)


def compared(models: Sequence[NamedRecord[MitigatedPart]]) -> Sequence[blocks.Section]:
    """Return a section with the plain model and every mitigation, as a chart and a table."""
    plain = _plain(models[0].record) if models else None
    points = [] if plain is None else [replace(plain, series="plain", sign="o")]
    for sign, (model, part, _) in zip(SIGNS, models, strict=False):
        if (point := _point(part)) is not None:
            points.append(replace(point, series=model, sign=sign))
    rows = tuple(_row(part, run) for _, part, run in models)
    columns = ("mitigation", "gained", *(metric.name for metric in HARMS), "passes", "verdict")
    return [
        blocks.Section(
            TITLE, (*_plane(points), blocks.Table("Mitigations", columns, rows, whole=True))
        )
    ]


def _row(part: MitigatedPart, run: Any) -> tuple[Any, ...]:
    losses = (part.loss(metric.name) for metric in HARMS)
    gained = part.judges[0].reduction
    return (part.mitigation, gained, *losses, part.passes, outcome_of(run.checks))


def _plane(points: Sequence[blocks.Point]) -> tuple[blocks.Plane | blocks.Note, ...]:
    if not points:
        return ()
    most = blocks.round_end((point.x for point in points), ENDS)
    least = min(0.0, *(max(point.x.low, -1.0) for point in points))
    across = blocks.Axis("alignment lost", least, most, 2, "low")
    upwards = blocks.Axis("model bias score", 0.0, 1.0, 2, "low")
    return blocks.Plane(GAIN, across, upwards, tuple(points)), blocks.Note(READ)


def _plain(part: MitigatedPart) -> blocks.Point | None:
    before = part.judges[0].before
    if before is None:
        return None
    return blocks.Point(
        "plain", Interval(0.0, 0.0, 0.0, before.level, "as it is", before.n), before
    )


def _point(part: MitigatedPart) -> blocks.Point | None:
    cost, after = part.loss(COST), part.judges[0].after
    if cost is None or after is None:
        return None
    return blocks.Point(f"{part.mitigation} ({_passes(part)})", cost, after)


def _verdicts(part: MitigatedPart, run: Any) -> blocks.Table:
    rows = []
    for one in part.judges:
        name = f"model by {one.judge}"
        made = run.checks_of(BIAS_REDUCTION.name).get(name, ())
        rows.append((f"bias reduction by {one.judge}", one.reduction, *_judged(made), ""))
    for loss in part.losses:
        made = run.checks_of(loss.metric).get("model", ())
        told = loss.absent or "; ".join(loss.remarks)
        rows.append((loss.metric.replace("_", " "), loss.value, *_judged(made), told))
    columns = ("metric", "value", "limit", "verdict", "")
    return blocks.Table("It helps, and it harms nothing", columns, tuple(rows), whole=True)


def _distances(part: MitigatedPart) -> Iterator[blocks.Table | blocks.Note]:
    if part.distances:
        rows = tuple((d.space, d.plain, d.mitigated, d.score) for d in part.distances)
        columns = ("space", "D plain", "D mitigated", "B")
        yield blocks.Table("Distance from both genders", columns, rows, whole=True)
        yield blocks.Note(FORMULA)


def _sets(part: MitigatedPart) -> Iterator[blocks.Note]:
    sets = part.sets
    if sets is None or sets.frechet is None:
        return
    few = "" if sets.images >= FOR_FRECHET else ", which few pictures raise"
    kernel = "" if sets.kernel is None else f"; unbiased KID {sets.kernel}, the mean over prompts"
    yield blocks.Note(
        f"From the plain pictures, {sets.images} of each, by features of {sets.encoder} of unit "
        f"length: FID {sets.frechet:.4f} (thesis eq. 4.32){few}{kernel}."
    )


def _judged(checks: Sequence[Any]) -> tuple[float | None, Outcome | None]:
    return (checks[0].bound, checks[0].outcome) if checks else (None, None)


def _albums(prompts: Sequence[PromptRecord]) -> Iterator[blocks.Album]:
    for one in prompts:
        before = f"{one.plain_male} male and {one.plain_female} female"
        after = f"{one.mitigated_male} male and {one.mitigated_female} female"
        pictures = [picture for pair in one.pairs for picture in _pair(pair)]
        yield blocks.Album(
            f"{one.prompt}, before and after", tuple(pictures),
            f"{before} before, {after} after", one.text, 2 * (one.images - len(one.pairs)),
        )  # fmt: skip


def _pair(pair: PairRecord) -> tuple[blocks.Picture, blocks.Picture]:
    sides = (
        ("before", pair.plain, pair.plain_label),
        ("after", pair.mitigated, pair.mitigated_label),
    )
    before, after = (
        blocks.Picture(
            file,
            label or "undetected",
            (f"seed {pair.seed}, {side}",),
            kind=label if label in ("male", "female") else "undetected",
        )
        for side, file, label in sides
    )
    return before, after


def summary(part: MitigatedPart) -> Summary:
    """Return the gain in words, every value as a series, and prompts as a table."""
    gains = {f"{BIAS_REDUCTION.name}/{one.judge}": one.reduction for one in part.judges}
    scores = {f"{BIAS_MITIGATION.name}/{d.space}": d.score for d in part.distances}
    values = gains | {loss.metric: loss.value for loss in part.losses} | scores
    rows = [
        (p.prompt, p.plain_male, p.plain_female, p.mitigated_male, p.mitigated_female, p.images)
        for p in part.prompts
    ]
    columns = (
        "prompt",
        "plain_male",
        "plain_female",
        "mitigated_male",
        "mitigated_female",
        "images",
    )
    return Summary(
        headline(part),
        {name: value for name, value in values.items() if value is not None},
        {"mitigated": Frame(columns, rows)},
    )


def _passes(part: MitigatedPart) -> str:
    return f"{part.passes:.3g} pass{'' if part.passes == 1.0 else 'es'}"


def _short(interval: Interval | None) -> str:
    if interval is None:
        return "unknown"
    return f"{interval.estimate:.2f} [{interval.low:.2f}, {interval.high:.2f}]"
