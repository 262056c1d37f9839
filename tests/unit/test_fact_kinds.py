"""Facts in a store have declared names."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import pytest_t2i
from pytest_t2i.data import FactKind

SOURCE = Path(pytest_t2i.__file__).parent
CALLS = {"fact", "facts", "remember", "forget"}


def names_of_facts(tree):
    """The first argument of each call that reads or writes a fact."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            whose = ast.unparse(node.func.value)
            if node.func.attr in CALLS and whose.split(".")[-1] in {"store", "memory", "_store"}:
                yield node.args[0]


def test_no_name_of_a_fact_is_written_as_a_text():
    found = [
        (path.name, ast.unparse(name))
        for path in SOURCE.rglob("*.py")
        for name in names_of_facts(ast.parse(path.read_text()))
    ]
    assert len(found) > 20
    assert not [place for place in found if place[1].startswith(("'", '"', "f'", 'f"'))]


@pytest.mark.parametrize("kind", FactKind)
def test_a_kind_is_the_beginning_of_its_names_and_of_no_others(kind):
    assert kind.of("a", 1) == f"{kind.value}:a:1"
    assert not [other for other in FactKind if other.of("").startswith(kind.of(""))][1:]
