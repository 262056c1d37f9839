"""The executor's pytest options. Ray itself is imported when the executor is used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytest
from pytest_t2i import T2IError

from pytest_t2i_ray import asked

OPTIONS: Mapping[str, tuple[Callable[[str, str], Any], str, str]] = {
    "address": (
        asked.address,
        "HOST:PORT",
        "Ray cluster of --t2i-executor ray: HOST:PORT, auto for the one that this machine belongs "
        "to, or local (default: RAY_ADDRESS, else local)",
    ),
    "cpus": (
        asked.cpus,
        "N",
        "processors for each actor of Ray, which then has no GPU (default: one GPU each)",
    ),
}
"""Option -> its reader, the placeholder of its value, and its help."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register ``--t2i-ray-...`` and their ini keys."""
    group = parser.getgroup("t2i-ray", "images of text-to-image models from a Ray cluster")
    for name, (_, metavar, told) in OPTIONS.items():
        ini = f"t2i_ray_{name}"
        group.addoption(f"--t2i-ray-{name}", dest=ini, default=None, metavar=metavar, help=told)
        try:
            # A table [tool.pytest] of TOML holds numbers.
            parser.addini(ini, told, type=str | int | float, default=None)
        except (AssertionError, TypeError, ValueError):  # pytest before 9.2
            parser.addini(ini, told, default=None)


def pytest_configure(config: pytest.Config) -> None:
    """Read the options, and register an executor that uses them."""
    try:
        given = {name: _value(config, name) for name in OPTIONS}
    except T2IError as error:
        raise pytest.UsageError(str(error)) from None
    config.pluginmanager.register(_Offer(asked.Asked(**given)), "t2i-ray-executor")


def _value(config: pytest.Config, name: str) -> Any:
    read, *_ = OPTIONS[name]
    ini = f"t2i_ray_{name}"
    value = config.getoption(ini)
    if value is not None:
        return read(f"--t2i-ray-{name}", value)
    value = str(config.getini(ini) or "").strip()
    return read(ini, value) if value else None


class _Offer:
    def __init__(self, given: asked.Asked) -> None:
        self._given = given

    @pytest.hookimpl(optionalhook=True)
    def pytest_t2i_executors(self) -> Mapping[str, Callable[..., Any]]:
        """Return the executor of the entry point, with the options applied."""
        from pytest_t2i_ray.executor import load

        return {"ray": partial(load, asked=self._given)}
