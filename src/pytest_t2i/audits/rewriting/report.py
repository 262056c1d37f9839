"""The report of rewriting: shares, the words that were added most, and prompts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pytest_t2i.audits.rewriting.record import SHARES, DrawnRecord, RewritingPart, WordRecord
from pytest_t2i.audits.summary import AFTER_FAILURE, Frame, Step, Summary
from pytest_t2i.data import Interval, Outcome
from pytest_t2i.errors import some
from pytest_t2i.prompts.added_words import KINDS
from pytest_t2i.sections import Bar, BarChart, Block, Cell, Note, Paragraph, Section, Table
from pytest_t2i.verdicts.check import Check

TITLE = "Rewritten prompts"
TOLD = {
    "rewritten_share": "another text than the prompt",
    "gender_added_share": "a gender word added",
    "age_added_share": "an age word added",
    "ethnicity_added_share": "an ethnicity word added",
}
"""Metric -> description of what was drawn."""
SHOWN_WORDS, SHOWN_PROMPTS, NAMED = 20, 40, 3
READ = (
    "Share of images drawn from such a text, by the service's own report (revised_prompt). A "
    "prompt counts once, however many images it has. A word counts as added where the prompt has "
    "none of its kind."
)
OF_PROMPTS = ("prompt", "images reported", "rewritten", *KINDS, "added most")


def sections(part: RewritingPart, run: Any) -> Sequence[Section]:
    """Return one section: shares, words, prompts."""
    shown: list[Block] = [Paragraph(in_words(part), "summary"), Note(READ)]
    if part.told:
        shown += [_chart(part, run), *_words(part.words), *_prompts(part.prompts)]
    return [Section(TITLE, tuple(shown))]


def in_words(part: RewritingPart) -> str:
    """Return what was added, in a line."""
    if not part.told:
        return f"rewriting: the service reports no revised prompt for {part.images} images"
    told = f"rewriting: {_share(part.shares.get(SHARES[0]))} of prompts rewritten"
    for kind in KINDS:
        words = ", ".join([word.word for word in part.words if word.kind == kind][:NAMED])
        share = _share(part.shares.get(f"{kind}_added_share"))
        told += f"; {kind} added to {share}{f' ({words})' if words else ''}"
    untold = part.images - part.told
    return told + (f"; {untold} of {part.images} images have no revised prompt" if untold else "")


def _share(share: Interval | None) -> str:
    if share is None:
        return "unknown"
    return f"{share.estimate:.0%} [{share.low:.0%}, {share.high:.0%}]"


def _chart(part: RewritingPart, run: Any) -> BarChart:
    bars = tuple(
        Bar.judged(
            TOLD.get(name, name),
            value,
            run.checks_of(name).get("model", ()),
            absent="every prompt has such a word itself",
        )
        for name, value in part.shares.items()
    )
    return BarChart("What the service drew", bars, 0.0, 1.0, "share of images", digits=2)


def _words(words: Sequence[WordRecord]) -> list[Table]:
    rows = tuple((w.word, w.kind or "-", w.images, w.prompts) for w in words[:SHOWN_WORDS])
    columns = ("word", "says", "images", "prompts")
    return [Table("Words added most", columns, rows, digits=0)] if rows else []


def _prompts(prompts: Sequence[DrawnRecord]) -> list[Block]:
    """Return the prompts with most added words for people first, then the most rewritten."""
    rewritten = sorted(
        (p for p in prompts if p.rewritten), key=lambda p: (-_added(p), -p.rewritten)
    )
    if not rewritten:
        return []
    rows = tuple(_row(prompt) for prompt in rewritten[:SHOWN_PROMPTS])
    left = len(rewritten) - len(rows)
    more = f", and {left} more prompts in run.json" if left > 0 else ""
    examples = [f"{p.prompt}: “{p.example}”" for p in rewritten[:NAMED]]
    return [
        Table(f"Words added, by prompt{more}", OF_PROMPTS, rows, "page", digits=0),
        Note(f"For example, {'; '.join(examples)}.", "page"),
    ]


def _added(prompt: DrawnRecord) -> int:
    return sum(images or 0 for images in prompt.added.values())


def _row(prompt: DrawnRecord) -> tuple[Cell, ...]:
    words = ", ".join(f"{word.word} ({word.images})" for word in prompt.words)
    return prompt.prompt, prompt.told, prompt.rewritten, *_kinds(prompt), words


def _kinds(prompt: DrawnRecord) -> Iterator[int | None]:
    return (prompt.added.get(kind) for kind in KINDS)


def summary(part: RewritingPart) -> Summary:
    """Return shares as series, prompts as a table."""
    series = {name: value for name, value in part.shares.items() if value is not None}
    columns = ("prompt", "images", "told", "rewritten", *KINDS)
    rows = [(p.prompt, p.images, p.told, p.rewritten, *_kinds(p)) for p in part.prompts]
    return Summary(
        in_words(part),
        series,
        {"rewriting": Frame(columns, rows)},
        scope="What a service adds to prompts before it draws them.",
        limitations=["Rewriting is known only as far as the service itself reports it."],
    )


def next_steps(part: RewritingPart, checks: Sequence[Check]) -> Iterator[Step]:
    """Suggest judging the model without the service, where added people exceed a limit."""
    failed = {check.metric for check in checks if check.outcome is Outcome.FAIL}
    kinds = [kind for kind in KINDS if f"{kind}_added_share" in failed]
    words = [word.word for word in part.words if word.kind in kinds]
    if words:
        yield Step(
            AFTER_FAILURE - 1,
            f"the service adds {some(words)} to prompts, and its pictures show that: ask it to "
            "draw prompts as they are, if it can, before you judge the model behind it",
        )
