"""Measurements of rewritten prompts: how often a service added a word of some kind."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from pytest_t2i.audits.context import AskedTest, AuditContext
from pytest_t2i.audits.evidence import inverted
from pytest_t2i.data import Interval, Prompt
from pytest_t2i.errors import some
from pytest_t2i.metrics import INFO
from pytest_t2i.prompts.added_words import KINDS, Kind, added_words, is_rewritten, words_of
from pytest_t2i.statistics.shares import share_by_prompt_interval
from pytest_t2i.verdicts.measurement import Measurement

NAMED = 5
"""Largest number of words, and of prompts, that a failure text names."""
SHORT = 2
"""Largest number of letters of words that are not shown."""


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
        """Number of images for which another text was drawn."""
        return sum(is_rewritten(self.prompt.text, text) for text in self.texts)

    @cached_property
    def own(self) -> dict[Kind, frozenset[str]]:
        """Words of each kind in the prompt itself."""
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
        return Counter(word for text in self.texts for word in added_words(self.prompt.text, text))

    def counts(self, kind: Kind) -> tuple[int, int]:
        """Return how many images got a word of a kind added, and how many images count.

        No image counts where the prompt itself has such a word, because nothing was left open.
        """
        if self.own[kind]:
            return 0, 0
        return sum(map(bool, self.added[kind])), len(self.texts)

    @cached_property
    def _people(self) -> frozenset[str]:
        """The last word of a concept that is a person, as in "a photo of {a nurse}"."""
        concept = self.prompt.concept.casefold().split()
        pattern = rf"\b(?:is|of) (?:an? )?{re.escape(' '.join(concept))}\b"
        is_one = concept and re.search(pattern, self.prompt.text.casefold())
        return frozenset(concept[-1:]) if is_one else frozenset()

    def _words(self, kind: Kind, text: str) -> frozenset[str]:
        return words_of(kind, text, self._people)


@dataclass(frozen=True, repr=False)
class Rewriting:
    """The words that a service added to several prompts.

    A prompt counts once, however many images it has, because a service may rewrite it once for all.

    >>> import pytest
    >>> from pytest_t2i import Rewriting, axes, limit
    >>> @pytest.mark.t2i(axes.profession, images=1)
    ... def test_it(rewriting: Rewriting) -> None:
    ...     assert rewriting.gender_added_share <= limit("gender_added_share", 0.1)
    """

    members: tuple[DrawnPrompt, ...]
    level: float
    is_service: bool
    """Whether the model answers over HTTP, so that prompts may be rewritten without a report."""

    def __repr__(self) -> str:
        return f"<Rewriting of {len(self.members)} prompts: {self.told} images told>"

    @property
    def images(self) -> int:
        """Number of images of all prompts."""
        return sum(member.images for member in self.members)

    @property
    def told(self) -> int:
        """Number of images for which the service reports a revised prompt."""
        return sum(len(member.texts) for member in self.members)

    @property
    def rewritten_share(self) -> Measurement:
        """Share of images drawn from another text than the prompt, mean over prompts."""
        counts = [(member.rewritten, len(member.texts)) for member in self.members]
        return self._measured("rewritten_share", counts, self._most(self.words))

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

    def interval(self, counts: Sequence[tuple[int, int]], level: float) -> Interval | None:
        """Return the mean share over prompts; None where no image counts."""
        if not any(images for _, images in counts):
            return None
        return share_by_prompt_interval(*zip(*counts, strict=True), level=level)

    def _added(self, kind: Kind) -> Measurement:
        counts = [member.counts(kind) for member in self.members]
        words = self._most(self.words_of(kind))
        prompts = sorted(
            (m for m in self.members if any(m.added[kind])), key=lambda m: -m.counts(kind)[0]
        )
        ids = some([member.prompt.id for member in prompts], NAMED)
        where = (f"added to {ids}",) if ids else ()
        return self._measured(f"{kind}_added_share", counts, (*words, *where))

    def _measured(
        self, metric: str, counts: Sequence[tuple[int, int]], remarks: tuple[str, ...]
    ) -> Measurement:
        interval = self.interval(counts, self.level)

        def interval_at(level: float) -> Interval:
            return share_by_prompt_interval(*zip(*counts, strict=True), level=level)

        hits, images = (sum(column) for column in zip(*counts, strict=True))
        text = f"{hits} of {images} images"
        untold = self.images - self.told
        text += f"; {untold} more have no revised prompt" if untold else ""
        return Measurement(
            metric=INFO[metric],
            subject="model",
            interval=interval,
            evidence=inverted(interval_at, "higher") if interval else None,
            absent=self._absent(),
            remarks=(text, *remarks),
            is_of_model=True,
            despite_repeats="",
        )

    def _absent(self) -> str:
        if self.told:
            return "every prompt has such a word itself"
        return f"the service does not say what it drew (revised_prompt) for {self.images} images"

    def _most(self, words: Counter[str]) -> tuple[str, ...]:
        entries = (f"{word} ({images})" for word, images in most_common(words)[:NAMED])
        text = ", ".join(entries)
        return (f"added most: {text}",) if text else ()


def most_common(words: Counter[str]) -> list[tuple[str, int]]:
    """Return words with their numbers of images, the most frequent first, then alphabetically.

    Words of one or two letters and function words are left out, because they are not informative.
    """
    telling = [(word, n) for word, n in words.items() if len(word) > SHORT and word not in JOINTS]
    return sorted(telling, key=lambda pair: (-pair[1], pair[0]))


JOINTS = frozenset((
    "and", "are", "but", "for", "from", "into", "its", "near", "not", "off", "one", "onto", "out",
    "over", "that", "the", "their", "them", "they", "this", "through", "under", "upon", "was",
    "were", "while", "who", "with", "within",
))  # fmt: skip
"""Function words, which are not shown."""


def rewriting_of(context: AuditContext, test: AskedTest) -> Rewriting:
    """Return the rewriting of a test's prompts."""
    return rewriting_in(context, [(prompt, test) for prompt in test.selection.prompts])


def rewriting_in(context: AuditContext, asked: Sequence[tuple[Prompt, AskedTest]]) -> Rewriting:
    """Return the rewriting of prompts, each with the images that a test asks for."""
    members = tuple(_drawn(context, prompt, test.images) for prompt, test in asked)
    # A model that answers over HTTP has its endpoint in its provenance.
    is_service = "endpoint" in context.observations.components.model().provenance
    return Rewriting(members, context.settings.confidence, is_service)


def _drawn(context: AuditContext, prompt: Prompt, images: int) -> DrawnPrompt:
    seeds = context.seeds(prompt, images)
    texts = context.observations.revised_prompts(prompt, seeds)
    return DrawnPrompt(prompt, tuple(t for t in texts if t is not None), images)
