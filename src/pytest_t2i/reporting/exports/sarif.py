"""The SARIF 2.1.0 log of a run: failed and inconclusive checks for code-scanning pages."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pytest_t2i.adapters.support.escaping import clean, message
from pytest_t2i.data import Outcome
from pytest_t2i.files import write_whole
from pytest_t2i.metrics.info import INFO
from pytest_t2i.reporting.formatting import metric_words
from pytest_t2i.runs.picture_paths import portable
from pytest_t2i.runs.record import RunRecord
from pytest_t2i.verdicts.check import Check

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
OTHERWISE = "test-failed"
HELP = (
    "An error is shown by the evidence, a note is inconclusive. Estimate and interval stand in the "
    "message, pictures and next steps in the report (reports/t2i/index.html)."
)
OTHERWISE_HELP = "It failed by a plain number or an error; pytest's output says which."
LEVELS = {Outcome.FAIL: "error", Outcome.INCONCLUSIVE: "note"}


def write_sarif(record: RunRecord, file: Path) -> None:
    """Write the SARIF log of a run, atomically."""
    write_whole(file, json.dumps(clean(sarif(record)), indent=1, ensure_ascii=False).encode())


def sarif(record: RunRecord) -> dict[str, Any]:
    """Return the SARIF log: failed checks, and inconclusive ones that weigh on the run's verdict.

    Tests that failed without a verdict are results, too.
    """
    record = portable(record)
    checks = [
        check
        for check in record.checks
        if check.outcome is Outcome.FAIL
        or (check.outcome is Outcome.INCONCLUSIVE and check.weighs_on_run)
    ]
    metrics = sorted({check.metric for check in checks})
    driver: dict[str, Any] = {
        "name": "pytest-t2i",
        "version": version("pytest-t2i"),
        "informationUri": "https://github.com/pytest-t2i/pytest-t2i",
        "rules": [_rule(metric) for metric in metrics],
    }
    if record.failed_otherwise:
        driver["rules"].append(_described(OTHERWISE, "test without a verdict", OTHERWISE_HELP))
    results = [_result(check, record.model, metrics) for check in checks]
    results += [_otherwise(record, test) for test in record.failed_otherwise]
    run = {"tool": {"driver": driver}, "results": results, "columnKind": "unicodeCodePoints"}
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(metric: str) -> dict[str, Any]:
    info = INFO.get(metric)
    source = f" ({info.source})" if info else ""
    words = metric_words(metric)
    return _described(metric, f"{words} within its limit{source}", HELP)


def _described(id_: str, title: str, text: str) -> dict[str, Any]:
    """Return a rule with the fields that GitHub's code scanning requires."""
    return {
        "id": id_,
        "shortDescription": {"text": message(title)},
        "fullDescription": {"text": message(f"{title}. {text}")},
        "help": {"text": text},
    }


def _result(check: Check, model: str, metrics: list[str]) -> dict[str, Any]:
    text = check.message or f"{check.metric} of {check.subject}: {check.outcome}"
    return {
        "ruleId": check.metric,
        "ruleIndex": metrics.index(check.metric),
        "level": LEVELS[check.outcome],
        "message": {"text": message(f"{model}: {check.subject}: {text}")},
        "locations": [_location(check.test)],
        "partialFingerprints": {"check": f"{check.test}|{check.metric}|{check.subject}"},
    }


def _otherwise(record: RunRecord, test: str) -> dict[str, Any]:
    return {
        "ruleId": OTHERWISE,
        "level": "error",
        "message": {"text": message(record.failed_because.get(test) or f"{test} failed")},
        "locations": [_location(test)],
    }


def _location(test: str) -> dict[str, Any]:
    file, _, name = test.partition("::")
    return {
        "physicalLocation": {"artifactLocation": {"uri": quote(file)}, "region": {"startLine": 1}},
        "logicalLocations": [{"fullyQualifiedName": test, "name": name}],
    }
