"""What the audit records: rows of every measurement, and albums of pictures before and after."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_t2i import AuditContext, Interval, Row, metrics, row_of_measurement, statistics
from pytest_t2i import sections as blocks

from pytest_t2i_mitigation.mitigated import known, spaces
from pytest_t2i_mitigation.mitigated.judges import Judge, tally
from pytest_t2i_mitigation.mitigated.measure import Mitigated, mitigated_of
from pytest_t2i_mitigation.mitigated.needs import asks
from pytest_t2i_mitigation.mitigated.pictures import Pictures

KEPT_PAIRS = 6
"""The largest number of pairs of pictures that are kept for each prompt."""


def measured(context: AuditContext) -> Iterator[Row | blocks.Block]:
    """Yield what the test with most pictures shows; nothing without a test or mitigation."""
    asking = [test for test in context.tests if asks(test)]
    if not asking or context.mitigation is None:
        return
    widest = max(asking, key=lambda test: test.images * len(test.selection.triplets))
    mitigated = mitigated_of(context, widest)
    facts = {"mitigation": mitigated.name, "stage": context.mitigation.stage}
    yield Row(known.PASSES.name, "model", "model", context.passes, {}, facts)
    for judge in dict.fromkeys(mitigated.judges):
        # What a judge says: how far the score falls, and the scores before and after.
        yield row_of_measurement(mitigated.reduction_by(judge), "model", {"judge": judge.name})
        for side, counts in zip(known.BEFORE_AFTER, mitigated.counts(judge), strict=True):
            score = _score(mitigated, counts)
            absent = "" if score else "no prompt has a clear picture"
            yield Row(
                "model_bias_score", judge.name, "detector", score, {"side": side}, absent=absent
            )
    for loss in mitigated.losses:
        facts = {"remarks": "; ".join(loss.remarks)} if loss.remarks else {}
        yield row_of_measurement(loss, "model", facts=facts)
    yield from _distances(mitigated)
    yield from _sets(mitigated)
    for member in mitigated.members:
        yield from _prompt(member, mitigated.judges[0])


def _score(mitigated: Mitigated, counts: Any) -> Interval | None:
    settings = mitigated.context.settings
    try:
        return statistics.model_bias_interval(*counts.T, level=mitigated.level, seed=settings.seed)
    except ValueError:  # no prompt has a clear picture
        return None


def _distances(mitigated: Mitigated) -> Iterator[Row]:
    """Yield how near pictures are to both genders in each space (thesis eq. 4.26, 4.27)."""
    for space in mitigated.spaces:
        pairs = spaces.gaps(mitigated.members, space)
        if pairs is None:
            continue
        for side, gaps in zip(known.BEFORE_AFTER, (pairs.plain, pairs.mitigated), strict=True):
            distance = spaces.distance(gaps, mitigated.level)
            yield Row(known.DISTANCE, "model", "model", distance, {"space": space, "side": side})
        score = mitigated.bias_mitigation_score(space)
        yield row_of_measurement(score, "model", {"space": space})


def _sets(mitigated: Mitigated) -> Iterator[Row]:
    """Yield how far the mitigated pictures lie from the plain ones, as sets."""
    facts = {"encoder": mitigated.context.encoder}
    counts = {"images": sum(len(member.rows[0]) for member in mitigated.members)}
    found = {
        known.FRECHET: spaces.frechet(mitigated.members),
        known.KERNEL: spaces.kernel(mitigated.members, mitigated.level),
    }
    for metric, value in found.items():
        absent = "" if value is not None else "too few pictures"
        yield Row(metric, "model", "model", value, {}, facts, counts, absent)


def _prompt(member: Pictures, judge: Judge) -> Iterator[Row | blocks.Block]:
    """Yield the counts of a prompt before and after by the run's detector, and its pictures."""
    neutral = member.triplet.neutral
    labels = member.labels(judge)
    counts_of_sides = []
    for side, said in zip(known.BEFORE_AFTER, labels, strict=True):
        male, female = tally(said)
        score = metrics.prompt_bias_score(male, female)
        counts = {"male": male, "female": female, "images": len(member.seeds)}
        absent = "" if score is not None else "no clear picture"
        dims = {"side": side}
        yield Row("prompt_bias_score", neutral.id, "prompt", score, dims, {}, counts, absent)
        counts_of_sides.append(f"{male} male and {female} female {side}")
    files = [seen.images(neutral, member.seeds) for seen in (member.plain, member.mitigated)]
    seeds = member.seeds[:KEPT_PAIRS]
    pictures = [
        [
            _picture(one, label, f"seed {seed}, {side}")
            for seed, one, label in zip(seeds, of_side, said, strict=False)
        ]
        for side, of_side, said in zip(known.BEFORE_AFTER, files, labels, strict=True)
    ]
    yield blocks.Album.side_by_side(
        f"{neutral.id}, before and after", pictures, note=", ".join(counts_of_sides),
        text=neutral.text, left_out=2 * (len(member.seeds) - len(seeds)),
    )  # fmt: skip


def _picture(one: Any, label: str | None, line: str) -> blocks.Picture:
    file = None if one.file is None else str(one.file)
    kind = label if label in ("male", "female") else "undetected"
    return blocks.Picture(file, label or "undetected", (line,), kind=kind)
