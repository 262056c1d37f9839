"""Early stopping: images in rounds, and no more of them for a test that is decided.

Each test has looks of its own (statistics.looks). Where its comparisons are known before it runs
it is judged at each look exactly as it will judge itself; once all its comparisons are decided it
stops there. docs/decisions/0006-early-stopping.md says why this is valid.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_t2i.data import Outcome
from pytest_t2i.generation.generate import Runner
from pytest_t2i.generation.plan import Plan
from pytest_t2i.statistics import looks
from pytest_t2i.verdicts.limits import verdict_of
from pytest_t2i.verdicts.measurement import Measurement

if TYPE_CHECKING:
    from pytest_t2i.runs.session import Session

WATCHED = {
    ("sample", "prompt_bias_score"),
    ("samples", "model_bias_score"),
    ("stereotype", "stereotype_score"),
}
"""Fixture and metric for which there is an interval that allows for looking again and again."""
UNFORESEEN = (
    "tests whose comparison is not known before they run had all their images made at once: "
)


def make_in_rounds(session: Session, runner: Runner) -> Plan:
    """Make what the tests need to be decided; afterwards they ask for that much.

    Returns the plan of all images that were needed.
    """
    most = session.make_plan()
    runner.work.most = len(most)
    open_tests = {node: looks(session.count(session.asked[node])) for node in _watched(session)}
    _tell_unforeseen(session, runner, open_tests)
    at = 0
    while True:
        for node, planned in open_tests.items():
            stop_at(session, {node: [planned[min(at, len(planned) - 1)], planned[-1]]})
        plan = session.make_plan()
        if open_tests:
            tests = f"{len(open_tests)} tests undecided"
            runner.progress.say(f"t2i: round {at + 1}: {tests}, {len(plan)} images asked for")
        runner.run(plan)
        at += 1
        open_tests = {
            node: planned
            for node, planned in open_tests.items()
            if at < len(planned) and not _decided(session, node)
        }
        if not open_tests:
            return plan


def stopped(session: Session) -> dict[str, list[int]]:
    """Tests that may have been stopped early: images per prompt that they had, and at most."""
    return {
        node: [session.count(ask), ask.most]
        for node, ask in session.asked.items()
        if ask.most is not None
    }


def stop_at(session: Session, images: Mapping[str, Any]) -> None:
    """Let tests ask for so many images; as given by ``stopped``."""
    for node, (count, most) in images.items():
        session.asked[node] = replace(session.asked[node], images=count, most=most)


def _watched(session: Session) -> list[str]:
    """Tests that may be stopped early: the others' comparisons or intervals do not allow it."""
    return [
        node
        for node, ask in session.asked.items()
        if session.comparisons.get(node)
        and all(_allows(session, one.fixture, one.metric) for one in session.comparisons[node])
        and len(looks(session.count(ask))) > 1
    ]


def _allows(session: Session, fixture: str, metric: str) -> bool:
    # The paper's score rises as images get fewer, and labels correct all images of a run.
    s = session.settings
    fixed = fixture == "samples" and (s.estimator == "paper" or s.labels is not None)
    return (fixture, metric) in WATCHED and not fixed


def _tell_unforeseen(session: Session, runner: Runner, watched: Mapping[str, Any]) -> None:
    others = [n for n, ask in session.asked.items() if ask.needs_model and n not in watched]
    if others:
        names = dict.fromkeys(session.families[node].rpartition("::")[2] for node in others)
        runner.work.notes.append(UNFORESEEN + ", ".join(names))


def _decided(session: Session, node: str) -> bool:
    """Whether all comparisons of a test are, as the test itself will find them."""
    for one in session.comparisons[node]:
        measured = _measured(session, node, one.fixture, one.metric)
        found = verdict_of(
            abs(measured) if one.absolute else measured,
            session.limit(node, one),
            one.operator,
            session.settings.confidence,
        )
        if found.outcome is Outcome.INCONCLUSIVE:
            return False
    return True


def _measured(session: Session, node: str, fixture: str, metric: str) -> Measurement:
    ask = session.asked[node]
    measured: Any
    if fixture == "samples":
        measured = session.samples(ask)
    elif fixture == "sample":
        measured = session.sample(ask.prompts[0], ask, session.family(node))
    else:
        measured = session.association(ask.stereotypes[0], ask, session.family(node))
    found: Measurement = getattr(measured, metric)
    return found
