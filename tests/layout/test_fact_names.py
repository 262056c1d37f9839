"""Facts in a store have declared names (data.FactKind)."""

from __future__ import annotations

import ast

from layout import source

CALLS = {"fact", "facts", "remember", "forget"}


def names_of_facts(tree):
    """The first argument of each call that reads or writes a fact."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            if node.func.attr not in CALLS:
                continue
            whose = ast.unparse(node.func.value)
            if whose.split(".")[-1] in {"store", "memory", "_store"}:
                yield node.args[0]


def test_no_name_of_a_fact_is_written_as_a_text():
    found = [
        (module, ast.unparse(name))
        for module, path in source.modules().items()
        for name in names_of_facts(source.tree(path))
    ]
    assert len(found) > 20
    assert not [place for place in found if place[1].startswith(("'", '"', "f'", 'f"'))]
