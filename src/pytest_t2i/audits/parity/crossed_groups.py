"""Groups of prompts that share a concept, crossed prompts included, and the gap between groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TypeVar

from pytest_t2i.audits.detected import FEMALE, MALE, DetectedPrompt, DetectedPrompts
from pytest_t2i.audits.evidence import ALTERNATIVES, SIDES
from pytest_t2i.data import Bounds, Evidence, Prompt
from pytest_t2i.errors import UnknownNameError
from pytest_t2i.metrics import INFO
from pytest_t2i.statistics.gaps import (
    parity_difference_interval,
    parity_difference_p_value,
    parity_shares,
    widest_gap,
)
from pytest_t2i.statistics.undetected import worst_case_groups
from pytest_t2i.verdicts.measurement import Measurement

Member = TypeVar("Member", bound=DetectedPrompt)


def concepts(prompt: Prompt) -> dict[str, str]:
    """Return the concept of a prompt by axis; a crossed prompt has several."""
    return dict(prompt.parts) or {prompt.axis: prompt.concept}


def by(members: tuple[Member, ...], axis: str) -> dict[str, tuple[Member, ...]]:
    """Return the prompts of each concept of an axis, without those that do not name the axis.

    Raises UnknownNameError for an axis that no prompt has.
    """
    named = [concepts(sample.prompt).get(axis) for sample in members]
    if not any(named):
        names = {name for sample in members for name in concepts(sample.prompt)}
        raise UnknownNameError("axis of these prompts", axis, names)
    return {
        concept: tuple(s for s, its in zip(members, named, strict=True) if its == concept)
        for concept in dict.fromkeys(filter(None, named))
    }


def demographic_parity_difference(
    samples: DetectedPrompts, axis: str, label: str = ""
) -> Measurement:
    """Measure the largest minus the smallest share of a label (default: men) among concepts."""
    groups = by(samples.members, axis)
    counted = _checked_label(samples, label)
    images = {
        name: [
            [float(d.label == counted) for d in entry.detections if d.label is not None]
            for entry in part
        ]
        for name, part in groups.items()
    }
    may_be = dict(zip((entry.prompt.id for entry in samples), samples.unknown, strict=True))
    unknown = {
        name: [int(may_be[entry.prompt.id]) for entry in part] for name, part in groups.items()
    }
    interval, remarks = None, []
    if sum(any(map(len, of_group)) for of_group in images.values()) > 1:
        interval = parity_difference_interval(
            images, level=samples.level, seed=samples.seed, words=samples.words
        )
        shares = parity_shares(images, level=samples.level, seed=samples.seed)
        ranked = sorted(
            (entry for entry in shares.items() if entry[1].n), key=lambda p: p[1].estimate
        )
        remarks = [
            f"{word} share of {_told(counted)}: {name} {share}"
            for word, (name, share) in (("largest", ranked[-1]), ("smallest", ranked[0]))
        ]
    made = sum(len(sample.seeds) for part in groups.values() for sample in part)
    return Measurement(
        metric=INFO["demographic_parity_difference"],
        subject=f"model by {axis}" if counted == MALE else f"model by {axis}, {counted}",
        is_of_model=True,
        interval=interval,
        images=made,
        evidence=partial(_evidence, samples, images, unknown),
        absent=f"fewer than two of {len(groups)} groups have a clear image among {made} images",
        remarks=tuple(remarks),
        worst_case=_worst_case(groups, counted),
    )


Images = dict[str, list[list[float]]]


def _evidence(
    samples: DetectedPrompts,
    images: Images,
    unknown: dict[str, list[int]],
    bound: float,
    level: float,
) -> Evidence:
    """Return evidence that holds in the worst case, and that of the labelled images alone."""
    del level

    def p_values(beyond: Images, within: Images) -> tuple[float, float]:
        return tuple(  # type: ignore[return-value]
            parity_difference_p_value(
                of_side, bound, alternative=alternative, words=samples.words, seed=samples.seed
            )
            for of_side, alternative in zip((beyond, within), ALTERNATIVES, strict=True)
        )

    if not any(map(any, unknown.values())):
        return Evidence(*p_values(images, images))
    worst = p_values(*(worst_case_groups(images, unknown, side) for side in SIDES))
    return Evidence(*worst, labelled=p_values(images, images))


def _checked_label(samples: DetectedPrompts, label: str) -> str:
    """Return the label to count, by default "male".

    Raises UnknownNameError for a label that the detector never gives.
    """
    known = samples.members[0].groups if samples.members else {MALE: 0}
    if (label or MALE) not in known:
        remedy = f"Name one: demographic_parity_difference(axis, {next(iter(known))!r})"
        raise UnknownNameError("label of the detector", label or MALE, known, remedy)
    return label or MALE


def _told(label: str) -> str:
    return {MALE: "men", FEMALE: "women"}.get(label, label)


def _worst_case(groups: Mapping[str, Sequence[DetectedPrompt]], label: str) -> Bounds | None:
    """Return the bounds of the difference whatever the undetected images show; None without any."""
    unknown = [sum(s.undetected.total() for s in part) for part in groups.values()]
    images = [sum(len(s.seeds) for s in part) for part in groups.values()]
    if not any(unknown) or len(groups) < 2:  # noqa: PLR2004 - a gap is between two
        return None
    men = [sum(s.counts[label] for s in part) for part in groups.values()]
    low, high = widest_gap(
        [m / n for m, n in zip(men, images, strict=True)],
        [(m + u) / n for m, u, n in zip(men, unknown, images, strict=True)],
    )
    return Bounds(low, high, sum(unknown) / sum(images))
