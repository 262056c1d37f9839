"""The record of prompts that name a gender in run.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pytest_t2i.audits.context import AuditContext
from pytest_t2i.audits.explicit.measure import ASKED, AskedTriplet, Explicit, one_triplet
from pytest_t2i.audits.largest_samples import widest_triplets
from pytest_t2i.data import Count, ShareInterval, SignedInterval

FIXTURES = frozenset(("explicit",))


@dataclass(frozen=True, slots=True)
class AskedRecord:
    """One variant of one triplet."""

    drawn: Count
    """Number of images that show the gender that the prompt names."""
    labelled: Count
    """Number of images with a label."""


@dataclass(frozen=True, slots=True)
class ExplicitTriplet:
    """The two prompts of one triplet that name a gender."""

    triplet: str
    """The neutral prompt's id."""
    concept: str
    asked: Mapping[str, AskedRecord]
    """Variant ("feminine", "masculine") -> its counts."""


@dataclass(frozen=True, slots=True)
class ExplicitPart:
    """The part of run.json about prompts that name a gender."""

    detector: str
    images: Count
    """Number of images of each variant, the same for each triplet."""
    shares: Mapping[str, ShareInterval | None]
    """Variant -> share of its labelled images that show the named gender; None without labels."""
    gap: SignedInterval | None
    """Share of the feminine minus that of the masculine variant; None without a pair of labels."""
    triplets: tuple[ExplicitTriplet, ...]


def measured(context: AuditContext) -> ExplicitPart | None:
    """Return what every triplet that tests ask for shows; None without such a test."""
    members, alike = widest_triplets(context, FIXTURES, one_triplet)
    if not members:
        return None
    settings = context.settings
    whole = Explicit(alike, settings.confidence, settings.words)
    return ExplicitPart(
        context.detectors[0],
        sum(member.images for member in alike),
        {variant: whole.share(variant) for variant in ASKED},
        whole.gap,
        tuple(map(_triplet, members)),
    )


def _triplet(member: AskedTriplet) -> ExplicitTriplet:
    asked = {
        variant: AskedRecord(int(np.nansum(drawn)), int(np.sum(~np.isnan(drawn))))
        for variant, drawn in member.drawn.items()
    }
    return ExplicitTriplet(member.triplet.id, member.triplet.neutral.name, asked)
