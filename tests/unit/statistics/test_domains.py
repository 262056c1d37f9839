"""Just outside its domain every argument is refused by name, at both ends."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_t2i import metrics as m
from pytest_t2i import statistics as s
from pytest_t2i.statistics.change import growth_probabilities, paired_prompt_p_value
from pytest_t2i.statistics.curves import settled_step
from pytest_t2i.statistics.distances import total_variation_floor, total_variation_p_value
from pytest_t2i.statistics.families import (
    adaptive_discarding,
    family_share_p_values,
    holm,
)
from pytest_t2i.statistics.gaps import paired_gap_p_value, parity_difference_p_value
from pytest_t2i.statistics.means import gap_p_value
from pytest_t2i.statistics.objects import object_bias_p_values
from pytest_t2i.statistics.planning import (
    Design,
    model_images_needed,
    prompt_power,
)
from pytest_t2i.statistics.undetected import worst_case_bounds

OUT = 0.001
ONCE = Design(3, repeats=1)
COUNTS = {"a": 3, "b": 4}
REAL = {"a": 0.5, "b": 0.5}
NINE, TWO = [9] * 12, [2] * 12
TABLE, HALF = [[3, 4], [5, 2]], [0.5, 0.5]
GROUPS = {"x": [[1, 0]], "y": [[0, 1]]}
GAPS = [[0.1, 0.2], [0.2, 0.4]]
SEEN = np.ones((4, 2)), np.zeros((4, 2))
CASES = [
    ("detected", -1, 1, lambda v: m.prompt_bias_difference([v], [0.0])),
    ("actual", -1, 1, lambda v: m.prompt_bias_difference([0.0], [v])),
    ("detected", 0, 1, lambda v: m.percent_deviation(v, 0.5)),
    ("actual", 0, 1, lambda v: m.percent_deviation(0.5, v)),
    ("precision", 0, 1, lambda v: m.f1_score(v, 0.5)),
    ("recall", 0, 1, lambda v: m.f1_score(0.5, v)),
    ("observed", 0, 1, lambda v: m.stereotype_score(v, 0.5)),
    ("rates", 0, 1, lambda v: m.demographic_parity_difference({"a": v, "b": 0.5})),
    ("bias", 0, 1, lambda v: prompt_power(v, 0.5, 9, Design(3))),
    ("bound", 0, 1, lambda v: prompt_power(0.5, v, 9, Design(3))),
    ("expected", 0, 1, lambda v: m.stereotype_score(0.5, v)),
    ("positive", -1, 1, lambda v: m.attribute_presence([v], [0.0])),
    ("negative", -1, 1, lambda v: m.attribute_presence([0.0], [v])),
    ("reference", 0, 1, lambda v: m.total_variation_distance(COUNTS, {"a": v, "b": 1 - v})),
    ("shares", 0, 1, lambda v: settled_step([v, 0.5], s.share_interval(5, 9, 0.95))),
    ("bound", 0, 1, lambda v: s.prompt_bias_p_value(5, 1, v)),
    ("bound", 0, 1, lambda v: s.share_p_value(5, 6, v, "above")),
    ("bounds", 0, 1, lambda v: family_share_p_values([5], [6], [v], level=0.95)),
    ("bound", 0, np.inf, lambda v: gap_p_value(GAPS, v)),
    ("bound", 0, 1, lambda v: paired_gap_p_value([[1, 0]], [[0, 0]], v)),
    ("margin", 0, 1, lambda v: growth_probabilities(NINE, TWO, NINE, TWO, margin=v)),
    ("groups", 0, 1, lambda v: s.mean_interval([[v, 0.5]], level=0.95, bounds=(0.0, 1.0))),
    ("bound", 0, 1, lambda v: s.model_bias_p_value([5, 6], [5, 4], v)),
    ("bound", 0, 1, lambda v: model_images_needed([5, 6], [5, 4], v, level=0.9)),
    ("reference", 0, 1, lambda v: total_variation_floor(TABLE, [v, 1 - v])),
    ("p_values", 0, 1, lambda v: s.benjamini_hochberg([v])),
    ("p_values", 0, 1, lambda v: holm([v])),
    ("p_values", 0, 1, lambda v: adaptive_discarding([v], [[0.1]], 0.95)),
    ("attainable", 0, 1, lambda v: adaptive_discarding([0.1], [[v]], 0.95)),
    ("bound", 0.5, 1, lambda v: object_bias_p_values(*SEEN, v, seed=1)),
    ("bound", 0, 1, lambda v: parity_difference_p_value(GROUPS, v)),
    ("bound", 0, 1, lambda v: total_variation_p_value(COUNTS, REAL, v)),
    ("margin", 0, 2, lambda v: paired_prompt_p_value([1], [1], margin=v, shared_seeds=False)),
    ("male", 0, np.inf, lambda v: s.corrected_model_bias_score([v], [1])),
    ("undetected", 0, np.inf, lambda v: worst_case_bounds([1], [1], [v])),
]  # fmt: skip


@pytest.mark.parametrize(("name", "low", "high", "call"), CASES)
def test_just_outside_is_refused(name, low, high, call):
    for value in (low - OUT, high + OUT):
        if np.isfinite(value):
            with pytest.raises(ValueError, match=rf"\b{name}"):
                call(value)


@pytest.mark.parametrize("level", [0.0, 1.0])
def test_no_evidence_is_for_sure(level):
    for call in (
        lambda: s.share_interval(5, 9, level),
        lambda: s.mean_interval(GAPS, level=level),
        lambda: s.ranking([[5, 4], [3, 3]], [[5, 6], [7, 7]], level=level, seed=0),
    ):
        with pytest.raises(ValueError, match=r"\blevel"):
            call()
