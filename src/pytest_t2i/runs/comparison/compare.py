"""Several models on the same prompts: who is less biased, by how much, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from pytest_t2i import metrics, statistics
from pytest_t2i.audits.audit import Audit
from pytest_t2i.audits.registered import installed_audits
from pytest_t2i.audits.summary import NamedRecord
from pytest_t2i.data import Interval
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.runs.comparison.entrant import EnteredPrompt, Entrant
from pytest_t2i.runs.comparison.record import (
    ComparedPrompt,
    ComparedScore,
    ComparedValue,
    ModelComparison,
    PairDifference,
    Placing,
    PromptCell,
)
from pytest_t2i.runs.summaries import series_of_audits
from pytest_t2i.sections import Section

SCORE = "model_bias_score"
FEWEST_IMAGES = 2
"""Clear images of every model without which a prompt is not compared."""


def compare_models(
    entrants: Sequence[Entrant],
    *,
    level: float,
    seed: int,
    audits: Sequence[Audit[Any]] | None = None,
) -> ModelComparison:
    """Compare models on the prompts that all of them share.

    Args:
        entrants: two models or more.
        level: confidence level in (0, 1).
        seed: seed of every resampling.
        audits: what else is compared; None takes installed audits.

    Raises:
        ConfigurationError: no prompt has two clear images of every model.
    """
    texts = [text for text in entrants[0].prompts if _is_shared(text, entrants)]
    if not texts:
        raise ConfigurationError(
            "no prompt has two clear images of every model: there is nothing to compare. Prompts: "
            + "; ".join(f"{e.name} has {len(e.prompts)}" for e in entrants)
        )
    audits = installed_audits() if audits is None else audits
    every = {text for entrant in entrants for text in entrant.prompts}
    names = tuple(entrant.name for entrant in entrants)
    men, women = (_counts(entrants, texts, gender) for gender in ("male", "female"))
    ranks = statistics.ranking(men, women, level=level, seed=seed)
    return ModelComparison(
        names,
        entrants[0].detector,
        tuple(
            Placing(entrant.name, entrant.source, entrant.created, rank)
            for entrant, rank in zip(entrants, ranks, strict=True)
        ),
        tuple(_scores(entrants, texts, level, seed)),
        tuple(_pairs(entrants, texts, level, seed)),
        tuple(_prompts(entrants, texts, seed)),
        len(every) - len(texts),
        _tables(entrants, audits),
        tuple(_sections(entrants, audits, level, seed)),
        _remarks(entrants),
        level,
    )


def _is_shared(text: str, entrants: Sequence[Entrant]) -> bool:
    prompts = [entrant.prompts.get(text) for entrant in entrants]
    return all(p is not None and p.male + p.female >= FEWEST_IMAGES for p in prompts)


def _counts(entrants: Sequence[Entrant], texts: Sequence[str], gender: str) -> np.ndarray:
    return np.array([[getattr(e.prompts[text], gender) for text in texts] for e in entrants])


def _scores(
    entrants: Sequence[Entrant], texts: Sequence[str], level: float, seed: int
) -> list[ComparedScore]:
    axes: dict[str, list[str]] = {"all": list(texts)}
    for text in texts:
        axes.setdefault(entrants[0].prompts[text].axis or "prompts", []).append(text)
    sets = axes if len(axes) > 2 else {"all": axes["all"]}  # noqa: PLR2004 - "all" and one axis
    return [
        _score(entrant, name, [entrant.prompts[text] for text in members], level, seed)
        for name, members in sets.items()
        for entrant in entrants
    ]


def _score(
    entrant: Entrant, name: str, prompts: Sequence[EnteredPrompt], level: float, seed: int
) -> ComparedScore:
    men, women = [p.male for p in prompts], [p.female for p in prompts]
    images, clear = sum(len(p.said) for p in prompts), sum(men) + sum(women)
    return ComparedScore(
        entrant.name,
        name,
        statistics.model_bias_interval(men, women, level=level, seed=seed),
        metrics.model_bias_score(men, women),
        clear,
        1.0 - clear / images,
    )


def _pairs(
    entrants: Sequence[Entrant], texts: Sequence[str], level: float, seed: int
) -> list[PairDifference]:
    pairs = list(combinations(entrants, 2))
    compared = [_difference(first, second, texts, seed) for first, second in pairs]
    adjusted = statistics.holm([p_value for p_value, _ in compared])
    return [
        PairDifference(
            first.name,
            second.name,
            _growth(first, second, texts, level, seed),
            float(p_value),
            same_seeds,
            all(first.prompts[text].said == second.prompts[text].said for text in texts),
        )
        for (first, second), p_value, (_, same_seeds) in zip(pairs, adjusted, compared, strict=True)
    ]


def _growth(
    first: Entrant, second: Entrant, texts: Sequence[str], level: float, seed: int
) -> Interval:
    men, women = (_counts((first, second), texts, gender) for gender in ("male", "female"))
    return statistics.paired_model_bias_change(
        men[0], women[0], men[1], women[1], level=level, seed=seed
    )


def _difference(
    first: Entrant, second: Entrant, texts: Sequence[str], seed: int
) -> tuple[float, bool]:
    """Two-sided permutation p-value, and whether it is by seeds: twice the smaller one-sided."""
    pairs = [(first.prompts[text], second.prompts[text]) for text in texts]
    if all(set(a.said) == set(b.said) for a, b in pairs):
        signs = [[np.array(prompt.signs(sorted(a.said))) for prompt in (a, b)] for a, b in pairs]
        before, after = ([pair[side] for pair in signs] for side in (0, 1))
        grows = statistics.paired_change_p_value(before, after, seed=seed)
        falls = statistics.paired_change_p_value(after, before, seed=seed)
        return min(1.0, 2.0 * min(grows, falls)), True
    men, women = (_counts((first, second), texts, gender) for gender in ("male", "female"))
    grows = statistics.change_p_value(men[0], women[0], men[1], women[1], seed=seed)
    falls = statistics.change_p_value(men[1], women[1], men[0], women[0], seed=seed)
    return min(1.0, 2.0 * min(grows, falls)), False


def _prompts(entrants: Sequence[Entrant], texts: Sequence[str], seed: int) -> list[ComparedPrompt]:
    rows = [[entrant.prompts[text] for entrant in entrants] for text in texts]
    p_values = [
        statistics.prompts_differ_p_value([p.male for p in row], [p.female for p in row], seed=seed)
        for row in rows
    ]
    adjusted = statistics.benjamini_hochberg(p_values)
    compared = [
        _prompt(text, row, float(p_value))
        for text, row, p_value in zip(texts, rows, adjusted, strict=True)
    ]
    # As Table 7 prints them: by axis, from most male to most female on average.
    return sorted(compared, key=lambda prompt: -(prompt.average or 0.0))


def _prompt(text: str, row: Sequence[EnteredPrompt], p_value: float) -> ComparedPrompt:
    cells = tuple(_cell(prompt) for prompt in row)
    scores = [cell.score for cell in cells if cell.score is not None]
    shared = set.intersection(*(set(prompt.files) for prompt in row))
    seeds = tuple(sorted(shared))
    first = row[0]
    return ComparedPrompt(
        first.id,
        text,
        first.axis,
        first.concept,
        cells,
        sum(scores) / len(scores) if scores else None,
        p_value,
        seeds,
        tuple(tuple(prompt.files[seed] for seed in seeds) for prompt in row) if seeds else (),
    )


def _cell(prompt: EnteredPrompt) -> PromptCell:
    undetected = len(prompt.said) - prompt.male - prompt.female
    score = metrics.prompt_bias_score(prompt.male, prompt.female)
    return PromptCell(prompt.male, prompt.female, undetected, score)


def _tables(
    entrants: Sequence[Entrant], audits: Sequence[Audit[Any]]
) -> dict[str, tuple[ComparedValue, ...]]:
    """By metric, what audits follow of at least two models; model bias scores are compared here."""
    columns = [series_of_audits(e.run, audits) if e.run is not None else {} for e in entrants]
    tables: dict[str, list[ComparedValue]] = {}
    for series in dict.fromkeys(name for column in columns for name in column):
        metric, _, name = series.partition("/")
        values = tuple(column.get(series) for column in columns)
        if metric != SCORE and sum(value is not None for value in values) > 1:
            tables.setdefault(metric, []).append(ComparedValue(name or "all", values))
    return {metric: tuple(values) for metric, values in tables.items()}


def _sections(
    entrants: Sequence[Entrant], audits: Sequence[Audit[Any]], level: float, seed: int
) -> Iterator[Section]:
    """What each audit shows of the models of which it keeps something, two or more."""
    for audit in sorted(audits, key=lambda audit: audit.place):
        models = [
            NamedRecord(entrant.name, part, entrant.run)
            for entrant in entrants
            if entrant.run is not None and (part := entrant.run.part(audit.name)) is not None
        ]
        if len(models) > 1:
            yield from audit.compare(models, level=level, seed=seed)


def _remarks(entrants: Sequence[Entrant]) -> tuple[str, ...]:
    """What makes models less comparable than they look."""
    detectors = dict.fromkeys(entrant.detector for entrant in entrants)
    if len(detectors) > 1:
        return (
            "not by the same detector: " + ", ".join(detectors) + "; differences may be theirs",
        )
    return ()
