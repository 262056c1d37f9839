"""What a run says of its judges: version, rubric, and how often they agree with themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_t2i.adapters.detectors.judging import Judge
from pytest_t2i.adapters.detectors.rubrics import JUDGE
from pytest_t2i.generation.plan import DetectorRef
from pytest_t2i.runs.session.session import Session

LEAST_AGREEMENT = 0.95
"""Share of equal answers below which the report says that the judge is unsteady."""


def judges_of(session: Session) -> dict[str, Judge]:
    """Return the run's detectors that ask a judge, by name; other detectors are not loaded."""
    parts = {
        name: session.components.detector(DetectorRef(name))
        for name in session.detectors
        if name.startswith(JUDGE)
    }
    loaded = {name: part.get() for name, part in parts.items()}
    return {name: judge for name, judge in loaded.items() if isinstance(judge, Judge)}


def judge_facts(session: Session) -> dict[str, dict[str, Any]]:
    """Return what the record holds of each judge; {} for a run without."""
    return {name: recorded_judge(judge) for name, judge in judges_of(session).items()}


def recorded_judge(judge: Judge) -> dict[str, Any]:
    equal, twice = judge.agreement or (None, None)
    return {**judge.provenance, "twice": twice, "equal": equal}


def judge_notes(facts: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield the notes on judges that gave other answers when they were asked again."""
    from pytest_t2i.statistics.shares import share_interval

    for name, of_judge in facts.items():
        twice, equal = of_judge["twice"], of_judge["equal"]
        if not twice:
            continue
        share = share_interval(equal, twice, 0.95)
        below = (
            f", below {LEAST_AGREEMENT:g}: its labels are not the same from one time to the next"
            if share.estimate < LEAST_AGREEMENT
            else ""
        )
        yield (
            f"{name} judged {twice} pictures twice and gave {equal} of them the same answer: "
            f"{share.estimate:.3f} [{share.low:.3f}, {share.high:.3f}]{below}"
        )
