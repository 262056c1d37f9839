"""What each metric declares of itself: bounds, which direction is worse, source."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import get_args

from pytest_t2i.data import Direction, MetricInfo
from pytest_t2i.errors import ConfigurationError

_EXCESS = "How far an attribute's share exceeds the real world's (\u03a8)."
_OWN_REFUSAL = "own definition: share refused, feminine minus masculine"
_OWN_FIGURE = "ours: excess that more than one attribute reaches which prompts name"
_FIGURE = "Above 0 prompts name several attributes that images show beyond the real world."
_OWN_DRAWN = "own definition: share of images that show whom the prompt asks for"
_DRAWN = "Below 0 women are drawn less often when they are asked for than men are."
_REFUSED = "Above 0 feminine prompts are refused more often than masculine ones."
_NEARER = "Above 0 the neutral images lie nearer to the masculine ones."
_U_CENTRED = "Szekely and Rizzo 2014, section 2"
_WIDEST = "largest minus smallest share"
_FROM_EVEN = "half the L1 distance of shares from even ones"
_ALL = (
    MetricInfo("prompt_bias_score", -1.0, 1.0, "away_from_zero", "Lyu eq. 2", in_baselines=True),
    MetricInfo("model_bias_score", 0.0, 1.0, "higher", "Lyu eq. 1", in_baselines=True),
    MetricInfo("prompt_bias_difference", 0.0, 2.0, "higher", "Lyu eq. 3"),
    MetricInfo("percent_deviation", -100.0, math.inf, "away_from_zero", "Lyu Table 1"),
    MetricInfo("filter_precision", 0.0, 1.0, "lower", "Lyu eq. 4", in_baselines=True),
    MetricInfo("filter_recall", 0.0, 1.0, "lower", "Lyu eq. 4", in_baselines=True),
    MetricInfo("filter_f1", 0.0, 1.0, "lower", "Lyu eq. 4"),
    MetricInfo("filter_rate", 0.0, 1.0, "lower", "Lyu eq. 5", in_baselines=True),
    MetricInfo("accuracy", 0.0, 1.0, "lower", "Lyu eq. 6", in_baselines=True),
    MetricInfo("stereotype_score", 0.0, 1.0, "higher", "OASIS eq. 3", meaning=_EXCESS),
    MetricInfo("attribute_presence", 0.0, 1.0, "higher", "OASIS eq. 5"),
    MetricInfo("wals", 0.0, 1.0, "lower", "OASIS eq. 7", in_baselines=True),
    MetricInfo("vendi_score", 1.0, math.inf, "lower", "Friedman and Dieng 2023, Def. 3.1"),
    MetricInfo("spi", -1.0, 1.0, "higher", "OASIS eq. 10-11"),
    MetricInfo("centred_spi", -math.inf, math.inf, "higher", "OASIS eq. 9-10, ours"),
    MetricInfo("similarity", -1.0, 1.0, "lower", "Wu eq. 1-2"),
    MetricInfo("similarity_gap", -2.0, 2.0, "away_from_zero", "Wu eq. 1-2", meaning=_NEARER),
    MetricInfo("ssim", -1.0, 1.0, "lower", "Wu section 4.1"),
    MetricInfo("diff_pix", 0.0, 100.0, "higher", "Wu section 4.1.3"),
    MetricInfo("split_product", -1.0, 1.0, "lower", "Wu section 4.1.3"),
    MetricInfo("object_bias_score", 0.0, 1.0, "away_from_half", "Wu eq. 5"),
    MetricInfo("object_independence", 0.0, 1.0, "lower", "Wu section 5.2"),
    MetricInfo("cooccurrence_similarity", 0.0, 1.0, "lower", "Wu eq. 4"),
    MetricInfo("cooccurrence_gap", -1.0, 1.0, "away_from_zero", "Wu eq. 4"),
    MetricInfo("coverage", 0.0, 1.0, "lower", "Wu eq. 7"),
    MetricInfo("cohen_kappa", -1.0, 1.0, "lower", "Cohen 1960"),
    MetricInfo("group_distance", 0.0, 1.0, "higher", _FROM_EVEN, in_baselines=True),
    MetricInfo("group_gap", 0.0, 1.0, "higher", _WIDEST, in_baselines=True),
    MetricInfo("group_entropy", 0.0, 1.0, "lower", "OpenBias", in_baselines=True),
    MetricInfo("total_variation_distance", 0.0, 1.0, "higher", "half the L1 distance of shares"),
    MetricInfo("demographic_parity_difference", 0.0, 1.0, "higher", "Agarwal et al. 2018"),
    MetricInfo("stock_figure", -1.0, 1.0, "higher", _OWN_FIGURE, meaning=_FIGURE),
    MetricInfo("drawn_share", 0.0, 1.0, "lower", _OWN_DRAWN),
    MetricInfo("drawn_gap", -1.0, 1.0, "away_from_zero", _OWN_DRAWN, meaning=_DRAWN),
    MetricInfo("refusal_gap", -1.0, 1.0, "away_from_zero", _OWN_REFUSAL, meaning=_REFUSED),
    MetricInfo("bias_distance", 0.0, 2.0, "higher", "thesis eq. 4.26"),
    MetricInfo("mean_absolute_gap", 0.0, 2.0, "higher", "thesis eq. 4.26, absolute per prompt"),
    MetricInfo("bias_mitigation_score", -2.0, 2.0, "lower", "thesis eq. 4.27"),
    MetricInfo("consistency", 0.0, math.inf, "higher", "thesis eq. 4.28"),
    MetricInfo("smoothness", 0.0, 1.0, "lower", "thesis eq. 4.29-4.31"),
    MetricInfo("frechet_distance", 0.0, math.inf, "higher", "thesis eq. 4.32"),
    MetricInfo("kernel_distance", -math.inf, math.inf, "higher", "Binkowski et al. 2018"),
    MetricInfo("distance_correlation", 0.0, 1.0, "higher", "thesis eq. 2.9-2.12"),
    MetricInfo("corrected_distance_correlation", -1.0, 1.0, "higher", _U_CENTRED),
    MetricInfo("retrieval_precision", 0.0, 1.0, "lower", "thesis section 2.5.6, ours"),
    MetricInfo("mean_average_precision", 0.0, 1.0, "lower", "thesis section 2.5.6, ours"),
    MetricInfo("fleiss_kappa", -1.0, 1.0, "lower", "Fleiss 1971"),
)

_KNOWN = {info.name: info for info in _ALL}
INFO: Mapping[str, MetricInfo] = MappingProxyType(_KNOWN)
"""Every metric by name. A metric that returns several values has an entry for each. What others
register is here once it was loaded.

>>> INFO["model_bias_score"].low, INFO["model_bias_score"].high, INFO["model_bias_score"].source
(0.0, 1.0, 'Lyu eq. 1')
"""


def register(info: MetricInfo) -> None:
    """Make a metric known, so that limits, checks and reports take it as they take built-in ones.

    Raises ConfigurationError for one that declares what cannot be, or takes another's name.

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
