"""Rewriting: what a service adds to a prompt before drawing, where it reports the revised prompt.

Tests use the fixture ``rewriting``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from pytest_t2i.audits.audit import Fixture
from pytest_t2i.audits.engine.context import AskedTest, AuditContext
from pytest_t2i.audits.engine.contrast import NAMED, Contrast, ContrastAudit, Units
from pytest_t2i.audits.engine.rows import Rows
from pytest_t2i.audits.next_step import AFTER_FAILURE, Step
from pytest_t2i.data import MetricInfo, Outcome, Prompt, Row
from pytest_t2i.errors import ConfigurationError, some
from pytest_t2i.sections.words import several

if TYPE_CHECKING:
    from pytest_t2i.generation.plan import Need
    from pytest_t2i.sections import Block, Cell
    from pytest_t2i.settings import Settings
    from pytest_t2i.verdicts.measurement import Measurement

OWN = "own definition: revised_prompt against the prompt"
METRICS = (
    MetricInfo("rewritten_share", 0.0, 1.0, "higher", OWN, "share of prompts rewritten"),
    *(
        MetricInfo(f"{kind}_added_share", 0.0, 1.0, "higher", OWN, f"share with {a} word added")
        for kind, a in (("gender", "a gender"), ("age", "an age"), ("ethnicity", "an ethnicity"))
    ),
)
Kind = Literal["gender", "age", "ethnicity"]
KINDS: tuple[Kind, ...] = ("gender", "age", "ethnicity")
SHARES = {
    metric.name: Contrast(metric.name, (metric.name,), "share by prompt", unknown=None)
    for metric in METRICS
}
REWRITTEN = METRICS[0].name
SHOWN_WORDS, SHOWN_PROMPTS, EXAMPLES = 20, 40, 3
"""Largest numbers of words, of prompts, and of examples in the section."""
SHORT = 2
"""Largest number of letters of words that are not shown."""
KEPT_WORDS, KEPT_OF_PROMPT = 50, 8
"""Largest number of words without a kind that are kept of a run, and of words that are kept of a
prompt; all words of a kind are kept of a run."""


@dataclass(frozen=True)
class DrawnPrompt:
    """One prompt with the revised prompts that were drawn."""

    prompt: Prompt
    texts: tuple[str, ...]
    """The revised prompt of each image for which the service reports one."""
    images: int
    """Number of all images of the prompt."""

    @property
    def rewritten(self) -> int:
        return int(sum(self.values[REWRITTEN]))

    @cached_property
    def own(self) -> dict[Kind, frozenset[str]]:
        return {kind: self._words(kind, self.prompt.text) for kind in KINDS}

    @cached_property
    def added(self) -> dict[Kind, list[frozenset[str]]]:
        """Words of each kind that were added, per revised prompt."""
        return {
            kind: [self._words(kind, text) - self.own[kind] for text in self.texts]
            for kind in KINDS
        }

    @cached_property
    def words(self) -> Counter[str]:
        """Added word of any kind -> number of images."""
        from pytest_t2i.prompts.added_words import added_words

        return Counter(word for text in self.texts for word in added_words(self.prompt.text, text))

    @cached_property
    def values(self) -> dict[str, list[float]]:
        """Metric -> whether a word was added, 1 or 0 per image that counts.

        No image counts where the prompt itself has such a word, because nothing was left open.
        """
        from pytest_t2i.prompts.added_words import is_rewritten

        added = {
            kind: [] if self.own[kind] else [float(bool(words)) for words in self.added[kind]]
            for kind in KINDS
        }
        flags = [float(is_rewritten(self.prompt.text, text)) for text in self.texts]
        return {REWRITTEN: flags} | {f"{kind}_added_share": row for kind, row in added.items()}

    def counts(self, kind: Kind) -> tuple[int, int]:
        """Return how many images got a word of a kind added, and how many images count."""
        values = self.values[f"{kind}_added_share"]
        return int(sum(values)), len(values)

    @property
    def most_common(self) -> str:
        """The words that were added most often, with their numbers of images."""
        return ", ".join(
            f"{word} ({images})" for word, images in most_common(self.words)[:KEPT_OF_PROMPT]
        )

    @property
    def example(self) -> str:
        """The revised prompt with the most added words of any kind; "" without one."""

        def added(place: int) -> int:
            return sum(len(self.added[kind][place]) for kind in KINDS)

        best = max(range(len(self.texts)), key=added, default=None)
        return self.texts[best] if best is not None and self.rewritten else ""

    @cached_property
    def _people(self) -> frozenset[str]:
        """The last word of a concept that is a person, as in "a photo of {a nurse}"."""
        concept = self.prompt.concept.casefold().split()
        pattern = rf"\b(?:is|of) (?:an? )?{re.escape(' '.join(concept))}\b"
        is_one = concept and re.search(pattern, self.prompt.text.casefold())
        return frozenset(concept[-1:]) if is_one else frozenset()

    def _words(self, kind: Kind, text: str) -> frozenset[str]:
        from pytest_t2i.prompts.added_words import words_of

        return words_of(kind, text, self._people)


@dataclass(frozen=True, repr=False)
class Rewriting(Units[DrawnPrompt]):
    """The words that a service added to several prompts.

    A prompt counts once, however many images it has, because a service may rewrite it once for all.

    >>> import pytest
    >>> from pytest_t2i import Rewriting, axes, limit
    >>> @pytest.mark.t2i(axes.profession, images=1)
    ... def test_it(rewriting: Rewriting) -> None:
    ...     assert rewriting.gender_added_share <= limit("gender_added_share", 0.1)
    """

    is_service: bool = False
    """Whether the model answers over HTTP, so that prompts may be rewritten without a report."""

    def __repr__(self) -> str:
        prompts = several(len(self.members), "prompt")
        return f"<Rewriting of {prompts}: {several(self.told, 'image')} told>"

    @property
    def told(self) -> int:
        """Number of images for which the service reports a revised prompt."""
        return sum(len(member.texts) for member in self.members)

    @property
    def rewritten_share(self) -> Measurement:
        """Share of images drawn from another text than the prompt, mean over prompts."""
        return self._share(SHARES[REWRITTEN], *self._most(self.words))

    @property
    def gender_added_share(self) -> Measurement:
        """Share of images to which a word for a gender was added, mean over prompts."""
        return self._added("gender")

    @property
    def age_added_share(self) -> Measurement:
        """Share of images to which a word for an age was added, mean over prompts."""
        return self._added("age")

    @property
    def ethnicity_added_share(self) -> Measurement:
        """Share of images to which a word for an ethnicity was added, mean over prompts."""
        return self._added("ethnicity")

    @cached_property
    def words(self) -> Counter[str]:
        """Added word -> number of images."""
        return sum((member.words for member in self.members), Counter[str]())

    def words_of(self, kind: Kind) -> Counter[str]:
        """Return, by added word of a kind, the number of images."""
        return Counter(word for m in self.members for words in m.added[kind] for word in words)

    def _added(self, kind: Kind) -> Measurement:
        words = self._most(self.words_of(kind))
        prompts = sorted(
            (m for m in self.members if any(m.added[kind])), key=lambda m: -m.counts(kind)[0]
        )
        ids = some([member.prompt.id for member in prompts], NAMED)
        where = (f"added to {ids}",) if ids else ()
        return self._share(SHARES[f"{kind}_added_share"], *words, *where)

    def _share(self, contrast: Contrast, *remarks: str) -> Measurement:
        values = [value for member in self.members for value in member.values[contrast.metric]]
        text = f"{int(sum(values))} of {len(values)} images"
        untold = self.images - self.told
        text += f"; {untold} more have no revised prompt" if untold else ""
        return self.measured(
            contrast, remarks=(text, *remarks), absent=self._absent(), despite_repeats=""
        )

    def _absent(self) -> str:
        if self.told:
            return "every prompt has such a word itself"
        images = several(self.images, "image")
        return f"the service does not say what it drew (revised_prompt) for {images}"

    def _most(self, words: Counter[str]) -> tuple[str, ...]:
        entries = (f"{word} ({images})" for word, images in most_common(words)[:NAMED])
        text = ", ".join(entries)
        return (f"added most: {text}",) if text else ()


def _unmet(settings: Settings) -> str:
    if settings.mitigation is not None:
        return (
            "t2i: a mitigation rewrites prompts itself; run without --t2i-mitigation to see what "
            "the service adds"
        )
    return ""


class RewritingAudit(ContrastAudit):
    """The audit of how often a service rewrites prompts, and which people it adds."""

    name, place, metrics = "rewriting", 60, METRICS
    contrast, about, fixture = SHARES[REWRITTEN], "prompts", "rewriting"
    doc = "What a service added to every prompt of the t2i marker before it drew it."
    title = "Rewritten prompts"
    reading = (
        "Share of images drawn from such a text, by the service's own report (revised_prompt). A "
        "prompt counts once, however many images it has. A word counts as added where the prompt "
        "has none of its kind."
    )
    scope = "What a service adds to prompts before it draws them."
    limitations = ("Rewriting is known only as far as the service itself reports it.",)

    @cached_property
    def fixtures(self) -> Mapping[str, Fixture]:  # type: ignore[override]
        """The fixture, which tells why there is nothing to judge."""
        fixture = super().fixtures[self.fixture]
        return {self.fixture: replace(fixture, unmet=_unmet, unseen=self._unseen)}

    def _unseen(self, context: AuditContext, test: AskedTest) -> str:
        rewriting = self.measured(context, test)
        if rewriting.told or rewriting.is_service:
            return ""
        return (
            f"t2i: {context.settings.model} draws prompts as they are, or does not say what it "
            "draws (revised_prompt): there is no rewriting to judge"
        )

    def needs(self, context: AuditContext, test: AskedTest) -> Iterable[Need]:
        """Return nothing: the images of the prompts are made in any case."""
        del context, test
        return ()

    def units(self, test: AskedTest) -> Sequence[Any]:
        """Return the test's prompts; those of several wordings only where a test asks for them."""
        units = super().units(test)
        return units if self.is_asked(test) else [unit for unit in units if not unit.wordings]

    def unit(self, context: AuditContext, unit: Prompt, test: AskedTest) -> DrawnPrompt:
        """Return the revised prompts of a prompt, of equal pictures each."""
        if unit.wordings:
            raise ConfigurationError(
                f"the fixture rewriting: expected prompts of one wording, got {unit.text!r}"
            )
        seeds = context.seeds(unit, test.images)
        texts = context.observations.revised_prompts(unit, seeds)
        return DrawnPrompt(unit, tuple(t for t in texts if t is not None), test.images)

    def of_units(self, context: AuditContext, members: Sequence[DrawnPrompt]) -> Rewriting:
        # A model that answers over HTTP has its endpoint in its provenance.
        is_service = "endpoint" in context.observations.components.model().provenance
        return Rewriting(tuple(members), context.settings.interval_level, is_service=is_service)

    def rows(self, context: AuditContext) -> Iterable[Row]:
        """Yield the rewriting of prompts whose tests ask for it, else of all with a report."""
        if context.mitigation is not None:
            return ()
        asking = [test for test in context.tests if self.is_asked(test)]
        members = self.widest(context, asking or context.tests)
        rewriting = self.of_units(context, members) if members else None
        if rewriting is None or not (rewriting.told or (asking and rewriting.is_service)):
            return ()
        return self.rows_of(context, members, rewriting)

    def rows_of(
        self, context: AuditContext, members: Sequence[DrawnPrompt], model: Rewriting
    ) -> Iterator[Row]:
        """Yield shares, words, and prompts with most added words for people first."""
        del context
        for name, contrast in SHARES.items():
            share = model.estimated(contrast)
            counts = {"images": model.images, "told": model.told}
            absent = "" if share else "every prompt has such a word itself"
            yield Row(name, "model", "model", share, {}, {}, counts, absent)
        yield from _words(model)
        rows = [_prompt_row(member) for member in members]
        yield from sorted(
            rows,
            key=lambda row: (
                -sum(row.counts.get(kind, 0) for kind in KINDS),
                -row.counts[REWRITTEN],
            ),
        )

    def in_words(self, rows: Rows) -> str:
        """Return what was added, in a line."""
        images, told = (rows.rows[0].counts[name] for name in ("images", "told"))
        if not told:
            reported = several(images, "image")
            return f"rewriting: the service reports no revised prompt for {reported}"
        text = f"rewriting: {_share(rows.one(REWRITTEN))} of prompts rewritten"
        for kind in KINDS:
            listed = [str(row.dims["word"]) for row in rows.of(WORD) if row.dims["says"] == kind]
            words = ", ".join(listed[:EXAMPLES])
            share = _share(rows.one(f"{kind}_added_share"))
            text += f"; {kind} added to {share}{f' ({words})' if words else ''}"
        lost = images - told
        return text + (f"; {lost} of {images} images have no revised prompt" if lost else "")

    def blocks(self, rows: Rows, run: Any) -> Sequence[Block]:
        """Return shares, words and prompts."""
        del run
        from pytest_t2i.sections import Note, RowChart, Table

        if not rows.rows[0].counts["told"]:
            return []
        words: tuple[tuple[Cell, ...], ...] = tuple(
            (row.dims["word"], row.dims["says"] or "-", row.counts["images"], row.counts["prompts"])
            for row in rows.of(WORD)[:SHOWN_WORDS]
        )
        blocks: list[Block] = [
            RowChart("What the service drew", tuple(SHARES), unit="share of images", digits=2)
        ]
        if words:
            columns = ("word", "says", "images", "prompts")
            blocks.append(Table("Words added most", columns, words, digits=0))
        rewritten = [row for row in rows.of(REWRITTEN, "prompt") if row.counts[REWRITTEN]]
        if rewritten:
            named_rows = rewritten[:SHOWN_PROMPTS]
            left = len(rewritten) - len(named_rows)
            more = f", and {left} more prompts in run.json" if left > 0 else ""
            cells: tuple[tuple[Cell, ...], ...] = tuple(
                (row.subject, row.counts["told"], row.counts[REWRITTEN],
                 *(row.counts.get(kind) for kind in KINDS), row.facts["added"])
                for row in named_rows
            )  # fmt: skip
            named = ("prompt", "images reported", "rewritten", *KINDS, "added most")
            title = f"Words added, by prompt{more}"
            blocks.append(Table(title, named, cells, "page", digits=0))
            examples = [
                f"{r.subject}: \u201c{r.facts['example']}\u201d" for r in named_rows[:EXAMPLES]
            ]
            blocks.append(Note(f"For example, {'; '.join(examples)}.", "page"))
        return blocks

    def next_steps(self, rows: Rows, context: AuditContext) -> Iterator[Step]:
        """Suggest judging the model without the service, where added people exceed a limit."""
        failed = {check.metric for check in context.checks if check.outcome is Outcome.FAIL}
        kinds = [kind for kind in KINDS if f"{kind}_added_share" in failed]
        words = [str(row.dims["word"]) for row in rows.of(WORD) if row.dims["says"] in kinds]
        if words:
            yield Step(
                AFTER_FAILURE - 1,
                f"the service adds {some(words)} to prompts, and its pictures show that: ask it to "
                "draw prompts as they are, if it can, before you judge the model behind it",
            )


WORD = "added_word"
"""Metric of the rows of words: the share of images with a revised prompt that got the word."""


def _prompt_row(member: DrawnPrompt) -> Row:
    reported = len(member.texts)
    added = {kind: member.counts(kind) for kind in KINDS}
    return Row(
        REWRITTEN,
        member.prompt.id,
        "prompt",
        member.rewritten / reported if reported else None,
        {},
        {"text": member.prompt.text, "added": member.most_common, "example": member.example},
        {"images": member.images, "told": reported, REWRITTEN: member.rewritten}
        # A prompt that has such a word itself leaves nothing open.
        | {kind: hits for kind, (hits, images) in added.items() if images or not reported},
        "" if reported else "no image has a revised prompt",
    )


def _share(row: Row | None) -> str:
    share = None if row is None else row.interval
    if share is None:
        return "unknown"
    return f"{share.estimate:.0%} [{share.low:.0%}, {share.high:.0%}]"


def _words(rewriting: Rewriting) -> Iterator[Row]:
    """Yield the words that were added, those of a kind first, in order of frequency."""
    reported, words = rewriting.told, set[str]()

    def row(word: str, kind: str, images: int, prompts: int) -> Row:
        dims, counts = {"word": word, "says": kind}, {"images": images, "prompts": prompts}
        return Row(WORD, "model", "model", images / reported, dims, {}, counts)

    for kind in KINDS:
        for word, images in most_common(rewriting.words_of(kind)):
            prompts = sum(any(word in w for w in m.added[kind]) for m in rewriting.members)
            words |= {word, *word.split()}
            yield row(word, kind, images, prompts)
    rest = [pair for pair in most_common(rewriting.words) if pair[0] not in words]
    for word, images in rest[:KEPT_WORDS]:
        yield row(word, "", images, sum(word in m.words for m in rewriting.members))


def most_common(words: Counter[str]) -> list[tuple[str, int]]:
    """Return words with their numbers of images, the most frequent first, then alphabetically."""
    telling = [(word, n) for word, n in words.items() if len(word) > SHORT and word not in JOINTS]
    return sorted(telling, key=lambda pair: (-pair[1], pair[0]))


JOINTS = frozenset((
    "and", "are", "but", "for", "from", "into", "its", "near", "not", "off", "one", "onto", "out",
    "over", "that", "the", "their", "them", "they", "this", "through", "under", "upon", "was",
    "were", "while", "who", "with", "within",
))  # fmt: skip
"""Function words, which are not shown."""
