"""Checks that too few images cannot decide, found before any image is made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

from pytest_t2i.data import Limit
from pytest_t2i.errors import T2IError
from pytest_t2i.runs.selection import Comparison, SelectedTest
from pytest_t2i.runs.session import Session
from pytest_t2i.verdicts.limits_file import LimitFiles


def limit_of(test: SelectedTest, comparison: Comparison, limits: LimitFiles) -> Limit:
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
