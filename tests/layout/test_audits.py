"""An audit is one package or module: nobody else imports it, or names its record or a fixture."""

from __future__ import annotations

import ast
from typing import get_args

import pytest
from layout import source

from pytest_t2i.audits.audit import About
from pytest_t2i.audits.discovery import installed_audits

AUDITS = {
    audit.name: audit
    for audit in installed_audits()
    if type(audit).__module__.startswith("pytest_t2i.")
}
PACKAGE = f"{source.PACKAGE}.audits."
PUBLIC = {source.PACKAGE}
"""What users import from: it shows type checkers what audits add to samples."""
COMMANDS = {
    "pytest_t2i.cli.check_detector": {"detector_validation"},
    "pytest_t2i.cli.stereotypes": {"stereotypes"},
}
"""Commands that show what one audit alone can."""
MEANS_SOMETHING_ELSE = {
    "pytest_t2i.audits.engine.samples": {"sample"},  # a kind of name that a companion would add
    "pytest_t2i.audits.dependencies": {"triplet"},  # heads a column of all three variants
    "pytest_t2i.audits.engine.contrast": {"stereotype", "triplet"},  # what a row is about
    "pytest_t2i.audits.explicit": {"triplet"},  # what a row is about
    "pytest_t2i.audits.refusals": {"triplet"},  # what a row is about
    "pytest_t2i.cli.main": {"sample"},  # a command
    "pytest_t2i.cli.sample": {"objects"},  # a kind of component in a run's provenance
    "pytest_t2i.plugin.run": {"objects"},  # a kind of component
    "pytest_t2i.plugin.options": {"reference"},  # an option
    "pytest_t2i.runs.record.build_record": {"objects"},  # a kind of component in a run's provenance
}
"""Module above the audits -> words that are no names of records or fixtures there."""
KINDS = frozenset(get_args(About))
"""What a mark names: the words stand for its members, whichever audit measures them."""
ABOVE = ("runs", "reporting", "cli", "plugin")


def words_of(audit):
    return {audit.name, *audit.fixtures} - KINDS


def strings_of(path):
    return {
        node.value
        for node in source.nodes(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def is_inside(module, audit):
    return f"{module}.".startswith(f"{PACKAGE}{audit}.")


def may_know(module, audit):
    """Whether a module may use an audit: its own, public exports, audits that come after it."""
    if module in PUBLIC or is_inside(module, audit):
        return True
    after = {name for name, other in AUDITS.items() if audit in other.after}
    return audit in COMMANDS.get(module, ()) or any(is_inside(module, name) for name in after)


@pytest.mark.parametrize("audit", AUDITS)
def test_nobody_else_imports_an_audit(audit):
    importing = {
        f"{module} -> {used}"
        for module, targets in source.arrows().items()
        for used in targets
        if is_inside(used, audit) and not may_know(module, audit)
    }
    assert importing == set()


@pytest.mark.parametrize("audit", AUDITS.values(), ids=AUDITS)
def test_nobody_else_holds_the_name_of_a_record_or_a_fixture(audit):
    naming = {
        f"{module}: {word!r}"
        for module, path in source.modules().items()
        if source.subpackage(module) in ABOVE or module.startswith(PACKAGE)
        if not may_know(module, audit.name)
        for word in strings_of(path) & words_of(audit)
        if word not in MEANS_SOMETHING_ELSE.get(module, ())
    }
    assert naming == set()


@pytest.mark.parametrize(
    ("module", "words"), MEANS_SOMETHING_ELSE.items(), ids=MEANS_SOMETHING_ELSE
)
def test_every_exception_is_needed(module, words):
    assert words <= strings_of(source.modules()[module])


def test_every_package_of_audits_is_registered():
    packages = {path.parent.name for path in source.SOURCE.glob("audits/*/__init__.py")}
    modules = {path.stem for path in source.SOURCE.glob("audits/*.py")}
    assert packages - {"engine"} <= AUDITS.keys()
    assert AUDITS.keys() - packages <= modules
