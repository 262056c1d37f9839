"""Find in the source of a test which comparisons it will make."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import pytest

from pytest_t2i.plugin.fixture_members import fixtures_about
from pytest_t2i.runs.selection import Comparison
from pytest_t2i.verdicts.limit import limit


@lru_cache(maxsize=256)
def limits_named_in(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names passed to ``limit("...")`` without a bound, which a file must give.

    Names computed at run time, and tests whose source is not available, are left out.

    >>> limits_named_in(limits_named_in.__wrapped__)
    ()
    """
    tree = _tree(function)
    return () if tree is None else tuple(dict.fromkeys(_names(tree)))


@lru_cache(maxsize=256)
def bounds_given_in(function: Callable[..., Any]) -> tuple[tuple[str, float], ...]:
    """Return names and bounds of ``limit("...", 0.3)``, where names and bounds can be read.

    A bound is a number, or the name of a number in the test's module.

    >>> bounds_given_in(bounds_given_in.__wrapped__)
    ()
    """
    tree, values = _tree(function), getattr(function, "__globals__", {})
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call)) if tree else ()
    found = (_bound_of(node, values) for node in calls if _is_limit(node, values))
    return tuple(dict.fromkeys(pair for pair in found if pair is not None))


def _bound_of(node: ast.Call, values: Mapping[str, Any]) -> tuple[str, float] | None:
    arguments: dict[str | None, ast.expr] = dict(zip(("name", "bound"), node.args, strict=False))
    arguments |= {keyword.arg: keyword.value for keyword in node.keywords}
    name, bound = (_value(arguments.get(key), values) for key in ("name", "bound"))
    is_number = isinstance(bound, int | float) and not isinstance(bound, bool)
    return (name, float(bound)) if isinstance(name, str) and is_number else None


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
    known = {*fixtures_about(item.config), "baseline", "model", "detector"}
    used = [name for name in item.fixturenames if name in known]
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


def _comparison(node: ast.Compare, fixture: str) -> Comparison | None:
    sign = {ast.LtE: "<=", ast.Lt: "<"}.get(type(node.ops[0]))
    if len(node.ops) != 1 or sign is None:
        return None
    left, absolute = node.left, False
    if isinstance(left, ast.Call) and isinstance(left.func, ast.Name) and left.func.id == "abs":
        left, absolute = left.args[0], True
    limit = _limit(node.comparators[0])
    if limit is None or not isinstance(left, ast.Attribute):
        return None
    if not isinstance(left.value, ast.Name) or left.value.id != fixture:
        return None
    return Comparison(fixture, left.attr, absolute, sign, *limit)


def _limit(node: ast.AST) -> tuple[str, float | None] | None:
    """Return name and bound of ``limit("name")`` or ``limit("name", 0.3)``."""
    if not isinstance(node, ast.Call) or _called(node) != "limit":
        return None
    given = [*node.args, *(keyword.value for keyword in node.keywords if keyword.arg == "bound")]
    values = [node.value for node in given if isinstance(node, ast.Constant)]
    if len(values) != len(node.args) + len(node.keywords) or not 1 <= len(values) <= 2:  # noqa: PLR2004 - name and bound
        return None
    name, bound = values[0], values[1] if len(values) > 1 else None
    if not isinstance(name, str) or not isinstance(bound, int | float | None):
        return None
    return name, bound


def _tree(function: Callable[..., Any]) -> ast.AST | None:
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return None


def _names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords:
            continue
        name = node.args[0]
        if (
            _called(node) == "limit"
            and isinstance(name, ast.Constant)
            and isinstance(name.value, str)
        ):
            yield name.value


def _called(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else str(getattr(node.func, "attr", ""))
