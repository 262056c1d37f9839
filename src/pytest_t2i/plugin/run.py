"""The plugin that is registered when a model is given: from collected tests to reports."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_t2i.adapters.registry import Registries
from pytest_t2i.data import Outcome, Prompt
from pytest_t2i.errors import T2IError
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.plan import DetectorRef
from pytest_t2i.generation.store import Store
from pytest_t2i.plugin.hooks import NO_MODEL
from pytest_t2i.plugin.marker import ask_of
from pytest_t2i.plugin.options import Settings
from pytest_t2i.plugin.static_checks import Comparison, comparisons_in, limits_named_in
from pytest_t2i.plugin.xdist import Workers
from pytest_t2i.prompts import Reference, read_reference
from pytest_t2i.runs.baseline import Recorded
from pytest_t2i.runs.build_record import conditions
from pytest_t2i.runs.record import Check, RunRecord, check_from_json
from pytest_t2i.runs.selection import ONE_BY_ONE, TOGETHER, TRIALS, Ask
from pytest_t2i.runs.session import NO_LABELS, Session
from pytest_t2i.verdicts import limits
from pytest_t2i.verdicts.baseline_file import (
    Baseline,
    check_comparable,
    check_prompts,
    read_baseline,
)

if TYPE_CHECKING:
    from pytest_t2i.audits.detector_validation import Trials
    from pytest_t2i.audits.neutrality import TripletSample, TripletSamples
    from pytest_t2i.audits.parity import Sample, Samples
    from pytest_t2i.audits.stereotypes import Association

ASK = pytest.StashKey[Ask]()


class Active:
    """Hooks of one run with a model under test."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self.config, self.settings = config, settings
        self.error: str | None = None
        self.record: RunRecord | None = None
        with usage_errors():
            self.recorded: Baseline | None = None
            if settings.baseline is not None:
                self.recorded = read_baseline(settings.baseline)
            if settings.limits is not None:
                limits.read_limits(settings.limits)
            if settings.reference is not None:
                read_reference(settings.reference)
            store = Store(settings.store)
            self.session = Session(settings, config.rootpath, Components(settings, store))
        self.workers = Workers(config, self.session)

    # start

    def pytest_sessionstart(self) -> None:
        """Every conftest.py of the arguments is loaded now: take what it registers."""
        with usage_errors():
            registries: Registries = self.session.components.registries
            for kind in ("models", "detectors", "faces", "persons", "encoders"):
                for offered in getattr(self.config.hook, f"pytest_t2i_{kind}")():
                    getattr(registries, kind).update(offered)
            self.session.validate()

    def pytest_report_header(self) -> list[str]:
        """What is measured with what."""
        s = self.settings
        subject = f"model {s.model}, " if s.model else ""
        return [
            f"t2i: {subject}detector {', '.join(self.session.detectors)}, "
            f"{s.images} images per prompt, seed {s.seed}, store {s.store}"
        ]

    # collected tests

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Make everything that the selected tests ask for; then they only read."""
        if session.testsfailed and not session.config.option.continue_on_collection_errors:
            return
        if self.workers.are_used:
            self.workers.follow_progress()
            return
        try:
            with usage_errors():
                for item in session.items:
                    if item.get_closest_marker("t2i") and isinstance(item, pytest.Function):
                        self._gather(item)
                self._make()
        except pytest.UsageError as error:
            self.error = str(error)
            # Of a worker, every t2i test errors with the same line, and the controller tells it.
            if not self.workers.is_worker:
                raise

    def _gather(self, item: pytest.Function) -> None:
        ask = ask_of(item)
        reason = self._reason_to_skip(ask)
        if reason:
            item.add_marker(pytest.mark.skip(reason=reason))
            return
        try:
            self.session.check_limits(Path(item.path), limits_named_in(item.function))
            if "reference" in item.fixturenames:
                self.session.check_reference(ask)
        except T2IError as error:
            raise pytest.UsageError(f"{item.nodeid}: {error}") from None
        if self.recorded is not None and "baseline" in item.fixturenames:
            check_prompts(self.recorded, ask.prompts, ask.images or self.settings.images)
        item.stash[ASK] = ask
        self.session.ask(item.nodeid, item.nodeid.partition("[")[0], ask)
        self.session.files[item.nodeid] = Path(item.path)
        self.session.comparisons[item.nodeid] = foreseen(item)

    def _reason_to_skip(self, ask: Ask) -> str:
        if ask.labelled and self.session.labels is None:
            return NO_LABELS
        return NO_MODEL if ask.needs_model and not self.session.has_model else ""

    def _make(self) -> None:
        from pytest_t2i.plugin.making import make_once, make_shared

        if self.recorded is not None and any(a.needs_model for a in self.session.asked.values()):
            force = self.settings.force_baseline
            check_comparable(self.recorded, conditions(self.session), (), force=force)
        if self.workers.is_worker:
            make_shared(self.session)
        else:
            make_once(self.session, self.config)

    # fixtures

    def sample(self, item: pytest.Item) -> Sample:
        """Fixture sample."""
        ask = self._ask(item)
        return self.session.sample(ask.prompts[0], ask, self.session.family(item.nodeid))

    def samples(self, item: pytest.Item) -> Samples:
        """Fixture samples."""
        return self.session.samples(self._ask(item))

    def triplet(self, item: pytest.Item) -> TripletSample:
        """Fixture triplet."""
        return self.session.triplets(self._ask(item)).members[0]

    def triplets(self, item: pytest.Item) -> TripletSamples:
        """Fixture triplets."""
        return self.session.triplets(self._ask(item))

    def association(self, item: pytest.Item) -> Association:
        """Fixture stereotype."""
        ask = self._ask(item)
        return self.session.association(ask.stereotypes[0], ask, self.session.family(item.nodeid))

    def associations(self, item: pytest.Item) -> tuple[Association, ...]:
        """Fixture stereotypes."""
        ask = self._ask(item)
        return tuple(self.session.association(one, ask) for one in ask.stereotypes)

    def trials(self, item: pytest.Item) -> Trials:
        """Fixture trials."""
        self._ask(item)
        return self.session.trials()

    def model(self) -> Any:
        """Fixture model."""
        return self.session.components.model().get()

    def detector(self) -> Any:
        """Fixture detector."""
        return self.session.components.detector(DetectorRef(self.session.detectors[0])).get()

    def reference(self) -> Reference:
        """Fixture reference."""
        if self.session.reference is None:
            pytest.skip("t2i: no reference given; run with --t2i-reference uniform, oasis or FILE")
        return self.session.reference

    def baseline(self, item: pytest.Item) -> Recorded:
        """Fixture baseline."""
        if self.recorded is None:
            pytest.skip("t2i: no baseline given; run with --t2i-baseline FILE")
        prompts: tuple[Prompt, ...] = self._ask(item).prompts
        with usage_errors():
            return Recorded.of(self.recorded, self.session, prompts, item.nodeid)

    def _ask(self, item: pytest.Item) -> Ask:
        if self.error is not None:
            pytest.fail(self.error, pytrace=False)
        if ASK not in item.stash:
            raise pytest.UsageError(
                f"{item.nodeid}: its fixture needs the mark @pytest.mark.t2i(...) on the test"
            )
        return self.session.asked[item.nodeid]

    # verdicts

    @contextmanager
    def judging(self, item: pytest.Item) -> Iterator[None]:
        """Limits and recording for one running test."""

        def record(check: Check) -> None:
            item.user_properties.append((f"t2i {check.metric} {check.subject}", one_line(check)))
            item.stash.setdefault(CHECKS, []).append(check)

        with usage_errors():
            bench = self.session.bench(item.nodeid, Path(item.path), record)
        token = limits.active.set(bench)
        try:
            yield
        except T2IError as error:
            raise pytest.fail.Exception(str(error), pytrace=False) from None
        finally:
            limits.active.reset(token)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: Any) -> Generator[None, Any, Any]:
        """The test's verdicts travel with its report, from xdist workers too."""
        report = yield
        report.t2i_marked = item.get_closest_marker("t2i") is not None
        if call.when == "call":
            plain = [asdict(check) for check in item.stash.get(CHECKS, [])]
            # Through JSON: between processes xdist carries plain types only.
            report.t2i_checks = json.loads(json.dumps(plain))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Gather verdicts where the reports come together."""
        plain = getattr(report, "t2i_checks", [])
        checks = [check_from_json(one) for one in plain]
        self.session.checks += checks
        # Only where an INCONCLUSIVE check can fail its test does it explain the failure.
        failing = {Outcome.FAIL}
        if self.settings.inconclusive != "pass":
            failing.add(Outcome.INCONCLUSIVE)
        told = any(check.outcome in failing for check in checks)
        if report.failed and getattr(report, "t2i_marked", False) and not told:
            self.session.failed_otherwise.append(report.nodeid)

    def pytest_assertrepr_compare(self, left: Any, right: Any) -> list[str] | None:
        """The failure text of a comparison."""
        from pytest_t2i.reporting.explain import explain

        return explain(left, right, limits.active.get())

    # end

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """An xdist worker is about to start."""
        self.workers.start(node)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """An xdist worker is done."""
        self.error = self.workers.stop(node) or self.error

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """A worker hands over what it did; else the reports are written."""
        if self.workers.is_worker:
            self.workers.hand_over(self.error)
            return
        if self.error is not None:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
        self.workers.adopt()
        self._write_reports()

    def _write_reports(self) -> None:
        if not self.session.asked or self.error is not None:
            return
        from pytest_t2i.reporting import write_all
        from pytest_t2i.runs.build_record import record_of, save_baseline

        with usage_errors():
            given = self.config.invocation_params.args
            self.record = record_of(self.session, " ".join(["pytest", *map(str, given)]))
            write_all(self.record, self.settings.report)
            if self.settings.save_baseline is not None:
                save_baseline(self.session, self.settings.save_baseline)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """A summary one can read in ten seconds."""
        if self.error is not None and self.workers.are_used:
            terminalreporter.write_line(f"ERROR: {self.error}", red=True)
        if self.record is not None:
            from pytest_t2i.reporting.terminal import summarise

            summarise(self.record, self.settings, terminalreporter)

    def pytest_unconfigure(self) -> None:
        """Close the store."""
        self.session.store.close()


def foreseen(item: pytest.Function) -> tuple[Comparison, ...]:
    """All that a test will compare; () where it cannot be known before it runs."""
    known = {*ONE_BY_ONE, *TOGETHER, *TRIALS, "baseline", "model", "detector"}
    used = [name for name in item.fixturenames if name in known]
    return comparisons_in(item.function, used[0]) if len(used) == 1 else ()


CHECKS = pytest.StashKey[list[Check]]()


def one_line(check: Check) -> str:
    """A verdict as a JUnit property."""
    if check.estimate is None:
        return f"{check.outcome} (no evidence) {check.operator} {check.bound:g}"
    interval = f"{check.estimate:.4f} [{check.low:.4f}, {check.high:.4f}]"
    return f"{check.outcome} {interval} {check.operator} {check.bound:g} n={check.n}"


@contextmanager
def usage_errors() -> Iterator[None]:
    """Our errors as pytest's usage errors: one clear message, exit code 4."""
    try:
        yield
    except T2IError as error:
        raise pytest.UsageError(str(error)) from error
