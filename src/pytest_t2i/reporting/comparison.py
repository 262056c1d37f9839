"""The report of a comparison of models: index.html, summary.md and compare.json."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_t2i.files import write_whole
from pytest_t2i.metrics import INFO
from pytest_t2i.reporting import COMPARISON, RUN, set_aside
from pytest_t2i.reporting.formatting import (
    interval_text,
    metric_words,
    percent,
    plural_metric,
    probability,
    sentence,
    several,
    signed,
)
from pytest_t2i.reporting.html import PICTURES, rendered
from pytest_t2i.reporting.html_blocks import drawn
from pytest_t2i.reporting.markdown import whole_lines
from pytest_t2i.runs.compare.record import (
    ComparedPrompt,
    ComparedScore,
    ModelComparison,
    PairDifference,
    Placing,
    PromptCell,
)
from pytest_t2i.sections import (
    Album,
    Bar,
    BarChart,
    Cell,
    Form,
    Note,
    Picture,
    Section,
    Table,
    Tint,
)
from pytest_t2i.sections.escaping import code, escape
from pytest_t2i.sections.words import p_words

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
    plain="not corrected",
    first_column="least biased",
    by_category="Model bias score by category, as Lyu Table 6 (not corrected for few images)",
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


FOR_THE_PAIR = (
    "each difference is estimated from as many images of both models, so it is not exactly the "
    "difference of the two scores"
)


def _are_for_pairs(comparison: ModelComparison) -> bool:
    """Whether a difference is another number than the two scores have."""
    scores = {placing.model: score.corrected.estimate for placing, score in rows(comparison)}
    return any(
        abs(scores[pair.second] - scores[pair.first] - pair.difference.estimate) >= EQUAL
        for pair in comparison.pairs
        if not pair.identical
    )


EQUAL = 0.0015
"""Distance of two numbers from which on their three printed digits do not agree."""


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


def _score_text(score: float | None) -> str:
    """Return a prompt's score as Lyu prints it; a dash for None."""
    return "-" if score is None else f"{score:.2f}"


def _score_cell_text(cell: PromptCell) -> str:
    """Return a prompt's score by one model; for groups other than gender with the largest group."""
    if cell.score is None or cell.male is not None:
        return _score_text(cell.score)
    most = max(cell.counts, key=lambda group: cell.counts[group])
    return f"{cell.score:.2f} ({most})"


def _counts_text(cell: PromptCell) -> str:
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
        (placing, _model_scores(comparison, placing.model)["all"])
        for placing in _models_by_score(comparison)
    ]


def categories(comparison: ModelComparison) -> list[str]:
    """Return the names of the scored sets of prompts, "all" first."""
    return list(dict.fromkeys(score.prompts for score in comparison.scores))


def _model_scores(comparison: ModelComparison, model: str) -> dict[str, ComparedScore]:
    """Return a model's scores by the name of the set of prompts."""
    return {score.prompts: score for score in comparison.scores if score.model == model}


def by_axis(comparison: ModelComparison) -> dict[str, list[ComparedPrompt]]:
    """Return the prompts per axis, from most male to most female on average."""
    groups: dict[str, list[ComparedPrompt]] = {}
    for prompt in comparison.prompts:
        groups.setdefault(prompt.axis or "prompts", []).append(prompt)
    return groups


def _comparison_sections(comparison: ModelComparison) -> list[Section]:
    """Return the sections of a comparison, for the page and for Markdown."""
    words = wording(comparison)
    sections = [_models_section(comparison, words), _pairs_section(comparison, words)]
    if len(categories(comparison)) > 1:
        sections.append(_categories_section(comparison, words))
    sections += [*_value_sections(comparison), *comparison.sections]
    if albums := tuple(_albums(comparison)):
        note = Note("The prompts on which the models differ most.", "page")
        sections.append(Section("The same prompt and seed by each model", (note, *albums)))
    return [*sections, _prompts_section(comparison, words)]


def comparison_markdown(comparison: ModelComparison) -> str:
    """Return the comparison as one page of Markdown; texts of prompts are escaped."""
    lines = [
        f"## {escape(first_model(comparison))}",
        "",
        f"{len(comparison.prompts)} prompts that all models share, judged by "
        f"{code(comparison.detector)}; {comparison.left_out} others left out.",
        *(f"{escape(remark)}." for remark in comparison.remarks),
        "",
        *whole_lines(_comparison_sections(comparison)),
    ]
    return "\n".join(lines) + "\n"


def comparison_page(comparison: ModelComparison, folder: Path) -> str:
    """Return the comparison as a page; links to full pictures are relative to ``folder``."""
    words, count = wording(comparison), comparison.left_out
    left_out = (
        f"; {several(count, 'prompt')} that not all models share {'is' if count == 1 else 'are'} "
        "left out"
    )
    lead = (
        f"{sentence(words.score)}: {words.scale}. Intervals (differences: "
        f"{comparison.level:.0%}, scores: {comparison.scores[0].corrected.level:.0%}) hold "
        f"for these prompts, whose images are drawn{left_out * bool(count)}."
    )
    contents = {
        "title": first_model(comparison),
        "kicker": f"{len(comparison.models)} models on "
        f"{several(len(comparison.prompts), 'prompt')}, by {comparison.detector}",
        "lead": " ".join([lead, *(f"{sentence(remark)}." for remark in comparison.remarks)]),
        "audit_sections": drawn(_comparison_sections(comparison), folder),
    }
    return rendered("page.html.j2", contents, PICTURES)


def _models_section(comparison: ModelComparison, words: Wording) -> Section:
    bars = tuple(
        Bar(
            placing.model,
            score.corrected,
            cells=(
                places(placing), f"{score.paper:.3f}", probability(placing.rank.least_biased),
                percent(score.undetected), score.clear_images,
            ),
        )
        for placing, score in rows(comparison)
    )  # fmt: skip
    note = Note(
        "Place: the ranks that are plausible at the level of differences, however prompts differ. "
        f"{sentence(words.first_column)}: the probability that the model comes first, where that "
        "can be told."
    )
    columns = ("Place", sentence(words.plain), sentence(words.first_column), "Undetected",
               "Clear images")  # fmt: skip
    chart = BarChart(
        f"Models by their {words.score}", bars, 0.0, 1.0, sentence(words.score), "Model",
        columns=columns,
    )  # fmt: skip
    return Section(f"Models, {words.first} first", (note, chart))


def _pairs_section(comparison: ModelComparison, words: Wording) -> Section:
    bars = tuple(
        Bar(
            f"{pair.second} \u2212 {pair.first}",
            pair.difference,
            cells=(
                p_words(pair.p_value),
                "seed by seed" if pair.same_seeds else "other seeds",
                pair_words(pair, words),
            ),
        )
        for pair in comparison.pairs
    )
    note = Note(
        "The second score minus the first, on the same prompts. p: two-sided permutation test "
        f"against \u201cno prompt differs\u201d, adjusted for {several(len(bars), 'pair')} (Holm)."
        + f" {sentence(FOR_THE_PAIR)}."
        * _are_for_pairs(comparison)
    )
    chart = BarChart(
        "Differences of pairs of models", bars, -1.0, 1.0, "Difference", "Models",
        columns=("p", "Images", "In words"), form="signed",
    )  # fmt: skip
    return Section("Pairs of models", (note, chart))


def _categories_section(comparison: ModelComparison, words: Wording) -> Section:
    """Return the uncorrected scores by category (for gender, Lyu Table 6), and corrected ones."""
    sets = [*(name for name in categories(comparison) if name != "all"), "all"]
    scores = {model: _model_scores(comparison, model) for model in comparison.models}
    columns = ("Model", *(words.whole if name == "all" else name for name in sets))
    paper: tuple[tuple[Cell, ...], ...] = tuple(
        (model, *(by_set[name].paper for name in sets)) for model, by_set in scores.items()
    )
    corrected: tuple[tuple[Cell, ...], ...] = tuple(
        (model, *(by_set[name].corrected for name in sets)) for model, by_set in scores.items()
    )
    return Section(
        words.by_category,
        (
            Table(words.by_category, columns, paper, whole=True),
            Note("Corrected, with intervals:", "page"),
            Table("Corrected scores by category", columns, corrected, "page"),
        ),
    )


def _prompts_section(comparison: ModelComparison, words: Wording) -> Section:
    """Return every prompt's score by every model; for gender, Lyu Table 7."""
    table: tuple[tuple[Cell, ...], ...] = tuple(
        (
            axis,
            prompt.concept,
            *map(_tinted, prompt.cells),
            _score_text(prompt.average),
            p_words(prompt.p_value),
        )
        for axis, prompts in by_axis(comparison).items()
        for prompt in prompts
    )
    note = Note(
        f"{words.cells}. p: against \u201cno model differs\u201d, adjusted for all prompts "
        "(Benjamini\u2013Hochberg)."
    )
    columns = ("Category", "Word", *comparison.models, "Avg.", "p")
    return Section(
        words.by_prompt, (note, Table(words.by_prompt, columns, table, names=2, whole=True))
    )


def _tinted(cell: PromptCell) -> Tint:
    score = None if cell.male is None else cell.score
    return Tint(_score_cell_text(cell), score, _counts_text(cell))


def places(placing: Placing) -> str:
    """Return the range of plausible ranks of a model: ``1`` or ``1-3``."""
    low, high = placing.rank.low, placing.rank.high
    return str(low) if low == high else f"{low}-{high}"


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


def _albums(comparison: ModelComparison) -> Iterator[Album]:
    """Yield the pictures of equal seeds of the prompts on which the models differ most."""
    pictured = [prompt for prompt in comparison.prompts if prompt.seeds]
    for prompt in sorted(pictured, key=_spread, reverse=True)[:PICTURED]:
        by_model = [
            [
                Picture(file, model, (_score_cell_text(cell),), f"{model}, seed {seed}")
                for seed, file in zip(prompt.seeds[:SEEDS], files[:SEEDS], strict=True)
            ]
            for model, cell, files in zip(
                comparison.models, prompt.cells, prompt.files, strict=True
            )
        ]
        yield Album.side_by_side(prompt.concept, by_model, note=prompt.text, level="body")


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
    if _are_for_pairs(comparison):
        lines.append(FOR_THE_PAIR)
    if comparison.left_out:
        lines.append(f"{several(comparison.left_out, 'prompt')} left out: not shared by all models")
    return [*lines, *comparison.remarks]
