"""Groups of prompts that share a concept, crossed prompts among them, and the gap between them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_t2i import statistics
from pytest_t2i.data import Bounds, Prompt
from pytest_t2i.errors import UnknownNameError
from pytest_t2i.metrics import INFO
from pytest_t2i.verdicts.measurement import Measurement

if TYPE_CHECKING:
    from pytest_t2i.audits.parity import Samples


def concepts(prompt: Prompt) -> dict[str, str]:
    """Axis -> concept of a prompt; several of a crossed one."""
    return dict(prompt.parts) or {prompt.axis: prompt.concept}


def by(samples: Samples, axis: str) -> dict[str, Samples]:
    """The samples of each concept of an axis; prompts that do not name the axis are left out.

    Raises UnknownNameError for an axis that no prompt has.
    """
    known = [concepts(one.prompt) for one in samples]
    if not any(axis in one for one in known):
        names = {name for one in known for name in one}
        raise UnknownNameError("axis of these prompts", axis, names)
    found = dict.fromkeys(one[axis] for one in known if axis in one)
    return {
        concept: replace(
            samples,
            members=tuple(
                one for one, its in zip(samples, known, strict=True) if its.get(axis) == concept
            ),
            corrected=None,
        )
        for concept in found
    }


def demographic_parity_difference(samples: Samples, axis: str) -> Measurement:
    """Largest minus smallest share of men among the concepts of an axis."""
    groups = by(samples, axis)
    images = {
        name: [[float(sign > 0) for sign in one.signs if sign] for one in part]
        for name, part in groups.items()
    }
    interval, remarks = None, []
    if sum(any(map(len, of_group)) for of_group in images.values()) > 1:
        interval = statistics.parity_difference_interval(
            images, level=samples.level, seed=samples.seed
        )
        shares = statistics.parity_shares(images, level=samples.level, seed=samples.seed)
        ranked = sorted((one for one in shares.items() if one[1].n), key=lambda p: p[1].estimate)
        remarks = [
            f"{word} share of men: {name} {share}"
            for word, (name, share) in (("largest", ranked[-1]), ("smallest", ranked[0]))
        ]
    made = sum(len(one.seeds) for part in groups.values() for one in part)
    return Measurement(
        metric=INFO["demographic_parity_difference"],
        subject=f"model by {axis}",
        interval=interval,
        images=made,
        absent=f"fewer than two of {len(groups)} groups have a clear image among {made} images",
        remarks=tuple(remarks),
        worst_case=_worst_case(groups),
    )


def _worst_case(groups: dict[str, Samples]) -> Bounds | None:
    """Where the difference of these images lies, each undetected one a man, a woman or no one."""
    unknown = [sum(sum(one.undetected.values()) for one in part) for part in groups.values()]
    images = [sum(len(one.seeds) for one in part) for part in groups.values()]
    if not any(unknown) or len(groups) < 2:  # noqa: PLR2004 - a gap is between two
        return None
    men = [int(part.male.sum()) for part in groups.values()]
    low, high = statistics.widest_gap(
        [m / n for m, n in zip(men, images, strict=True)],
        [(m + u) / n for m, u, n in zip(men, unknown, images, strict=True)],
    )
    return Bounds(low, high, sum(unknown) / sum(images))
