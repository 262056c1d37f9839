"""The indices of groups, each with an entry and a property.

All entries are measured, judged, compared with a baseline, recorded and shown in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from pytest_t2i import statistics
from pytest_t2i.audits.detected import DetectedPrompt, Siblings
from pytest_t2i.audits.parity.group_index import GroupIndex
from pytest_t2i.metrics import INFO
from pytest_t2i.statistics.groups import group_diversity_interval, group_gap_interval
from pytest_t2i.verdicts.measurement import Measurement

INDICES = {
    index.metric.name: index
    for index in (
        GroupIndex(INFO["group_gap"], group_gap_interval),
        GroupIndex(INFO["group_entropy"], partial(statistics.group_entropy_interval, seed=0)),
        GroupIndex(INFO["group_diversity"], partial(group_diversity_interval, seed=0), fewest=2),
    )
}
"""Name of the metric -> the index."""


@dataclass(frozen=True, repr=False)
class IndexedPrompt(DetectedPrompt):
    """A prompt whose images are counted by group."""

    siblings: Siblings[DetectedPrompt] | None = field(default=None, compare=False)
    """The prompts of the same test function; None for a prompt on its own."""

    @property
    def together(self) -> Siblings[DetectedPrompt]:
        """The prompts that share its error level, the prompt itself included."""
        return self.siblings or Siblings([self], [self.prompt.id])

    @property
    def group_gap(self) -> Measurement:
        """Largest minus smallest share of the detector's groups, from 0 (even) to 1."""
        return INDICES["group_gap"].measured(self, self.together)

    @property
    def group_entropy(self) -> Measurement:
        """Normalised entropy of the detector's groups, from 0 (one group) to 1 (even)."""
        return INDICES["group_entropy"].measured(self, self.together)

    @property
    def group_diversity(self) -> Measurement:
        """Probability that two images show different groups; 0 is one group (Simpson 1949)."""
        return INDICES["group_diversity"].measured(self, self.together)
