"""Seeds that several prompts share: one initial noise then shifts several prompts at once.

Whatever judges the model takes its prompts as independent. Where an image shares its seed with
images of m other prompts on average, the variance of a mean over prompts is up to 1 + m times what
the images show: exactly so where the noise alone determines what they show. With a tenth, a verdict
at 5 % is wrong in at most 6 %.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from pytest_t2i.verdicts.caveats.seams import Question

MOST_SHARED = 0.1
"""Largest number of pictures of other prompts that have a picture's seed, on average over all
pictures, with which the model is judged."""
OWN_SEEDS = (
    "Make pictures from the seeds that `t2i list prompts SUITE --manifest` gives, where every "
    "prompt has its own; leave the column seed out where seeds do not determine the pictures"
)
FEW_SEEDS = (
    "The model takes the seeds 0 to {most} alone (most_seed in its catalogue): ask for fewer "
    "images, or judge fewer prompts at once"
)


@dataclass(frozen=True, slots=True)
class Seeds:
    """The seeds of the prompts that are judged together."""

    by_text: Mapping[str, AbstractSet[int]]
    """Text of a prompt -> the seeds of its pictures; the variants of a triplet count as one."""
    numbers: Callable[[str], AbstractSet[int]]
    """Text of a prompt -> seeds that only number ready-made pictures."""
    are_ignored: Callable[[], bool]
    """Whether the model draws anew whatever the seed is."""
    most: int | None
    """Largest seed that the model takes; None for ready-made pictures."""

    def why_no_verdict(self) -> str:
        """Return why nothing of the model is judged; "" where prompts have seeds of their own.

        >>> same = {"nurse": {1, 2}, "pilot": {1, 2}}
        >>> Seeds(same, lambda text: set(), lambda: False, 9).why_no_verdict()[:40]
        '4 of 4 pictures share their seed with pi'
        """
        images, of_seed = 0, Counter[int]()
        for text, seeds in self.by_text.items():
            images += len(seeds)
            of_seed.update(seeds - self.numbers(text))
        shared = [count for count in of_seed.values() if count > 1]
        mean_others = sum(count * (count - 1) for count in shared) / max(images, 1)
        if mean_others <= MOST_SHARED or self.are_ignored():
            return ""
        remedy = OWN_SEEDS if self.most is None else FEW_SEEDS.format(most=self.most)
        return (
            f"{sum(shared)} of {images} pictures share their seed with pictures of other prompts "
            f"(on average over all, {mean_others:.2g} of them): one initial noise shifts several "
            f"prompts at once, and there is no verdict on the model. {remedy}"
        )


@runtime_checkable
class KnowsSeeds(Protocol):
    """What knows the seeds of a test."""

    def why_seeds_prevent_verdict(self) -> str:
        """Return ``Seeds.why_no_verdict`` of the test."""


class SharedSeeds:
    """Nothing is decided of the model where prompts share seeds, now or in the recorded run."""

    def void(self, question: Question) -> str:
        """Return how many seeds are shared; "" for a prompt, and where seeds are not shared."""
        measurement, recorded = question.measurement, question.recorded
        if not measurement.is_of_model:
            return ""
        run = question.known(KnowsSeeds)  # type: ignore[type-abstract]
        rests_on_pictures = measurement.despite_repeats != ""
        if run and rests_on_pictures and (because := run.why_seeds_prevent_verdict()):
            return because
        if recorded is not None and recorded.shared_seeds:
            return f"in the {question.against}, {recorded.shared_seeds}"
        return ""
