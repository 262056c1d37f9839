"""Prompts beside what a baseline recorded of them: their counts, and which of them moved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pytest_t2i import statistics
from pytest_t2i.audits.detected import DetectedPrompt
from pytest_t2i.data import Interval
from pytest_t2i.errors import some
from pytest_t2i.verdicts.baseline_file import Baseline, RecordedPrompt
from pytest_t2i.verdicts.measurement import LabelCounts, MovedPrompt

LIKELY = 0.5
"""Probability from which on a prompt is named as changed."""
UNPAIRED = "compared as unpaired images: the endpoint draws every picture anew, whatever its seed"
BY_SEED = "compared image by image: both runs have the same seeds"
BY_PROMPT = (
    "compared prompt by prompt: the seeds are not the baseline's; with the same ones smaller "
    "changes are found"
)
NAMED = 8
"""Prompts named on each side."""


@dataclass(frozen=True)
class RecordedPairs:
    """Prompts of a run, each with its recorded self."""

    samples: Sequence[DetectedPrompt]
    baseline: Baseline

    def __iter__(self) -> Iterator[tuple[RecordedPrompt, DetectedPrompt]]:
        return zip(self.recorded, self.samples, strict=True)

    @cached_property
    def recorded(self) -> list[RecordedPrompt]:
        """Record of each prompt, in order."""
        return [self.baseline.prompts[sample.prompt.text] for sample in self.samples]

    @property
    def counts(self) -> tuple[np.ndarray, ...]:
        """Male and female images of each prompt, as recorded and now."""
        return (
            np.array([recorded.male for recorded in self.recorded]),
            np.array([recorded.female for recorded in self.recorded]),
            np.array([sample.male for sample in self.samples]),
            np.array([sample.female for sample in self.samples]),
        )

    @property
    def share_seeds(self) -> bool:
        """Whether every prompt has the seeds that were recorded, and these determine pictures."""
        alike = all(recorded.seeds == sample.seeds for recorded, sample in self)
        return alike and not self.are_drawn_anew

    @property
    def are_drawn_anew(self) -> bool:
        """Whether seeds say nothing of pictures, in the baseline or now."""
        if not self.samples:
            return False
        seen = self.samples[0].observations
        return seen.draws_anew(self.baseline.model_fingerprint, seen.model_fingerprint)

    @property
    def are_identical(self) -> bool:
        """Whether the very same model made the very same images: nothing need be estimated."""
        if not self.samples:
            return False
        model = self.samples[0].observations.model_fingerprint
        return (
            model == self.baseline.model_fingerprint
            and self.share_seeds
            and all(recorded.signs == sample.signs.tolist() for recorded, sample in self)
        )

    # which of them moved

    def changes(self, level: float) -> list[Interval | None]:
        """Growth of each prompt's absolute score; None without a clear image on either side."""
        return [
            statistics.prompt_bias_change(
                recorded.male, recorded.female, sample.male, sample.female, level
            )
            if recorded.male + recorded.female and sample.clear
            else None
            for recorded, sample in self
        ]

    @cached_property
    def moved(self) -> tuple[MovedPrompt, ...] | None:
        """Prompts that probably became more biased, the likeliest first.

        By empirical Bayes over all of them; None where there are too few prompts for that.
        """
        probabilities = statistics.growth_probabilities(*self.counts)
        if probabilities is None:
            return None
        ranked = sorted(zip(probabilities.tolist(), self, strict=True), key=lambda pair: -pair[0])
        return tuple(
            MovedPrompt(sample.prompt.id, p, _counts(recorded), _counts(sample))
            for p, (recorded, sample) in ranked
            if p >= LIKELY
        )

    def moves(self, margin: float, level: float) -> tuple[str, ...]:
        """Prompts whose absolute score grew or fell by more than the margin, the most first."""
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
        """That images were not compared seed by seed though they have the same seeds."""
        return (UNPAIRED,) if self.are_drawn_anew else ()

    @property
    def pairing(self) -> str:
        """How a test that can pair images by their seeds compared them."""
        if self.are_drawn_anew:
            return UNPAIRED
        return BY_SEED if self.share_seeds else BY_PROMPT

    def remarks(self, margin: float, level: float) -> tuple[str, ...]:
        """Prompts that probably became more biased; where that cannot be told, what moved."""
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
