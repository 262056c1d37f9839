"""Cases for ``test_pinned.py``; ``python tests/unit/statistics/pinned.py`` records their results.

A recorded number is no proof that it is right: oracles and simulations are. It shows that
nothing changed that nobody meant to change. Whoever changes a formula records anew, and looks at
what moved.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pytest_t2i import statistics as s
from pytest_t2i.statistics.associations import rank_correlation_interval
from pytest_t2i.statistics.change import (
    growth_probabilities,
    paired_model_bias_scores,
    paired_prompt_p_value,
    prompt_bias_change,
)
from pytest_t2i.statistics.correction import effective_counts
from pytest_t2i.statistics.curves import mean_band, settled_step
from pytest_t2i.statistics.detectors import (
    deviation_interval,
    f1_interval,
    fleiss_interval,
    kappa_interval,
    paired_share_change,
)
from pytest_t2i.statistics.distances import (
    mean_total_variation_interval,
    total_variation_bounds,
    total_variation_floor,
    total_variation_interval,
    total_variation_p_value,
)
from pytest_t2i.statistics.gaps import (
    paired_gap_interval,
    paired_gap_p_value,
    parity_difference_interval,
    parity_difference_p_value,
    share_difference_p_value,
)
from pytest_t2i.statistics.means import gap_p_value, gap_sign_p_value
from pytest_t2i.statistics.objects import object_bias_p_values
from pytest_t2i.statistics.permutation import paired_change_p_value
from pytest_t2i.statistics.ranks import group_ranking, groups_differ_p_value
from pytest_t2i.statistics.shares import share_by_prompt_interval, stereotype_interval
from pytest_t2i.statistics.undetected import worst_case_bounds
from pytest_t2i.statistics.variety import wals_interval

RECORD = Path(__file__).with_name("pinned.json")
LEVEL = 0.95
rng = np.random.default_rng(20)
SHARES = rng.beta(0.7, 0.6, 14)
BEFORE = np.array([rng.binomial(20, SHARES), rng.binomial(20, SHARES)])
MEN, MEN_AFTER = BEFORE
WOMEN, WOMEN_AFTER = 20 - MEN, 20 - MEN_AFTER - rng.integers(0, 3, 14).clip(0, 20 - MEN_AFTER)
FEW = ([9, 1, 5, 0, 7], [1, 8, 5, 0, 2])
LABELS = rng.multinomial(12, (0.5, 0.3, 0.2), 8)
THIRDS = np.array([0.4, 0.4, 0.2])
REAL = {"a": 0.4, "b": 0.4, "c": 0.2}
COUNTS = {"a": 9, "b": 2, "c": 4}
GAPS = [rng.normal(0.1, 0.3, n) for n in (4, 3, 5, 1, 4)]
CURVES = rng.normal(0.2, 1.0, (9, 6)).cumsum(axis=1)
WORDS = [rng.choice([-1, 0, 1], 12) for _ in range(6)]
SEEN = [np.where(rng.random(12) < 0.8, words, 1) for words in WORDS]
PEOPLE = [np.where(np.arange(12) < 5, seen, np.nan) for seen in SEEN]
FEATURES = rng.normal(size=(24, 5)) @ np.diag([3.0, 2.0, 1.0, 0.5, 0.2])
TABLE = rng.poisson(6.0, (6, 3, 5))
RATINGS = np.array([rng.multinomial(3, (0.6, 0.3, 0.1)) for _ in range(15)])
GROUPS = {
    name: [rng.binomial(1, share, 6) for _ in range(4)]
    for name, share in (("young", 0.3), ("old", 0.6), ("any", 0.5))
}
PRESENT = rng.binomial(1, 0.4, (12, 4)), rng.binomial(1, 0.6, (12, 4))
SIGNS = tuple([rng.choice([-1, 0, 1], 10) for _ in range(5)] for _ in range(2))
SAME = [np.array([1, 1, -1, 0])]
MANY_CURVES = rng.normal(0.2, 1.0, (40, 6))
FOUR = rng.binomial(4, SHARES)
SIX = rng.binomial(20, rng.beta(2.0, 2.0, 14), (6, 14))
SEEN_OF = [
    [(3, 9, 0.3, 1), (7, 9, 0.2, 1)],
    [(0, 9, 0.1, -1)],
    [(9, 9, 0.5, 1)],
    [(4, 8, 0.4, 1), (1, 8, 0.4, -1)],
]

CASES: dict[str, Callable[[], Any]] = {
    "paired_gap_interval": lambda: paired_gap_interval(
        [[1, 1, 0, 0], [1, 0, 0]], [[0, 0, 0, 0], [0, 1, 0]], level=LEVEL
    ),
    "paired_gap_p_value": lambda: paired_gap_p_value([[1] * 8 + [0] * 12], [[0] * 20], 0.1),
    "distance_correlation_interval": lambda: [
        s.distance_correlation_interval(
            FEATURES, FEATURES[:, :2] ** 2, level=LEVEL, clusters=clusters, corrected=corrected
        )
        for clusters in (None, [k // 3 for k in range(24)])
        for corrected in (False, True)
    ],
    "distance_correlation_p_value": lambda: s.distance_correlation_p_value(
        FEATURES[:12], FEATURES[:12, :1] ** 2, seed=1, permutations=199
    ),
    "share_by_prompt_interval": lambda: share_by_prompt_interval(
        [0, 3, 4, 1], [4, 4, 4, 2], level=LEVEL
    ),
    "change_p_value": lambda: s.change_p_value(
        MEN, WOMEN, MEN_AFTER, WOMEN_AFTER, seed=1, redraws=1000
    ),
    "corrected_model_bias_score": lambda: [
        s.corrected_model_bias_score(MEN, WOMEN),
        s.corrected_model_bias_score(*FEW),
        s.corrected_model_bias_score([3, 2, 5, 1, 0, 4], [2, 3, 4, 0, 1, 5]),
    ],
    "corrected_scores": lambda: s.corrected_scores(WORDS, PEOPLE, LEVEL),
    "deviation_interval": lambda: deviation_interval(
        MEN, WOMEN, MEN_AFTER, WOMEN_AFTER, level=LEVEL
    ),
    "effective_counts": lambda: effective_counts(MEN, WOMEN, np.linspace(0.0, 0.4, 14)),
    "f1_interval": lambda: [f1_interval(h, 3, 2, LEVEL) for h in (0, 5, 40)],
    "fair_floor": lambda: s.fair_floor([1, 2, 7, 20, 20]),
    "fleiss_interval": lambda: [
        fleiss_interval(ratings, level=LEVEL, seed=1, resamples=300)
        for ratings in (RATINGS, [[3, 0], [1, 2]], [[4, 0]] * 3 + [[0, 4]], [[3, 1]] * 3 + [[4, 0]])
    ],
    "gap_p_value": lambda: [
        gap_p_value(GAPS, bound, alternative=side)  # type: ignore[arg-type]
        for bound in (0.0, 0.05, 0.4)
        for side in ("greater", "less")
    ],
    "gap_sign_p_value": lambda: [gap_sign_p_value(GAPS, sign=sign) for sign in (1, -1)],
    "growth_probabilities": lambda: [
        growth_probabilities(MEN, WOMEN, MEN_AFTER, WOMEN_AFTER),
        growth_probabilities(MEN, WOMEN, WOMEN_AFTER, MEN_AFTER[::-1], margin=0.1),
    ],
    "kappa_interval": lambda: kappa_interval(
        ["a", "b", "a", "a", "b", "c", "a", "b"], ["a", "b", "b", "a", "b", "c", "a", "a"], LEVEL
    ),
    "mean_band": lambda: [
        mean_band(curves, level=LEVEL) for curves in (CURVES[:2], CURVES[:3], CURVES, MANY_CURVES)
    ],
    "mean_interval": lambda: [
        s.mean_interval(GAPS, level=LEVEL),
        s.mean_interval(np.clip(np.abs(CURVES) / 5, 0, 1), level=LEVEL, bounds=(0.0, 1.0)),
    ],
    "mean_total_variation_interval": lambda: [
        mean_total_variation_interval(LABELS, THIRDS, level=LEVEL),
        *(
            mean_total_variation_interval(counts, reference, level=LEVEL)
            for counts in (np.stack([MEN, WOMEN], 1), np.stack([MEN[:12] > 9, MEN[:12] <= 9], 1))
            for reference in ([0.1, 0.9], [0.5, 0.5], [0.85, 0.15])
        ),
    ],
    "model_bias_interval": lambda: [
        s.model_bias_interval(*counts, level=LEVEL, seed=1)
        for counts in ((MEN, WOMEN), (MEN_AFTER, WOMEN_AFTER), FEW, ([7], [1]))
    ],
    "model_bias_p_value": lambda: [
        s.model_bias_p_value(MEN, WOMEN, bound, alternative=side)  # type: ignore[arg-type]
        for bound in (0.1, 0.5, 0.9)
        for side in ("greater", "less")
    ],
    "object_bias_intervals": lambda: s.object_bias_intervals(*PRESENT, level=LEVEL),
    "object_bias_p_values": lambda: [
        object_bias_p_values(*PRESENT, bound, seed=1) for bound in (0.5, 0.7)
    ],
    "prompt_power": lambda: [
        s.prompt_power(bias, bound, 14, s.Design(prompts))
        for bias, bound, prompts in ((0.97, 0.3, 1), (0.9, 0.2, 40), (0.1, 0.5, 9))
    ],
    "paired_change_p_value": lambda: [
        paired_change_p_value(a, b, seed=1) for a, b in (SIGNS, SIGNS[::-1], (SAME, SAME))
    ],
    "paired_model_bias_change": lambda: [
        s.paired_model_bias_change(MEN, WOMEN, MEN_AFTER, WOMEN_AFTER, level=LEVEL, seed=1)
    ],
    "paired_model_bias_scores": lambda: paired_model_bias_scores(
        MEN, WOMEN, MEN_AFTER, WOMEN_AFTER
    ),
    "paired_prompt_p_value": lambda: [
        paired_prompt_p_value(a, b, margin=margin, shared_seeds=shared)
        for a, b in [*zip(*SIGNS, strict=True), (SAME[0], SAME[0])]
        for margin in (0.0, 0.2)
        for shared in (True, False)
    ],
    "paired_share_change": lambda: [
        paired_share_change(lost, gained, 20, LEVEL)
        for lost, gained in ((0, 0), (1, 6), (9, 2), (0, 20), (20, 0))
    ],
    "parity_difference_interval": lambda: [parity_difference_interval(GROUPS, level=LEVEL)],
    "parity_difference_p_value": lambda: [
        parity_difference_p_value(GROUPS, bound, alternative=side)  # type: ignore[arg-type]
        for bound in (0.0, 0.3)
        for side in ("greater", "less")
    ],
    "prompt_bias_change": lambda: [
        prompt_bias_change(a, 20 - a, b, 20 - b, LEVEL) for a, b in ((10, 19), (20, 3), (0, 0))
    ],
    "group_ranking": lambda: [
        group_ranking([LABELS, other], level=LEVEL, seed=1, draws=1000)
        for other in (LABELS, LABELS[::-1], [[18, 1, 1]] * len(LABELS))
    ],
    "groups_differ_p_value": lambda: [
        groups_differ_p_value(table, seed=1)
        for table in ([[9, 1, 2], [2, 8, 3]], [[5, 0, 0], [3, 0, 0]], [[4, 1, 0], [0, 5, 0]])
    ],
    "rank_correlation_interval": lambda: [
        rank_correlation_interval(quantity, SEEN_OF, level=LEVEL, seed=1, resamples=200)
        for quantity in ([1.0, 2.0, 4.0, 3.0], [9.0, 1.0, 1.0, 2.0])
    ],
    "ranking": lambda: [
        s.ranking(men, 20 - men, level=level, seed=1, draws=1000)
        for men in (BEFORE, SIX)
        for level in (LEVEL, 0.6)
    ],
    "settled_step": lambda: settled_step([0.1, 0.4, 0.6, 0.62], s.share_interval(12, 20, LEVEL)),
    "share_difference_p_value": lambda: [
        share_difference_p_value((k, 20), (m, 15), bound, alternative=side)
        for k, m in ((0, 0), (3, 9), (20, 15))
        for bound in (-1.0, 0.0, 0.3)
        for side in ("greater", "less")
    ],
    "share_difference_interval": lambda: [
        s.share_difference_interval((k, 20), (m, 15), LEVEL) for k, m in ((0, 0), (3, 9), (20, 15))
    ],
    "stereotype_interval": lambda: [
        stereotype_interval(k, 20, 0.3, LEVEL, direction)  # type: ignore[arg-type]
        for k in (0, 6, 20)
        for direction in ("over", "under")
    ],
    "total_variation_bounds": lambda: total_variation_bounds(COUNTS, 4, REAL),
    "total_variation_floor": lambda: total_variation_floor(LABELS, THIRDS),
    "total_variation_interval": lambda: [
        total_variation_interval(COUNTS, REAL, LEVEL),
        total_variation_interval({"a": 20, "b": 0, "c": 1}, REAL, LEVEL),
        total_variation_interval({"a": 9, "b": 1}, {"a": 0.3, "b": 0.7}, LEVEL),
    ],
    "total_variation_p_value": lambda: [
        total_variation_p_value(COUNTS, REAL, bound) for bound in (0.0, 0.1, 0.5)
    ],
    "wals_interval": lambda: [
        wals_interval(
            rows, np.eye(rows.shape[1])[0], level=LEVEL, seed=1, center=center, resamples=50
        )
        for rows in (FEATURES, FEATURES.T[:, :4].T @ np.ones((5, 9)) + np.eye(4, 9))
        for center in (False, True)
    ],
    "worst_case_bounds": lambda: worst_case_bounds(MEN, WOMEN, np.arange(14)),
}


def plain(value: Any) -> Any:
    """Numbers in lists and tables, for JSON."""
    if is_dataclass(value) and not isinstance(value, type):
        return {key: plain(entry) for key, entry in asdict(value).items()}
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    return value.item() if isinstance(value, np.generic) else value


def numbers(value: Any) -> Iterator[Any]:
    """Every number and text of a plain value, in order."""
    if isinstance(value, dict):
        for key in sorted(value):
            yield from numbers(value[key])
    elif isinstance(value, list):
        for entry in value:
            yield from numbers(entry)
    else:
        yield value


def folded(results: dict[str, Any]) -> str:
    """A line for each result, and for each entry of a list of them: what moved is one line."""
    lines = []
    for name, result in results.items():
        entries = result if isinstance(result, list) else [result]
        inner = ",\n  ".join(map(json.dumps, entries))
        lines.append(f' "{name}": ' + (f"[\n  {inner}\n ]" if entries is result else inner))
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    from pinned_corners import CORNERS

    results = {name: plain(case()) for name, case in (CASES | CORNERS).items()}
    RECORD.write_text(folded(results), encoding="utf-8")
