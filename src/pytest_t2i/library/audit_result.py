"""The result of ``audit`` for scripts and notebooks."""

from __future__ import annotations

import html
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pytest_t2i.errors import ConfigurationError, UnknownNameError
from pytest_t2i.metrics.info import INFO
from pytest_t2i.runs.build_record import record_of
from pytest_t2i.runs.earlier_looks import remember_looks, with_looks
from pytest_t2i.runs.record import RunRecord
from pytest_t2i.runs.repeats import open_because
from pytest_t2i.runs.results import Results
from pytest_t2i.runs.selection import SelectedTest
from pytest_t2i.verdicts import context
from pytest_t2i.verdicts.check import Check
from pytest_t2i.verdicts.context import JudgingContext
from pytest_t2i.verdicts.limit import LimitValue, as_judged, sign_of
from pytest_t2i.verdicts.limits_file import LimitFiles
from pytest_t2i.verdicts.measurement import Measurement

SIZE = (100, 24)
"""Columns and lines of the printed summary if the size of the terminal is unknown."""
MOST_BYTES = 2_000_000
"""Largest page in bytes that a notebook shows; instead of a larger one the summary is shown."""


class Audited:
    """The result of an audit: measurements, verdicts, tables and report of a model.

    Every measurement of the fixtures that tests receive is an attribute, such as
    ``model_bias_score``; so is every fixture by its name, such as ``samples``.

    >>> from PIL import Image
    >>> from pytest_t2i import Detection, audit, axes
    >>> class Colour:
    ...     fingerprint, labels = "colour-1", ("male", "female")
    ...     def detect(self, images):
    ...         return [Detection("male") for _ in images]
    >>> plain = lambda prompts, seeds: [Image.new("RGB", (8, 8), seed % 2**24) for seed in seeds]
    >>> nurse = axes.profession.only("nurse")
    >>> audited = audit(plain, nurse, images=9, detector=Colour(), progress=False)
    >>> audited.verdict("model_bias_score", 0.2).outcome.value
    'FAIL'
    """

    def __init__(self, results: Results, cases: Mapping[str, tuple[SelectedTest, ...]]) -> None:
        self._results, self._cases = results, cases
        self._record: RunRecord | None = None
        self._values: dict[str, Any] = {}

    # measurements

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._cases:
            return self._value(name)
        for value in self._together():
            if name in dir(value):
                return getattr(value, name)
        known = ", ".join([*self._cases, *self._measured()])
        raise AttributeError(f"this audit has no {name!r}; it has {known}")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._cases, *self._measured()})

    def _value(self, fixture: str) -> Any:
        """Return a fixture's value; for a fixture with one case per member, a dict by member id."""
        if fixture not in self._values:
            given = {
                _member_of(case): self._results.fixture(fixture, case)
                for case in self._cases[fixture]
            }
            alone = self._results.session.fixtures[fixture].one_by_one
            self._values[fixture] = given if alone else given[""]
        return self._values[fixture]

    def _together(self) -> Iterator[Any]:
        fixtures = self._results.session.fixtures
        yield from (self._value(name) for name in self._cases if not fixtures[name].one_by_one)

    def _measured(self) -> list[str]:
        # Names alone: computing a measurement may take seconds or raise an error.
        return [name for value in self._together() for name in dir(value) if name in INFO]

    # verdicts

    def verdict(self, metric: str, bound: float | None = None) -> Check:
        """Return the check of the whole model, as ``assert samples.metric <= limit(...)`` does.

        Args:
            metric: name of a measurement, such as "model_bias_score".
            bound: the limit; None takes that of the limits file. If the file has one, both must
                be equal.

        Raises:
            UnknownNameError: the metric was not measured.
            ConfigurationError: there is no limit, or the limits file has another one.
        """
        for name, cases in self._cases.items():
            if not self._results.session.fixtures[name].one_by_one:
                value = self._value(name)
                if isinstance(getattr(value, metric, None), Measurement):
                    check = self._judged(cases[0], getattr(value, metric), metric, bound)
                    remember_looks(self._results)
                    return check
        raise UnknownNameError("measurement of the model", metric, self._measured())

    def verdicts(self, metric: str, bound: float | None = None) -> dict[str, Check]:
        """Return the checks of all prompts or stereotypes by id; they share one error level.

        Arguments and errors are those of ``verdict``.
        """
        for name, cases in self._cases.items():
            if self._results.session.fixtures[name].one_by_one:
                values = [(case, self._results.fixture(name, case)) for case in cases]
                if values and isinstance(getattr(values[0][1], metric, None), Measurement):
                    checks = {
                        _member_of(case): self._judged(case, getattr(value, metric), metric, bound)
                        for case, value in values
                    }
                    remember_looks(self._results)
                    return checks
        raise UnknownNameError("measurement of each member", metric, INFO)

    def _judged(
        self, case: SelectedTest, measurement: Measurement, metric: str, bound: float | None
    ) -> Check:
        limit = self._limit(case, metric, bound)
        with self._judging(case):
            sign = sign_of(measurement.metric)
            limit.judge(as_judged(measurement), "<=" if sign == "<=" else ">=")
        if limit.check is None:
            raise ConfigurationError(f"{metric}: nothing was compared with {limit!r}")
        self._record = None
        return limit.check

    def _limit(self, case: SelectedTest, metric: str, bound: float | None) -> LimitValue:
        files = LimitFiles(Path.cwd(), self._results.settings.limits)
        if bound is not None:
            return LimitValue(files.with_bound(metric, bound, case.file))
        return LimitValue(files.look_up(metric, case.file))

    @contextmanager
    def _judging(self, case: SelectedTest) -> Iterator[None]:
        session, settings = self._results.session, self._results.settings

        def record(check: Check) -> None:
            # A repeated call replaces the earlier check.
            same = (check.metric, check.subject, check.bound)
            others = [c for c in session.checks if (c.metric, c.subject, c.bound) != same]
            session.checks[:] = [*others, check]

        judging = JudgingContext(
            case.node_id,
            {},
            None,
            settings.inconclusive,
            settings.confidence,
            record,
            open_because(self._results, case),
            with_looks(self._results, case),
            keep=session.compared.setdefault(case.node_id, []).append,
        )
        token = context.running.set(judging)
        try:
            yield
        finally:
            context.running.reset(token)

    # record and report

    @property
    def record(self) -> RunRecord:
        """The record of all measurements and checks so far, as run.json keeps it."""
        if self._record is None:
            self._record = record_of(self._results)
        return self._record

    def to_frame(self, table: str) -> Any:
        """Return a table as a pandas DataFrame: "prompts", "checks", "scores" and so on."""
        return self.record.to_frame(table)

    def write_report(self, folder: str | Path = "reports/t2i") -> Path:
        """Write run.json, index.html, summary.md and their manifest; return the page's path."""
        from pytest_t2i.reporting import write_all
        from pytest_t2i.runs.manifest.document import write_manifest
        from pytest_t2i.runs.manifest.inputs import manifest_of

        folder, session = Path(folder), self._results.session
        write_all(self.record, folder, session.audits)
        write_manifest(manifest_of(session, self.record, folder, Path.cwd()), folder)
        return folder / "index.html"

    def __repr__(self) -> str:
        """Return the summary that pytest prints at the end of a run."""
        from pytest_t2i.reporting.terminal import summary_text

        columns = shutil.get_terminal_size(SIZE).columns
        return summary_text(self.record, columns, self._results.session.audits)

    def _repr_html_(self) -> str:
        """Return the page in a sandboxed frame, isolated from the notebook."""
        from pytest_t2i.reporting.html import render_html

        page = render_html(self.record, Path.cwd(), self._results.session.audits)
        if len(page.encode()) > MOST_BYTES:
            text = f"{self!r}\n\nThe page is too large for a notebook: write_report() writes it."
            return f"<pre>{html.escape(text)}</pre>"
        return (
            f'<iframe sandbox="allow-scripts" srcdoc="{html.escape(page)}" title="fairness report" '
            'style="width:100%;height:40rem;border:1px solid #8888"></iframe>'
        )


def _member_of(case: SelectedTest) -> str:
    """Return the id of a case's only member; "" for a case of all members."""
    return case.node_id.partition("[")[2].removesuffix("]")
