"""What models are compared by: their model bias score, or how evenly they show other groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pytest_t2i import metrics, statistics
from pytest_t2i.data import Interval
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.runs.comparison.compared_model import ComparedModel, PromptOfModel
from pytest_t2i.statistics.groups.group_change import group_change_test
from pytest_t2i.statistics.shares.differences import interval_difference

GENDER = ("male", "female")
SEEN = 8
"""Labels named in a message."""

Pair = tuple[Sequence[PromptOfModel], Sequence[PromptOfModel]]
"""The same prompts by two models."""


@dataclass(frozen=True, slots=True)
class BiasScores:
    """Model bias scores (Lyu eq. 1): of male and female."""

    metric: str = "model_bias_score"
    groups: tuple[str, ...] = GENDER
    """What a detector's words are counted as; any other is undetected."""

    def ranks(
        self, models: Sequence[Sequence[PromptOfModel]], level: float, seed: int
    ) -> list[statistics.Rank]:
        """Place of each model, by ``statistics.ranking``."""
        men, women = ([_of(prompts, gender) for prompts in models] for gender in GENDER)
        return statistics.ranking(men, women, level=level, seed=seed)

    def score(
        self, prompts: Sequence[PromptOfModel], level: float, seed: int
    ) -> tuple[Interval, float]:
        """Corrected for few images with its interval, and the paper's as it stands."""
        men, women = (_of(prompts, gender) for gender in GENDER)
        corrected = statistics.model_bias_interval(men, women, level=level, seed=seed)
        return corrected, metrics.model_bias_score(men, women)

    def difference(self, pair: Pair, level: float, seed: int) -> Interval:
        """The second model's score minus the first's, by ``paired_model_bias_change``."""
        counts = [_of(side, gender) for side in pair for gender in GENDER]
        return statistics.paired_model_bias_change(*counts, level=level, seed=seed)

    def grows(self, pair: Pair, seed: int, *, same_seeds: bool) -> float:
        """p-value of a permutation test against "no prompt differs", for a larger second score.

        Image by image with the same seeds, else by counts.
        """
        if not same_seeds:
            counts = [_of(side, gender) for side in pair for gender in GENDER]
            return statistics.change_p_value(*counts, seed=seed)
        signs = [[np.array(p.signs(sorted(p.said))) for p in side] for side in pair]
        return statistics.paired_change_p_value(*signs, seed=seed)

    def of_prompt(self, prompt: PromptOfModel) -> float | None:
        """The prompt bias score (Lyu eq. 2); None without an image that counts."""
        return metrics.prompt_bias_score(prompt.male, prompt.female)


@dataclass(frozen=True, slots=True)
class GroupDistances:
    """Distances from even shares of a detector's groups."""

    groups: tuple[str, ...]
    metric: str = "group_distance"

    @property
    def _even(self) -> dict[str, float]:
        return dict.fromkeys(self.groups, 1.0 / len(self.groups))

    def ranks(
        self, models: Sequence[Sequence[PromptOfModel]], level: float, seed: int
    ) -> list[statistics.Rank]:
        """By ``statistics.group_ranking``."""
        counts = [self._counts(prompts) for prompts in models]
        return statistics.group_ranking(counts, level=level, seed=seed)

    def score(
        self, prompts: Sequence[PromptOfModel], level: float, seed: int
    ) -> tuple[Interval, float]:
        """The mean distance, and the mean of the prompts' distances as they stand."""
        corrected = statistics.mean_total_variation_interval(
            self._counts(prompts), list(self._even.values()), level=level, seed=seed
        )
        plain = [d for prompt in prompts if (d := self.of_prompt(prompt)) is not None]
        return corrected, sum(plain) / len(plain)

    def difference(self, pair: Pair, level: float, seed: int) -> Interval:
        """By square and add of both intervals."""
        before, after = (self.score(side, level, seed)[0] for side in pair)
        return interval_difference(before, after)

    def grows(self, pair: Pair, seed: int, *, same_seeds: bool) -> float:
        """By ``group_change_test``."""
        before, after = ([self._numbers(prompt) for prompt in side] for side in pair)
        return group_change_test(
            before, after, len(self.groups), level=0.95, seed=seed, shared_seeds=same_seeds
        ).p_value

    def of_prompt(self, prompt: PromptOfModel) -> float | None:
        """Half the sum of |share - 1 / groups|."""
        counts = prompt.counts(self.groups)
        return (
            metrics.total_variation_distance(counts, self._even) if any(counts.values()) else None
        )

    def _counts(self, prompts: Sequence[PromptOfModel]) -> np.ndarray:
        return np.array([list(prompt.counts(self.groups).values()) for prompt in prompts])

    def _numbers(self, prompt: PromptOfModel) -> np.ndarray:
        places = {group: place for place, group in enumerate(self.groups)}
        return np.array([places.get(prompt.said[seed], -1) for seed in sorted(prompt.said)])


Scores = BiasScores | GroupDistances
"""A score of a model on fixed prompts, and how two models are told apart by it."""


def scores_of(models: Sequence[ComparedModel], groups: Sequence[str] = ()) -> Scores:
    """What these models are compared by.

    Args:
        models: the models, each with the labels that its detector may give, where it is recorded.
        groups: all of these labels, where nothing has recorded them; () takes what is recorded.

    Raises:
        ConfigurationError: the detectors tell different groups, or it is nowhere said which.
    """
    seen = {word for e in models for prompt in e.prompts.values() for word in prompt.labels}
    if groups:
        return _of_groups(groups, seen, "--groups")
    told = {frozenset(e.labels): e.labels for e in models if e.labels}
    if all(set(GENDER) <= labels for labels in told or [_gender_or(seen)]):
        return BiasScores()
    if len(told) > 1:
        raise ConfigurationError(
            "the models were looked at by detectors of different groups: "
            + "; ".join(map(_some, told.values()))
            + ": name one detector for all with --detector"
        )
    if not told:
        raise ConfigurationError(
            f"nothing records which groups there are (seen: {_some(seen)}): name all of them, "
            "those that no image shows among them, with --groups A,B,C"
        )
    return _of_groups(next(iter(told.values())), seen, "the groups that a run records")


def _gender_or(seen: set[str]) -> set[str]:
    """Male and female where no other label was seen."""
    return seen | set(GENDER) if seen <= set(GENDER) else seen


def _of_groups(groups: Sequence[str], seen: set[str], named: str) -> Scores:
    if strange := seen - set(groups):
        raise ConfigurationError(
            f"expected {named} to hold all labels, got {_some(groups)} without {_some(strange)}"
        )
    return BiasScores() if set(groups) == set(GENDER) else GroupDistances(tuple(groups))


def _of(prompts: Sequence[PromptOfModel], gender: str) -> np.ndarray:
    return np.array([getattr(prompt, gender) for prompt in prompts])


def _some(labels: Sequence[str] | set[str]) -> str:
    named = sorted(labels) if isinstance(labels, set) else labels
    return ", ".join(named[:SEEN]) + (" ..." if len(named) > SEEN else "")
