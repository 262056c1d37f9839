"""Runs, reports, commands, plugin and library name no metric: an audit says what they show."""

from __future__ import annotations

import ast
import re

import pytest
from layout import source

from pytest_t2i.audits.discovery import installed_audits
from pytest_t2i.metrics.info import INFO

METRICS = {*INFO, *(metric.name for audit in installed_audits() for metric in audit.metrics)}
WORDS = {"accuracy", "similarity", "consistency", "smoothness", "coverage", "ssim", "wals", "spi"}
"""Metrics whose names are words that also mean something else."""
FRAME = ("runs", "reporting", "cli", "plugin", "library")
ALLOWED = {
    "runs.record.record": {"prompt_bias_score"},  # a key of run.json
    "runs.record.frames": {"prompt_bias_score"},  # a column that users read
    "runs.compare.record": {"model_bias_score"},  # a default of compare.json
    "cli.check_detector": {"undetected_gap"},  # a command of one audit
    "cli.demo": {"model_bias_score", "prompt_bias_score"},  # shows these two scores
    "cli.init": {"model_bias_score", "prompt_bias_score"},  # suggests limits of these
    "cli.plan": {"model_bias_score", "prompt_bias_score", "demographic_parity_difference"},  # power
}  # fmt: skip
"""Module -> metrics that it may name."""


def named_in(path):
    """Metrics that a module names outside of its docstrings."""
    tree = source.tree(path)
    owners = ast.Module | ast.ClassDef | ast.FunctionDef
    first = (node.body[0] for node in source.nodes(path) if isinstance(node, owners) and node.body)
    documents = {id(node.value) for node in first if isinstance(node, ast.Expr)}
    documents |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = {
        node.value
        for node in source.nodes(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if id(node) not in documents
    }
    texts |= {node.attr for node in source.nodes(path) if isinstance(node, ast.Attribute)}
    texts |= {node.id for node in source.nodes(path) if isinstance(node, ast.Name)}
    words = {word for text in texts for word in re.findall(r"[a-z_]+", text)}
    return words & (METRICS - WORDS)


MODULES = {
    name.removeprefix("pytest_t2i."): path
    for name, path in source.modules().items()
    if source.subpackage(name) in FRAME
}


@pytest.mark.parametrize("package", FRAME)
def test_no_module_of_the_frame_names_a_metric(package):
    naming = {
        name: named_in(path) - ALLOWED.get(name, set())
        for name, path in MODULES.items()
        if name.startswith(package)
    }
    assert {name: metrics for name, metrics in naming.items() if metrics} == {}


@pytest.mark.parametrize("module", ALLOWED)
def test_every_exception_is_needed(module):
    assert ALLOWED[module] <= named_in(MODULES[module])
