"""The report of rewriting: shares, the words that were added most, and prompts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_t2i.audits.context import AuditContext
from pytest_t2i.audits.rewriting.measure import DrawnPrompt, Rewriting, most_common, rewriting_in
from pytest_t2i.audits.shared_blocks import widest_of
from pytest_t2i.audits.summary import AFTER_FAILURE, Frame, Step, Summary
from pytest_t2i.data import Count, Interval, Outcome, ShareInterval
from pytest_t2i.errors import some
from pytest_t2i.prompts.added_words import KINDS
from pytest_t2i.sections import Bar, BarChart, Block, Cell, Note, Paragraph, Section, Table
from pytest_t2i.verdicts.check import Check

FIXTURE = "rewriting"
KEPT_WORDS = 50
"""Largest number of words without a kind that are kept of a run; all words of a kind are kept."""
KEPT_OF_PROMPT = 8
SHARES = ("rewritten_share", *(f"{kind}_added_share" for kind in KINDS))
"""Names of the metrics of rewriting."""


@dataclass(frozen=True, slots=True)
class WordRecord:
    """One word that a service added."""

    word: str
    kind: str
    """"gender", "age", "ethnicity" or "" for any other."""
    images: Count
    prompts: Count
    """Number of prompts to which it was added."""


@dataclass(frozen=True, slots=True)
class DrawnRecord:
    """One prompt, and the words that were added to it."""

    prompt: str
    text: str
    images: Count
    told: Count
    """Number of images for which the service reports a revised prompt."""
    rewritten: Count
    added: Mapping[str, Count | None]
    """"gender", "age", "ethnicity" -> number of images to which such a word was added; None where
    the prompt itself has one."""
    words: tuple[WordRecord, ...]
    """The words that were added most often."""
    example: str = ""
    """A revised prompt that was drawn."""


@dataclass(frozen=True, slots=True)
class RewritingPart:
    """The part of run.json that rewriting writes."""

    images: Count
    told: Count
    """Number of images for which the service reports a revised prompt; no other image counts."""
    shares: Mapping[str, ShareInterval | None]
    """Metric -> its share of images, mean over prompts; None where no image counts."""
    words: tuple[WordRecord, ...]
    """Added words, those of a kind first, in order of frequency."""
    prompts: tuple[DrawnRecord, ...]


def measured(context: AuditContext) -> RewritingPart | None:
    """Return the rewriting of prompts whose tests ask for it, else of all prompts of the run.

    Returns None where the service reports no revised prompt and no test asks, and for a run with a
    mitigation, whose texts are not the service's.
    """
    if context.mitigation is not None:
        return None
    asking = [test for test in context.tests if FIXTURE in test.selection.fixtures]
    pairs = widest_of(
        (prompt, test) for test in asking or context.tests for prompt in test.selection.prompts
    )
    rewriting = rewriting_in(context, pairs) if pairs else None
    if rewriting is None or not (rewriting.told or (asking and rewriting.is_service)):
        return None
    shares = {name: getattr(rewriting, name).interval for name in SHARES}
    prompts = tuple(_record(member) for member in rewriting.members)
    return RewritingPart(
        rewriting.images, rewriting.told, shares, tuple(_counted_words(rewriting)), prompts
    )


def _counted_words(rewriting: Rewriting) -> Iterator[WordRecord]:
    words: set[str] = set()
    for kind in KINDS:
        for word, images in most_common(rewriting.words_of(kind)):
            prompts = sum(any(word in w for w in m.added[kind]) for m in rewriting.members)
            words |= {word, *word.split()}
            yield WordRecord(word, kind, images, prompts)
    rest = [pair for pair in most_common(rewriting.words) if pair[0] not in words]
    for word, images in rest[:KEPT_WORDS]:
        yield WordRecord(word, "", images, sum(word in m.words for m in rewriting.members))


def _record(member: DrawnPrompt) -> DrawnRecord:
    kinds = {word: kind for kind in KINDS for words in member.added[kind] for word in words}
    words = [
        WordRecord(word, kinds.get(word, ""), images, 1)
        for word, images in most_common(member.words)[:KEPT_OF_PROMPT]
    ]
    counts = {kind: member.counts(kind) for kind in KINDS}
    added: dict[str, int | None] = {
        kind: hits if images or not member.texts else None
        for kind, (hits, images) in counts.items()
    }
    return DrawnRecord(
        member.prompt.id, member.prompt.text, member.images, len(member.texts), member.rewritten,
        added, tuple(words), _example(member),
    )  # fmt: skip


def _example(member: DrawnPrompt) -> str:
    """Return the revised prompt with the most added words of any kind; "" without one."""

    def added(place: int) -> int:
        return sum(len(member.added[kind][place]) for kind in KINDS)

    texts = member.texts
    best = max(range(len(texts)), key=added, default=None)
    return texts[best] if best is not None and member.rewritten else ""


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
    blocks: list[Block] = [Paragraph(in_words(part), "summary"), Note(READ)]
    if part.told:
        blocks += [_chart(part, run), *_words_table(part.words), *_prompts(part.prompts)]
    return [Section(TITLE, tuple(blocks))]


def in_words(part: RewritingPart) -> str:
    """Return what was added, in a line."""
    if not part.told:
        return f"rewriting: the service reports no revised prompt for {part.images} images"
    text = f"rewriting: {_share(part.shares.get(SHARES[0]))} of prompts rewritten"
    for kind in KINDS:
        words = ", ".join([word.word for word in part.words if word.kind == kind][:NAMED])
        share = _share(part.shares.get(f"{kind}_added_share"))
        text += f"; {kind} added to {share}{f' ({words})' if words else ''}"
    untold = part.images - part.told
    return text + (f"; {untold} of {part.images} images have no revised prompt" if untold else "")


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


def _words_table(words: Sequence[WordRecord]) -> list[Table]:
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
