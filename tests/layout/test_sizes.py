"""Small packages, small files, small functions: what can be read in one go."""

from __future__ import annotations

import ast

import numpy as np
import pytest
from layout import source
from layout.figures import classes, fields, methods

MOST_MODULES, MOST_FOLDERS = 6, 15
"""In the root."""
MOST_LINES = 300
"""Of a module that does not say why it has more."""
REASON = f"Over {MOST_LINES} lines: "
"""Begins the sentence of a module's docstring that says so."""
MOST_OF_CLASS = 20
"""Methods of a class, fields of a record, where its docstring does not say why there are more."""
MEDIAN, NINTH_DECILE = 8, 22
"""Lines of a function, its docstring included."""


def test_the_root_is_seen_at_a_glance():
    files = [path.name for path in source.SOURCE.glob("*.py")]
    folders = {path.parent.name for path in source.SOURCE.glob("*/__init__.py")}
    assert len(files) <= MOST_MODULES, files
    assert len(folders) <= MOST_FOLDERS, folders


def test_every_folder_of_modules_is_a_package():
    folders = {path.parent for path in source.modules().values()}
    assert [folder for folder in folders if not (folder / "__init__.py").is_file()] == []


def test_a_long_module_says_why():
    silent = {
        name: lines
        for name, path in source.modules().items()
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > MOST_LINES
        and REASON not in " ".join((ast.get_docstring(source.tree(path)) or "").split())
    }
    assert silent == {}, f"split it, or say in its docstring: {REASON}..."


@pytest.mark.parametrize(("what", "count"), [("methods", methods), ("fields", fields)])
def test_a_large_class_says_why(what, count):
    silent = {
        name: count(node)
        for name, node in classes()
        if count(node) > MOST_OF_CLASS
        and f"Over {MOST_OF_CLASS} {what}: " not in (ast.get_docstring(node) or "")
    }
    assert silent == {}, f"split it, or say in its docstring: Over {MOST_OF_CLASS} {what}: ..."


def test_functions_are_short():
    functions = source.functions()
    lengths = [function.lines for function in functions]
    longest = "\n".join(f"{f.lines:4} {f.name}" for f in functions[:25])
    assert np.median(lengths) <= MEDIAN, longest
    assert np.percentile(lengths, 90) <= NINTH_DECILE, longest
