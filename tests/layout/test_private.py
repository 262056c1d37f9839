"""What is private is underscored: a function that only its own module names begins with one."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache

from layout import source

ROOTS = ("src", "tests", "plugins", "docs", "examples", "suites")
KINDS = {".py", ".md", ".toml", ".ipynb", ".j2"}
CALLED_BY_PYTEST = "pytest_t2i.plugin.hooks"
CODE_IS_IDENTITY = "adapters"
"""A new name there is another version of a detector, and makes what it said of images stale."""


@cache
def naming():
    """Word -> how many files have it."""
    found = Counter()
    for root in ROOTS:
        for path in (source.REPOSITORY / root).rglob("*"):
            hidden = any(part.startswith(".") for part in path.relative_to(source.REPOSITORY).parts)
            if path.suffix in KINDS and not hidden:
                found.update(set(re.findall(r"\w+", path.read_text(encoding="utf-8"))))
    return found


def functions(path):
    return [node.name for node in source.tree(path).body if isinstance(node, ast.FunctionDef)]


def test_a_function_that_nobody_else_names_is_underscored():
    alone = {
        f"{module}.{name}"
        for module, path in source.modules().items()
        if source.subpackage(module) != CODE_IS_IDENTITY and module != CALLED_BY_PYTEST
        for name in functions(path)
        if not name.startswith("_") and naming()[name] == 1
    }
    assert alone == set()


def test_nobody_imports_what_is_underscored():
    borrowed = {
        f"{module}: {node.module}.{alias.name}"
        for module, path in source.modules().items()
        for node in source.imports(path)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name.startswith("_")
    }
    assert borrowed == set()
