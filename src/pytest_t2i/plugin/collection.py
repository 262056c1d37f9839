"""Collection: marked tests become cases, and are checked before anything is made."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pytest_t2i.adapters.registry import brought_by_companion
from pytest_t2i.audits.engine.context import AuditContext
from pytest_t2i.errors import T2IError, UnknownNameError
from pytest_t2i.metrics.info import INFO
from pytest_t2i.plugin.exit_status import NO_MODEL
from pytest_t2i.plugin.fixtures import RUN
from pytest_t2i.plugin.marker import fixtures_about, members_of, read_marker, selection_of
from pytest_t2i.runs.session.selection import Comparison, SelectedTest, Selection
from pytest_t2i.runs.session.session import NO_FINDER, NO_LABELS, Session
from pytest_t2i.verdicts.baseline import check_recorded
from pytest_t2i.verdicts.baseline_file import Baseline, check_prompts
from pytest_t2i.verdicts.limit import check_operator, limit
from pytest_t2i.verdicts.limits_file import LimitFiles


class _Limit(NamedTuple):
    """What ``limit(...)`` is called with, where it can be read."""

    name: str
    bound: Any
    """None where the limits file gives it."""
    is_read: bool
    """Whether the bound is known."""
    is_plain: bool
    """Whether it is, and no reason is given, nor the name by its keyword."""


@lru_cache(maxsize=256)
def limits_in(function: Callable[..., Any]) -> tuple[tuple[str, Any], ...]:
    """Return names and bounds of ``limit("...", 0.3)`` that can be read; None: the file's.

    >>> limits_in(limits_in.__wrapped__)
    ()
    """
    tree, values = _tree(function), _known_to(function)
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call)) if tree else ()
    limits = (_limit_of(node, values) for node in calls)
    return tuple(
        dict.fromkeys(
            (found_limit.name, found_limit.bound)
            for found_limit in limits
            if found_limit and found_limit.is_read
        )
    )


@lru_cache(maxsize=256)
def _recorded_in(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the metrics that ``baseline("...")`` is called with, where they can be read."""
    tree, values = _tree(function), _known_to(function)
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call)) if tree else ()
    baselines = (call for call in calls if _called(call) == "baseline" and call.args)
    names = (_value(call.args[0], values) for call in baselines)
    return tuple(name for name in names if isinstance(name, str))


def _with_helpers(item: pytest.Function) -> list[Callable[..., Any]]:
    """Return a test, its fixtures and what these call, as far as it stands in the test's folder."""
    fixtures = item._fixtureinfo.name2fixturedefs.values()  # noqa: SLF001 - no public name
    waiting = [inspect.unwrap(item.function), *(definitions[-1].func for definitions in fixtures)]
    folder, functions = item.path.parent, {}
    while waiting:
        function = inspect.unwrap(waiting.pop(0))
        code = getattr(function, "__code__", None)
        if code is None or code in functions or Path(code.co_filename).parent != folder:
            continue
        functions[code] = function
        names = _known_to(function)
        waiting += [value for name in code.co_names if inspect.isfunction(value := names.get(name))]
    return list(functions.values())


def _limit_of(node: ast.AST, values: Mapping[str, Any]) -> _Limit | None:
    """Return what ``limit(...)`` is called with; None for anything else, and an unknown name."""
    if not isinstance(node, ast.Call) or not _is_limit(node, values):
        return None
    arguments: dict[str | None, ast.expr] = dict(zip(("name", "bound"), node.args, strict=False))
    arguments |= {keyword.arg: keyword.value for keyword in node.keywords}
    name, bound = (_value(arguments.get(key), values) for key in ("name", "bound"))
    if not isinstance(name, str):
        return None
    is_read = None not in arguments and ("bound" not in arguments or isinstance(bound, Readable))
    is_plain = is_read and all(keyword.arg == "bound" for keyword in node.keywords)
    return _Limit(name, bound, is_read, is_plain)


Readable = int | float | str


SIGNS = {ast.LtE: "<=", ast.Lt: "<", ast.GtE: ">=", ast.Gt: ">", ast.Eq: "==", ast.NotEq: "!="}
TURNED = {"<=": ">=", "<": ">", ">=": "<=", ">": "<"}


@lru_cache(maxsize=256)
def _against_limits_in(function: Callable[..., Any]) -> tuple[Comparison, ...]:
    """Return the comparisons of a test with limits, also those that stand in a loop or a variable.

    >>> _against_limits_in(_against_limits_in.__wrapped__)
    ()
    """
    tree, values = _tree(function), _known_to(function)
    nodes = list(ast.walk(tree)) if tree else []
    assignments: dict[str, list[ast.expr]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            assignments.setdefault(node.targets[0].id, []).append(node.value)

    def meant(node: ast.expr) -> ast.expr:
        assigned = assignments.get(node.id, []) if isinstance(node, ast.Name) else []
        return assigned[0] if len(assigned) == 1 else node

    comparisons = []
    for node in (node for node in nodes if isinstance(node, ast.Compare)):
        sides = [meant(side) for side in (node.left, *node.comparators)]
        for (left, right), operator in zip(pairwise(sides), node.ops, strict=True):
            sign = SIGNS.get(type(operator), "")
            for measured, limiting, as_read in (
                (left, right, sign),
                (right, left, TURNED.get(sign, sign)),
            ):
                against, place = _limit_of(limiting, values), _attribute_of(measured)
                if as_read and against and place:
                    comparisons.append(Comparison(*place, False, as_read, against.name, None))
    return tuple(comparisons)


def _attribute_of(node: ast.expr) -> tuple[str, str] | None:
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id == "abs" and node.args:
            return _attribute_of(node.args[0])
        node = node.func
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
        return None
    return node.value.id, node.attr


def _value(node: ast.expr | None, values: Mapping[str, Any]) -> Any:
    """Return the value of a constant, or of a name of the test's module; else None."""
    if isinstance(node, ast.Name):
        return values.get(node.id)
    try:
        return None if node is None else ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def _is_limit(node: ast.Call, values: Mapping[str, Any]) -> bool:
    return _called(node) == "limit" or (
        isinstance(node.func, ast.Name) and values.get(node.func.id) is limit
    )


def foreseen(item: pytest.Function) -> tuple[Comparison, ...]:
    """Return all comparisons of a test; () if they cannot be known before it runs."""
    names = {*fixtures_about(item.config), "baseline", "model", "detector"}
    used = [name for name in item.fixturenames if name in names]
    return comparisons_in(item.function, used[0]) if len(used) == 1 else ()


@lru_cache(maxsize=256)
def comparisons_in(function: Callable[..., Any], fixture: str) -> tuple[Comparison, ...]:
    """Return all comparisons in the source of a test, if all have a simple form; else ().

    The simple form is ``sample.metric <= limit("name")``, possibly with ``abs(...)`` or with a
    number as bound. A test that uses its fixture otherwise, or compares anything else, may depend
    on values that are not known before it runs.

    >>> comparisons_in(comparisons_in.__wrapped__, "sample")
    ()
    """
    tree = _tree(function)
    if tree is None:
        return ()
    compares = [node for node in ast.walk(tree) if isinstance(node, ast.Compare)]
    comparisons = [_comparison(node, fixture) for node in compares]
    uses = sum(isinstance(node, ast.Name) and node.id == fixture for node in ast.walk(tree))
    plain = [comparison for comparison in comparisons if comparison is not None]
    return tuple(plain) if len(plain) == len(comparisons) == uses else ()


@lru_cache(maxsize=256)
def _comparisons_counted(function: Callable[..., Any], recorded_runs: int = 1) -> int | None:
    """Return how many comparisons with limits and recorded runs are in the source of a test.

    A comparison with ``baseline(...)`` counts once for each recorded run. None where the number is
    not known before the test runs: in a loop, or where none is found.
    """
    tree, values = _tree(function), _known_to(function)
    if tree is None:
        return None
    count = sum(
        max(1, recorded_runs) if _called(call) == "baseline" else 1
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare)
        for call in ast.walk(node)
        if isinstance(call, ast.Call) and (_called(call) == "baseline" or _is_limit(call, values))
    )
    repeats = any(isinstance(node, LOOPS) for node in ast.walk(tree))
    return None if repeats else count or None


LOOPS = (
    *(ast.For, ast.While, ast.AsyncFor),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
)
"""Parts of a source that may run several times."""


def _family_of(item: pytest.Function) -> str:
    """Return a name that the cases have in common whose members share one error level."""
    fixtures = fixtures_about(item.config)
    params = getattr(getattr(item, "callspec", None), "params", {})
    further = {
        name: value
        for name, value in params.items()
        if name not in fixtures or not fixtures[name].one_by_one
    }
    return (
        f"{item.nodeid.partition('[')[0]} {further}" if further else item.nodeid.partition("[")[0]
    )


def _comparison(node: ast.Compare, fixture: str) -> Comparison | None:
    sign = {ast.LtE: "<=", ast.Lt: "<"}.get(type(node.ops[0]))
    if len(node.ops) != 1 or sign is None:
        return None
    left, absolute = node.left, False
    if isinstance(left, ast.Call) and isinstance(left.func, ast.Name) and left.func.id == "abs":
        left, absolute = left.args[0], True
    against = _limit_of(node.comparators[0], {})
    if against is None or not against.is_plain or isinstance(against.bound, str):
        return None
    if not isinstance(left, ast.Attribute) or _attribute_of(left) != (fixture, left.attr):
        return None
    return Comparison(fixture, left.attr, absolute, sign, against.name, against.bound)


def _tree(function: Callable[..., Any]) -> ast.AST | None:
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return None


def _known_to(function: Callable[..., Any]) -> Mapping[str, Any]:
    """Return the names of the test's module that the test does not bind itself."""
    variables = getattr(getattr(function, "__code__", None), "co_varnames", ())
    values = getattr(function, "__globals__", {})
    return {name: value for name, value in values.items() if name not in variables}


def _called(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else str(getattr(node.func, "attr", ""))


@dataclass(frozen=True)
class Selecting:
    """Selects tests for a run, before an image is made."""

    session: Session
    context: AuditContext
    limits: LimitFiles
    recorded: Sequence[Baseline]
    """The recorded runs of --t2i-baseline and --t2i-anchor."""

    def select(self, item: pytest.Function) -> None:
        """Add a marked item to the run, or mark it as skipped with the reason."""
        selection = selection_of(item)
        reason = self._reason_to_skip(selection)
        if reason:
            item.add_marker(pytest.mark.skip(reason=reason))
            return
        self.session.learn(read_marker(item))
        images = selection.images(self.session.settings.images)
        test = SelectedTest(
            item.nodeid,
            Path(item.path),
            selection,
            images,
            images,
            foreseen(item),
            family=_family_of(item),
            counted=_comparisons_counted(item.function, len(self.recorded)),
            takes_baseline="baseline" in item.fixturenames,
        )
        try:
            self._check(item, test)
        except T2IError as error:
            raise pytest.UsageError(f"{item.nodeid}: {error}") from None
        self.session.tests[item.nodeid] = test

    def _reason_to_skip(self, selection: Selection) -> str:
        if selection.detectors and self.session.labels is None:
            return NO_LABELS
        if selection.finds and self.session.settings.objects is None:
            return NO_FINDER
        if selection.needs_model and not self.session.has_model:
            return NO_MODEL
        return self._unmet(selection)

    def _unmet(self, selection: Selection) -> str:
        """Return why a fixture of a test cannot be provided, before images are made."""
        settings = self.session.settings
        reasons = (
            fixture.unmet(settings)
            for audit in self.session.audits
            for name, fixture in audit.fixtures.items()
            if name in selection.fixtures
        )
        return next(filter(None, reasons), "")

    def _check(self, item: pytest.Function, test: SelectedTest) -> None:
        """Check that the limits, reference shares and recorded prompts of a test exist."""
        for function in _with_helpers(item):
            for name, bound in limits_in(function):
                if bound is None:
                    self.limits.look_up(name, test.file)
                else:
                    self.limits.with_bound(name, bound, test.file)
            for metric in _recorded_in(function):
                check_recorded(metric)
        for compared in _against_limits_in(item.function):
            if compared.fixture in item.fixturenames:
                self._check_compared(compared)
        for audit in self.session.audits:
            audit.check(self.context, test)
        self._check_counterparts(test)
        prompts = test.selection.prompts
        if "baseline" in item.fixturenames:
            for recorded in self.recorded:
                check_prompts(recorded, prompts, test.images)

    def _check_compared(self, compared: Comparison) -> None:
        fixture, name = self.session.fixtures.get(compared.fixture), compared.metric
        attributes = fixture.attributes(self.session.audits) if fixture else ()
        if attributes and name not in attributes:
            public = {attribute for attribute in attributes if not attribute.startswith("_")}
            raise UnknownNameError(f"attribute of {compared.fixture}", name, public)
        if name in INFO:
            check_operator(INFO[name], compared.name, compared.operator)

    def _check_counterparts(self, test: SelectedTest) -> None:
        mitigating = self.session.components.mitigating()
        if mitigating is not None:
            for prompt in test.selection.all_prompts:
                mitigating.variation(prompt)


def parametrize(metafunc: pytest.Metafunc) -> None:
    """Parametrize a marked test. An error is reported as one line."""
    if metafunc.config.pluginmanager.has_plugin(RUN):
        _refuse_fixtures_not_installed(metafunc.definition)
    try:
        selection = read_marker(metafunc.definition)
    except pytest.UsageError as error:
        # For any other exception, pytest shows a traceback of its own frames.
        raise pytest.Collector.CollectError(str(error)) from None
    for name, fixture in fixtures_about(metafunc.config).items():
        if name not in metafunc.fixturenames or fixture.about is None:
            continue
        members = members_of(selection, fixture.about, metafunc.config)
        if not members:
            raise pytest.Collector.CollectError(
                f"{metafunc.definition.nodeid}: fixture {name!r} has nothing to measure: give "
                "the marker t2i(...) an axis, prompt, triplet or stereotype"
            )
        if fixture.one_by_one:
            ids = [member if fixture.about == "detectors" else member.id for member in members]
            metafunc.parametrize(name, members, indirect=True, ids=ids)


def _refuse_fixtures_not_installed(definition: pytest.Function) -> None:
    """Raise CollectError for a fixture of a companion that is not installed, and name the latter.

    A fixture of the project with such a name is its own, and so is a parameter.
    """
    info = definition._fixtureinfo  # noqa: SLF001 - the names that nobody defines are not public
    marks = definition.iter_markers("parametrize")
    parameters = {name for mark in marks for name in re.findall(r"\w+", str(mark.args[:1]))}
    for name in info.names_closure:
        install = brought_by_companion("fixture", name)
        if install and name not in info.name2fixturedefs and name not in parameters:
            raise pytest.Collector.CollectError(
                f"{definition.nodeid}: fixture {name!r} is not installed. {install}"
            )
