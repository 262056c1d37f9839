"""The plugin of a run with a model or labelled images: from collected tests to reports."""

from __future__ import annotations

import os
import shlex
from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import pytest

from pytest_t2i.audits.audit import Audit
from pytest_t2i.audits.discovery import recorded_kinds
from pytest_t2i.data import Outcome
from pytest_t2i.errors import BudgetSpentError, T2IError
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.heartbeat import Sign, signs_of_life
from pytest_t2i.generation.plan import DetectorRef
from pytest_t2i.generation.run_counts import Work
from pytest_t2i.generation.store import Store
from pytest_t2i.metrics.info import register
from pytest_t2i.option_names import TYPED
from pytest_t2i.plugin.checks import (
    attach,
    checks_of,
    clear_checks,
    gather,
    keep,
    note,
    shorten,
    sort_by_test,
    status_of,
)
from pytest_t2i.plugin.collection import Selecting
from pytest_t2i.plugin.exit_status import exit_status_of, set_status_of_tests, stopped_at_failure
from pytest_t2i.plugin.make_images import make_here
from pytest_t2i.plugin.options import project_folder
from pytest_t2i.plugin.xdist import Workers, make_shared
from pytest_t2i.prompts import read_captions, read_reference
from pytest_t2i.reporting.formatting import wrapped
from pytest_t2i.runs.record.baseline import save_baseline
from pytest_t2i.runs.record.build_record import (
    conditions,
    interrupted_record,
    library_versions,
    record_of,
)
from pytest_t2i.runs.record.record import RunRecord
from pytest_t2i.runs.record.statement import PYPROJECT, read_statement
from pytest_t2i.runs.session import calibration
from pytest_t2i.runs.session.earlier_looks import remember_looks
from pytest_t2i.runs.session.early_stopping import undecidable
from pytest_t2i.runs.session.results import Results
from pytest_t2i.runs.session.running_test import judging
from pytest_t2i.runs.session.selection import SelectedTest, told_apart
from pytest_t2i.runs.session.session import Session
from pytest_t2i.sections.words import several
from pytest_t2i.settings import Settings
from pytest_t2i.verdicts.baseline import RecordedRun
from pytest_t2i.verdicts.baseline_file import (
    Baseline,
    check_comparable,
    library_differences,
    read_baseline,
)
from pytest_t2i.verdicts.limits_file import LimitFiles, read_limits
from pytest_t2i.verdicts.measurement import Against


def header(settings: Settings, detectors: Sequence[str]) -> str:
    """``t2i: model sdxl, detector clip, 20 images per prompt, seed 0, store .t2i``."""
    detector_words = f"detector{'s' * (len(detectors) > 1)} {', '.join(detectors)}"
    return f"t2i: {', '.join([*_model(settings), detector_words, *_images(settings)])}"


def _model(settings: Settings) -> Iterator[str]:
    if settings.model:
        yield f"model {settings.model}"
    if settings.mitigation:
        yield f"mitigation {settings.mitigation}"


def _images(settings: Settings) -> Iterator[str]:
    if not settings.model:
        # A run that only evaluates detectors makes no images: no number of images, no seed.
        yield f"labelled images of {settings.labels}"
    elif settings.model.startswith("images:"):
        yield f"at most {several(settings.images, 'image')} per prompt"
    else:
        yield f"{several(settings.images, 'image')} per prompt"
        yield f"seed {settings.seed}"
    yield f"store {settings.store}"


ERRORS = 2
"""File descriptor of the error stream."""


class Aside:
    """The error stream, opened before pytest captures the output of tests."""

    def __init__(self) -> None:
        try:
            self._stream: int | None = os.dup(ERRORS)
        except OSError:  # a process without one
            self._stream = None

    def signs(self, what: str) -> AbstractContextManager[Sign]:
        """Write a line from time to time while a step is at work."""
        return signs_of_life(what, self._write)

    def _write(self, line: str) -> None:
        if self._stream is not None:
            # The letters of earlier tests may stand on the current line.
            os.write(self._stream, f"\nt2i: {line}\n".encode(errors="replace"))

    def close(self) -> None:
        if self._stream is not None:
            with suppress(OSError):
                os.close(self._stream)
            self._stream = None


class JUnitVerdicts:
    """Adds the verdicts to pytest's JUnit file: an inconclusive test is skipped, with its reason.

    The file knows no other word for a test that neither passed nor failed.
    """

    def __init__(self, config: pytest.Config, session: Session) -> None:
        self._config, self._session = config, session

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a test that pytest has just counted as passed as skipped, if it is inconclusive."""
        xml = _writer(self._config)
        if xml is None or status_of(report) is None:
            return
        from _pytest.junitxml import bin_xml_escape

        from pytest_t2i.reporting.failure_text import explained

        checks = [c for c in checks_of(report) if c.outcome is Outcome.INCONCLUSIVE]
        texts = [explained(check) for check in checks]
        reasons = "; ".join(lines[0] for lines in texts)
        skipped = Element("skipped", type="pytest.skip", message=bin_xml_escape(reasons))
        skipped.text = bin_xml_escape("\n".join(line for lines in texts for line in lines))
        xml.stats["passed"] -= 1
        xml.node_reporter(report).append(skipped)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the counts of passed, failed and inconclusive checks; all reports have arrived."""
        xml = _writer(self._config)
        if xml is None:
            return
        outcomes = [check.outcome for check in self._session.checks]
        for outcome in (Outcome.PASS, Outcome.FAIL, Outcome.INCONCLUSIVE):
            xml.add_global_property(f"t2i {outcome}", str(outcomes.count(outcome)))
        if session.exitstatus == pytest.ExitCode.INTERRUPTED:
            xml.add_global_property("t2i", str(Outcome.INTERRUPTED))


def _writer(config: pytest.Config) -> Any:
    """Return pytest's JUnit writer; None without --junitxml."""
    from _pytest.junitxml import xml_key

    return config.stash.get(xml_key, None)


OWN_HOOKS = (
    *("models", "detectors", "faces", "persons", "objects", "encoders", "executors"),
    *("mitigations", "caveats"),
)
"""Kinds of components that a conftest.py may offer."""


class Run:
    """Hooks of one run with a model under test."""

    def __init__(
        self, config: pytest.Config, settings: Settings, audits: tuple[Audit, ...]
    ) -> None:
        self.config, self.settings = config, settings
        self.error: str | None = None
        self.stopped: str | None = None
        """Why this worker skips its tests, if the budget is spent; else None."""
        self.is_made = False
        """Whether everything that the tests ask for is there."""
        self.record: RunRecord | None = None
        with _usage_errors():
            for audit in audits:
                for metric in audit.metrics:
                    register(metric)
            self.recorded = _baseline(settings.baseline, audits)
            self.anchor = _baseline(settings.anchor, audits)
            self.statement = read_statement(project_folder(config) / PYPROJECT)
            if settings.limits is not None:
                read_limits(settings.limits)
            if settings.reference is not None:
                read_reference(settings.reference)
            if settings.captions is not None:
                read_captions(settings.captions)
            self.session = Session(settings, Components(settings, Store(settings.store)), audits)
        self.results = Results(self.session, self.recorded)
        self.limits = LimitFiles(config.rootpath, settings.limits)
        self.workers = Workers(config, self.session)
        self.aside = Aside()
        config.pluginmanager.register(JUnitVerdicts(config, self.session), "t2i-junit")

    # start

    def pytest_sessionstart(self) -> None:
        """Register the components of all conftest.py files, which pytest has loaded by now."""
        with _usage_errors():
            for kind in OWN_HOOKS:
                for offered in getattr(self.config.hook, f"pytest_t2i_{kind}")():
                    getattr(self.session.components.registries, kind).update(offered)
            self.session.validate()
            if not self.workers.is_worker and not self._only_plans:
                self._check_places()

    def _check_places(self) -> None:
        """Try to write where the run will write, before it makes an image."""
        from pytest_t2i.files import check_writable
        from pytest_t2i.reporting import RUN

        settings = self.settings
        check_writable(settings.store / "index", "--t2i-store")
        check_writable(settings.report / RUN, "--t2i-report")
        if settings.save_baseline is not None:
            check_writable(settings.save_baseline, "--t2i-save-baseline")

    def pytest_report_header(self) -> list[str]:
        """Return the lines of pytest's header about this run."""
        line = header(self.settings, self.session.detectors)
        captions = f"t2i: {self.session.captions}" if self.session.captions else ""
        return [*wrapped(line, self._width), *(wrapped(captions, self._width) if captions else ())]

    # collected tests

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Make all images that the selected tests need; the tests then only read results."""
        if session.testsfailed and not session.config.option.continue_on_collection_errors:
            return
        if self.workers.are_used:
            self.workers.follow_progress()
            return
        try:
            with _usage_errors():
                recorded = [run for run in (self.recorded, self.anchor) if run is not None]
                selecting = Selecting(self.session, self.results, self.limits, recorded)
                for item in session.items:
                    if item.get_closest_marker("t2i") and isinstance(item, pytest.Function):
                        selecting.select(item)
                self.session.tests = told_apart(self.session.tests)
                self.session.selected = len(self.session.tests)
                self._foresee()
                if not self._only_plans:
                    self._make_within_budget()
        except KeyboardInterrupt:
            raise KeyboardInterrupt(interrupted(self.session.work)) from None
        except pytest.UsageError as error:
            self.error = str(error)
            # In a worker every t2i test fails with the same line, which the controller shows.
            if not self.workers.is_worker:
                raise

    def _foresee(self) -> None:
        """Say before an image is made which checks the images cannot decide."""
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        lines = undecidable(self.session, self.limits)
        # The model itself may know its prompts: showing a plan loads none.
        unknown = None if self._only_plans else calibration.calibration_warning(self.session)
        # Tests of one name in two files get one line.
        for line in dict.fromkeys([*([unknown] if unknown else ()), *lines]):
            if reporter is not None and not self.workers.is_worker:
                for part in wrapped(f"t2i: {line}", self._width):
                    reporter.write_line(part, yellow=True)

    @property
    def _only_plans(self) -> bool:
        """Whether pytest only shows fixtures or a plan: then no image and no report is made."""
        return bool(self.config.option.setupplan or self.config.option.setuponly)

    @property
    def _width(self) -> int:
        """The columns of the terminal; pytest reads COLUMNS and falls back to 80."""
        return int(self.config.get_terminal_writer().fullwidth)

    def _make_within_budget(self) -> None:
        """Make the images; stop the run if the budget is spent. Finished images are kept."""
        for recorded in (self.recorded, self.anchor):
            if recorded is not None and self.session.needs_model:
                force = self.settings.force_baseline
                check_comparable(recorded, conditions(self.session), (), force=force)
        try:
            if self.workers.is_worker:
                make_shared(self.results, self.limits)
            else:
                make_here(self.results, self.limits, self.config)
            self.is_made = True
        except BudgetSpentError as error:
            if not self.workers.is_worker:
                pytest.exit(f"t2i: {error}", returncode=int(pytest.ExitCode.INTERRUPTED))
            # xdist replaces a worker that leaves. So it stays, and skips its tests.
            self.stopped = str(error)

    # fixtures

    def test(self, item: pytest.Item) -> SelectedTest:
        if self.error is not None:
            pytest.fail(self.error, pytrace=False)
        if self.stopped is not None:
            pytest.skip(f"t2i: {self.stopped}")
        if item.nodeid not in self.session.tests:
            raise pytest.UsageError(
                f"{item.nodeid}: its fixture needs the mark @pytest.mark.t2i(...) on the test"
            )
        return self.session.tests[item.nodeid]

    def detector(self) -> Any:
        """The detector whose labels decide the verdicts."""
        return self.session.components.detector(DetectorRef(self.session.detectors[0])).get()

    def baseline(self, item: pytest.Item) -> RecordedRun | None:
        """The recorded run, with the anchor, after both were found comparable; None without."""
        anchor = None
        if self.anchor is not None:
            anchor = self._comparable(item, self.anchor, "anchor")
        if self.recorded is None:
            return anchor
        return replace(self._comparable(item, self.recorded, "baseline"), anchor=anchor)

    def _comparable(self, item: pytest.Item, recorded: Baseline, against: Against) -> RecordedRun:
        prompts = self.test(item).selection.prompts
        differences: list[str] = []
        with _usage_errors():
            if prompts:
                now, force = conditions(self.session), self.settings.force_baseline
                differences += check_comparable(recorded, now, prompts, force=force)
        differences += library_differences(recorded, library_versions())
        return RecordedRun(recorded, tuple(differences), against)

    # verdicts

    @pytest.hookimpl(optionalhook=True)
    def pytest_report_teststatus(self, report: Any) -> Any:
        """Show an inconclusive test as neither passed nor failed."""
        return status_of(report)

    @contextmanager
    def judging(self, item: pytest.Item) -> Iterator[None]:
        """Provide one running test with its limits, and record its checks."""
        with _usage_errors():
            limits, file = self.limits.of(Path(item.path))
        clear_checks(item)
        record, compared = partial(note, item), partial(keep, item)
        try:
            with (
                judging(self.results, item.nodeid, record, compared, limits, file),
                self.aside.signs(f"{item.name} is measured"),
            ):
                yield
        except T2IError as error:
            raise pytest.fail.Exception(str(error), pytrace=False) from None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: Any) -> Generator[None, Any, Any]:
        """Attach the test's checks to its report, which xdist workers send to the controller."""
        report = yield
        report.t2i_marked = item.get_closest_marker("t2i") is not None
        if call.when == "call":
            shorten(report)
            attach(report, item)
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect the checks of a report in the process that receives reports."""
        gather(report, self.session)

    def pytest_assertrepr_compare(self, left: Any, right: Any) -> list[str] | None:
        """Return the failure text of a comparison."""
        from pytest_t2i.reporting.failure_text import assertion_lines

        return assertion_lines(left, right)

    # end

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Prepare an xdist worker that is about to start."""
        self.workers.start(node)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over the work of an xdist worker that has ended."""
        self.error = self.workers.stop(node) or self.error

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Send a worker's counts to the controller; in other processes write the reports."""
        if self.workers.is_worker:
            self.workers.hand_over(self.error, self.stopped, is_made=self.is_made)
            return
        self.is_made = self.workers.adopt() or self.is_made
        if self.workers.are_used:
            sort_by_test(self.session)
        set_status_of_tests(
            session, is_misused=self.error is not None, have_stopped=self.workers.have_stopped
        )
        run = self.session
        as_asked = stopped_at_failure(session)
        lost = self.workers.are_used and not as_asked and len(run.judged) < run.selected
        if as_asked:
            counts = f"{len(run.judged)} of {run.selected} tests ran"
            run.work.notes.append(f"stopped after a failure, as asked: {counts}")
        stopped = session.exitstatus == pytest.ExitCode.INTERRUPTED
        run.is_interrupted = not self.is_made or stopped or lost
        with self.aside.signs("measuring and writing the report"):
            self._write_reports()
        if self.record is not None and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = exit_status_of(self.record)

    def _write_reports(self) -> None:
        if not self.session.tests or self.error is not None or self._only_plans:
            return
        from pytest_t2i.reporting.report_folders import publish, write_run
        from pytest_t2i.runs.record.manifest import manifest_of, write_manifest

        with _usage_errors():
            reports, project = self.settings.report, self.config.rootpath
            if (run_level := self.session.run_level) is not None:
                self.session.work.notes.append(str(run_level))
            args = self.config.invocation_params.args
            command = os.environ.get(TYPED) or shlex.join(["pytest", *map(str, args)])
            if self.is_made:
                record = record_of(self.results, command, project)
            else:
                record = interrupted_record(self.session, command, project)
            self.record = replace(record, statement=self.statement)
            of_project = project_folder(self.config)
            if self.is_made and not self.session.is_interrupted:
                remember_looks(self.results)
            report = write_run(self.record, reports, of_project)
            manifest = manifest_of(self.session, self.record, report, project)
            write_manifest(manifest, report)
            publish(report, reports, manifest)
            if self.settings.save_baseline is not None and not self.session.is_interrupted:
                save_baseline(self.results, self.settings.save_baseline)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> Generator[None]:
        """Print the summary of the run after all others, pytest's list of failed tests included."""
        yield
        if self.error is not None and self.workers.are_used:
            terminalreporter.write_line(f"ERROR: {self.error}", red=True)
        if self.record is not None:
            from pytest_t2i.reporting.terminal import summarise

            summarise(
                self.record,
                self.settings,
                terminalreporter,
                width=self._width,
            )

    def pytest_unconfigure(self) -> None:
        """Close the store."""
        self.session.store.close()
        self.aside.close()


def interrupted(work: Work) -> str:
    """Return the line that says what an interrupted run has kept, and how to resume it."""
    return (
        f"t2i: interrupted after {work.made} new images. They are kept: the same command resumes "
        "from there."
    )


def _baseline(file: Path | None, audits: tuple[Audit, ...]) -> Baseline | None:
    return None if file is None else read_baseline(file, recorded_kinds(audits))


@contextmanager
def _usage_errors() -> Iterator[None]:
    """Turn our errors into pytest's usage errors: one line, exit status 4."""
    try:
        yield
    except T2IError as error:
        raise pytest.UsageError(str(error)) from None
