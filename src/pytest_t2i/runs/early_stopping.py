"""Early stopping: images in rounds, and no more of them for a test that is decided.

Each test has looks of its own (statistics.looks). Where its comparisons are known before it runs
it is judged at each look exactly as it will judge itself; once all its comparisons are decided it
stops there. docs/decisions/0006-early-stopping.md says why this is valid.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_t2i.data import Outcome
from pytest_t2i.generation.generate import Runner
from pytest_t2i.runs.results import Results
from pytest_t2i.runs.selection import Comparison, SelectedTest
from pytest_t2i.runs.session import Session
from pytest_t2i.runs.undecidable import limit_of
from pytest_t2i.statistics import looks
from pytest_t2i.verdicts.limit import verdict_of
from pytest_t2i.verdicts.limits_file import LimitFiles
from pytest_t2i.verdicts.measurement import Measurement

UNFORESEEN = (
    "tests whose comparison is not known before they run had all their images made at once: "
)


@dataclass
class Rounds:
    """Makes what the tests of a run need to be decided; afterwards they ask for that much."""

    session: Session
    results: Results
    limits: LimitFiles
    runner: Runner

    def make(self) -> None:
        """Round by round, until every test is decided or has all its images."""
        session, work = self.session, self.runner.work
        work.most = len(self.results.make_plan())
        planned = {test.node_id: looks(test.images) for test in self._watched()}
        self._tell_unforeseen(planned)
        inconclusive, at = dict(planned), 0
        while True:
            stop_at(
                session,
                {node: [of[min(at, len(of) - 1)], of[-1]] for node, of in inconclusive.items()},
            )
            self._round(at, len(inconclusive))
            at += 1
            inconclusive = {
                node: of
                for node, of in inconclusive.items()
                if at < len(of) and not self._is_decided(session.tests[node])
            }
            if not inconclusive:
                return

    def _round(self, at: int, inconclusive: int) -> None:
        plan = self.results.make_plan()
        if inconclusive:
            tests = f"{inconclusive} tests inconclusive"
            self.runner.progress.say(f"t2i: round {at + 1}: {tests}, {len(plan)} images asked for")
        self.runner.run(plan)
        self.results.forget()

    def _watched(self) -> list[SelectedTest]:
        """Tests that may be stopped early: the others' comparisons or intervals do not allow it."""
        return [
            test
            for test in self.session.tests.values()
            if test.comparisons
            and all(map(self._allows, test.comparisons))
            and len(looks(test.images)) > 1
        ]

    def _tell_unforeseen(self, watched: Mapping[str, Any]) -> None:
        others = [
            test
            for test in self.session.tests.values()
            if test.selection.needs_model and test.node_id not in watched
        ]
        if others:
            names = dict.fromkeys(test.function.rpartition("::")[2] for test in others)
            self.runner.work.notes.append(UNFORESEEN + ", ".join(names))

    def _is_decided(self, test: SelectedTest) -> bool:
        """Whether all comparisons of a test are, as the test itself will find them."""
        level = self.session.settings.confidence
        return all(
            verdict_of(self._measured(test, c), limit_of(test, c, self.limits), level).outcome
            is not Outcome.INCONCLUSIVE
            for c in test.comparisons
        )

    def _measured(self, test: SelectedTest, comparison: Comparison) -> Measurement:
        value = self.results.fixture(comparison.fixture, test)
        measurement: Measurement = getattr(value, comparison.metric)
        return measurement

    def _allows(self, comparison: Comparison) -> bool:
        """Whether there is an interval that allows for looking again and again."""
        fixture = self.session.fixtures.get(comparison.fixture)
        return fixture is not None and comparison.metric in fixture.watched(self.session.settings)


def stopped(tests: Iterable[SelectedTest]) -> dict[str, list[int]]:
    """Tests that may have been stopped early: images per prompt that they had, and at most."""
    return {test.node_id: [test.images, test.planned] for test in tests if test.sequential}


def stop_at(session: Session, images: Mapping[str, Any]) -> None:
    """Let tests ask for so many images; as given by ``stopped``."""
    for node, (count, planned) in images.items():
        session.tests[node] = session.tests[node].stopped(count, planned)
