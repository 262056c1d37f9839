"""Early stopping: images are made in rounds, and no more for a test that is decided.

A test that does nothing but compare a single prompt or stereotype with its limit stops by its own
images alone, at exact boundaries (``SequentialTest``); any other test takes all its images.
docs/decisions/0014-group-sequential.md says why this is valid.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pytest_t2i.audits.engine.early_stopping import Stopping, StoppingRule
from pytest_t2i.data import FactKind, Limit, Request, digest
from pytest_t2i.errors import ConfigurationError, T2IError
from pytest_t2i.generation.generate import Runner
from pytest_t2i.generation.plan import ImageNeeds
from pytest_t2i.runs.session.earlier_looks import fresh_seed, judged_with
from pytest_t2i.runs.session.results import Results
from pytest_t2i.runs.session.running_test import KnownOfTest
from pytest_t2i.runs.session.selection import Comparison, SelectedTest
from pytest_t2i.runs.session.session import Session
from pytest_t2i.sections.words import several
from pytest_t2i.statistics.group_sequential import SequentialTest
from pytest_t2i.verdicts.caveats.seams import Question, why_void
from pytest_t2i.verdicts.limits_file import LimitFiles


def _limit_of(test: SelectedTest, comparison: Comparison, limits: LimitFiles) -> Limit:
    """Return the limit of a test's comparison: its own bound, else that of the limits file."""
    if comparison.bound is not None:
        return limits.with_bound(comparison.name, comparison.bound, test.file)
    return limits.look_up(comparison.name, test.file)


def undecidable(session: Session, limits: LimitFiles) -> Iterator[str]:
    """Yield a line for each test function with checks that the requested images cannot decide."""
    tests = session.tests.values()
    functions: dict[str, list[SelectedTest]] = {}
    for test in tests:
        functions.setdefault(test.function, []).append(test)
    for cases in functions.values():
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


WHOLE = (
    "early stopping saves no images of {tests}: a test can stop that does nothing but compare a "
    "single prompt or stereotype with its limit"
)
JUDGED = (
    "--t2i-sequential: {tests} judged before with {images} images per prompt of the same seed, "
    "and images that have been judged once are no new evidence. {remedy}"
)
FRESH = "Take new images by a fresh seed: --t2i-seed {seed}"
AS_BEFORE = "Give --t2i-images {images} for the same verdicts, or new images by --t2i-seed {seed}"
OTHERS = "Take a folder of other pictures"


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
        tested = {node: self._tested(test) for node, test in self.session.tests.items()}
        self._planned = {
            node: Stopping(test.looks, test) for node, test in tested.items() if test is not None
        }
        self._refuse_judged()
        self._tell_whole()
        at, open_ = 0, list(self._planned)
        while open_:
            self._look(open_, at)
            # The first round makes images of all tests; later rounds only those of open tests.
            self._round(
                f"round {at + 1}, {several(len(open_), 'test')} open", open_ if at else None
            )
            at += 1
            open_ = [
                node
                for node in open_
                if at < len(self._planned[node].looks)
                and not self._is_settled(self.session.tests[node])
            ]
        if not self._planned:
            self._round("")

    def _look(self, nodes: Iterable[str], at: int) -> None:
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
        if message and plan.needs:
            self.runner.progress.say(f"{message}: {several(len(plan), 'image')} more")
        self.runner.run(plan)
        self.results.forget()

    def _refuse_judged(self) -> None:
        """Raise ConfigurationError where images were judged with another number; else note it."""
        names, other_needs = {}, {}
        for node, stopping in self._planned.items():
            test = self.session.tests[node]
            name = FactKind.STOPPING.of(digest(self._question(test, stopping.test)))
            stored: Any = self.session.store.fact(name)
            if stored is None:
                names[name] = test.images
                if images := judged_with(self.results, test, self._limit(test).bound):
                    other_needs[node] = (images, False)
            elif stored != test.images:
                other_needs[node] = (stored, True)
        if other_needs:
            raise ConfigurationError(self._judged(other_needs))
        for name, images in names.items():
            self.session.store.remember(name, images)

    def _judged(self, others: Mapping[str, tuple[int, bool]]) -> str:
        images, stopped_early = next(iter(others.values()))
        seed = fresh_seed(self.results)
        remedy = (AS_BEFORE if stopped_early else FRESH).format(images=images, seed=seed)
        if self.session.has_ready_pictures:
            remedy = OTHERS
        count = len(others)
        words = f"{several(count, 'test')} {'was' if count == 1 else 'were'}"
        return JUDGED.format(tests=words, images=images, remedy=remedy)

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
        """Return the test by which a prompt stops; None where it takes all its images.

        Runs with people's labels have none: new labels may change the counts at any time.
        """
        if len(test.comparisons) != 1 or self.session.settings.labels is not None:
            return None
        (comparison,) = test.comparisons
        rule = self._rule(comparison)
        if rule is None or comparison.metric != rule.metric:
            return None
        plain = SequentialTest(
            test.images,
            self._limit(test).bound,
            level=self.session.settings.confidence,
            members=len(self.results.cases(test)),
        )
        return rule.test(test.selection, plain)

    def _limit(self, test: SelectedTest) -> Limit:
        return _limit_of(test, test.comparisons[0], self.limits)

    def _rule(self, comparison: Comparison) -> StoppingRule | None:
        fixture = self.session.fixtures.get(comparison.fixture)
        return None if fixture is None else fixture.stopping_rule()

    def _is_settled(self, test: SelectedTest) -> bool:
        (comparison,) = test.comparisons
        value = self.results.fixture(comparison.fixture, test)
        facts = KnownOfTest(self.results, test)
        question = Question(getattr(value, comparison.metric), "limit", run=facts)
        if why_void(question, self.session.caveats):
            return True  # more pictures of a cache or of a constant seed decide nothing
        rule = self._rule(comparison)
        return rule is not None and rule.state(value) != "open"

    def _tell_whole(self) -> None:
        whole = [
            test
            for test in self.session.tests.values()
            if test.selection.needs_model and test.node_id not in self._planned
        ]
        if whole:
            names = dict.fromkeys(test.function.rpartition("::")[2] for test in whole)
            self.runner.work.notes.append(WHOLE.format(tests=", ".join(names)))


def stopped(tests: Iterable[SelectedTest]) -> dict[str, Any]:
    """Return the looks of tests that may stop early as plain values, by node id."""
    return {test.node_id: asdict(test.stopping) for test in tests if test.stopping is not None}


def stop_at(session: Session, stops: Mapping[str, Any]) -> None:
    """Set the images of tests to the looks that ``stopped`` returned."""
    for node, plain in stops.items():
        stopping = Stopping(tuple(plain["looks"]), SequentialTest(**plain["test"]))
        session.tests[node] = session.tests[node].stopped(stopping)
