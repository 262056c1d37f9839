"""Load metrics of installed distributions, from ``pytest_t2i.metrics`` or from their audits."""

from __future__ import annotations

from functools import cache

from pytest_t2i.adapters.registry import Registries
from pytest_t2i.data import MetricInfo
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.metrics.info import register


@cache
def load_registered_metrics() -> None:
    """Register the metrics of every installed distribution.

    Raises ConfigurationError for an entry point that is no MetricInfo.
    """
    registries = Registries()
    for name in registries.metrics.names():
        info = registries.metrics.get(name)
        if not isinstance(info, MetricInfo):
            raise ConfigurationError(
                f"entry point {name!r} of pytest_t2i.metrics: expected a pytest_t2i.MetricInfo, "
                f"got {info!r}"
            )
        register(info)
    for name in registries.audits.names():
        for info in registries.audits.get(name).metrics:
            register(info)
