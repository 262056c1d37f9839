"""How a comparison with a limit or a baseline reaches a verdict: void, level, evidence, remark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from pytest_t2i.data import Outcome, Verdict
from pytest_t2i.verdicts.caveats.caveat import Caveat
from pytest_t2i.verdicts.caveats.seams import (
    Levels,
    Question,
    levels_of,
    remarks_on,
    why_void,
)
from pytest_t2i.verdicts.measurement import Change, Measurement


class Found(NamedTuple):
    """What the evidence says at a level."""

    verdict: Verdict
    change: Change | None = None
    """The change against a recorded run; None for a limit."""


class Reached(NamedTuple):
    """A verdict with what qualifies it."""

    question: Question
    """What was judged; without evidence where a caveat leaves none."""
    verdict: Verdict
    caveats: tuple[Caveat, ...]
    change: Change | None = None


def reach(
    question: Question,
    caveats: tuple[object, ...],
    decide: Callable[[Measurement, float], Found],
) -> Reached:
    """Return the verdict that ``decide`` reaches, with what the caveats make of it."""
    if because := why_void(question, caveats):
        without = question.measurement.without_evidence(because)
        question = replace(question, measurement=without)
    found, held_back = at_levels(
        levels_of(question, caveats), partial(decide, question.measurement)
    )
    verdict = found.verdict
    if held_back:
        text = f"{held_back}; {verdict.message}" if verdict.message else held_back
        open_ = verdict.outcome is Outcome.FAIL
        outcome = Outcome.INCONCLUSIVE if open_ else verdict.outcome
        verdict = replace(verdict, outcome=outcome, message=text)
    remarks = remarks_on(question, verdict, caveats)
    if any(remark.lacks for remark in remarks):
        verdict = replace(verdict, images_to_decide=None)
    return Reached(question, verdict, remarks, found.change)


def at_levels(levels: Levels, decide: Callable[[float], Found]) -> tuple[Found, str]:
    """Return what is decided, and why it does not fail although it would at its own level."""
    verdict = decide(levels.own)
    if levels.to_fail is None or verdict.verdict.outcome is not Outcome.FAIL:
        return verdict, ""
    if levels.to_fail >= 1.0:
        return verdict, levels.held
    strict = decide(max(levels.to_fail, levels.own))
    return strict, "" if strict.verdict.outcome is Outcome.FAIL else levels.held
