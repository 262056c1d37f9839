"""The audit of a model from a script or a notebook, with the numbers and verdicts of pytest."""

from __future__ import annotations

import html
import inspect
import math
import shutil
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from pytest_t2i.audits.audit import Audit, Fixture
from pytest_t2i.audits.discovery import chosen_audits, installed_audits, recorded_kinds
from pytest_t2i.data import Interval
from pytest_t2i.errors import ConfigurationError, ModelLoadError, UnknownNameError
from pytest_t2i.generation.progress import Silent, terminal_progress
from pytest_t2i.library.in_memory import is_nameless, name_of_model
from pytest_t2i.library.load import (
    clean_errors,
    in_script_words,
    session_for,
    settings_for,
    temporary_store,
)
from pytest_t2i.metrics.info import INFO, register
from pytest_t2i.protocols import Detector
from pytest_t2i.runs.record.baseline import save_baseline
from pytest_t2i.runs.record.build_record import conditions, library_versions, record_of
from pytest_t2i.runs.record.frames import PlainTable, data_frame
from pytest_t2i.runs.record.record import RunRecord
from pytest_t2i.runs.session.earlier_looks import remember_looks
from pytest_t2i.runs.session.make_and_detect import make_and_detect
from pytest_t2i.runs.session.marker_arguments import KEYWORDS, select
from pytest_t2i.runs.session.results import Results
from pytest_t2i.runs.session.running_test import judging
from pytest_t2i.runs.session.selection import (
    Comparison,
    SelectedTest,
    Selection,
    narrowed,
    told_apart,
)
from pytest_t2i.runs.session.session import Session
from pytest_t2i.settings import Settings
from pytest_t2i.verdicts.baseline import RecordedRun
from pytest_t2i.verdicts.baseline_file import (
    Baseline,
    check_comparable,
    library_differences,
    read_baseline,
)
from pytest_t2i.verdicts.check import Check
from pytest_t2i.verdicts.judge_measurement import as_judged
from pytest_t2i.verdicts.limit import LimitValue, operator_of
from pytest_t2i.verdicts.limits_file import NAME_PARTS, LimitFiles, look_up, with_bound
from pytest_t2i.verdicts.measurement import Against, Measurement

SIZE = (100, 24)
"""Columns and lines of the printed summary if the size of the terminal is unknown."""
WRITE = "audit.write_report()"
"""What a script writes its report with."""
WHOLE = 1_000_000
"""Columns of a summary whose lines are not wrapped."""
MOST_BYTES = 2_000_000
"""Largest page in bytes that a notebook shows; instead of a larger one the summary is shown."""


@dataclass(frozen=True, repr=False)
class Verdict(Check):
    """The check of a script, with the measured value beside the judged one.

    >>> from pytest_t2i import Interval, MetricInfo, Outcome
    >>> score = MetricInfo("score", -1.0, 1.0, "away_from_zero", "")
    >>> check = Check("", "score", "nurse", Outcome.FAIL, 0.7, 0.5, 0.9, 0.95, "", 20, "<=", 0.2)
    >>> Verdict.of(check, Measurement(score, "nurse", Interval(-0.7, -0.9, -0.5, 0.95, "", 20)))
    <FAIL: score of nurse, -0.700 [-0.900, -0.500], |value| <= 0.2>
    """

    signed: Interval | None = None
    """The interval as it was measured, with its sign; None where it is the judged one."""

    @classmethod
    def of(cls, check: Check, measurement: Measurement) -> Verdict:
        """Return the verdict of a check, and of the measurement that it judged."""
        values = {part.name: getattr(check, part.name) for part in fields(check)}
        is_folded = measurement.metric.worse in FOLDED and check.interval is not None
        has_sign = is_folded and not check.is_by_people
        return cls(**values, signed=measurement.interval if has_sign else None)

    def __repr__(self) -> str:
        """Return one readable line; all fields are attributes."""
        text = super().__repr__()
        if self.signed is None:
            return text
        judged = "|value|" if self.estimate == abs(self.signed.estimate) else "folded at 0.5"
        text = text.replace(f"{self.interval}, ", f"{self.signed}, ", 1)
        return text.replace(f"{self.against} {self.operator}", f"{judged} {self.operator}", 1)


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

    def __init__(
        self,
        results: Results,
        cases: Mapping[str, tuple[SelectedTest, ...]],
        recorded: RecordedRun | None = None,
    ) -> None:
        self._results, self._cases, self._recorded = results, cases, recorded
        self._record: RunRecord | None = None
        self._has_folder = results.settings.report != Settings().report
        """Whether the user knows where the report is: it was written, or its folder given."""
        self._values: dict[str, Any] = {}

    # measurements

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._cases:
            return self._value(name)
        for value in self._together():
            if isinstance(value, Measurement) and value.name == name:
                return value
            if name in dir(value) and not isinstance(value, Measurement):
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

    def verdict(
        self, metric: str | Measurement, bound: float | None = None, *, reason: str = ""
    ) -> Verdict:
        """Return the check of the whole model, as ``assert samples.metric <= limit(...)`` does.

        Args:
            metric: name of a measurement, such as "model_bias_score" or "similarity_gap.image", or
                the measurement itself, such as ``audit.samples.wals()``.
            bound: the limit; None takes that of the limits file. If the file has one, both must
                be equal.
            reason: why this is the limit, for reports.

        Returns:
            The check; its ``signed`` interval keeps the direction where the absolute value is
            judged.

        Raises:
            UnknownNameError: the metric was not measured.
            ConfigurationError: there is no limit, the limits file has another one, or the metric
                takes arguments.
        """
        case, measurement = self._of_model(metric)
        name = metric if isinstance(metric, str) else metric.metric.name
        check = self._judged(case, measurement, name, bound, reason)
        remember_looks(self._results)
        return check

    def change(self, metric: str | Measurement) -> Check:
        """Return the check of the model's growth since the run of ``baseline=`` or ``anchor=``.

        It is that of ``assert samples.metric <= baseline(...)`` in a test. With both files the
        anchor's check is in the record, too.

        Raises:
            UnknownNameError: the metric was not measured, or baselines do not record it.
            ConfigurationError: the audit was given no baseline.
        """
        case, measurement = self._of_model(metric)
        if self._recorded is None:
            raise ConfigurationError(
                "there is nothing to compare with: give the audit baseline=FILE, which "
                "save_baseline(FILE) of an earlier audit wrote"
            )
        with clean_errors(), self._judging(case):
            value = self._recorded(measurement.name)
            sign = operator_of(measurement.metric)
            value.judge(as_judged(measurement), "<=" if sign == "<=" else ">=")
        if value.check is None:
            raise ConfigurationError(f"{measurement.name}: nothing was compared with {value!r}")
        remember_looks(self._results)
        self._record = None
        return value.check

    def _of_model(self, metric: str | Measurement) -> tuple[SelectedTest, Measurement]:
        fixtures = self._results.session.fixtures
        for name, cases in self._cases.items():
            if fixtures[name].one_by_one:
                continue
            if isinstance(metric, Measurement):
                return cases[0], metric
            measurement = _measurement(f"audit.{name}", self._value(name), metric)
            if measurement is not None:
                return cases[0], measurement
        if isinstance(metric, Measurement):
            raise ConfigurationError("this audit measures no prompts together: use verdicts")
        if metric in self._measured_singly():
            raise ConfigurationError(
                f"{metric} is measured of each prompt or stereotype, not of the model: write "
                f"audit.verdicts({metric!r}, bound)"
            )
        raise UnknownNameError("measurement of the model", metric, self._measured())

    def verdicts(
        self, metric: str, bound: float | None = None, *, reason: str = ""
    ) -> dict[str, Verdict]:
        """Return the checks of all prompts or stereotypes by id; they share one error level.

        Arguments and errors are those of ``verdict``.
        """
        checks = {
            _member_of(case): self._judged(case, measurement, metric, bound, reason)
            for case, _, measurement in self._of_members(metric)
        }
        remember_looks(self._results)
        return checks

    def _of_members(self, metric: str) -> list[tuple[SelectedTest, Any, Measurement]]:
        """Return a metric of each prompt or stereotype, with its case and the fixture's value."""
        for name, cases in self._cases.items():
            if self._results.session.fixtures[name].one_by_one:
                values = [(case, self._results.fixture(name, case)) for case in cases]
                measurements = [
                    (case, value, measurement)
                    for case, value in values
                    if (measurement := _measurement(f"audit.{name}[id]", value, metric)) is not None
                ]
                if measurements:
                    return measurements
        if metric in self._measured():
            raise ConfigurationError(
                f"{metric} is measured of the model, not of each prompt or stereotype: write "
                f"audit.verdict({metric!r}, bound)"
            )
        raise UnknownNameError("measurement of each member", metric, self._measured_singly())

    def _judged(
        self,
        case: SelectedTest,
        measurement: Measurement,
        metric: str,
        bound: float | None,
        reason: str,
    ) -> Verdict:
        with clean_errors():
            limit = self._limit(case, metric, bound, reason)
        with self._judging(case):
            sign = operator_of(measurement.metric)
            limit.judge(as_judged(measurement), "<=" if sign == "<=" else ">=")
        if limit.check is None:
            raise ConfigurationError(f"{metric}: nothing was compared with {limit!r}")
        self._record = None
        return Verdict.of(limit.check, measurement)

    def _limit(
        self, case: SelectedTest, metric: str, bound: float | None, reason: str
    ) -> LimitValue:
        limits, file = LimitFiles(Path.cwd(), self._results.settings.limits).of(case.file)
        if bound is not None:
            return LimitValue(with_bound(metric, bound, reason, limits, file))
        if reason:
            raise ConfigurationError(
                f"reason={reason!r}: a reason needs a bound beside it. The reason for a limit of "
                "the limits file stands in that file"
            )
        return LimitValue(look_up(metric, limits, file))

    @contextmanager
    def _judging(self, case: SelectedTest) -> Iterator[None]:
        session = self._results.session

        def record(check: Check) -> None:
            # A repeated call replaces the earlier check.
            same = (check.metric, check.subject, check.bound)
            rest = [c for c in session.checks if (c.metric, c.subject, c.bound) != same]
            session.checks[:] = [*rest, check]

        compared = session.compared.setdefault(case.node_id, []).append
        limits = LimitFiles(Path.cwd(), self._results.settings.limits).of(case.file)
        with judging(self._results, case.node_id, record, compared, *limits):
            yield

    # record and report

    @property
    def record(self) -> RunRecord:
        """The record of all measurements and checks so far, as run.json keeps it."""
        if self._record is None:
            self._record = record_of(self._results)
        return self._record

    @property
    def _shown(self) -> RunRecord:
        """The record as this script shows and writes it: its advice names arguments."""
        steps = tuple(map(self._in_script_words, self.record.next_steps))
        return replace(self.record, next_steps=steps)

    def _in_script_words(self, line: str) -> str:
        run_file = self._results.run_file
        is_ahead = run_file in line and WRITE not in line and not self._has_folder
        return in_script_words(line) + (f" (after {WRITE})" if is_ahead else "")

    def to_frame(self, table: str) -> Any:
        """Return a table as a pandas DataFrame: "prompts", "checks", "scores" and so on."""
        return self.record.to_frame(table)

    def table(self, *metrics: str) -> Any:
        """Return metrics of each prompt or stereotype as a pandas DataFrame with a row for each.

        Args:
            metrics: names of measurements of each prompt, such as "prompt_bias_score" and
                "group_distance".

        Returns:
            The columns ``id``, ``prompt`` and ``concept``; of each metric its name (the estimate),
            ``_low`` and ``_high``, NaN without evidence; and ``reason``, why there is none.

        Raises:
            UnknownNameError: a metric was not measured of each prompt.
            ConfigurationError: no metric is named, or one takes arguments.
            MissingExtraError: pandas is not installed (``pip install ".[frames]"``).
        """
        if not metrics:
            names = ", ".join(self._measured_singly())
            raise ConfigurationError(f"table: expected metrics, such as {names}")
        rows: dict[str, dict[str, Any]] = {}
        for metric in metrics:
            for case, value, measurement in self._of_members(metric):
                member = getattr(value, "prompt", None)
                member_id = _member_of(case)
                described = {
                    "id": member_id,
                    "prompt": getattr(member, "text", ""),
                    "concept": getattr(member, "concept", ""),
                }
                row = rows.setdefault(member_id, described)
                row |= {name: row.get(name) or described[name] for name in described}
                # The estimate and the ends of its interval by column; NaN without evidence.
                interval = measurement.interval
                parts = ("estimate", "low", "high")
                values = (
                    math.nan if interval is None else getattr(interval, part) for part in parts
                )
                row |= dict(zip(_columns(metric), values, strict=True))
                if measurement.interval is None:
                    reasons = [row.get("reason", ""), f"{metric}: {measurement.absent}"]
                    row["reason"] = "; ".join(filter(None, reasons))
        columns = [name for metric in metrics for name in _columns(metric)]
        listed = [{"reason": "", **row} for row in rows.values()]
        return data_frame(PlainTable(["id", "prompt", "concept", *columns, "reason"], listed))

    def save_baseline(self, path: str | Path) -> Path:
        """Record this run as a baseline, for ``baseline=`` of a later audit or pytest's option."""
        if self._results.settings.sequential:
            raise ConfigurationError(
                "a baseline holds all images of every prompt: audit without sequential=True"
            )
        save_baseline(self._results, Path(path))
        return Path(path)

    def write_report(self, folder: str | Path | None = None) -> Path:
        """Write run.json, index.html, summary.md and their manifest; return the page's path.

        None takes the folder of ``report=``, which is reports/t2i where it was not given.
        """
        from pytest_t2i.reporting import write_all
        from pytest_t2i.runs.record.manifest import manifest_of, write_manifest

        session = self._results.session
        folder = session.settings.report if folder is None else Path(folder)
        # The advice names commands about this report.
        session.settings, self._record = replace(session.settings, report=folder), None
        self._has_folder = True
        record = self._shown
        write_all(record, folder)
        write_manifest(manifest_of(session, record, folder, Path.cwd()), folder)
        return folder / "index.html"

    def __repr__(self) -> str:
        """Return the summary that pytest prints at the end of a run."""
        from pytest_t2i.reporting.formatting import wrapped
        from pytest_t2i.reporting.terminal import summary_text

        columns = shutil.get_terminal_size(SIZE).columns
        text = summary_text(self.record, WHOLE)
        lines = map(self._in_script_words, text.splitlines())
        return "\n".join(part for line in lines for part in wrapped(line, columns))

    def _repr_html_(self) -> str:
        from pytest_t2i.reporting.html import render_html

        page = render_html(self._shown, Path.cwd())
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
    # Names alone: computing a measurement may take seconds or raise an error.
    return [
        f"{name}.{part}" if part else name
        for value in values
        for name in ([value.name] if isinstance(value, Measurement) else dir(value))
        if name in INFO
        for part in (NAME_PARTS[name] if _is_by_part(value, name) else ("",))
    ]


def _measurement(owner: str, value: Any, name: str) -> Measurement | None:
    """Return the measurement of this name, or of one of its parts (``similarity_gap.image``)."""
    if isinstance(value, Measurement):  # the fixture is the measurement itself
        return value if value.name == name else None
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


def _columns(metric: str) -> tuple[str, str, str]:
    return metric, f"{metric}_low", f"{metric}_high"


def _member_of(case: SelectedTest) -> str:
    """Return the id of a case's only member; "" for a case of all members."""
    return case.node_id.partition("[")[2].removesuffix("]")


FOLDED = ("away_from_zero", "away_from_half")
"""Directions of metrics of which another value than the measured one is judged."""
REFUSED = {
    "inconclusive": "a script has no exit status: look at the outcome of a verdict",
    "captions": "select captions: t2i.audit(model, *t2i.read_captions(FILE).triplets(COUNT))",
}
"""Options of a run that a script has no use for -> what to do instead."""
AGAINST: tuple[Against, Against] = ("baseline", "anchor")
FILE = Path("audit.py")
"""A stand-in for the test file, beside which limits.toml is looked up."""


@clean_errors()
def audit(
    model: Any,
    *selected: Any,
    images: int = 20,
    detector: str | Detector | Sequence[str] | None = None,
    audits: Any = ("parity",),
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
        audits: audits whose fixtures are measured: names of installed ones, classes of your own
            (subclasses of ``pytest_t2i.Audit``), or ``module:Class``.
        fingerprint: version of a function, which stands for all that changes its pictures; without
            it every call makes new pictures.
        name: name of a model in memory in reports and tables, to distinguish two models.
        progress: whether to show a progress bar.
        options: other options of a run by their names, such as ``seed=1``, ``steps=4``,
            ``baseline=FILE``, ``anchor=FILE``, ``save_baseline=FILE`` or ``sequential=True`` (by
            the limits of limits.toml), and keywords of the marker, such as
            ``observe="features"``.

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
    audits_to_run = chosen_audits(audits)
    every = tuple(dict.fromkeys((*installed_audits(), *audits_to_run)))
    for entry in every:
        for metric in entry.metrics:
            register(metric)
    of_audits = {name: word for member in every for name, word in member.keywords.items()}
    understood = {*of_audits, *KEYWORDS} - {"images"}
    keywords = {name: options.pop(name) for name in [*options] if name in understood}
    # A function without a fingerprint cannot be identified later: its pictures lie in a temporary
    # store that lives as long as the returned object.
    with ExitStack() as temporary:
        if is_nameless(model, fingerprint) and "store" not in options:
            options["store"] = temporary.enter_context(temporary_store())
        if isinstance(detector, type):
            raise ConfigurationError(
                f"detector: expected an object, got the class: write {detector.__name__}()"
            )
        detector_object = (
            None if detector is None or isinstance(detector, str | Sequence) else detector
        )
        detector_setting = detector if detector_object is None else name_of_model(detector_object)
        settings = settings_for(model, images, detector_setting, options, name, REFUSED)
        _check_use(settings, audits_to_run)
        kinds = recorded_kinds(every)
        files = [
            None if file is None else read_baseline(file, kinds)
            for file in (settings.baseline, settings.anchor)
        ]
        session = session_for(settings, model, fingerprint, detector_object, every)
        selection = select(selected, keywords, (), of_audits)
        session.learn(selection)
        limits = LimitFiles(Path.cwd(), settings.limits)
        cases = _cases(selection, audits_to_run, session, limits)
        session.tests = told_apart(
            {case.node_id: case for fixture_tests in cases.values() for case in fixture_tests}
        )
        session.selected = len(session.tests)
        results = Results(session, files[0])
        recorded = _recorded(session, files, selection)
        with _default_named(unsaid=detector is None and not isinstance(model, str)):
            make_and_detect(results, limits, terminal_progress() if progress else Silent())
        tests_of_fixtures = {
            name: tuple(session.tests[c.node_id] for c in fixture_tests)
            for name, fixture_tests in cases.items()
        }
        session.judged |= session.tests.keys()
        audited = Audited(results, tests_of_fixtures, recorded)
        weakref.finalize(audited, temporary.pop_all().close)
        if settings.save_baseline is not None:
            audited.save_baseline(settings.save_baseline)
    return audited


def _check_use(settings: Settings, audits: Sequence[Audit]) -> None:
    """Raise ConfigurationError for an option that only other audits read."""
    names = [audit.name for audit in audits]
    finds = any(fixture.finds for audit in audits for fixture in audit.fixtures.values())
    if settings.objects is not None and not finds:
        raise ConfigurationError(
            f"objects={settings.objects!r}: only audits of objects look for them. Add one: "
            f"audits={(*names, 'objects')!r}"
        )
    if settings.reference is not None and "references" not in names:
        raise ConfigurationError(
            f"reference={settings.reference!r}: only the audit of references compares with it: "
            f"audits={(*names, 'references')!r}"
        )


def _recorded(
    session: Session, files: Sequence[Baseline | None], selection: Selection
) -> RecordedRun | None:
    """Return the baseline with the anchor, after both were found comparable; None without."""
    runs: list[RecordedRun | None] = []
    for recorded, against in zip(files, AGAINST, strict=True):
        if recorded is None:
            runs.append(None)
            continue
        now, force = conditions(session), session.settings.force_baseline
        differences = check_comparable(recorded, now, selection.prompts, force=force)
        differences += library_differences(recorded, library_versions())
        runs.append(RecordedRun(recorded, tuple(differences), against))
    baseline, anchor = runs
    return anchor if baseline is None else replace(baseline, anchor=anchor)


@contextmanager
def _default_named(*, unsaid: bool) -> Iterator[None]:
    """Add advice to a ModelLoadError if ``unsaid``: no detector was named for a model in memory."""
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
    selection: Selection, audits: Sequence[Audit], session: Session, limits: LimitFiles
) -> dict[str, tuple[SelectedTest, ...]]:
    """Return the test cases of each fixture by its name, as pytest would make them."""
    cases = {
        name: tuple(_cases_of(name, fixture, selection, session))
        for audit in audits
        for name, fixture in audit.fixtures.items()
        if fixture.about is not None and not (fixture.finds and session.settings.objects is None)
    }
    nonempty = {name: fixture_cases for name, fixture_cases in cases.items() if fixture_cases}
    if not nonempty:
        raise ConfigurationError(
            "nothing is selected: give axes or prompts, such as pytest_t2i.axes.profession"
        )
    return _limited(nonempty, session, limits) if session.settings.sequential else nonempty


def _limited(
    cases: Mapping[str, tuple[SelectedTest, ...]], session: Session, files: LimitFiles
) -> dict[str, tuple[SelectedTest, ...]]:
    limits, file = files.of(FILE)
    limited, every = {}, set()
    for name, fixture_cases in cases.items():
        rule = session.fixtures[name].stopping_rule()
        if rule is None:
            continue
        metric = rule.metric
        every.add(metric)
        if metric in limits:
            comparison = Comparison(name, metric, False, operator_of(INFO[metric]), metric, None)
            limited[name] = tuple(
                replace(case, comparisons=(comparison,)) for case in fixture_cases
            )
    if not limited:
        raise ConfigurationError(
            "sequential=True makes images until limits are decided, and reads them before: "
            f"expected a limit of {' or '.join(sorted(every)) or 'these audits'} in "
            f"{file or 'limits.toml, here or above, or in limits=FILE'}"
        )
    return limited


def _cases_of(
    name: str, fixture: Fixture, selection: Selection, session: Session
) -> Iterable[SelectedTest]:
    if fixture.about is None or not (members := selection.members(fixture.about)):
        return
    for group, id_ in (
        [((m,), f"[{m.id}]") for m in members] if fixture.one_by_one else [(members, "")]
    ):
        narrow = narrowed(selection, {name: fixture}, {fixture.about: group}, session.audits)
        images = selection.images(session.settings.images)
        yield SelectedTest(f"{FILE}::{name}{id_}", FILE, narrow, images, images)
