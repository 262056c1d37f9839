"""Having everything made that the selected tests ask for, with progress on the terminal."""

from __future__ import annotations

import sys
from contextlib import closing, nullcontext
from typing import TYPE_CHECKING, Any

from pytest_t2i.audits.peoples_labels import recognised
from pytest_t2i.generation.generate import Runner
from pytest_t2i.generation.labelled import look_at_labelled
from pytest_t2i.generation.progress import Bar, Lines, Progress
from pytest_t2i.generation.ready_made import check_supply
from pytest_t2i.runs.early_stopping import Rounds
from pytest_t2i.runs.results import Results
from pytest_t2i.verdicts.limits_file import LimitFiles

if TYPE_CHECKING:
    import pytest


def make(results: Results, limits: LimitFiles, progress: Progress) -> None:
    """Have everything made and looked at that is not there yet."""
    session = results.session
    session.check_labels()
    runner = Runner(session.components, session.store, progress, session.settings.batch)
    with closing(runner):
        _make(results, limits, runner)


def _make(results: Results, limits: LimitFiles, runner: Runner) -> None:
    session = results.session
    session.work = runner.work
    wanted = session.images_wanted()
    notes = check_supply(session.components.model(), wanted) if wanted else []
    if session.settings.sequential:
        Rounds(session, results, limits, runner).make()
    else:
        runner.run(results.make_plan())
    if session.tries_detectors and session.labelled is not None:
        look_at_labelled(runner.observer, session.labelled, session.detectors)
        session.work.detected = runner.observer.detected
    session.work.notes += [*notes, *_labels_of_other_images(results)]


def _labels_of_other_images(results: Results) -> list[str]:
    """A note when labels were given that say nothing of this run."""
    session = results.session
    if session.settings.labels is None or session.labelled is None:
        return []
    samples = [
        results.one_sample(prompt, test)
        for test in session.tests.values()
        for prompt in test.selection.prompts
    ]
    if not samples or recognised(samples, session.labelled):
        return []
    return ["none of the labelled images is of this run: its scores are not corrected"]


def make_here(results: Results, limits: LimitFiles, config: pytest.Config) -> None:
    """Make it in this process, showing progress on the terminal."""
    capture: Any = config.pluginmanager.get_plugin("capturemanager")
    with capture.global_and_fixture_disabled() if capture else nullcontext():
        make(results, limits, terminal_progress(config))


def terminal_progress(config: pytest.Config) -> Progress:
    """A bar on a terminal, plain lines elsewhere."""
    if sys.stdout.isatty():
        return Bar(sys.stdout)
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return Lines(lambda line: print(line, flush=True))  # noqa: T201 - no reporter to print for us

    def write(line: str) -> None:
        reporter.ensure_newline()
        reporter.write_line(line)
        reporter.flush()

    return Lines(write)
