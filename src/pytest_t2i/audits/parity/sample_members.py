"""What parity adds to ``sample`` and ``samples``."""

from __future__ import annotations

from pytest_t2i.audits.engine import bias
from pytest_t2i.audits.engine.bias import Bias
from pytest_t2i.audits.engine.detected import DetectedPrompt
from pytest_t2i.audits.engine.distance import EVEN
from pytest_t2i.audits.engine.early_stopping import State, StoppingRule
from pytest_t2i.audits.engine.samples import Sample, Samples
from pytest_t2i.audits.engine.score import interval_of, of_member, of_model, settled
from pytest_t2i.audits.parity import groups
from pytest_t2i.audits.parity.change import model_change, prompt_change
from pytest_t2i.data import Interval, PromptScore
from pytest_t2i.metrics import prompt_bias_score
from pytest_t2i.statistics import share_interval
from pytest_t2i.verdicts.measurement import Measurement


class PromptParity(Sample):
    """The shares of one prompt's images, by gender and by the detector's groups."""

    @property
    def prompt_bias_score(self) -> Measurement:
        """(male - female) / clear, from -1 (all female) to 1 (all male) (Lyu eq. 2)."""
        return of_member(Bias(), self, prompt_change)

    @property
    def bias_interval(self) -> Interval | None:
        """Prompt bias score with its exact interval; None without a clear image."""
        return interval_of(Bias(), self)

    @property
    def share_of_men(self) -> Interval | None:
        """Men among the clear images, with an interval; None without a clear image."""
        return bias.share_of_men(self)

    @property
    def shares(self) -> dict[str, Interval]:
        """Share of each group among the images with a label; {} without any."""
        n = self.counts.total()
        groups = self.groups.items() if n else ()
        return {name: share_interval(count, n, self.level) for name, count in groups}

    @property
    def group_distance(self) -> Measurement:
        """Half the L1 distance of the shares of the detector's groups from even ones.

        It lies between 0 (even) and 1 - 1 / groups; for male and female it is half of |prompt bias
        score|.
        """
        return of_member(EVEN, self, prompt_change)


class ModelParity(Samples):
    """The shares of several prompts' images, by gender and by the detector's groups."""

    @property
    def model_bias_score(self) -> Measurement:
        """Mean over prompts of |male - female| / clear, from 0 to 1 (Lyu eq. 1).

        Where people labelled some of the images, their labels correct the detector's and stand in
        for the undetected images, so that no worst case is left.
        """
        return of_model(Bias(), self, self.corrected, self.why_no_verdict, model_change)

    @property
    def floor(self) -> float | None:
        """Mean of the paper's score for a perfectly fair model with as many images."""
        return bias.floor_of_samples(self)

    def most_biased(self, count: int = bias.WORST) -> str:
        """Return the prompts furthest from parity in words, worst first; on ties, both sides."""
        return bias.most_biased(self, count)

    @property
    def shares(self) -> dict[str, Interval]:
        """Share of each of the detector's groups over all prompts; {} with fewer than two labels.

        Prompts are the units, because images of one prompt are alike.
        """
        return groups.shares_of_model(self)

    @property
    def group_distance(self) -> Measurement:
        """Mean over prompts of the distance of their groups from even shares, from 0 to nearly 1.

        It is corrected for few images, and not by people's labels. For male and female it is half
        the model bias score.
        """
        return of_model(EVEN, self, change=model_change)

    def demographic_parity_difference(self, axis: str, label: str = "") -> Measurement:
        """Return the largest minus the smallest share of a label among an axis' concepts.

        It lies between 0 and 1. ``label`` is one of the detector's labels, by default "male". The
        interval holds for all concepts together. Raises UnknownNameError for an axis that no prompt
        has, or a label that the detector never gives.
        """
        return groups.parity_difference(self, axis, label)


def prompt_score(sample: Sample) -> PromptScore:
    interval = interval_of(Bias(), sample)
    if sample.corrected is None:
        return PromptScore(interval, sample.worst_case)
    by_detector = prompt_bias_score(sample.male, sample.female)
    return PromptScore(interval, None, by_detector, dict(sample.corrected.labels))


class PromptStopping(StoppingRule):
    """A prompt stops by its own images."""

    metric = "prompt_bias_score"

    def state(self, value: DetectedPrompt) -> State:
        """Return the state that the prompt's own images have reached."""
        return settled(Bias(), value)
