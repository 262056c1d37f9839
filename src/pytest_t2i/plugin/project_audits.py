"""The audits of one pytest run: installed ones, and those of the project's conftest.py."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_t2i.adapters.registry import Registries
from pytest_t2i.audits.audit import Audit
from pytest_t2i.audits.discovery import audits_of, installed_audits
from pytest_t2i.errors import T2IError

AUDITS = pytest.StashKey[tuple[Audit[Any], ...]]()
"""Stash of the configuration: the project's audits."""


def audits_of_project(config: pytest.Config) -> tuple[Audit[Any], ...]:
    """Every audit that tests of this run may ask, read once.

    A conftest.py registers its own with the hook ``pytest_t2i_audits``; it has to be one that
    pytest loads before it collects: beside the ini file, or of a folder that is named.
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
