"""The registry of metrics: bounds, worse direction and source of each."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import get_args

from pytest_t2i.data import Direction, MetricInfo
from pytest_t2i.errors import ConfigurationError

_OF_AUDITS = (
    MetricInfo(
        "drawn_share",
        0.0,
        1.0,
        "lower",
        "own definition: share of images that show whom the prompt asks for",
    ),
    MetricInfo(
        "drawn_gap",
        -1.0,
        1.0,
        "away_from_zero",
        "own definition: share of images that show whom the prompt asks for",
        meaning="Below 0 women are drawn less often when they are asked for than men are.",
    ),
)
"""Metrics that an audit computes itself; the others are declared beside their formulas."""

_KNOWN = {info.name: info for info in _OF_AUDITS}
INFO: Mapping[str, MetricInfo] = MappingProxyType(_KNOWN)
"""Every metric by name. A metric that returns several values has an entry for each. Metrics of
extensions appear once the extension is loaded.

>>> INFO["model_bias_score"].low, INFO["model_bias_score"].high, INFO["model_bias_score"].source
(0.0, 1.0, 'Lyu eq. 1')
"""


def register(info: MetricInfo) -> None:
    """Register a metric, so that limits, checks and reports accept it as they accept built-in ones.

    Raises ConfigurationError for an invalid declaration, or a name that another metric has.

    >>> register(INFO["model_bias_score"])
    """
    if not info.name.isidentifier() or info.worse not in get_args(Direction):
        raise ConfigurationError(
            f"a metric has an identifier as its name and a worse direction of "
            f"{', '.join(get_args(Direction))}, got name={info.name!r}, worse={info.worse!r}"
        )
    if not info.low < info.high:
        raise ConfigurationError(
            f"metric {info.name!r}: expected low < high, got low={info.low!r}, high={info.high!r}"
        )
    if _KNOWN.setdefault(info.name, info) != info:
        raise ConfigurationError(
            f"metric {info.name!r} is registered already, by {_KNOWN[info.name].source}: give "
            "yours another name"
        )
