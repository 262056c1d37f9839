"""The audits of one pytest run: installed ones and those of the project's conftest.py."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_t2i.adapters.registry import Registries
from pytest_t2i.audits.audit import Audit
from pytest_t2i.audits.discovery import audits_of, installed_audits
from pytest_t2i.errors import T2IError

AUDITS = pytest.StashKey[tuple[Audit[Any], ...]]()
"""Stash key of the configuration: the project's audits."""


def audits_of_project(config: pytest.Config) -> tuple[Audit[Any], ...]:
    """Return all audits that tests of this run can use; cached.

    A conftest.py registers audits with the hook ``pytest_t2i_audits``. Pytest must load this
    conftest.py before it collects tests: the file lies beside the ini file or in a folder that is
    named on the command line.
    """
    if AUDITS not in config.stash:
        try:
            config.stash[AUDITS] = _read(config)
        except T2IError as error:
            raise pytest.UsageError(str(error)) from None
    return config.stash[AUDITS]


def _read(config: pytest.Config) -> tuple[Audit[Any], ...]:
    offered = config.hook.pytest_t2i_audits()
    if not offered:
        return installed_audits()
    registries = Registries()
    for audits in offered:
        registries.audits.update(audits)
    return audits_of(registries)
