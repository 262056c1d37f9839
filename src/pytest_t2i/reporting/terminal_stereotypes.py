"""Several runs side by side for a terminal: a block for each attribute, each model."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from pytest_t2i.reporting.markdown_stereotypes import (
    ADDED,
    BELOW,
    SCORES,
    USERS,
    correlation,
    heading,
    means,
    pair,
    percent,
    points,
)
from pytest_t2i.reporting.wrapping import wrapped
from pytest_t2i.runs.comparison.oasis_side_by_side import SideBySide
from pytest_t2i.runs.comparison.oasis_tables import Addition, Row

WIDEST = 21
"""Columns of a share with its interval: ``100.0 % [92.1, 100.0]``."""
BESIDE = 60
"""Columns of a line of shares without the model's name."""


def as_blocks(shown: SideBySide, width: int) -> Iterator[str]:
    """Lines of at most ``width`` columns, but for words that are longer."""
    for line in chain(_scores(shown, width), _footprints(shown), _additions(shown), shown.missing):
        yield from wrapped(line, width)


def _scores(shown: SideBySide, width: int) -> Iterator[str]:
    if not shown.rows:
        return
    yield from (heading(SCORES, shown.level), "")
    for row in shown.rows:
        yield f"{row.concept}: {row.attribute}, real world {100 * row.expected:.1f} %"
        yield from _by_model(row, shown.models, width)
        yield ""


def _by_model(row: Row, models: tuple[str, ...], width: int) -> Iterator[str]:
    """Share and score; the model's name on a line of its own where there is no room for it."""
    longest = max(map(len, models))
    for model, score in zip(models, row.measured, strict=True):
        share, above = pair(score)
        told = f"share {share:<{WIDEST}}  score {above}"
        values = "not looked for" if score is None else told
        if longest + BESIDE > width:
            yield from (f"  {model}", f"    {values}")
        else:
            yield f"  {model:<{longest}}  {values}"


def _footprints(shown: SideBySide) -> Iterator[str]:
    if not shown.rows:
        return
    yield from (heading(USERS, shown.level), f"Users: {shown.source}. {BELOW}", "")
    for one in shown.footprints:
        yield one.model
        yield f"  rank correlation {correlation(one)}"
        if one.means:
            yield f"  mean score {means(one)}"
    yield ""
    for remark in shown.remarks:
        yield from (remark, "")


def _additions(shown: SideBySide) -> Iterator[str]:
    if not shown.additions:
        return
    yield from (heading(ADDED, shown.level), "")
    by_word: dict[tuple[str, str], list[Addition]] = {}
    for added in shown.additions:
        by_word.setdefault((added.model, added.concept), []).append(added)
    for (model, concept), some in by_word.items():
        longest = max(len(added.added) for added in some)
        yield f"{model}: {concept} alone {percent(some[0].alone)}"
        for added in some:
            together = f"{percent(added.together):<{WIDEST}}"
            yield f"  with {added.added:<{longest}}  {together}  change {points(added.change)}"
        yield ""
