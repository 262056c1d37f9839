"""The metrics of samples over a detector's groups, however many there are."""

from __future__ import annotations

from dataclasses import dataclass, field

from pytest_t2i.audits.detected import DetectedPrompts
from pytest_t2i.audits.parity import crossed_groups, even_groups, groups
from pytest_t2i.audits.parity.crossed_labels import CrossedSamples, crossed
from pytest_t2i.audits.parity.group_correction import GroupCorrection
from pytest_t2i.audits.parity.indices import IndexedPrompt
from pytest_t2i.data import Interval
from pytest_t2i.statistics.groups import group_intervals
from pytest_t2i.verdicts.measurement import Measurement


@dataclass(frozen=True, repr=False)
class GroupedSample(IndexedPrompt):
    """The groups of one prompt's images."""

    @property
    def shares(self) -> dict[str, Interval]:
        """Share of each group among the images with a label; {} without any."""
        return group_intervals(self.groups, self.level) if self.counts else {}

    @property
    def group_distance(self) -> Measurement:
        """Half the L1 distance of the shares of the detector's groups from even ones.

        It lies between 0 (even) and 1 - 1 / groups; for male and female it is half of |prompt bias
        score|.
        """
        return even_groups.of_prompt(self, self.together)


@dataclass(frozen=True, repr=False)
class GroupedSamples(DetectedPrompts):
    """The groups of several prompts' images."""

    detectors: tuple[str, ...] = field(default=(), kw_only=True)
    """Names of the run's detectors; verdicts rest on the first one."""
    corrected_groups: GroupCorrection | None = field(default=None, kw_only=True)
    """The correction of groups by people's labels; None without labels."""
    few_labels: str = field(default="", kw_only=True)
    """Why people's labels give no verdict on the model; "" where they may, or without labels."""

    @property
    def shares(self) -> dict[str, Interval]:
        """Share of each of the detector's groups over all prompts; {} with fewer than two labels.

        Whole prompts are resampled, because images of one prompt are alike.
        """
        return groups.shares_of_model(self)

    @property
    def group_distance(self) -> Measurement:
        """Mean over prompts of the distance of their groups from even shares, from 0 to nearly 1.

        It is corrected for few images, and by people's labels of groups where there are any. For
        male and female it is half the model bias score.
        """
        return even_groups.of_model(self, self.corrected_groups, self.few_labels)

    def crossed(self, second: str) -> CrossedSamples:
        """Return the labels of this detector crossed with those of another detector of the run.

        Raises UnknownNameError for a detector that is not of the run, ConfigurationError for the
        same one twice and for more than 100 combinations.
        """
        return CrossedSamples(
            crossed(self, self.detectors, second), self.level, self.seed, self.words,
            self.sequential, self.alike,
        )  # fmt: skip

    def demographic_parity_difference(self, axis: str, label: str = "") -> Measurement:
        """Return the largest minus the smallest share of a label among an axis' concepts.

        It lies between 0 and 1. ``label`` is one of the detector's labels, by default "male". The
        interval holds for all concepts together; prompts are resampled within each. Raises
        UnknownNameError for an axis that no prompt has, or a label that the detector never gives.
        """
        return crossed_groups.demographic_parity_difference(self, axis, label)
