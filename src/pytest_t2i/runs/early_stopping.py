"""Early stopping: images in rounds, and no more of them for a test that is decided.

Each test has looks of its own. Where its comparisons are known before it runs it is judged at each
look as it will judge itself. A single prompt or stereotype stops by its own images alone, at exact
boundaries (statistics.SequentialTest); what stopped beyond its limit and is not rejected by its
family has fresh images once. docs/decisions/0014-group-sequential.md says why this is valid.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pytest_t2i.audits.early_stopping import Stopping
from pytest_t2i.data import Outcome, Request, digest
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.generation.generate import Runner
from pytest_t2i.generation.plan import ImageNeeds
from pytest_t2i.runs.results import Results
from pytest_t2i.runs.selection import Comparison, SelectedTest
from pytest_t2i.runs.session import Session
from pytest_t2i.runs.undecidable import limit_of
from pytest_t2i.statistics import SequentialTest, looks
from pytest_t2i.verdicts.limit import verdict_of
from pytest_t2i.verdicts.limits_file import LimitFiles

UNFORESEEN = (
    "tests whose comparison is not known before they run had all their images made at once: "
)
AGAIN = (
    "early stopping: {count} tests were looked at before with another number of images at most "
    "(--t2i-images): they are decided by evidence that holds at any look, which takes more images"
)
CUT = (
    "stopped at --t2i-total-images {total}: {count} tests that were open stay inconclusive, and "
    "FAIL asks for more evidence, as one prompt's images ended another's"
)
CONFIRM_MOST = 2
"""Fresh images are at most so many times those that it stopped at."""


@dataclass
class Rounds:
    """Makes what the tests of a run need to be decided; afterwards they ask for that much."""

    session: Session
    results: Results
    limits: LimitFiles
    runner: Runner
    _planned: dict[str, Stopping] = field(default_factory=dict)
    """All looks of each test that may stop early."""
    _asked: dict[Request, ImageNeeds] = field(default_factory=dict)
    """What was made and looked at in the rounds before."""

    def make(self) -> None:
        """Round by round, until every test is decided or has all its images."""
        work = self.runner.work
        work.most = len(self.results.make_plan())
        self._planned = {test.node_id: self._plan(test) for test in self._watched()}
        self._tell_unforeseen()
        self._tell_again()
        at, open_ = 0, list(self._planned)
        while open_:
            before = {node: self.session.tests[node] for node in open_}
            self._look(open_, at)
            if self._is_beyond_total():
                self._cut(before)
                return
            # All that the run asks for at first; then what is decided has nothing left to make.
            self._round(f"round {at + 1}: {_tests(len(open_))} inconclusive", open_ if at else None)
            at += 1
            open_ = [
                node
                for node in open_
                if at < len(self._planned[node].looks)
                and not self._is_settled(self.session.tests[node])
            ]
        if not self._planned:
            self._round("")
        self._confirm()

    def _look(self, nodes: Iterable[str], at: int) -> None:
        """Have tests ask for the images of a look."""
        for node in nodes:
            planned = self._planned[node]
            stopping = replace(planned, looks=planned.looks[: at + 1])
            self.session.tests[node] = self.session.tests[node].stopped(stopping)
        self.results.forget()

    def _round(self, told: str, nodes: Iterable[str] | None = None) -> None:
        """Have images made: those of a few tests; None: all."""
        tests = None if nodes is None else [self.session.tests[node] for node in nodes]
        asked = self.results.make_plan(tests)
        plan = asked.beyond(self._asked)
        self._asked.update(asked.needs)
        if told:
            self.runner.progress.say(f"{told}, {len(plan)} images asked for")
        self.runner.run(plan)
        self.results.forget()

    def _plan(self, test: SelectedTest) -> Stopping:
        """All looks of a test."""
        tested = self._tested(test)
        if tested is None:
            return Stopping(looks(test.images), test.images)
        name = "stopping:" + digest(self._question(test, tested))
        known = self.session.store.fact(name)
        if known is None:
            self.session.store.remember(name, test.images)
        rule = "own" if known in {None, test.images} else "again"
        return Stopping(tested.looks, test.images, tested, rule=rule)  # type: ignore[arg-type]

    def _question(self, test: SelectedTest, tested: SequentialTest) -> list[Any]:
        """What is asked of the model, whatever the number of images."""
        session = self.session
        return [
            session.components.model().fingerprint,
            repr(session.generation),
            session.settings.seed,
            session.detectors[0],
            [one.text for one in test.selection.prompts],
            [one.id for one in test.selection.stereotypes],
            [tested.bound, tested.level],
        ]

    def _tested(self, test: SelectedTest) -> SequentialTest | None:
        """The test by which a prompt stops for itself; None where intervals tell.

        People's labels change what its images count for, whenever they come.
        """
        if len(test.comparisons) != 1 or self.session.settings.labels is not None:
            return None
        (comparison,) = test.comparisons
        limit = limit_of(test, comparison, self.limits)
        plain = SequentialTest(
            test.images,
            limit.bound,
            level=self.session.settings.confidence,
            members=len(self.results.cases(test)),
        )
        fixture = self.session.fixtures[comparison.fixture]
        return fixture.tested(test.selection, comparison.metric, plain)

    def _watched(self) -> list[SelectedTest]:
        """Tests that may be stopped early: the others' comparisons or intervals do not allow it."""
        return [
            test
            for test in self.session.tests.values()
            if test.comparisons
            and all(map(self._allows, test.comparisons))
            and len(looks(test.images)) > 1
        ]

    def _is_settled(self, test: SelectedTest) -> bool:
        """Whether all comparisons of a test are: by its own images, else by their verdicts."""
        return all(self._state(test, comparison) != "open" for comparison in test.comparisons)

    def _state(self, test: SelectedTest, comparison: Comparison) -> str:
        value = self.results.fixture(comparison.fixture, test)
        state = self.session.fixtures[comparison.fixture].settled(value)
        if state is not None:
            return state
        outcome = self._outcome(test, comparison)
        return "open" if outcome is Outcome.INCONCLUSIVE else outcome.value

    def _outcome(self, test: SelectedTest, comparison: Comparison) -> Outcome:
        """As the test itself will find it."""
        measured = getattr(self.results.fixture(comparison.fixture, test), comparison.metric)
        limit = limit_of(test, comparison, self.limits)
        return verdict_of(measured, limit, self.session.settings.confidence).outcome

    def _allows(self, comparison: Comparison) -> bool:
        """Whether there is an interval that allows for looking again and again."""
        fixture = self.session.fixtures.get(comparison.fixture)
        return fixture is not None and comparison.metric in fixture.watched(self.session.settings)

    # what stopped beyond its limit, and is not rejected

    def _confirm(self) -> None:
        """Have fresh images made, once, of what its family does not reject."""
        asked = {
            test.node_id: stopping
            for node in self._planned
            if (test := self.session.tests[node]) and (stopping := self._confirmation(test))
        }
        if not asked:
            return
        before = {node: self.session.tests[node] for node in asked}
        for node, stopping in asked.items():
            self.session.tests[node] = self.session.tests[node].stopped(stopping)
        self.results.forget()
        if self._is_beyond_total():
            self.session.tests.update(before)
            self.results.forget()
            return
        self._round(f"fresh images to confirm {_tests(len(asked))}", asked)

    def _confirmation(self, test: SelectedTest) -> Stopping | None:
        stop = test.stopping
        if stop is None or stop.test is None or stop.rule != "own":
            return None
        (comparison,) = test.comparisons
        if self._state(test, comparison) != "beyond":
            return None
        if self._outcome(test, comparison) is not Outcome.INCONCLUSIVE:
            return None
        fresh = min(CONFIRM_MOST * stop.looks[-1], stop.most - stop.looks[-1])
        return replace(stop, fresh=fresh) if fresh > 0 else None

    # a number of images for the whole run

    def _is_beyond_total(self) -> bool:
        total = self.session.settings.total_images
        return total is not None and len(self.results.make_plan()) > total

    def _cut(self, before: Mapping[str, SelectedTest]) -> None:
        """Go back to the look before, and mark what was open."""
        total = self.session.settings.total_images
        stops = {node: test.stopping for node, test in before.items() if test.stopping}
        if len(stops) < len(before):
            raise ConfigurationError(
                f"--t2i-total-images: {total} images are fewer than the first look takes "
                f"({len(self.results.make_plan())}): give more, or select fewer tests"
            )
        for node, stop in stops.items():
            self.session.tests[node] = before[node].stopped(replace(stop, rule="cut"))
        self.results.forget()
        self.runner.work.notes.append(CUT.format(total=total, count=len(before)))

    # what is told

    def _tell_unforeseen(self) -> None:
        others = [
            test
            for test in self.session.tests.values()
            if test.selection.needs_model and test.node_id not in self._planned
        ]
        if others:
            names = dict.fromkeys(test.function.rpartition("::")[2] for test in others)
            self.runner.work.notes.append(UNFORESEEN + ", ".join(names))

    def _tell_again(self) -> None:
        again = sum(one.rule == "again" for one in self._planned.values())
        if again:
            self.runner.work.notes.append(AGAIN.format(count=again))


def _tests(count: int) -> str:
    return f"{count} test{'s' * (count != 1)}"


def stopped(tests: Iterable[SelectedTest]) -> dict[str, Any]:
    """How the tests that may have been stopped early were, as plain values."""
    return {test.node_id: asdict(test.stopping) for test in tests if test.stopping is not None}


def stop_at(session: Session, stops: Mapping[str, Any]) -> None:
    """Let tests ask for so many images; as given by ``stopped``."""
    for node, plain in stops.items():
        tested = None if plain["test"] is None else SequentialTest(**plain["test"])
        stopping = Stopping(**{**plain, "looks": tuple(plain["looks"]), "test": tested})
        session.tests[node] = session.tests[node].stopped(stopping)
