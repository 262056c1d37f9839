"""One running test: its comparisons are judged with all that the run knows of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pytest_t2i.data import Limit
from pytest_t2i.runs.certified import certified_errors
from pytest_t2i.runs.earlier_looks import with_looks
from pytest_t2i.runs.repeats import open_because
from pytest_t2i.runs.results import Results
from pytest_t2i.verdicts.check import Check, JudgingContext, running
from pytest_t2i.verdicts.measurement import Compared
from pytest_t2i.verdicts.run_level import LevelShare


@contextmanager
def judging(
    results: Results,
    node_id: str,
    record: Callable[[Check], None],
    keep: Callable[[Compared], None],
    limits: Mapping[str, Limit],
    limits_file: Path | None = None,
) -> Iterator[None]:
    """Judge the comparisons of a test in this context; ``record`` takes each check."""
    settings, test = results.settings, results.session.tests.get(node_id)
    run_level = results.session.run_level
    context = JudgingContext(
        node_id,
        limits,
        limits_file,
        settings.inconclusive,
        settings.confidence,
        record,
        (lambda _: "") if test is None else open_because(results, test),
        with_looks(results, test),
        certified_errors(results, test),
        None if run_level is None or test is None else LevelShare(run_level, test.counted),
        keep,
    )
    token = running.set(context)
    try:
        yield
    finally:
        running.reset(token)
