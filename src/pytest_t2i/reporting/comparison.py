"""The report of a comparison of models: index.html, summary.md and compare.json."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_t2i.adapters.support.escaping import code, escape
from pytest_t2i.files import write_whole
from pytest_t2i.metrics import INFO
from pytest_t2i.reporting import COMPARISON, RUN, html_sections, set_aside
from pytest_t2i.reporting.charts import DIVERGING, UNIT, Track
from pytest_t2i.reporting.formatting import (
    interval_text,
    metric_words,
    plural_metric,
    probability,
    signed,
)
from pytest_t2i.reporting.html import PICTURES, rendered
from pytest_t2i.reporting.markdown import header
from pytest_t2i.reporting.pictures import link, thumbnails
from pytest_t2i.runs.comparison.record import (
    ComparedPrompt,
    ComparedScore,
    ModelComparison,
    PairDifference,
    Placing,
    PromptCell,
)
from pytest_t2i.sections import Form, Note, Section, Table

SURE = 0.05
"""Largest p-value that counts as a difference."""


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
    groups = comparison.groups
    if set(groups) == {"male", "female"}:
        return GENDER
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


def first_model(comparison: ModelComparison) -> str:
    """Return a sentence on which model comes first, or which models may."""
    words = wording(comparison)
    first, *rivals = [placing for placing in _models_by_score(comparison) if placing.rank.low == 1]
    if not rivals:
        return f"{first.model} is {words.first} of {len(comparison.models)} models."
    names = ", ".join(placing.model for placing in (first, *rivals))
    return f"Which is {words.first} cannot be told from these images: {names}."


def _models_by_score(comparison: ModelComparison) -> list[Placing]:
    """Return the models by their score on all prompts, the smallest first."""
    scores = {score.model: score for score in comparison.scores if score.prompts == "all"}
    return sorted(comparison.placings, key=lambda placing: scores[placing.model].corrected.estimate)


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


def _score_cell_text(cell: PromptCell) -> str:
    """Return a prompt's score by one model; for groups other than gender with the largest group."""
    if cell.score is None or cell.male is not None:
        return score_text(cell.score)
    most = max(cell.counts, key=lambda group: cell.counts[group])
    return f"{cell.score:.2f} ({most})"


def counts_text(cell: PromptCell) -> str:
    """Return the numbers of images per group and of undetected images, in words."""
    parts = [f"{count} {group}" for group, count in cell.counts.items()]
    return ", ".join([*parts, f"{cell.undetected} undetected"])


PICTURED = 6
"""Number of prompts whose pictures are shown side by side."""
SEEDS = 6
"""Number of pictures per prompt and model."""


def write_comparison(comparison: ModelComparison, folder: Path) -> None:
    """Write compare.json, index.html and summary.md into a folder, each file atomically."""
    set_aside(folder / RUN)
    write_whole(folder / COMPARISON, comparison.as_kept(folder).to_json().encode())
    write_whole(folder / "index.html", comparison_page(comparison, folder).encode())
    write_whole(folder / "summary.md", comparison_markdown(comparison).encode())


def rows(comparison: ModelComparison) -> list[tuple[Placing, ComparedScore]]:
    """Return each model with its score on all prompts, the smallest score first."""
    return [
        (placing, model_scores(comparison, placing.model)["all"])
        for placing in _models_by_score(comparison)
    ]


def categories(comparison: ModelComparison) -> list[str]:
    """Return the names of the scored sets of prompts, "all" first."""
    return list(dict.fromkeys(score.prompts for score in comparison.scores))


def model_scores(comparison: ModelComparison, model: str) -> dict[str, ComparedScore]:
    """Return a model's scores by the name of the set of prompts."""
    return {score.prompts: score for score in comparison.scores if score.model == model}


def by_axis(comparison: ModelComparison) -> dict[str, list[ComparedPrompt]]:
    """Return the prompts per axis, from most male to most female on average."""
    groups: dict[str, list[ComparedPrompt]] = {}
    for prompt in comparison.prompts:
        groups.setdefault(prompt.axis or "prompts", []).append(prompt)
    return groups


# Markdown


def comparison_markdown(comparison: ModelComparison) -> str:
    """Return the comparison as one page of Markdown; texts of prompts are escaped."""
    return "\n".join(_markdown(comparison)) + "\n"


def _markdown(comparison: ModelComparison) -> Iterator[str]:
    words = wording(comparison)
    yield f"## {escape(first_model(comparison))}"
    yield ""
    yield (
        f"{len(comparison.prompts)} prompts that all models share, judged by "
        f"{code(comparison.detector)}; {comparison.left_out} others left out."
    )
    yield from (f"{escape(remark)}." for remark in comparison.remarks)
    yield ""
    yield from header(
        ["place", "model", words.score, words.plain, words.first_column, "clear images"]
    )
    for placing, score in rows(comparison):
        chance = probability(placing.rank.least_biased)
        yield (
            f"| {places(placing)} | {escape(placing.model)} | {interval_text(score.corrected)} "
            f"| {score.paper:.3f} | {chance} | {score.clear_images} |"
        )
    yield ""
    yield "| | difference | p (Holm) | |"
    yield "|---|---|---|---|"
    for pair in comparison.pairs:
        yield (
            f"| {escape(pair.second)} - {escape(pair.first)} | {interval_text(pair.difference)} "
            f"| {pair.p_value:.3g} | {escape(pair_words(pair, words))} |"
        )
    yield ""
    yield from _by_category(comparison, words)
    yield from _by_prompt(comparison, words)


def _by_category(comparison: ModelComparison, words: Wording) -> Iterator[str]:
    """Yield the table of uncorrected scores by category; for gender, Lyu Table 6."""
    sets = [name for name in categories(comparison) if name != "all"]
    yield f"### {words.by_category}"
    yield ""
    yield from header(["Model", *sets, words.whole])
    for model in comparison.models:
        scores = model_scores(comparison, model)
        cells = "".join(f" {scores[name].paper:.3f} |" for name in sets)
        yield f"| {escape(model)} |{cells} {scores['all'].paper:.3f} |"
    yield ""


def _by_prompt(comparison: ModelComparison, words: Wording) -> Iterator[str]:
    """Yield the table of every prompt's score by every model; for gender, Lyu Table 7."""
    yield f"### {words.by_prompt}"
    yield ""
    yield from header(["Category", "Word", *comparison.models, "Avg."])
    for axis, prompts in by_axis(comparison).items():
        for prompt in prompts:
            cells = " | ".join(escape(_score_cell_text(cell)) for cell in prompt.cells)
            yield (
                f"| {escape(axis)} | {escape(prompt.concept)} | {cells} "
                f"| {score_text(prompt.average)} |"
            )


def places(placing: Placing) -> str:
    """Return the range of plausible ranks of a model: ``1`` or ``1-3``."""
    low, high = placing.rank.low, placing.rank.high
    return str(low) if low == high else f"{low}-{high}"


# HTML


@dataclass(frozen=True, slots=True)
class Strip:
    """The pictures of one prompt by one model."""

    model: str
    cell: str
    pictures: tuple[tuple[int, str, str], ...]
    """(seed, data URI of the thumbnail, link to the full picture) of each picture."""


def comparison_page(comparison: ModelComparison, folder: Path) -> str:
    """Return the comparison as a page; links to full pictures are relative to ``folder``."""
    words = wording(comparison)
    contents = {
        "comparison": comparison,
        "headline": first_model(comparison),
        "wording": words,
        "rows": [(p, s, _score_track(s)) for p, s in rows(comparison)],
        "pairs": [(pair, pair_words(pair, words), _pair_track(pair)) for pair in comparison.pairs],
        "sets": categories(comparison),
        "scores": {model: model_scores(comparison, model) for model in comparison.models},
        "axes": by_axis(comparison),
        "audit_sections": html_sections.drawn(
            [*_value_sections(comparison), *comparison.sections], folder
        ),
        "strips": list(_strips(comparison, folder)),
        "places": places,
        "probability": probability,
        "score_text": score_text,
        "cell_text": _score_cell_text,
        "counts_text": counts_text,
        "shade": _shade,
        "sure": SURE,
    }
    return rendered("comparison.html.j2", contents, PICTURES)


def _value_sections(comparison: ModelComparison) -> Iterator[Section]:
    """Yield a section with a table of audits' values by model, for each metric."""
    for metric, values in comparison.tables.items():
        title = plural_metric(metric_words(metric))
        rows = tuple((value.name, *value.values) for value in values)
        info = INFO.get(metric)
        form: Form = "" if info and info.low >= 0.0 else "signed"
        table = Table(title, ("", *comparison.models), rows, form=form)
        lead = [Note(info.meaning)] if info and info.meaning else []
        yield Section(f"{title[:1].upper()}{title[1:]}", (*lead, table))


def _score_track(score: ComparedScore) -> Track:
    interval = score.corrected
    return Track(
        label=f"{score.model}: {interval_text(interval)}",
        bar=UNIT.span(0.0, interval.estimate),
        whisker=(UNIT.at(interval.low), UNIT.at(interval.high)),
        point=UNIT.at(interval.estimate),
    )


def _pair_track(pair: PairDifference) -> Track:
    change = pair.difference
    return Track(
        label=f"{pair.second} minus {pair.first}: {interval_text(change)}",
        whisker=(DIVERGING.at(change.low), DIVERGING.at(change.high)),
        point=DIVERGING.at(change.estimate),
        zero=DIVERGING.at(0.0),
    )


def _shade(cell: PromptCell) -> str:
    """Return the colour class of a cell of Table 7 in tenths; "male-10" is all male.

    The class is "even" for a score that rounds to 0, and for groups other than gender.
    """
    score = None if cell.male is None else cell.score
    if score is None or round(abs(score) * 10) == 0:
        return "even"
    return f"{'male' if score > 0 else 'female'}-{round(abs(score) * 10)}"


def _strips(
    comparison: ModelComparison, folder: Path
) -> Iterator[tuple[ComparedPrompt, list[Strip]]]:
    """Yield the prompts on which the models differ most, with pictures of the same seeds."""
    pictured = [prompt for prompt in comparison.prompts if prompt.seeds]
    prompts = sorted(pictured, key=_spread, reverse=True)[:PICTURED]
    small = thumbnails(file for p in prompts for files in p.files for file in files[:SEEDS])
    for prompt in prompts:
        yield (
            prompt,
            [
                Strip(
                    model,
                    _score_cell_text(cell),
                    tuple(
                        (seed, small[file], link(file, folder))
                        for seed, file in zip(prompt.seeds[:SEEDS], files[:SEEDS], strict=True)
                        if file in small
                    ),
                )
                for model, cell, files in zip(
                    comparison.models, prompt.cells, prompt.files, strict=True
                )
            ],
        )


def _spread(prompt: ComparedPrompt) -> float:
    scores = [cell.score for cell in prompt.cells if cell.score is not None]
    return max(scores) - min(scores) if scores else 0.0


def comparison_lines(comparison: ModelComparison) -> Sequence[str]:
    """Return the lines for the terminal."""
    width, words = max(map(len, comparison.models)), wording(comparison)
    lines = [first_model(comparison)]
    if words is not GENDER:
        lines.append(f"{words.score}: {words.scale}")
    for placing, score in rows(comparison):
        chance = f"{words.first_column}: {probability(placing.rank.least_biased)}"
        name = f"{placing.model:<{width}}  {interval_text(score.corrected)}"
        lines.append(f"  {places(placing):>3}  {name}  {chance}")
    for pair in comparison.pairs:
        change = pair.difference
        lines.append(
            f"{pair.second} - {pair.first}: {signed(change.estimate, 3)} "
            f"[{signed(change.low, 3)}, {signed(change.high, 3)}], p = {pair.p_value:.2g}: "
            f"{pair_words(pair, words)}"
        )
    if comparison.left_out:
        lines.append(f"{comparison.left_out} prompts are not shared by all models: left out")
    return [*lines, *comparison.remarks]
