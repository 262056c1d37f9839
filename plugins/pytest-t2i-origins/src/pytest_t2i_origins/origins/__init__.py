"""Origins: what does a model associate with a concept, without a list of attributes (StOP, OASIS)?

Every start of pytest loads this module, so the search is imported when a test asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from pytest_t2i import Audit, MetricInfo

STOCK_FIGURE = MetricInfo(
    "stock_figure",
    -1.0,
    1.0,
    "higher",
    "ours: excess that more than one attribute reaches which prompts name",
    meaning="Above 0 prompts name several attributes that images show beyond the real world.",
)


def _origins(sample: Any) -> Callable[..., Any]:
    from pytest_t2i_origins.origins.origins_of_images import origins

    return partial(origins, sample)


class OriginsAudit(Audit):
    """The audit that gives every sample the method ``origins``; it keeps no record."""

    name = "origins"
    metrics = (STOCK_FIGURE,)
    of_sample: Mapping[str, Callable[[Any], Any]] = MappingProxyType({"origins": _origins})
