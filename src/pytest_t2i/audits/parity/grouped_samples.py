"""What samples say of a detector's groups, however many there are."""

from __future__ import annotations

from dataclasses import dataclass, field

from pytest_t2i import statistics
from pytest_t2i.audits.detected import DetectedPrompts
from pytest_t2i.audits.parity import crossed_groups, even_groups, groups
from pytest_t2i.audits.parity.crossed_labels import CrossedSamples, crossed
from pytest_t2i.audits.parity.group_correction import GroupCorrection
from pytest_t2i.audits.parity.indices import IndexedPrompt
from pytest_t2i.data import Interval
from pytest_t2i.verdicts.measurement import Measurement


@dataclass(frozen=True, repr=False)
class GroupedSample(IndexedPrompt):
    """The groups of one prompt's images."""

    @property
    def shares(self) -> dict[str, Interval]:
        """Share of each group among the images with a label; {} without any."""
        return statistics.group_intervals(self.groups, self.level) if self.counts else {}

    @property
    def group_distance(self) -> Measurement:
        """How far the shares of the detector's groups are from even: half their L1 distance.

        From 0 (even) to 1 - 1 / groups; of male and female half of |prompt bias score|.
        """
        return even_groups.of_prompt(self, self.together)


@dataclass(frozen=True, repr=False)
class GroupedSamples(DetectedPrompts):
    """The groups of several prompts' images."""

    detectors: tuple[str, ...] = field(default=(), kw_only=True)
    """Those that look at the run's images; the first one's word decides."""
    corrected_groups: GroupCorrection | None = field(default=None, kw_only=True)
    """What people's labels say of the groups, where there are any."""

    @property
    def shares(self) -> dict[str, Interval]:
        """Share of each of the detector's groups over all prompts; {} with fewer than two labels.

        Whole prompts are resampled, as images of one prompt are alike.
        """
        return groups.shares_of_model(self)

    @property
    def group_distance(self) -> Measurement:
        """Mean over prompts of how far their groups' shares are from even, from 0 to nearly 1.

        Corrected for few images, and by people's labels of groups where there are any. Of male and
        female it is half the model bias score.
        """
        return even_groups.of_model(self, self.corrected_groups)

    def crossed(self, second: str) -> CrossedSamples:
        """Two attributes crossed: what this detector and another of the run say of each image.

        Raises UnknownNameError for a detector that did not look, ConfigurationError for the same
        one twice, or for more than 100 combinations.
        """
        return CrossedSamples(
            crossed(self, self.detectors, second), self.level, self.seed, self.words,
            self.sequential, self.alike,
        )  # fmt: skip

    def demographic_parity_difference(self, axis: str, label: str = "") -> Measurement:
        """Largest minus smallest share of a label among the concepts of an axis, from 0 to 1.

        ``label`` is one of the detector's, "male" where it gives that. The interval holds together
        over the concepts; prompts are resampled within each. Raises UnknownNameError for an axis
        that no prompt has, or a label that the detector never gives.
        """
        return crossed_groups.demographic_parity_difference(self, axis, label)
