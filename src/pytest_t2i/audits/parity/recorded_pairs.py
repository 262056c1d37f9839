"""Prompts with their records in a baseline: the counts of both, and which prompts changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pytest_t2i.audits.detected import DetectedPrompt
from pytest_t2i.data import Interval
from pytest_t2i.errors import some
from pytest_t2i.statistics.change import growth_probabilities
from pytest_t2i.statistics.prompt_change import prompt_bias_change
from pytest_t2i.verdicts.baseline_file import Baseline, RecordedPrompt
from pytest_t2i.verdicts.measurement import LabelCounts, MovedPrompt

LIKELY = 0.5
"""Smallest probability at which a prompt is named as changed."""
UNPAIRED = "compared as unpaired images: the endpoint draws every picture anew, whatever its seed"
BY_SEED = "compared image by image: both runs have the same seeds"
BY_PROMPT = (
    "compared prompt by prompt: the seeds are not the baseline's; with the same seeds "
    "smaller changes would be found"
)
NAMED = 8
"""Largest number of prompts named on each side."""


@dataclass(frozen=True)
class RecordedPairs:
    """Prompts of a run, each with its record in a baseline."""

    samples: Sequence[DetectedPrompt]
    baseline: Baseline

    def __iter__(self) -> Iterator[tuple[RecordedPrompt, DetectedPrompt]]:
        return zip(self.recorded, self.samples, strict=True)

    @cached_property
    def recorded(self) -> list[RecordedPrompt]:
        """The record of each prompt, in order."""
        return [self.baseline.prompts[sample.prompt.text] for sample in self.samples]

    @property
    def counts(self) -> tuple[np.ndarray, ...]:
        """Male and female images of each prompt, first as recorded, then of this run."""
        return (
            np.array([recorded.male for recorded in self.recorded]),
            np.array([recorded.female for recorded in self.recorded]),
            np.array([sample.male for sample in self.samples]),
            np.array([sample.female for sample in self.samples]),
        )

    @property
    def share_seeds(self) -> bool:
        """Whether every prompt has the recorded seeds, and seeds determine pictures."""
        alike = all(recorded.seeds == sample.seeds for recorded, sample in self)
        return alike and not self.are_drawn_anew

    @property
    def are_drawn_anew(self) -> bool:
        """Whether the model of the baseline or of this run ignores seeds."""
        if not self.samples:
            return False
        seen = self.samples[0].observations
        return seen.draws_anew(self.baseline.model_fingerprint, seen.model_fingerprint)

    @property
    def are_identical(self) -> bool:
        """Whether the same model made the same images, so that nothing needs to be estimated."""
        if not self.samples:
            return False
        model = self.samples[0].observations.model_fingerprint
        return (
            model == self.baseline.model_fingerprint
            and self.share_seeds
            and all(recorded.signs == sample.signs.tolist() for recorded, sample in self)
        )

    # which of them changed

    def changes(self, level: float) -> list[Interval | None]:
        """Return the growth of each prompt's absolute score; None without clear images."""
        return [
            prompt_bias_change(recorded.male, recorded.female, sample.male, sample.female, level)
            if recorded.male + recorded.female and sample.clear
            else None
            for recorded, sample in self
        ]

    @cached_property
    def moved(self) -> tuple[MovedPrompt, ...] | None:
        """Prompts that probably became more biased, the likeliest first.

        The probabilities are those of empirical Bayes over all prompts; None with too few prompts.
        """
        probabilities = growth_probabilities(*self.counts)
        if probabilities is None:
            return None
        ranked = sorted(zip(probabilities.tolist(), self, strict=True), key=lambda pair: -pair[0])
        return tuple(
            MovedPrompt(sample.prompt.id, p, _counts(recorded), _counts(sample))
            for p, (recorded, sample) in ranked
            if p >= LIKELY
        )

    def moves(self, margin: float, level: float) -> tuple[str, ...]:
        """Return remarks on prompts whose absolute score grew or fell by more than the margin."""
        moves = sorted(
            (
                (change.estimate, f"{sample.prompt.name} {change.estimate:+.2f}")
                for sample, change in zip(self.samples, self.changes(level), strict=True)
                if change is not None
            ),
            reverse=True,
        )
        worse = [name for move, name in moves if move > margin][:NAMED]
        better = [name for move, name in reversed(moves) if move < -margin][:NAMED]
        named = {"got worse": worse, "got better": better}
        return tuple(f"{what}: {', '.join(names)}" for what, names in named.items() if names)

    @property
    def unpaired(self) -> tuple[str, ...]:
        """A remark where the model ignores seeds, so that images are not compared by seed."""
        return (UNPAIRED,) if self.are_drawn_anew else ()

    @property
    def pairing(self) -> str:
        """A remark on whether images are compared by seed or by prompt."""
        if self.are_drawn_anew:
            return UNPAIRED
        return BY_SEED if self.share_seeds else BY_PROMPT

    def remarks(self, margin: float, level: float) -> tuple[str, ...]:
        """Return remarks on prompts that probably became more biased, else on changes."""
        moved = self.moved
        if moved is None:
            return self.moves(margin, level)
        if not moved:
            return ("no prompt is likely to have become more biased",)
        concepts = {sample.prompt.id: sample.prompt.name for sample in self.samples}
        named = some([f"{concepts[one.id]} {one.probability:.2f}" for one in moved], NAMED)
        return (f"probably more biased (probability): {named}",)


def _counts(prompt: RecordedPrompt | DetectedPrompt) -> LabelCounts:
    undetected = len(prompt.seeds) - prompt.male - prompt.female
    return LabelCounts(prompt.male, prompt.female, undetected)
