"""The audit of a model from a script or a notebook, with the numbers and verdicts of pytest."""

from __future__ import annotations

import html
import inspect
import shutil
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from pytest_t2i.audits.audit import Audit, Fixture
from pytest_t2i.audits.discovery import installed_audits
from pytest_t2i.errors import ConfigurationError, ModelLoadError, UnknownNameError
from pytest_t2i.generation.progress import Silent, terminal_progress
from pytest_t2i.library.in_memory import is_nameless, name_of_model
from pytest_t2i.library.load import clean_errors, session_for, settings_for, temporary_store
from pytest_t2i.metrics.info import INFO, register
from pytest_t2i.protocols import Detector
from pytest_t2i.runs.build_record import record_of
from pytest_t2i.runs.earlier_looks import remember_looks
from pytest_t2i.runs.judging import judging
from pytest_t2i.runs.live import conclude
from pytest_t2i.runs.make_and_detect import make_and_detect
from pytest_t2i.runs.marker_arguments import KEYWORDS, select
from pytest_t2i.runs.record import RunRecord
from pytest_t2i.runs.results import Results
from pytest_t2i.runs.selection import SelectedTest, Selection, narrowed, told_apart
from pytest_t2i.settings import Settings
from pytest_t2i.verdicts.check import Check
from pytest_t2i.verdicts.limit import LimitValue, as_judged, operator_of
from pytest_t2i.verdicts.limits_file import NAME_PARTS, LimitFiles
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
        names = ", ".join([*self._cases, *self._measured()])
        raise AttributeError(f"this audit has no {name!r}; it has {names}")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._cases, *self._measured()})

    def _value(self, fixture: str) -> Any:
        """Return a fixture's value; for a fixture with one case per member, a dict by member id."""
        if fixture not in self._values:
            values = {
                _member_of(case): self._results.fixture(fixture, case)
                for case in self._cases[fixture]
            }
            alone = self._results.session.fixtures[fixture].one_by_one
            self._values[fixture] = values if alone else values[""]
        return self._values[fixture]

    def _together(self) -> Iterator[Any]:
        fixtures = self._results.session.fixtures
        yield from (self._value(name) for name in self._cases if not fixtures[name].one_by_one)

    def _measured(self) -> list[str]:
        return _measurements(self._together())

    def _measured_singly(self) -> list[str]:
        fixtures = self._results.session.fixtures
        return _measurements(
            self._results.fixture(name, cases[0])
            for name, cases in self._cases.items()
            if fixtures[name].one_by_one and cases
        )

    # verdicts

    def verdict(self, metric: str | Measurement, bound: float | None = None) -> Check:
        """Return the check of the whole model, as ``assert samples.metric <= limit(...)`` does.

        Args:
            metric: name of a measurement, such as "model_bias_score" or "similarity_gap.image", or
                the measurement itself, such as ``audit.samples.wals()``.
            bound: the limit; None takes that of the limits file. If the file has one, both must
                be equal.

        Raises:
            UnknownNameError: the metric was not measured.
            ConfigurationError: there is no limit, the limits file has another one, or the metric
                takes arguments.
        """
        fixtures = self._results.session.fixtures
        for name, cases in self._cases.items():
            if fixtures[name].one_by_one:
                continue
            if isinstance(metric, Measurement):
                measurement: Measurement | None = metric
            else:
                measurement = _measurement(f"audit.{name}", self._value(name), metric)
            if measurement is not None:
                metric_name = metric if isinstance(metric, str) else metric.metric.name
                check = self._judged(cases[0], measurement, metric_name, bound)
                remember_looks(self._results)
                return check
        if isinstance(metric, Measurement):
            raise ConfigurationError("this audit measures no prompts together: use verdicts")
        if metric in self._measured_singly():
            raise ConfigurationError(
                f"{metric} is measured of each prompt or stereotype, not of the model: write "
                f"audit.verdicts({metric!r}, bound)"
            )
        raise UnknownNameError("measurement of the model", metric, self._measured())

    def verdicts(self, metric: str, bound: float | None = None) -> dict[str, Check]:
        """Return the checks of all prompts or stereotypes by id; they share one error level.

        Arguments and errors are those of ``verdict``.
        """
        for name, cases in self._cases.items():
            if self._results.session.fixtures[name].one_by_one:
                values = [(case, self._results.fixture(name, case)) for case in cases]
                measurements = [
                    (case, measurement)
                    for case, value in values
                    if (measurement := _measurement(f"audit.{name}[id]", value, metric)) is not None
                ]
                if measurements:
                    checks = {
                        _member_of(case): self._judged(case, measurement, metric, bound)
                        for case, measurement in measurements
                    }
                    remember_looks(self._results)
                    return checks
        if metric in self._measured():
            raise ConfigurationError(
                f"{metric} is measured of the model, not of each prompt or stereotype: write "
                f"audit.verdict({metric!r}, bound)"
            )
        raise UnknownNameError("measurement of each member", metric, self._measured_singly())

    def _judged(
        self, case: SelectedTest, measurement: Measurement, metric: str, bound: float | None
    ) -> Check:
        limit = self._limit(case, metric, bound)
        with self._judging(case):
            sign = operator_of(measurement.metric)
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
        session = self._results.session

        def record(check: Check) -> None:
            # A repeated call replaces the earlier check.
            same = (check.metric, check.subject, check.bound)
            rest = [c for c in session.checks if (c.metric, c.subject, c.bound) != same]
            session.checks[:] = [*rest, check]

        compared = session.compared.setdefault(case.node_id, []).append
        with judging(self._results, case.node_id, record, compared, {}):
            yield

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
        from pytest_t2i.runs.manifest import manifest_of, write_manifest

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


def _is_by_part(value: Any, name: str) -> bool:
    """Whether a measurement is taken part by part, such as a similarity gap in each space."""
    return name in NAME_PARTS and callable(getattr(type(value), name, None))


def _measurements(values: Iterable[Any]) -> list[str]:
    """Return the names of the measurements of fixtures' values."""
    # Names alone: computing a measurement may take seconds or raise an error.
    return [
        f"{name}.{part}" if part else name
        for value in values
        for name in dir(value)
        if name in INFO
        for part in (NAME_PARTS[name] if _is_by_part(value, name) else ("",))
    ]


def _measurement(owner: str, value: Any, name: str) -> Measurement | None:
    """Return the measurement of this name, or of one of its parts (``similarity_gap.image``).

    Raises ConfigurationError for one that takes arguments.
    """
    base, _, part = name.partition(".")
    if part and _is_by_part(value, base):
        measurement = getattr(value, base)(part)
    else:
        measurement = getattr(value, name, None)
        if name in INFO and callable(measurement) and not isinstance(measurement, Measurement):
            needs = [
                parameter.name
                for parameter in inspect.signature(measurement).parameters.values()
                if parameter.default is parameter.empty
            ]
            if needs:
                arguments = ", ".join(needs)
                raise ConfigurationError(
                    f"{name} takes arguments: write audit.verdict({owner}.{name}({arguments}), "
                    "bound)"
                )
            measurement = measurement()
    return measurement if isinstance(measurement, Measurement) else None


def _member_of(case: SelectedTest) -> str:
    """Return the id of a case's only member; "" for a case of all members."""
    return case.node_id.partition("[")[2].removesuffix("]")


FILE = Path("audit.py")
"""A stand-in for the test file, beside which limits.toml is looked up."""


@clean_errors()
def audit(
    model: Any,
    *selected: Any,
    images: int = 20,
    detector: str | Detector | Sequence[str] | None = None,
    audits: Sequence[str] = ("parity",),
    fingerprint: str | None = None,
    name: str | None = None,
    progress: bool = True,
    **options: Any,
) -> Audited:
    """Make images of prompts, detect and measure: a fairness run without pytest.

    Args:
        model: a diffusers pipeline, any ``TextToImage``, a function from prompts and seeds to
            pictures, or a value of ``--t2i-model``. A hash of its weights and configuration
            identifies a pipeline.
        selected: arguments of the marker ``t2i``: axes, prompts, triplets, stereotypes.
        images: number of images per prompt.
        detector: one or several values of ``--t2i-detector``, or an object that obeys
            ``Detector``. None takes the catalogue's detector of the model, and ``clip-enhance``
            with its default weights for a model in memory.
        audits: names of the audits whose fixtures are measured.
        fingerprint: version of a function, which stands for all that changes its pictures; without
            it every call makes new pictures.
        name: name of a model in memory in reports and tables, to distinguish two models.
        progress: whether to show a progress bar.
        options: other options of a run by their names, such as ``seed=1`` or ``steps=4``, and
            keywords of the marker, such as ``observe="features"``.

    Returns:
        An object with measurements as attributes, verdicts, tables and a report.

    Raises:
        ConfigurationError: an option or the model cannot be used, or nothing is selected.
        UnknownNameError: there is no such audit, detector, model or option.
        ModelLoadError: the detector's weights are not on this machine and cannot be fetched.

    >>> from PIL import Image
    >>> from pytest_t2i import Detection, axes
    >>> class Colour:
    ...     fingerprint, labels = "colour-1", ("male", "female")
    ...     def detect(self, images):
    ...         return [Detection("male") for _ in images]
    >>> plain = lambda prompts, seeds: [Image.new("RGB", (8, 8), seed % 2**24) for seed in seeds]
    >>> nurse = axes.profession.only("nurse")
    >>> known = audit(plain, nurse, images=9, detector=Colour(), progress=False)
    >>> known.model_bias_score.interval.low > 0.2
    True
    """
    audits_by_name = {audit.name: audit for audit in installed_audits()}
    for audit_name in audits:
        if audit_name not in audits_by_name:
            raise UnknownNameError("audit", audit_name, audits_by_name)
    for entry in audits_by_name.values():
        for metric in entry.metrics:
            register(metric)
    of_audits = {
        name: word for member in audits_by_name.values() for name, word in member.keywords.items()
    }
    understood = {*of_audits, *KEYWORDS} - {"images"}
    keywords = {name: options.pop(name) for name in [*options] if name in understood}
    # A function without a fingerprint cannot be identified later: its pictures lie in a temporary
    # store that lives as long as the returned object.
    with ExitStack() as temporary:
        if is_nameless(model, fingerprint) and "store" not in options:
            options["store"] = temporary.enter_context(temporary_store())
        detector_object = (
            None if detector is None or isinstance(detector, str | Sequence) else detector
        )
        detector_setting = detector if detector_object is None else name_of_model(detector_object)
        settings = settings_for(model, images, detector_setting, options, name)
        session = session_for(settings, model, fingerprint, detector_object)
        selection = select(selected, keywords, (), of_audits)
        session.learn(selection)
        cases = _cases(selection, [audits_by_name[name] for name in audits], settings)
        session.tests = told_apart(
            {case.node_id: case for fixture_tests in cases.values() for case in fixture_tests}
        )
        session.selected = len(session.tests)
        results = Results(session)
        with _default_named(unsaid=detector is None and not isinstance(model, str)):
            limits = LimitFiles(Path.cwd(), settings.limits)
            try:
                make_and_detect(results, limits, terminal_progress() if progress else Silent())
            finally:
                conclude(session)
        tests_of_fixtures = {
            name: tuple(session.tests[c.node_id] for c in fixture_tests)
            for name, fixture_tests in cases.items()
        }
        session.judged |= session.tests.keys()
        audited = Audited(results, tests_of_fixtures)
        weakref.finalize(audited, temporary.pop_all().close)
    return audited


@contextmanager
def _default_named(*, unsaid: bool) -> Iterator[None]:
    """Add advice to a ModelLoadError if ``unsaid``: no detector was named for a model in memory.

    Raises ModelLoadError that names the default detector and says how to choose another.
    """
    try:
        yield
    except ModelLoadError as error:
        if not unsaid:
            raise
        raise ModelLoadError(
            f"{error} No detector was given, so the pictures of a model in memory need the default "
            "one, clip-enhance with its usual weights. Give another one: detector=NAME (`t2i list "
            "detectors` names them), or an object with fingerprint, labels and detect(images)."
        ) from None


def _cases(
    selection: Selection, audits: Sequence[Audit[Any]], settings: Settings
) -> dict[str, tuple[SelectedTest, ...]]:
    """Return the test cases of each fixture by its name, as pytest would make them."""
    cases = {
        name: tuple(_cases_of(name, fixture, selection, settings))
        for audit in audits
        for name, fixture in audit.fixtures.items()
        if fixture.about is not None and not (fixture.finds and settings.objects is None)
    }
    nonempty = {name: fixture_cases for name, fixture_cases in cases.items() if fixture_cases}
    if not nonempty:
        raise ConfigurationError(
            "nothing is selected: give axes or prompts, such as pytest_t2i.axes.profession"
        )
    return nonempty


def _cases_of(
    name: str, fixture: Fixture, selection: Selection, settings: Settings
) -> Iterable[SelectedTest]:
    if fixture.about is None or not (members := selection.members(fixture.about)):
        return
    for group, id_ in (
        [((m,), f"[{m.id}]") for m in members] if fixture.one_by_one else [(members, "")]
    ):
        narrow = narrowed(selection, {name: fixture}, {fixture.about: group}, installed_audits())
        images = selection.images(settings.images)
        yield SelectedTest(f"{FILE}::{name}{id_}", FILE, narrow, images, images)
