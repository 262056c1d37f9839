"""Recorded runs of several models, compared prompt by prompt and ranked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from pytest_t2i import metrics, statistics
from pytest_t2i.audits.audit import Audit
from pytest_t2i.audits.discovery import installed_audits
from pytest_t2i.audits.summary import NamedRecord
from pytest_t2i.data import Interval, Undetected, sign_of
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.runs.comparison.record import (
    ComparedPrompt,
    ComparedScore,
    ComparedValue,
    ModelComparison,
    PairDifference,
    Placing,
    PromptCell,
)
from pytest_t2i.runs.history import differing
from pytest_t2i.runs.record import RunRecord
from pytest_t2i.runs.summaries import first_screens, series_of_audits
from pytest_t2i.sections import Section
from pytest_t2i.statistics.distances import mean_total_variation_interval
from pytest_t2i.statistics.families import holm
from pytest_t2i.statistics.gaps import interval_difference
from pytest_t2i.statistics.permutation import group_change_test, paired_change_p_value
from pytest_t2i.statistics.ranks import Rank, group_ranking, groups_differ_p_value


@dataclass(frozen=True, slots=True)
class PromptOfModel:
    """One prompt of a compared model."""

    id: str
    axis: str
    concept: str
    said: Mapping[int, str | Undetected]
    """Seed -> label, or the reason why there is none."""
    files: Mapping[int, str] = field(default_factory=dict)
    """Seed -> path of the picture."""

    @property
    def male(self) -> int:
        """The number of images labelled male."""
        return sum(word == "male" for word in self.said.values())

    @property
    def female(self) -> int:
        """The number of images labelled female."""
        return sum(word == "female" for word in self.said.values())

    @property
    def labels(self) -> set[str]:
        """The labels of all images; undetected images are left out."""
        return {str(word) for word in self.said.values() if not isinstance(word, Undetected)}

    def counts(self, groups: Sequence[str]) -> dict[str, int]:
        """Return the number of images per group, groups without any image included."""
        counts = Counter(self.said.values())
        return {group: counts[group] for group in groups}

    def signs(self, seeds: Sequence[int]) -> list[int]:
        """Return +1 for male, -1 for female and 0 for any other image, for each of these seeds."""
        return [sign_of(self.said[seed]) for seed in seeds]


@dataclass(frozen=True, slots=True)
class ComparedModel:
    """A model of a comparison, read from a run, a baseline or a store."""

    name: str
    source: str
    """File or folder from which the model was read."""
    created: str
    """Time of the run: UTC, ISO 8601; "" if unknown."""
    detector: str
    prompts: Mapping[str, PromptOfModel]
    """Neutral prompts by text."""
    run: RunRecord | None = None
    """Record of the run; None for a baseline or a model of a store."""
    labels: tuple[str, ...] = ()
    """All labels of the detector; () if they are not recorded."""


GENDER = ("male", "female")
SEEN = 8
"""Largest number of labels in a message."""

Pair = tuple[Sequence[PromptOfModel], Sequence[PromptOfModel]]
"""The same prompts of two models."""


@dataclass(frozen=True, slots=True)
class BiasScores:
    """The model bias score (Lyu eq. 1) of the groups male and female."""

    metric: str = "model_bias_score"
    groups: tuple[str, ...] = GENDER
    """Counted groups; images with another label count as undetected."""

    def ranks(
        self, models: Sequence[Sequence[PromptOfModel]], level: float, seed: int
    ) -> list[Rank]:
        """Return the rank of each model, by ``statistics.ranking``."""
        men, women = ([_of(prompts, gender) for prompts in models] for gender in GENDER)
        return statistics.ranking(men, women, level=level, seed=seed)

    def score(
        self, prompts: Sequence[PromptOfModel], level: float, seed: int
    ) -> tuple[Interval, float]:
        """Return the corrected score with its interval, and the paper's plug-in score."""
        men, women = (_of(prompts, gender) for gender in GENDER)
        corrected = statistics.model_bias_interval(men, women, level=level, seed=seed)
        return corrected, metrics.model_bias_score(men, women)

    def difference(self, pair: Pair, level: float, seed: int) -> Interval:
        """Return the second model's score minus the first's, by ``paired_model_bias_change``."""
        counts = [_of(side, gender) for side in pair for gender in GENDER]
        return statistics.paired_model_bias_change(*counts, level=level, seed=seed)

    def grows(self, pair: Pair, seed: int, *, same_seeds: bool) -> float:
        """Return the one-sided permutation p-value against "no prompt differs".

        The alternative is a larger score of the second model. With the same seeds, images are
        exchanged pair by pair, else counts.
        """
        if not same_seeds:
            counts = [_of(side, gender) for side in pair for gender in GENDER]
            return statistics.change_p_value(*counts, seed=seed)
        signs = [[np.array(p.signs(sorted(p.said))) for p in side] for side in pair]
        return paired_change_p_value(*signs, seed=seed)

    def of_prompt(self, prompt: PromptOfModel) -> float | None:
        """Return the prompt bias score (Lyu eq. 2); None without a male or female image."""
        return metrics.prompt_bias_score(prompt.male, prompt.female)


@dataclass(frozen=True, slots=True)
class GroupDistances:
    """The mean distance of the prompts from even shares of a detector's groups."""

    groups: tuple[str, ...]
    metric: str = "group_distance"

    @property
    def _even(self) -> dict[str, float]:
        return dict.fromkeys(self.groups, 1.0 / len(self.groups))

    def ranks(
        self, models: Sequence[Sequence[PromptOfModel]], level: float, seed: int
    ) -> list[Rank]:
        """Return the rank of each model, by ``statistics.group_ranking``."""
        counts = [self._counts(prompts) for prompts in models]
        return group_ranking(counts, level=level, seed=seed)

    def score(
        self, prompts: Sequence[PromptOfModel], level: float, seed: int
    ) -> tuple[Interval, float]:
        """Return the corrected mean distance with its interval, and the plug-in mean."""
        corrected = mean_total_variation_interval(
            self._counts(prompts), list(self._even.values()), level=level, seed=seed
        )
        plain = [d for prompt in prompts if (d := self.of_prompt(prompt)) is not None]
        return corrected, sum(plain) / len(plain)

    def difference(self, pair: Pair, level: float, seed: int) -> Interval:
        """Return the second model's distance minus the first's, by square-and-add of intervals."""
        before, after = (self.score(side, level, seed)[0] for side in pair)
        return interval_difference(before, after)

    def grows(self, pair: Pair, seed: int, *, same_seeds: bool) -> float:
        """Return the one-sided p-value against "no prompt differs", by ``group_change_test``."""
        before, after = ([self._numbers(prompt) for prompt in side] for side in pair)
        return group_change_test(
            before, after, len(self.groups), level=0.95, seed=seed, shared_seeds=same_seeds
        ).p_value

    def of_prompt(self, prompt: PromptOfModel) -> float | None:
        """Return half the sum of abs(share - 1 / groups); None without an image of a group."""
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
"""A score of a model on fixed prompts, with its test of a difference between two models."""


def _scores_of(models: Sequence[ComparedModel], groups: Sequence[str] = ()) -> Scores:
    """Return the score by which these models are compared."""
    words = {word for e in models for prompt in e.prompts.values() for word in prompt.labels}
    if groups:
        return _of_groups(groups, words, "--groups")
    recorded = {frozenset(e.labels): e.labels for e in models if e.labels}
    if all(set(GENDER) <= labels for labels in recorded or [_gender_or(words)]):
        return BiasScores()
    if len(recorded) > 1:
        raise ConfigurationError(
            "the detectors of the models have different groups: "
            + "; ".join(map(_some, recorded.values()))
            + ": name one detector for all with --detector"
        )
    if not recorded:
        raise ConfigurationError(
            f"no run records the groups of the detector (seen: {_some(words)}): name all of them, "
            "those that no image shows included, with --groups A,B,C"
        )
    return _of_groups(next(iter(recorded.values())), words, "the groups that a run records")


def _gender_or(labels: set[str]) -> set[str]:
    """Return male and female if no other label was seen, else the labels seen."""
    return labels | set(GENDER) if labels <= set(GENDER) else labels


def _of_groups(groups: Sequence[str], labels: set[str], source: str) -> Scores:
    if strange := labels - set(groups):
        raise ConfigurationError(
            f"expected {source} to hold all labels, got {_some(groups)} without {_some(strange)}"
        )
    return BiasScores() if set(groups) == set(GENDER) else GroupDistances(tuple(groups))


def _of(prompts: Sequence[PromptOfModel], gender: str) -> np.ndarray:
    return np.array([getattr(prompt, gender) for prompt in prompts])


def _some(labels: Sequence[str] | set[str]) -> str:
    names = sorted(labels) if isinstance(labels, set) else labels
    return ", ".join(names[:SEEN]) + (" ..." if len(names) > SEEN else "")


Shared = Mapping[str, Sequence[PromptOfModel]]
"""Name of a model -> its prompts that all models share, in the same order for every model."""
FEWEST_IMAGES = 2
"""Fewest clear images of every model for a prompt to be compared."""


def compare_models(
    models: Sequence[ComparedModel],
    *,
    level: float,
    seed: int,
    audits: Sequence[Audit[Any]] | None = None,
    groups: Sequence[str] = (),
) -> ModelComparison:
    """Compare models on the prompts that all of them share."""
    scores = _scores_of(models, groups)
    texts = [text for text in models[0].prompts if _is_shared(text, models, scores)]
    if not texts:
        raise ConfigurationError(
            "no prompt has two clear images of every model: there is nothing to compare. Prompts: "
            + "; ".join(f"{e.name} has {len(e.prompts)}" for e in models)
        )
    audits = installed_audits() if audits is None else audits
    every = {text for model in models for text in model.prompts}
    names = tuple(model.name for model in models)
    shared = {model.name: [model.prompts[text] for text in texts] for model in models}
    ranks = scores.ranks(list(shared.values()), level, seed)
    return ModelComparison(
        names,
        models[0].detector,
        tuple(
            Placing(model.name, model.source, model.created, rank)
            for model, rank in zip(models, ranks, strict=True)
        ),
        tuple(_scores(shared, scores, level, seed)),
        tuple(_pairs(shared, scores, level, seed)),
        tuple(_prompts(texts, shared, scores, seed)),
        len(every) - len(texts),
        _tables(models, audits, (scores.metric, models[0].detector)),
        tuple(_sections(models, audits, level, seed)),
        _remarks(models),
        level,
        scores.metric,
        scores.groups,
    )


def _is_shared(text: str, models: Sequence[ComparedModel], scores: Scores) -> bool:
    prompts = [model.prompts.get(text) for model in models]
    return all(
        p is not None and sum(p.counts(scores.groups).values()) >= FEWEST_IMAGES for p in prompts
    )


def _scores(shared: Shared, scores: Scores, level: float, seed: int) -> list[ComparedScore]:
    first = next(iter(shared.values()))
    places: dict[str, list[int]] = {"all": list(range(len(first)))}
    for place, prompt in enumerate(first):
        places.setdefault(prompt.axis or "prompts", []).append(place)
    sets = places if len(places) > 2 else {"all": places["all"]}  # noqa: PLR2004 - "all" and one axis
    return [
        _score(model, name, [prompts[place] for place in members], scores, level, seed)
        for name, members in sets.items()
        for model, prompts in shared.items()
    ]


def _score(
    model: str,
    name: str,
    prompts: Sequence[PromptOfModel],
    scores: Scores,
    level: float,
    seed: int,
) -> ComparedScore:
    images = sum(len(p.said) for p in prompts)
    clear = sum(sum(p.counts(scores.groups).values()) for p in prompts)
    corrected, plain = scores.score(prompts, level, seed)
    return ComparedScore(model, name, corrected, plain, clear, 1.0 - clear / images)


def _pairs(shared: Shared, scores: Scores, level: float, seed: int) -> list[PairDifference]:
    pairs = list(combinations(shared, 2))
    compared = [_p_value(scores, (shared[a], shared[b]), seed) for a, b in pairs]
    adjusted = holm([p_value for p_value, _ in compared])
    return [
        PairDifference(
            first,
            second,
            scores.difference((shared[first], shared[second]), level, seed),
            float(p_value),
            same_seeds,
            all(a.said == b.said for a, b in zip(shared[first], shared[second], strict=True)),
        )
        for (first, second), p_value, (_, same_seeds) in zip(pairs, adjusted, compared, strict=True)
    ]


def _p_value(scores: Scores, pair: Pair, seed: int) -> tuple[float, bool]:
    """Return the two-sided permutation p-value, and whether images are paired by seed.

    The two-sided p-value is twice the smaller one-sided one, at most 1.
    """
    first, second = pair
    same_seeds = all(set(a.said) == set(b.said) for a, b in zip(first, second, strict=True))
    orders = ((first, second), (second, first))
    grows, falls = (scores.grows(order, seed, same_seeds=same_seeds) for order in orders)
    return min(1.0, 2.0 * min(grows, falls)), same_seeds


def _prompts(
    texts: Sequence[str], shared: Shared, scores: Scores, seed: int
) -> list[ComparedPrompt]:
    rows = list(zip(*shared.values(), strict=True))
    p_values = [
        groups_differ_p_value([list(p.counts(scores.groups).values()) for p in row], seed=seed)
        for row in rows
    ]
    adjusted = statistics.benjamini_hochberg(p_values)
    compared = [
        _prompt(text, row, scores, float(p_value))
        for text, row, p_value in zip(texts, rows, adjusted, strict=True)
    ]
    # The order of Lyu Table 7: from most male to most female on average.
    return sorted(compared, key=lambda prompt: -(prompt.average or 0.0))


def _prompt(
    text: str, row: Sequence[PromptOfModel], scores: Scores, p_value: float
) -> ComparedPrompt:
    cells = tuple(_cell(prompt, scores) for prompt in row)
    bias_scores = [cell.score for cell in cells if cell.score is not None]
    seeds = tuple(sorted(set.intersection(*(set(prompt.files) for prompt in row))))
    first = row[0]
    return ComparedPrompt(
        first.id,
        text,
        first.axis,
        first.concept,
        cells,
        sum(bias_scores) / len(bias_scores) if bias_scores else None,
        p_value,
        seeds,
        tuple(tuple(prompt.files[seed] for seed in seeds) for prompt in row) if seeds else (),
    )


def _cell(prompt: PromptOfModel, scores: Scores) -> PromptCell:
    counts = prompt.counts(scores.groups)
    male, female = (counts.get(gender) for gender in ("male", "female"))
    undetected = len(prompt.said) - sum(counts.values())
    return PromptCell(male, female, undetected, scores.of_prompt(prompt), counts)


def _tables(
    models: Sequence[ComparedModel], audits: Sequence[Audit[Any]], compared: tuple[str, str]
) -> dict[str, tuple[ComparedValue, ...]]:
    """Return audits' values of at least two models, by metric, without the compared score."""
    columns = [series_of_audits(e.run, audits) if e.run is not None else {} for e in models]
    firsts = {screen.metric for screen in first_screens()}
    tables: dict[str, list[ComparedValue]] = {}
    for series in dict.fromkeys(name for column in columns for name in column):
        metric, _, name = series.partition("/")
        values = tuple(column.get(series) for column in columns)
        count = sum(value is not None for value in values)
        if count > 1 and metric not in firsts and (metric, name) != compared:
            tables.setdefault(metric, []).append(ComparedValue(name or "all", values))
    return {metric: tuple(values) for metric, values in tables.items()}


def _sections(
    models: Sequence[ComparedModel], audits: Sequence[Audit[Any]], level: float, seed: int
) -> Iterator[Section]:
    """Yield each audit's sections on the models with a record of it, if they are two or more."""
    for audit in sorted(audits, key=lambda audit: audit.place):
        records = [
            NamedRecord(model.name, part, model.run)
            for model in models
            if model.run is not None and (part := model.run.part(audit.name)) is not None
        ]
        if len(records) > 1:
            yield from audit.compare(records, level=level, seed=seed)


def _remarks(models: Sequence[ComparedModel]) -> tuple[str, ...]:
    """Return remarks on what limits the comparison, in words."""
    remarks = []
    detectors = dict.fromkeys(model.detector for model in models)
    if len(detectors) > 1:
        remarks.append(
            f"the detectors differ: {', '.join(detectors)}; differences of scores may come from "
            "them"
        )
    inputs = [model.run.provenance.get("inputs") for model in models if model.run is not None]
    inputs_of_runs = [digests for digests in inputs if isinstance(digests, Mapping)]
    if changed := sorted({n for a, b in pairwise(inputs_of_runs) for n in differing(a, b)}):
        remarks.append(f"these inputs changed between the runs: {', '.join(changed)}")
    return tuple(remarks)
