"""What can be said before an image is made: which checks these images cannot decide."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

from pytest_t2i.data import Limit
from pytest_t2i.errors import T2IError
from pytest_t2i.runs.selection import Comparison, SelectedTest
from pytest_t2i.runs.session import Session
from pytest_t2i.verdicts.limits_file import LimitFiles, checked


def limit_of(test: SelectedTest, comparison: Comparison, limits: LimitFiles) -> Limit:
    """What a comparison of a test will be judged by."""
    if comparison.bound is not None:
        return checked(comparison.name, comparison.bound)
    return limits.look_up(comparison.name, test.file)


def undecidable(session: Session, limits: LimitFiles) -> Iterator[str]:
    """A line for each test function whose members cannot be decided with the images asked for."""
    for cases in _functions(session.tests.values()):
        for comparison in cases[0].comparisons:
            # What is wrong with a limit is told by the test that compares with it.
            with suppress(T2IError):
                yield from _of_comparison(session, cases, comparison, limits)


def _of_comparison(
    session: Session, cases: list[SelectedTest], comparison: Comparison, limits: LimitFiles
) -> list[str]:
    bound, level = limit_of(cases[0], comparison, limits).bound, session.settings.confidence
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
