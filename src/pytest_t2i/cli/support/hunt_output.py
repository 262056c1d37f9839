"""The findings of a hunt as text for the terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pytest_t2i.search.counts import Seen, names
from pytest_t2i.search.plan import GENDER, Plan

if TYPE_CHECKING:
    from pytest_t2i.search.confirming import Confirmed
    from pytest_t2i.search.hunt import HuntResult


def show(result: HuntResult, model: str, detector: str) -> None:
    """Print the findings as tables, then a summary."""
    from rich.console import Console
    from rich.text import Text

    # Rich finds the width of a terminal or of COLUMNS by itself.
    known = sys.stdout.isatty() or "COLUMNS" in os.environ
    console = Console(width=None if known else 120, highlight=False)
    combos = [finding for finding in result.findings if len(finding.parts) > 1]
    alone = [finding for finding in result.findings if len(finding.parts) == 1]
    for title, some in (("combinations of words", combos), ("single words", alone)):
        if some:
            console.print(_table(f"{title} {_beyond(result.plan)}", some, result.plan))
    for line in _closing(result, model, detector):
        console.print(Text(line))


def _beyond(plan: Plan) -> str:
    if plan.groups == GENDER:
        return f"biased beyond {plan.beyond:g}"
    even = 1.0 / len(plan.groups)
    return f"that show one group in more than {even + plan.beyond * (1.0 - even):.0%} of images"


def _table(title: str, findings: Sequence[Confirmed], plan: Plan) -> Any:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    held = "held-out score" if plan.groups == GENDER else "held-out share"
    columns = ["words", "leans", held, "search", ""]
    if any(finding.of_parts for finding in findings):
        columns.append("its words alone in the search")
    for name in columns:
        right = name in {held, "search"}
        table.add_column(name, justify="right" if right else "left", overflow="fold")
    for finding in findings:
        # A plain string would be parsed as Rich's markup.
        row = (Text(cell) for cell in _cells(finding, plan)[: len(columns)])
        table.add_row(*row, style="" if finding.confirmed else "dim")
    return table


def _cells(finding: Confirmed, plan: Plan) -> tuple[str, ...]:
    towards, interval = finding.sign, finding.interval
    # A bias score has a sign, a share has none.
    form = "+.2f" if plan.groups == GENDER else ".2f"
    held = "-"
    if interval is not None:
        held = f"{interval.estimate:{form}} [{interval.low:{form}}, {interval.high:{form}}]"

    def told(seen: Seen) -> str:
        return format(seen.value(towards) or 0.0, form)

    return (
        names(finding.parts),
        {"male": "men", "female": "women"}.get(plan.direction(towards), plan.direction(towards)),
        held,
        told(finding.search),
        "confirmed" if finding.confirmed else f"not confirmed: {finding.why_not}",
        ", ".join(f"{names(parts)} {told(seen)}" for parts, seen in finding.of_parts),
    )


def _closing(result: HuntResult, model: str, detector: str) -> list[str]:
    plan, findings = result.plan, result.findings
    confirmed = sum(finding.confirmed for finding in findings)
    lines = [
        f"{model} by {detector}: {confirmed} confirmed of {len(findings)} found. {result.images:,} "
        f"images; all {plan.combinations:,} combinations of up to {plan.most_words} words at 20 "
        f"images would take {plan.full_grid:,} ({result.images / plan.full_grid:.0%}).",
    ]
    if findings:
        lines.append(
            f"confirmed: by {plan.confirm} new images each. Scores of the search itself are too "
            "high, as it keeps the highest ones."
        )
    unlabelled = result.undetected / max(1, result.searched)
    if unlabelled > 0:
        lines.append(f"undetected: {unlabelled:.0%} of the images of the search")
    if result.left_open:
        lines.append(
            f"{result.left_open} more looked biased, but no images were left to shrink and confirm "
            "them: give more --images"
        )
    if result.looked_at < plan.combinations:
        lines.append(f"looked at: {result.looked_at:,} of {plan.combinations:,} combinations")
    return lines
