"""The record of rewriting in run.json."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pytest_t2i.audits.context import AuditContext
from pytest_t2i.audits.largest_samples import widest_of
from pytest_t2i.audits.rewriting.measure import DrawnPrompt, Rewriting, most_common, rewriting_in
from pytest_t2i.data import Count, ShareInterval
from pytest_t2i.prompts.added_words import KINDS

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
        rewriting.images, rewriting.told, shares, tuple(_words(rewriting)), prompts
    )


def _words(rewriting: Rewriting) -> Iterator[WordRecord]:
    known: set[str] = set()
    for kind in KINDS:
        for word, images in most_common(rewriting.words_of(kind)):
            prompts = sum(any(word in w for w in m.added[kind]) for m in rewriting.members)
            known |= {word, *word.split()}
            yield WordRecord(word, kind, images, prompts)
    others = [pair for pair in most_common(rewriting.words) if pair[0] not in known]
    for word, images in others[:KEPT_WORDS]:
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
