"""The section of a mitigation: gain against cost, verdicts, pictures before and after."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_t2i import Interval, Outcome, Row, Rows
from pytest_t2i import sections as blocks

from pytest_t2i_mitigation.mitigated.known import (
    BEFORE_AFTER,
    BIAS_MITIGATION,
    BIAS_REDUCTION,
    DISTANCE,
    FRECHET,
    HARMS,
    HELPS,
    KERNEL,
    PASSES,
    TITLE,
)

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


def shown(rows: Rows, run: Any) -> Sequence[blocks.Block]:
    told = blocks.Paragraph(f"{headline(rows)}.", "summary", outcome_of(run.checks))
    points = [_plain(rows), _point(rows)]
    chart = _plane([point for point in points if point is not None])
    return told, *chart, _verdicts(rows, run), *_distances(rows), *_sets(rows), *rows.pictures


def mitigation_of(rows: Rows) -> tuple[str, float]:
    """Return the name of the mitigation, and its cost: a plain picture costs one pass."""
    row = rows.of(PASSES.name)[0]
    passes: Any = row.value
    return str(row.facts["mitigation"]), passes


def reductions(rows: Rows) -> Mapping[str, Interval | None]:
    """Return how far the model bias score falls by each judge, the run's detector first."""
    return {str(row.dims["judge"]): row.interval for row in rows.of(BIAS_REDUCTION.name)}


def scores(rows: Rows) -> tuple[Interval | None, Interval | None]:
    """Return the model bias scores before and after by the run's detector."""
    judge = next(iter(reductions(rows)))
    found = (rows.one("model_bias_score", judge, side=side) for side in BEFORE_AFTER)
    before, after = (None if row is None else row.interval for row in found)
    return before, after


def distances(rows: Rows) -> Iterator[tuple[str, Interval | None, Interval | None, Interval]]:
    """Yield each space with the bias distances before and after and the mitigation score."""
    for row in rows.of(BIAS_MITIGATION.name):
        space = str(row.dims["space"])
        sides = (rows.one(DISTANCE, "model", space=space, side=side) for side in BEFORE_AFTER)
        before, after = (None if side is None else side.interval for side in sides)
        if row.interval is not None:
            yield space, before, after, row.interval


def headline(rows: Rows) -> str:
    """Return the first judge's scores and the cost, in a line."""
    before, after = map(_short, scores(rows))
    name = mitigation_of(rows)[0]
    return f"{name}: model bias score {before} plain, {after} mitigated, {_passes(rows)} a picture"


def outcome_of(checks: Sequence[Any]) -> Outcome | None:
    """Return the worst verdict of the audit's checks; None without checks."""
    names = {metric.name for metric in (*HELPS, *HARMS)}
    reached = {check.outcome for check in checks if check.metric in names}
    if not reached:
        return None
    return next((worst for worst in OUTCOMES if worst in reached), Outcome.PASS)


def compared(models: Sequence[tuple[str, Rows, Any]]) -> Sequence[blocks.Section]:
    """Return a section with the plain model and every mitigation, as a chart and a table."""
    plain = _plain(models[0][1]) if models else None
    points = [] if plain is None else [replace(plain, series="plain", sign="o")]
    for sign, (model, rows, _) in zip(SIGNS, models, strict=False):
        if (point := _point(rows)) is not None:
            points.append(replace(point, series=model, sign=sign))
    cells = tuple(_cells(rows, run) for _, rows, run in models)
    columns = ("mitigation", "gained", *(metric.name for metric in HARMS), "passes", "verdict")
    table = blocks.Table("Mitigations", columns, cells, whole=True)
    return [blocks.Section(TITLE, (*_plane(points), table))]


def _cells(rows: Rows, run: Any) -> tuple[Any, ...]:
    losses = (_model(rows, metric.name) for metric in HARMS)
    name, passes = mitigation_of(rows)
    gained = next(iter(reductions(rows).values()))
    return (name, gained, *losses, passes, outcome_of(run.checks))


def _model(rows: Rows, metric: str) -> Interval | None:
    row = rows.one(metric)
    return None if row is None else row.interval


def _plane(points: Sequence[blocks.Point]) -> tuple[blocks.Plane | blocks.Note, ...]:
    if not points:
        return ()
    most = blocks.round_end((point.x for point in points), ENDS)
    least = min(0.0, *(max(point.x.low, -1.0) for point in points))
    across = blocks.Axis("alignment lost", least, most, 2, "low")
    upwards = blocks.Axis("model bias score", 0.0, 1.0, 2, "low")
    return blocks.Plane(GAIN, across, upwards, tuple(points)), blocks.Note(READ)


def _plain(rows: Rows) -> blocks.Point | None:
    before = scores(rows)[0]
    if before is None:
        return None
    nothing = Interval(0.0, 0.0, 0.0, before.level, "as it is", before.n)
    return blocks.Point("plain", nothing, before)


def _point(rows: Rows) -> blocks.Point | None:
    cost, after = _model(rows, COST), scores(rows)[1]
    if cost is None or after is None:
        return None
    return blocks.Point(f"{mitigation_of(rows)[0]} ({_passes(rows)})", cost, after)


def _verdicts(rows: Rows, run: Any) -> blocks.Table:
    def line(name: str, row: Row) -> tuple[Any, ...]:
        made = run.checks_of(row.metric).get(row.subject, ())
        judged = (made[0].bound, made[0].outcome) if made else (None, None)
        return (name, row.interval, *judged, row.absent or row.facts.get("remarks", ""))

    helps = (
        line(f"bias reduction by {row.dims['judge']}", row) for row in rows.of(BIAS_REDUCTION.name)
    )
    harms = [row for metric in HARMS for row in rows.of(metric.name)]
    losses = (line(row.metric.replace("_", " "), row) for row in harms)
    columns = ("metric", "value", "limit", "verdict", "")
    cells = (*helps, *losses)
    return blocks.Table("It helps, and it harms nothing", columns, cells, whole=True)


def _distances(rows: Rows) -> Iterator[blocks.Table | blocks.Note]:
    if cells := tuple(distances(rows)):
        columns = ("space", "D plain", "D mitigated", "B")
        yield blocks.Table("Distance from both genders", columns, cells, whole=True)
        yield blocks.Note(FORMULA)


def _sets(rows: Rows) -> Iterator[blocks.Note]:
    sets, kernel = rows.one(FRECHET), _model(rows, KERNEL)
    if sets is None or sets.value is None:
        return
    images, encoder = sets.counts["images"], sets.facts["encoder"]
    few = "" if images >= FOR_FRECHET else ", which few pictures raise"
    unbiased = "" if kernel is None else f"; unbiased KID {kernel}, the mean over prompts"
    yield blocks.Note(
        f"From the plain pictures, {images} of each, by features of {encoder} of unit "
        f"length: FID {sets.value:.4f} (thesis eq. 4.32){few}{unbiased}."
    )


def _passes(rows: Rows) -> str:
    passes = mitigation_of(rows)[1]
    return f"{passes:.3g} pass{'' if passes == 1.0 else 'es'}"


def _short(interval: Interval | None) -> str:
    if interval is None:
        return "unknown"
    return f"{interval.estimate:.2f} [{interval.low:.2f}, {interval.high:.2f}]"
