"""The comparison of models on the same prompts: scores, differences, intervals and p-values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any

from pytest_t2i import statistics
from pytest_t2i.audits.audit import Audit
from pytest_t2i.audits.discovery import installed_audits
from pytest_t2i.audits.summary import NamedRecord
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.runs.comparison.compared_model import ComparedModel, PromptOfModel
from pytest_t2i.runs.comparison.record import (
    ComparedPrompt,
    ComparedScore,
    ComparedValue,
    ModelComparison,
    PairDifference,
    Placing,
    PromptCell,
)
from pytest_t2i.runs.comparison.scores import Pair, Scores, scores_of
from pytest_t2i.runs.history import differing
from pytest_t2i.runs.summaries import series_of_audits
from pytest_t2i.sections import Section
from pytest_t2i.statistics.families import holm
from pytest_t2i.statistics.ranks import groups_differ_p_value

SCORE = "model_bias_score"
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
    """Compare models on the prompts that all of them share.

    Args:
        models: two compared models or more.
        level: confidence level in (0, 1).
        seed: seed of every resampling.
        audits: audits whose records are compared, too; None takes the installed ones.
        groups: all labels of the detector, if no run records them.

    Raises:
        ConfigurationError: no prompt has two clear images of every model, or the groups are
            unknown or differ.
    """
    scores = scores_of(models, groups)
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
    both = ((first, second), (second, first))
    grows, falls = (scores.grows(one, seed, same_seeds=same_seeds) for one in both)
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
    known = [cell.score for cell in cells if cell.score is not None]
    seeds = tuple(sorted(set.intersection(*(set(prompt.files) for prompt in row))))
    first = row[0]
    return ComparedPrompt(
        first.id,
        text,
        first.axis,
        first.concept,
        cells,
        sum(known) / len(known) if known else None,
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
    tables: dict[str, list[ComparedValue]] = {}
    for series in dict.fromkeys(name for column in columns for name in column):
        metric, _, name = series.partition("/")
        values = tuple(column.get(series) for column in columns)
        known = sum(value is not None for value in values)
        if known > 1 and metric != SCORE and (metric, name) != compared:
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
    known = [named for named in inputs if isinstance(named, Mapping)]
    if changed := sorted({n for a, b in pairwise(known) for n in differing(a, b)}):
        remarks.append(f"these inputs changed between the runs: {', '.join(changed)}")
    return tuple(remarks)
