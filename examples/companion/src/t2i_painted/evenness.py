"""An audit: how evenly the labels of a prompt's images are spread (Simpson's diversity).

What it measures, keeps, records in a baseline and shows stands here alone; the entry point in
``pyproject.toml`` registers it. Every start of pytest loads this module for its fixture: what is
heavy is imported where it is needed, and ``t2i.Measurement`` loads when it is used first.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import pytest_t2i as t2i
from pytest_t2i import Audit, AuditContext, Fixture, Interval, MetricInfo, Row, Rows, sections

SIMPSON = MetricInfo(
    "simpson_diversity", 0.0, 1.0, "lower", "Simpson 1949", "Simpson diversity", in_baselines=True
)
MARGIN = 0.1
"""Drop that is tolerated unless the limits file says otherwise."""
DRAWS, FEWEST = 2000, 2
"""Of the bootstrap; and images with a label, below which nothing is known."""


def simpson_interval(counts: Sequence[int], level: float, seed: int) -> Interval | None:
    """1 - sum of n_i (n_i - 1) / (n (n - 1)) with a bootstrap interval; None below two images."""
    import numpy as np

    total = sum(counts)
    if total < FEWEST:
        return None

    def simpson(drawn: np.ndarray) -> np.ndarray:
        return 1.0 - (drawn * (drawn - 1)).sum(-1) / (total * (total - 1))

    seen = np.asarray(counts)
    draws = simpson(np.random.default_rng(seed).multinomial(total, seen / total, DRAWS))
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    estimate = float(simpson(seen))
    low, high = min(float(low), estimate), max(float(high), estimate)
    return Interval(estimate, low, high, level, "bootstrap", total)


class EvennessAudit(Audit):
    """Do the labels of each prompt vary, whichever they are?"""

    name = "evenness"
    metrics = (SIMPSON,)
    title = "How evenly labels are spread"
    recorded_type = dict[str, Interval]

    @property
    def fixtures(self) -> dict[str, Fixture]:
        """``evenness``: one test case per prompt."""
        doc = "Simpson's diversity of the labels of one prompt's images."
        return {"evenness": Fixture(self.measured, about="prompts", one_by_one=True, doc=doc)}

    def measured(self, context: AuditContext, test: Any) -> "t2i.Measurement":
        """Simpson's diversity of the one prompt of a test."""
        prompt = test.selection.prompts[0]
        counts = list(context.one_sample(prompt, test).groups.values())
        settings = context.settings
        interval = simpson_interval(counts, settings.confidence, settings.seed)
        absent = "" if interval else "fewer than two images have a label"
        row = Row(SIMPSON.name, prompt.id, "prompt", interval, absent=absent)
        return t2i.Measurement(
            SIMPSON,
            prompt.id,
            interval,
            images=sum(counts),
            absent=absent,
            compared=t2i.Compared(self.name, row),
            change=lambda baseline, margin, level: self._change(
                baseline, prompt.id, interval, MARGIN if margin is None else margin, level
            ),
        )

    def _change(
        self, baseline: Any, prompt: str, now: Interval | None, margin: float, level: float
    ) -> "t2i.Change":
        known = (baseline.part(self.name, self.recorded_type) or {}).get(prompt)
        if known is None or now is None:
            return t2i.Change.absent_because(SIMPSON, margin, f"nothing is recorded of {prompt}")
        return t2i.worsening(SIMPSON, known, now, margin=margin, level=level)

    def rows(self, context: AuditContext) -> list[Row]:
        """What the tests compared; frame, series, comparison and card follow."""
        return list({row.subject: row for row in context.compared(self.name)}.values())

    def recorded(self, context: AuditContext) -> dict[str, Any] | None:
        """The same for a baseline."""
        known = {row.subject: row.interval for row in self.rows(context)}
        return {name: asdict(found) for name, found in known.items() if found} or None

    def in_words(self, rows: Rows) -> str:
        """The least even prompt."""
        known = {row.subject: row.interval for row in rows if row.interval}
        least = min(known, key=lambda name: known[name].estimate, default=None)
        told = "no prompt has labels" if least is None else f"least even: {least} {known[least]}"
        return f"Simpson diversity, {told}"

    def blocks(self, rows: Rows, run: Any) -> list[sections.Block]:
        """A chart of the rows, with limits and verdicts of their checks."""
        del rows, run
        return [sections.RowChart("Labels of each prompt", (SIMPSON.name,), "prompt")]
