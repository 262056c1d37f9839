"""Each exported name has a docstring, and so has each public member of an exported class."""

from __future__ import annotations

import inspect

import pytest

import pytest_t2i
from pytest_t2i import metrics, statistics

MODULES = (pytest_t2i, metrics, statistics)


def members_of(value):
    """The functions and properties of a class of ours, by name, each with its docstring."""
    ours = [base for base in value.__mro__ if base.__module__.startswith("pytest_t2i")]
    members = [
        (f"{value.__name__}.{name}", inspect.getdoc(member) or "")
        for base in ours
        for name, member in vars(base).items()
        if not name.startswith("_")
        and (inspect.isroutine(member) or isinstance(member, property | classmethod))
    ]
    # What overrides a documented member needs no docstring of its own.
    return {name: max(text for other, text in members if other == name) for name, _ in members}


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_all_exported_names_and_their_members_have_a_docstring(module):
    names = [name for name in module.__all__ if callable(getattr(module, name))]
    assert names
    documented = {name: inspect.getdoc(getattr(module, name)) for name in names}
    for value in (getattr(module, name) for name in names):
        documented |= members_of(value) if inspect.isclass(value) else {}
    assert [name for name, text in documented.items() if not text] == []
