"""The words of a comparison of models, for model bias scores and for distances from even groups."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_t2i.runs.comparison.record import ModelComparison, PairDifference, Placing, PromptCell

SURE = 0.05
"""Largest p-value that counts as a difference."""
MODEL_BIAS = "model_bias_score"


@dataclass(frozen=True, slots=True)
class Wording:
    """The words for the score of a comparison."""

    score: str
    """Name of the score."""
    scale: str
    """Meaning of the ends of its scale."""
    first: str
    """Words for the first model, such as "the least biased"."""
    more: str
    """Words between two models, such as "more biased than"."""
    plain: str
    """Heading of the column of scores without the correction for few images."""
    first_column: str
    """Heading of the column of probabilities of being first."""
    by_category: str
    """Title of the table by category."""
    whole: str
    """Heading of the column of all prompts in the table by category."""
    by_prompt: str
    """Title of the table by prompt."""
    cells: str
    """Meaning of the scores of prompts."""


GENDER = Wording(
    score="model bias score",
    scale="0 is even, 1 is one gender only",
    first="the least biased",
    more="more biased than",
    plain="paper's",
    first_column="least biased",
    by_category="Model bias score by category, as Lyu Table 6 (the paper's estimate)",
    whole="MBS",
    by_prompt="Prompt bias scores, as Lyu Table 7",
    cells="Prompt bias scores as Lyu Table 7 prints them: 1 is all male, \u22121 all female",
)


def wording(comparison: ModelComparison) -> Wording:
    """Return the words for the compared metric."""
    if comparison.metric == MODEL_BIAS:
        return GENDER
    groups = comparison.groups
    return Wording(
        score="group distance",
        scale=(
            f"0 is even shares of {len(groups)} groups ({', '.join(groups)}), "
            f"{1.0 - 1.0 / len(groups):.2f} is one group only"
        ),
        first="the nearest to even shares",
        more="further from even shares than",
        plain="not corrected",
        first_column="nearest",
        by_category="Group distance by category (not corrected for few images)",
        whole="all",
        by_prompt="Group distances, and the group that is shown most",
        cells="Distance from even shares, not corrected for few images, and the group shown most",
    )


def headline(comparison: ModelComparison) -> str:
    """Return a sentence on which model comes first, or which models may."""
    words = wording(comparison)
    first, *others = [placing for placing in ordered(comparison) if placing.rank.low == 1]
    if not others:
        return f"{first.model} is {words.first} of {len(comparison.models)} models."
    names = ", ".join(placing.model for placing in (first, *others))
    return f"Which is {words.first} cannot be told from these images: {names}."


def ordered(comparison: ModelComparison) -> list[Placing]:
    """Return the models by their score on all prompts, the smallest first."""
    whole = {score.model: score for score in comparison.scores if score.prompts == "all"}
    return sorted(comparison.placings, key=lambda one: whole[one.model].corrected.estimate)


def pair_words(pair: PairDifference, words: Wording = GENDER) -> str:
    """Return a sentence on how two models differ."""
    if pair.identical:
        return "identical: the same seeds, the same labels"
    change = pair.difference
    if pair.p_value > SURE:
        # Unlike the interval, the p-value is adjusted for all pairs.
        return "no difference can be told"
    if change.low > 0.0 or change.high < 0.0:
        more, less = (pair.second, pair.first) if change.estimate > 0 else (pair.first, pair.second)
        return f"{more} is {words.more} {less}"
    return "some prompts differ; the score need not"


def score_text(score: float | None) -> str:
    """Return a prompt's score as Lyu prints it; a dash for None."""
    return "-" if score is None else f"{score:.2f}"


def cell_text(cell: PromptCell) -> str:
    """Return a prompt's score by one model; for groups other than gender with the largest group."""
    if cell.score is None or cell.male is not None:
        return score_text(cell.score)
    most = max(cell.counts, key=lambda group: cell.counts[group])
    return f"{cell.score:.2f} ({most})"


def counts_text(cell: PromptCell) -> str:
    """Return the numbers of images per group and of undetected images, in words."""
    shown = [f"{count} {group}" for group, count in cell.counts.items()]
    return ", ".join([*shown, f"{cell.undetected} undetected"])
