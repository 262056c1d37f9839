"""Early stopping: images are made in rounds, and no more for a test that is decided.

Each test has its own looks. If a test's comparisons are known before it runs, each look judges the
test as the test itself will. A single prompt or stereotype stops by its own images alone, at exact
boundaries (statistics.SequentialTest). If it stopped beyond its limit and its family does not
reject it, fresh images are made once. docs/decisions/0014-group-sequential.md says why this is
valid.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pytest_t2i.audits.early_stopping import Stopping
from pytest_t2i.data import FactKind, Limit, Outcome, Request, digest
from pytest_t2i.errors import ConfigurationError, T2IError
from pytest_t2i.generation.generate import Runner
from pytest_t2i.generation.plan import ImageNeeds
from pytest_t2i.runs.earlier_looks import is_looked_at
from pytest_t2i.runs.repeats import TestedRepeats
from pytest_t2i.runs.results import Results
from pytest_t2i.runs.selection import Comparison, SelectedTest
from pytest_t2i.runs.session import Session
from pytest_t2i.statistics.group_sequential import SequentialTest
from pytest_t2i.statistics.sequences import looks
from pytest_t2i.verdicts.limit import verdict_of
from pytest_t2i.verdicts.limits_file import LimitFiles


def _limit_of(test: SelectedTest, comparison: Comparison, limits: LimitFiles) -> Limit:
    """Return the limit of a test's comparison: its own bound, else that of the limits file."""
    if comparison.bound is not None:
        return limits.with_bound(comparison.name, comparison.bound, test.file)
    return limits.look_up(comparison.name, test.file)


def undecidable(session: Session, limits: LimitFiles) -> Iterator[str]:
    """Yield a line for each test function with checks that the requested images cannot decide."""
    for cases in _functions(session.tests.values()):
        for comparison in cases[0].comparisons:
            # The test itself reports an error in its limit.
            with suppress(T2IError):
                yield from _of_comparison(session, cases, comparison, limits)


def _of_comparison(
    session: Session, cases: list[SelectedTest], comparison: Comparison, limits: LimitFiles
) -> list[str]:
    bound, level = _limit_of(cases[0], comparison, limits).bound, session.settings.confidence
    return [
        line
        for audit in session.audits
        if comparison.fixture in audit.fixtures
        for line in audit.too_few(comparison.metric, bound, cases, level)
    ]


def _functions(tests: Iterable[SelectedTest]) -> Iterable[list[SelectedTest]]:
    functions: dict[str, list[SelectedTest]] = {}
    for test in tests:
        functions.setdefault(test.function, []).append(test)
    return functions.values()


UNFORESEEN = (
    "tests whose comparison is not known before they run had all their images made at once: "
)
AGAIN = (
    "early stopping: {count} tests had looks before, with a fixed number of images or another "
    "largest number (--t2i-images): they are decided by evidence that holds at any look, which "
    "takes more images"
)
CUT = (
    "stopped at --t2i-total-images {total}: {count} tests that were open stay inconclusive, and a "
    "FAIL takes more evidence, because the images of some prompts ended the looks of others"
)
CONFIRM_MOST = 2
"""Largest number of fresh images, as a multiple of those at which the test stopped."""


@dataclass
class Rounds:
    """The rounds of a run; afterwards each test needs the images at which it stopped."""

    session: Session
    results: Results
    limits: LimitFiles
    runner: Runner
    _planned: dict[str, Stopping] = field(default_factory=dict)
    """All looks of each test that may stop early, by node id."""
    _asked: dict[Request, ImageNeeds] = field(default_factory=dict)
    """Images of earlier rounds, and what was observed on them."""

    def make(self) -> None:
        """Make rounds of images until every test is decided or has all its images."""
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
            # The first round makes images of all tests; later rounds only those of open tests.
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
        """Set the images of these tests to those of their look number ``at``."""
        for node in nodes:
            planned = self._planned[node]
            stopping = replace(planned, looks=planned.looks[: at + 1])
            self.session.tests[node] = self.session.tests[node].stopped(stopping)
        self.results.forget()

    def _round(self, message: str, nodes: Iterable[str] | None = None) -> None:
        """Make the images that these tests lack; None for all tests."""
        tests = None if nodes is None else [self.session.tests[node] for node in nodes]
        total = self.results.make_plan(tests)
        plan = total.beyond(self._asked)
        self._asked.update(total.needs)
        if message:
            self.runner.progress.say(f"{message}, {len(plan)} images asked for")
        self.runner.run(plan)
        self.results.forget()

    def _plan(self, test: SelectedTest) -> Stopping:
        """Return all planned looks of a test."""
        tested = self._tested(test)
        if tested is None:
            return Stopping(looks(test.images), test.images)
        name = FactKind.STOPPING.of(digest(self._question(test, tested)))
        stored = self.session.store.fact(name)
        if stored is None:
            self.session.store.remember(name, test.images)
        has_looks = is_looked_at(self.results, test, test.comparisons[0].metric, tested.bound)
        rule = "own" if stored in {None, test.images} and not has_looks else "again"
        return Stopping(tested.looks, test.images, tested, rule=rule)  # type: ignore[arg-type]

    def _question(self, test: SelectedTest, tested: SequentialTest) -> list[Any]:
        """Return what identifies a test over runs, whatever its number of images."""
        session = self.session
        return [
            session.components.model().fingerprint,
            repr(session.generation),
            session.settings.seed,
            session.detectors[0],
            [member.text for member in test.selection.prompts],
            [member.id for member in test.selection.stereotypes],
            [tested.bound, tested.level],
        ]

    def _tested(self, test: SelectedTest) -> SequentialTest | None:
        """Return the sequential test by which a prompt stops; None if intervals decide.

        Runs with people's labels have none: new labels may change the counts at any time.
        """
        if len(test.comparisons) != 1 or self.session.settings.labels is not None:
            return None
        (comparison,) = test.comparisons
        limit = _limit_of(test, comparison, self.limits)
        plain = SequentialTest(
            test.images,
            limit.bound,
            level=self.session.settings.confidence,
            members=len(self.results.cases(test)),
        )
        rule = self.session.fixtures[comparison.fixture].stopping_rule()
        return None if rule is None else rule.test(test.selection, comparison.metric, plain)

    def _watched(self) -> list[SelectedTest]:
        """Return the tests that may stop early, by their comparisons, metrics and images."""
        return [
            test
            for test in self.session.tests.values()
            if test.comparisons
            and all(map(self._allows, test.comparisons))
            and len(looks(test.images)) > 1
        ]

    def _is_settled(self, test: SelectedTest) -> bool:
        """Whether all comparisons of a test are settled by its own images or by their verdicts."""
        return all(self._state(test, comparison) != "open" for comparison in test.comparisons)

    def _state(self, test: SelectedTest, comparison: Comparison) -> str:
        value = self.results.fixture(comparison.fixture, test)
        measured = getattr(value, comparison.metric)
        if TestedRepeats(self.results, test).open_because(measured):
            return "hopeless"  # more pictures of a cache or of a constant seed decide nothing
        rule = self.session.fixtures[comparison.fixture].stopping_rule()
        if rule is not None and (state := rule.state(value)) is not None:
            return state
        outcome = self._outcome(test, comparison)
        return "open" if outcome is Outcome.INCONCLUSIVE else outcome.value

    def _outcome(self, test: SelectedTest, comparison: Comparison) -> Outcome:
        """Return the outcome that the test itself will find."""
        measured = getattr(self.results.fixture(comparison.fixture, test), comparison.metric)
        limit = _limit_of(test, comparison, self.limits)
        return verdict_of(measured, limit, self.session.settings.confidence).outcome

    def _allows(self, comparison: Comparison) -> bool:
        """Whether the metric has an interval that is valid at every look."""
        fixture = self.session.fixtures.get(comparison.fixture)
        rule = None if fixture is None else fixture.stopping_rule()
        return rule is not None and comparison.metric in rule.metrics(self.session.settings)

    # confirmation of tests that stopped beyond their limit

    def _confirm(self) -> None:
        """Make fresh images, once, for tests beyond their limit not rejected by their family."""
        stoppings = {
            test.node_id: stopping
            for node in self._planned
            if (test := self.session.tests[node]) and (stopping := self._confirmation(test))
        }
        if not stoppings:
            return
        before = {node: self.session.tests[node] for node in stoppings}
        for node, stopping in stoppings.items():
            self.session.tests[node] = self.session.tests[node].stopped(stopping)
        self.results.forget()
        if self._is_beyond_total():
            self.session.tests.update(before)
            self.results.forget()
            return
        self._round(f"fresh images to confirm {_tests(len(stoppings))}", stoppings)

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

    # the largest number of images of the run

    def _is_beyond_total(self) -> bool:
        total = self.session.settings.total_images
        return total is not None and len(self.results.make_plan()) > total

    def _cut(self, before: Mapping[str, SelectedTest]) -> None:
        """Go back to the previous look, and mark the open tests as cut."""
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

    # notes for the user

    def _tell_unforeseen(self) -> None:
        unforeseen = [
            test
            for test in self.session.tests.values()
            if test.selection.needs_model and test.node_id not in self._planned
        ]
        if unforeseen:
            names = dict.fromkeys(test.function.rpartition("::")[2] for test in unforeseen)
            self.runner.work.notes.append(UNFORESEEN + ", ".join(names))

    def _tell_again(self) -> None:
        again = sum(stopping.rule == "again" for stopping in self._planned.values())
        if again:
            self.runner.work.notes.append(AGAIN.format(count=again))


def _tests(count: int) -> str:
    return f"{count} test{'s' * (count != 1)}"


def stopped(tests: Iterable[SelectedTest]) -> dict[str, Any]:
    """Return the looks of tests that may stop early as plain values, by node id."""
    return {test.node_id: asdict(test.stopping) for test in tests if test.stopping is not None}


def stop_at(session: Session, stops: Mapping[str, Any]) -> None:
    """Set the images of tests to the looks that ``stopped`` returned."""
    for node, plain in stops.items():
        tested = None if plain["test"] is None else SequentialTest(**plain["test"])
        stopping = Stopping(**{**plain, "looks": tuple(plain["looks"]), "test": tested})
        session.tests[node] = session.tests[node].stopped(stopping)
