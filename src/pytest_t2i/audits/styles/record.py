"""The record of styles in run.json."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_t2i.audits.context import AuditContext
from pytest_t2i.audits.detected import DetectedPrompt
from pytest_t2i.audits.largest_samples import widest_of
from pytest_t2i.audits.styles.measure import Styles, of_pairs, styled
from pytest_t2i.data import Count, SignedInterval


@dataclass(frozen=True, slots=True)
class ShownRecord:
    """Counts of several prompts together."""

    men: Count
    clear: Count
    """Number of images with a gender."""
    images: Count


@dataclass(frozen=True, slots=True)
class StyleRecord:
    """One style and the plain prompts."""

    style: str
    prompts: Count
    with_style: ShownRecord
    plain: ShownRecord
    """The same prompts without the style."""
    gap: SignedInterval | None
    """Share of men with the style minus without it; None without a clear image."""


@dataclass(frozen=True, slots=True)
class StylesPart:
    """The part of run.json that styles write."""

    styles: tuple[StyleRecord, ...]
    """The styles, in the order of the tests."""


def measured(context: AuditContext) -> StylesPart | None:
    """Return every style that tests ask for; None without such a test."""
    asking = [test for test in context.tests if "styles" in test.selection.fixtures]
    pairs = widest_of((prompt, test) for test in asking for prompt in test.selection.prompts)
    if not pairs:
        return None
    every = of_pairs(context, [(styled([prompt])[0], test) for prompt, test in pairs])
    return StylesPart(tuple(_record(every, style) for style in every.members))


def _record(every: Styles, style: str) -> StyleRecord:
    pairs = every.members[style]
    with_style, plain = (_shown([pair[k] for pair in pairs]) for k in (0, 1))
    return StyleRecord(style, len(pairs), with_style, plain, every.interval(style))


def _shown(samples: Sequence[DetectedPrompt]) -> ShownRecord:
    men, clear = sum(one.male for one in samples), sum(one.clear for one in samples)
    return ShownRecord(men, clear, sum(len(one.seeds) for one in samples))
