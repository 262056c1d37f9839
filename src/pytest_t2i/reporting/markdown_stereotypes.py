"""Several runs side by side as Markdown, in the layout of OASIS Tables 1 and 2."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_t2i.adapters.support.escaping import escape
from pytest_t2i.data import Interval
from pytest_t2i.runs.comparison.oasis_side_by_side import SideBySide
from pytest_t2i.runs.comparison.oasis_tables import Footprint
from pytest_t2i.runs.record import StereotypeRecord

SCORES = "Stereotype scores"
USERS = "Stereotype scores against internet users"
ADDED = "Share of men when a word is added"
BELOW = "Below 0, scores are higher where users are fewer."


def as_markdown(shown: SideBySide) -> Iterator[str]:
    """The three tables, those that there is something for."""
    if shown.rows:
        yield from _scores(shown)
        yield from _footprints(shown)
    if shown.additions:
        yield from _additions(shown)
    for words in shown.missing:
        yield from (escape(words), "")


def heading(title: str, level: float) -> str:
    """A table's title with the level of its intervals."""
    return f"{title} ({100 * level:g} % intervals)"


def _scores(shown: SideBySide) -> Iterator[str]:
    yield from (f"## {heading(SCORES, shown.level)}", "")
    names = " | ".join(f"{escape(model)}: share | score" for model in shown.models)
    yield f"| concept | attribute | real world | {names} |"
    yield "|---" * (3 + 2 * len(shown.models)) + "|"
    for row in shown.rows:
        cells = " | ".join(" | ".join(pair(score)) for score in row.measured)
        concept, attribute = escape(row.concept), escape(row.attribute)
        yield f"| {concept} | {attribute} | {100 * row.expected:.1f} % | {cells} |"
    yield ""


def _footprints(shown: SideBySide) -> Iterator[str]:
    yield from (f"## {heading(USERS, shown.level)}", "")
    yield from (f"Users: {escape(shown.source)}. {BELOW}", "")
    yield "| model | rank correlation | nationalities | mean score |"
    yield "|---|---|---|---|"
    for one in shown.footprints:
        told, count = correlation(one), len(one.means)
        yield f"| {escape(one.model)} | {told} | {count} | {escape(means(one))} |"
    yield ""
    for remark in shown.remarks:
        yield from (escape(remark), "")


def _additions(shown: SideBySide) -> Iterator[str]:
    yield from (f"## {heading(ADDED, shown.level)}", "")
    yield "| model | concept | alone | with | together | change |"
    yield "|---|---|---|---|---|---|"
    for added in shown.additions:
        yield (
            f"| {escape(added.model)} | {escape(added.concept)} | {percent(added.alone)} "
            f"| {escape(added.added)} | {percent(added.together)} | {points(added.change)} |"
        )
    yield ""


def pair(score: StereotypeRecord | None) -> tuple[str, str]:
    """Share and score, or a dash each."""
    if score is None or score.share is None:
        return "-", "-"
    return percent(score.share), percent(score.score)


def correlation(shown: Footprint) -> str:
    """A rank correlation with its interval, or why there is none."""
    if shown.correlation is None:
        return shown.absent
    if shown.needed:
        few = f"no interval: {len(shown.means)} nationalities are too few"
        return f"{shown.correlation.estimate:.3f}, {few} ({shown.needed} needed)"
    return str(shown.correlation)


def means(shown: Footprint) -> str:
    """Mean score by nationality."""
    return ", ".join(f"{name} {mean:.3f}" for name, mean in shown.means.items())


def percent(interval: Interval | None) -> str:
    """``47.5 % [32.1, 62.8]``, or a dash."""
    if interval is None:
        return "-"
    low, high = 100 * interval.low, 100 * interval.high
    return f"{100 * interval.estimate:.1f} % [{low:.1f}, {high:.1f}]"


def points(change: Interval) -> str:
    """A change in percentage points: ``+16.5 [-5.3, +36.2]``."""
    low, high = 100 * change.low, 100 * change.high
    return f"{100 * change.estimate:+.1f} [{low:+.1f}, {high:+.1f}]"
