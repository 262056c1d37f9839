"""Recorded runs of several models, compared prompt by prompt and ranked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from pytest_t2i import statistics
from pytest_t2i.audits.audit import Audit
from pytest_t2i.audits.discovery import installed_audits
from pytest_t2i.audits.engine.bias import Bias
from pytest_t2i.audits.engine.distance import EVEN
from pytest_t2i.audits.engine.score import Score, Tally
from pytest_t2i.data import Interval, Undetected
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.runs.compare.record import (
    ComparedPrompt,
    ComparedScore,
    ComparedValue,
    ModelComparison,
    PairDifference,
    Placing,
    PromptCell,
)
from pytest_t2i.runs.record.record import RunRecord
from pytest_t2i.runs.record.summaries import series_of_audits
from pytest_t2i.sections import Section
from pytest_t2i.statistics.families import holm
from pytest_t2i.statistics.ranks import groups_differ_p_value


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
    def labels(self) -> set[str]:
        """The labels of all images; undetected images are left out."""
        return {str(word) for word in self.said.values() if not isinstance(word, Undetected)}

    def counts(self, groups: Sequence[str]) -> dict[str, int]:
        """Return the number of images per group, groups without any image included."""
        counts = Counter(self.said.values())
        return {group: counts[group] for group in groups}


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
class ComparedScores:
    """The score by which models are compared, and the groups that it counts.

    Images with another label count as undetected.
    """

    score: Score[Any]
    groups: tuple[str, ...]

    def tallies(self, prompts: Sequence[PromptOfModel]) -> list[Tally]:
        return [Tally.even(tuple(prompt.counts(self.groups).values())) for prompt in prompts]

    def labels(self, prompts: Sequence[PromptOfModel]) -> list[np.ndarray]:
        """Return the number of each image's group, in the order of the seeds; -1 for others."""
        places = {group: place for place, group in enumerate(self.groups)}
        return [
            np.array([places.get(prompt.said[seed], -1) for seed in sorted(prompt.said)])
            for prompt in prompts
        ]


BIAS = ComparedScores(Bias(), GENDER)


def _scores_of(models: Sequence[ComparedModel], groups: Sequence[str] = ()) -> ComparedScores:
    words = {word for e in models for prompt in e.prompts.values() for word in prompt.labels}
    if groups:
        return _of_groups(groups, words, "--groups")
    recorded = {frozenset(e.labels): e.labels for e in models if e.labels}
    if all(set(GENDER) <= labels for labels in recorded or [_gender_or(words)]):
        return BIAS
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
    return labels | set(GENDER) if labels <= set(GENDER) else labels


def _of_groups(groups: Sequence[str], labels: set[str], source: str) -> ComparedScores:
    if strange := labels - set(groups):
        raise ConfigurationError(
            f"expected {source} to hold all labels, got {_some(groups)} without {_some(strange)}"
        )
    return BIAS if set(groups) == set(GENDER) else ComparedScores(EVEN, tuple(groups))


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
    audits: Sequence[Audit] | None = None,
    groups: Sequence[str] = (),
) -> ModelComparison:
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
    metric = scores.score.metric_of_model.name
    ranks = scores.score.rank(list(map(scores.tallies, shared.values())), level, seed)
    return ModelComparison(
        names,
        models[0].detector,
        tuple(
            Placing(model.name, model.source, model.created, rank)
            for model, rank in zip(models, ranks, strict=True)
        ),
        tuple(_scores(shared, scores, level)),
        tuple(_pairs(shared, scores, level, seed)),
        tuple(_prompts(texts, shared, scores, seed)),
        len(every) - len(texts),
        _tables(models),
        tuple(_sections(models, audits, level, seed)),
        _remarks(models),
        level,
        metric,
        scores.groups,
    )


def _is_shared(text: str, models: Sequence[ComparedModel], scores: ComparedScores) -> bool:
    prompts = [model.prompts.get(text) for model in models]
    return all(
        p is not None and sum(p.counts(scores.groups).values()) >= FEWEST_IMAGES for p in prompts
    )


def _scores(shared: Shared, scores: ComparedScores, level: float) -> list[ComparedScore]:
    first = next(iter(shared.values()))
    places: dict[str, list[int]] = {"all": list(range(len(first)))}
    for place, prompt in enumerate(first):
        places.setdefault(prompt.axis or "prompts", []).append(place)
    sets = places if len(places) > 2 else {"all": places["all"]}  # noqa: PLR2004 - "all" and one axis
    return [
        _score(model, name, [prompts[place] for place in members], scores, level)
        for name, members in sets.items()
        for model, prompts in shared.items()
    ]


def _score(
    model: str,
    name: str,
    prompts: Sequence[PromptOfModel],
    scores: ComparedScores,
    level: float,
) -> ComparedScore:
    images = sum(len(p.said) for p in prompts)
    tallies = scores.tallies(prompts)
    clear = sum(tally.n for tally in tallies)
    # As in the record of each run: each end at the level of a one-sided verdict.
    corrected = scores.score.mean(tallies, statistics.one_sided(level))
    plain = scores.score.plain_mean(tallies)
    return ComparedScore(model, name, corrected, plain, clear, 1.0 - clear / images)


def _pairs(shared: Shared, scores: ComparedScores, level: float, seed: int) -> list[PairDifference]:
    pairs = list(combinations(shared, 2))
    compared = [_p_value(scores, (shared[a], shared[b]), seed) for a, b in pairs]
    adjusted = holm([p_value for p_value, _ in compared])
    return [
        PairDifference(
            first,
            second,
            _difference(scores, (shared[first], shared[second]), level),
            float(p_value),
            same_seeds,
            all(a.said == b.said for a, b in zip(shared[first], shared[second], strict=True)),
        )
        for (first, second), p_value, (_, same_seeds) in zip(pairs, adjusted, compared, strict=True)
    ]


def _p_value(scores: ComparedScores, pair: Pair, seed: int) -> tuple[float, bool]:
    """Return the two-sided permutation p-value, and whether images are paired by seed.

    The two-sided p-value is twice the smaller one-sided one, at most 1.
    """
    first, second = pair
    same_seeds = all(set(a.said) == set(b.said) for a, b in zip(first, second, strict=True))
    orders = ((first, second), (second, first))
    grows, falls = (
        scores.score.growth_p_value(
            scores.labels(before),
            scores.labels(after),
            seed,
            groups=len(scores.groups),
            paired=same_seeds,
        )
        for before, after in orders
    )
    return min(1.0, 2.0 * min(grows, falls)), same_seeds


def _difference(scores: ComparedScores, pair: Pair, level: float) -> Interval:
    """Return the second model's score minus the first's."""
    before, after = map(scores.tallies, pair)
    change = scores.score.mean_change(before, after, level)
    if change is None:
        raise ValueError("expected two clear images of every model for each compared prompt")
    return change.interval


def _prompts(
    texts: Sequence[str], shared: Shared, scores: ComparedScores, seed: int
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
    text: str, row: Sequence[PromptOfModel], scores: ComparedScores, p_value: float
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


def _cell(prompt: PromptOfModel, scores: ComparedScores) -> PromptCell:
    counts = prompt.counts(scores.groups)
    male, female = (counts.get(gender) for gender in ("male", "female"))
    undetected = len(prompt.said) - sum(counts.values())
    (tally,) = scores.tallies([prompt])
    return PromptCell(male, female, undetected, scores.score.value(tally), counts)


def _tables(models: Sequence[ComparedModel]) -> dict[str, tuple[ComparedValue, ...]]:
    """Return audits' values of at least two models, by metric.

    Scores over prompts are compared on shared prompts, not as each run has them.
    """
    columns = [series_of_audits(e.run) if e.run is not None else {} for e in models]
    tables: dict[str, list[ComparedValue]] = {}
    for series in dict.fromkeys(name for column in columns for name in column):
        metric, _, name = series.partition("/")
        values = tuple(column.get(series) for column in columns)
        count = sum(value is not None for value in values)
        runs = (model.run for model in models if model.run is not None)
        if count > 1 and not any(run.of_prompt(metric) for run in runs):
            tables.setdefault(metric, []).append(ComparedValue(name or "all", values))
    return {metric: tuple(values) for metric, values in tables.items()}


def _sections(
    models: Sequence[ComparedModel], audits: Sequence[Audit], level: float, seed: int
) -> Iterator[Section]:
    for audit in sorted(audits, key=lambda audit: audit.place):
        records = [
            (model.name, part, model.run)
            for model in models
            if model.run is not None and (part := model.run.part(audit.name)).rows
        ]
        if len(records) > 1:
            yield from audit.compare(records, level=level, seed=seed)


def _remarks(models: Sequence[ComparedModel]) -> tuple[str, ...]:
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


def differing(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Return the names that both have with different hashes.

    >>> differing({"a": "1", "b": "2", "c": "3"}, {"a": "1", "b": "4", "d": "5"})
    ['b']
    """
    return sorted(name for name in before if after.get(name, before[name]) != before[name])
