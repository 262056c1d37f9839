"""More cases for ``test_pinned.py``: branches that few arguments reach, and parts of the methods.

Each name says what its arguments are a corner of; ``pinned.py`` records the results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pytest_t2i import statistics as s
from pytest_t2i.cli.plan import gate_power, model_power
from pytest_t2i.statistics import distances
from pytest_t2i.statistics.bounding import (
    Bounding,
    bounding_distance,
)
from pytest_t2i.statistics.change import prompt_bias_change
from pytest_t2i.statistics.correction import effective_counts
from pytest_t2i.statistics.detectors import kappa_interval
from pytest_t2i.statistics.distances import mean_total_variation_interval
from pytest_t2i.statistics.gaps import excess_p_value
from pytest_t2i.statistics.means import gap_interval
from pytest_t2i.statistics.model import FixedWords, Sizes, least_shown, score_tails
from pytest_t2i.statistics.objects import object_bias_p_values
from pytest_t2i.statistics.planning import (
    Design,
    even_biases,
)

LEVEL = 0.95
MEN = np.array([19, 3, 20, 11, 0, 17, 9, 14, 6, 20])
WOMEN = 20 - MEN
EVEN = np.array([10, 9, 11, 12, 8, 10, 10, 13, 7, 11])
MIXED = np.array([2, 5, 5, 9, 20, 20, 20, 33, 40, 45])
MEN_OF_MIXED = np.array([2, 1, 4, 5, 20, 11, 3, 30, 13, 27])
OWN_REFERENCES = np.array([[0.5, 0.5], [0.1, 0.9], [0.7, 0.3], [0.0, 1.0]])
CURVES = np.random.default_rng(3).normal(0.2, 1.0, (20, 6))
SHOWN = np.array([[3, 5], [0, 9], [12, 0], [2, 7]])


def of(function: Bounding) -> list[float]:
    """A few numbers that no part of a bounding function leaves unchanged."""
    moments = [float(np.sum(part**power)) for part in function for power in (1, 2)]
    return [*moments, float(function.value[0]), float(function.value[-1])]


CORNERS: dict[str, Callable[[], Any]] = {
    "bounding functions, at the largest program and beyond it": lambda: [
        of(bounding_distance(n, 0.5, side, prompts).twice())  # type: ignore[arg-type]
        for n, prompts in ((1, 1), (7, 17), (20, 2), (100, 30), (101, 30), (250, 3000))
        for side in ("below", "above")
    ],
    "bounds of a distance, at the largest program and beyond it": lambda: [
        of(bounding_distance(n, share, side))  # type: ignore[arg-type]
        for n in (1, 9, 60, 61, 90)
        for share in (0.0, 0.3, 0.5)
        for side in ("below", "above")
    ],
    "tails of suites, of one number of images and of several": lambda: [
        tuple(score_tails(sizes, least_shown(sizes, mean), score))
        for sizes in (Sizes((9,), (4,)), Sizes((2, 5, 30), (3, 1, 6)))
        for mean in (0.0, 0.4, 1.0)
        for score in (1 / 3, 0.45, 1.0)
    ],
    "distances from references that differ": lambda: [
        mean_total_variation_interval(SHOWN, OWN_REFERENCES, level=LEVEL)
    ],
    "distances of prompts that follow their reference": lambda: [
        mean_total_variation_interval(counts, reference, level=LEVEL)
        for counts, reference in (
            ([[6, 14], [5, 15], [7, 13]] * 4, [0.3, 0.7]),
            ([[6, 4, 10], [5, 6, 9]] * 5, [0.3, 0.25, 0.45]),
            ([[0, 20], [1, 19]] * 3, [0.02, 0.98]),
        )
    ],
    "objects that occur once": lambda: (
        [
            s.independence_p_value(
                np.dstack([np.ones((6, 2)), once]), level=LEVEL, seed=1, permutations=200
            )
            for once in (np.eye(6, 2), np.eye(1, 12).reshape(6, 2))
        ]
        + [
            object_bias_p_values(men, women, 0.6, seed=1, alternative=side)
            for men, women in (([[2], [0], [1]], [[0], [1], [2]]), ([[1], [0], [0]], [[0]] * 3))
            for side in ("greater", "less")
        ]
    ),
    "p-values of ten prompts": lambda: [
        s.model_bias_p_value(men, 20 - men, bound, alternative=side)  # type: ignore[arg-type]
        for men in (MEN, EVEN)
        for bound in (0.1, 0.3, 0.6)
        for side in ("greater", "less")
    ],
    "p-values of nine prompts, of two and of one": lambda: [
        s.model_bias_p_value(men, 20 - men, bound, alternative=side)  # type: ignore[arg-type]
        for men in (MEN[:9], MEN[:2], EVEN[:2], MEN[:1], EVEN[3:4])
        for bound in (0.3, 0.75)
        for side in ("greater", "less")
    ],
    "unequal numbers of images": lambda: [
        s.model_bias_interval(MEN_OF_MIXED, MIXED - MEN_OF_MIXED, level=LEVEL, seed=1),
        s.model_bias_p_value(MEN_OF_MIXED, MIXED - MEN_OF_MIXED, 0.3),
    ],
    "evidence about fixed words, in parts": lambda: (
        [
            [each.score, *each.below, *each.above, each.even]
            for men in (MEN, EVEN, np.full(10, 10), np.full(60, 10))
            for each in [FixedWords.of(men, 20 - men)]
        ]
        + [
            [test(bound) for bound in (0.0, 0.02, 0.05, 0.2)]
            for men in (EVEN, np.full(10, 10), np.full(60, 10))
            for each in [FixedWords.of(men, 20 - men)]
            for test in (each.p_greater, each.p_less)
        ]
    ),
    "changes of a model, to either side": lambda: [
        s.paired_model_bias_change(
            *before,
            *after,
            level=LEVEL,
            seed=1,
        )
        for before, after in (
            ((MEN, WOMEN), (EVEN, 20 - EVEN)),
            ((EVEN, 20 - EVEN), (MEN, WOMEN)),
            ((EVEN[:9], 20 - EVEN[:9]), (MEN[:9], WOMEN[:9])),
            ((MEN_OF_MIXED, MIXED - MEN_OF_MIXED), (EVEN, 20 - EVEN)),
        )
    ],
    "changes of one prompt": lambda: [
        prompt_bias_change(*before, *after, LEVEL)
        for before, after in (
            ((12, 8), (19, 1)),
            ((19, 1), (12, 8)),
            ((2, 18), (12, 8)),
            ((11, 9), (8, 12)),
            ((20, 0), (0, 9)),
        )
    ],
    "power of models": lambda: (
        [model_power(bias, 0.3, 8, Design(10, repeats=6)) for bias in (0.0, 0.15, 0.5, 1.0)]
        + [
            model_power(bias, bound, 10, Design(10, 0.7, repeats=8))
            for bias, bound in ((0.3, 0.3), (0.05, 0.0))
        ]
        + [gate_power(margin, 12, Design(10, repeats=8)) for margin in (0.1, 0.2, 0.4)]
        + [even_biases(mean, 5).tolist() for mean in (0.05, 0.5, 0.95)]
    ),
    "distances of one prompt": lambda: [
        tuple(
            getattr(distances, name)(*arguments)
            for name, arguments in (
                ("total_variation_interval", (counts, reference, LEVEL)),
                ("total_variation_bounds", (counts, undetected, reference)),
                ("total_variation_p_value", (counts, reference, 0.2)),
            )
        )
        for counts, undetected, reference in (
            ({"a": 0, "b": 7}, 0, {"a": 0.5, "b": 0.5}),
            ({"a": 7, "b": 0}, 3, {"a": 0.0, "b": 1.0}),
            ({"a": 3, "b": 7}, 5, {"a": 0.35, "b": 0.65}),
            ({"a": 1, "b": 0, "c": 0}, 2, {"a": 0.2, "b": 0.3, "c": 0.5}),
            ({"a": 9, "b": 30, "c": 1, "d": 0}, 8, {"a": 0.25, "b": 0.25, "c": 0.25, "d": 0.25}),
        )
    ],
    "kappas": lambda: [
        kappa_interval(a, b, LEVEL)
        for a, b in (("mmmf", "mmmf"), ("mfmf", "fmfm"), ("mfmfmm", "mfffmm"))
        for a, b in [(list(a), list(b))]
    ],
    "p-values of two shares, of unequal numbers": lambda: [
        [[excess_p_value(k, new, j, old, margin) for j in range(old + 1)] for k in range(new + 1)]
        for new, old, margin in ((2, 5, 0.0), (5, 2, 0.1), (4, 3, 0.95), (2, 2, 1.0))
    ],
    "means of groups": lambda: (
        [
            s.mean_interval(groups, level=LEVEL, bounds=bounds)
            for groups in (
                [[0.2, 0.4, 0.9]],
                [[0.1], [], [0.5, 0.7]],
                [[k / 20, 0.5] for k in range(10)],
            )
            for bounds in (None, (0.0, 1.0))
        ]
        + [
            gap_interval(groups, level=LEVEL)
            for groups in ([[0.2, 0.4]], [[0.1], [], [0.5, 0.7]], [[1e-120, 3e-120], [2e-120]])
        ]
    ),
    "counts as sure as labels leave them": lambda: [
        effective_counts(m, w, v)
        for m, w, v in (
            ([1, 1], [0, 0], [0.0, 0.2]),
            ([1, 9], [1, 0], [0.05, 0.2]),
            ([2, 9], [1, 0], [0.05, 0.0]),
            ([10, 4, 0], [0, 5, 8], [0.3, 0.01, 0.2]),
        )
    ],
}
