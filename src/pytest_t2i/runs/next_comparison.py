"""How many images decide a comparison with a baseline that stayed undecided."""

from __future__ import annotations

import math
import statistics as plain
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import numpy as np

from pytest_t2i import statistics
from pytest_t2i.audits.parity.change import COARSE, detectable
from pytest_t2i.audits.parity.recorded_pairs import RecordedPairs
from pytest_t2i.data import Interval, Outcome
from pytest_t2i.runs.price import counted_checks, price_of_both
from pytest_t2i.runs.results import Results
from pytest_t2i.settings import Settings
from pytest_t2i.statistics.change_plan import Pair, change_images_needed
from pytest_t2i.verdicts import judge
from pytest_t2i.verdicts.baseline_file import Baseline
from pytest_t2i.verdicts.check import Check

HALF, MOST_TIMES = 0.5, 0.8
"""Of many prompts half are to be decided, the one model in four runs of five."""


def more_to_compare(
    results: Results, undecided: Sequence[Check], recorded: Baseline | None
) -> Iterator[str]:
    """How many images a comparison with a baseline takes."""
    if not undecided or recorded is None:
        return
    # The model decides the run; single prompts are asked where nothing else is open.
    of_model = [check for check in undecided if check.is_of_model]
    first = of_model or list(undecided)
    images = _images(results, first, recorded)
    if images is None:
        yield (
            f"no sensible number of images decides {counted_checks(first)} against the "
            "baseline: the changes lie at what is tolerated"
        )
        return
    whom = "the model" if of_model else f"half of {counted_checks(first)}"
    yield (
        f"to decide {whom} against the baseline take about {images} images per prompt, "
        f"{price_of_both(results, images)}"
    )


def _images(results: Results, checks: Sequence[Check], recorded: Baseline) -> int | None:
    """Images per prompt, in the baseline and now; None where no number would do."""
    if checks[0].metric == "prompt_bias_score":
        return _of_prompts(results, checks, recorded)
    needed = [n for n in (_of_check(results, check, recorded) for check in checks) if n]
    return plain.median_low(needed) if needed else None


def _of_check(results: Results, check: Check, recorded: Baseline) -> int | None:
    test = results.session.tests.get(check.test)
    change = _interval(check)
    if test is None or change is None:
        return None
    if check.metric == "model_bias_score":
        pairs = RecordedPairs(results.samples(test).members, recorded)
        rule = _of_model(results.session.settings, check)
        return _simulated(pairs, rule, MOST_TIMES, changed=_is_changed(change))
    more = judge.images_to_decide(change, check.bound, "higher", test.images)
    return None if more is None else test.images + more


def _of_prompts(results: Results, checks: Sequence[Check], recorded: Baseline) -> int | None:
    """Images that decide half of them."""
    tests = [results.session.tests[check.test] for check in checks]
    pairs = RecordedPairs([results.sample(test) for test in tests], recorded)
    level = statistics.one_sided(results.session.settings.confidence)
    intervals = [interval for interval in map(_interval, checks) if interval is not None]
    if not intervals:
        return None
    most_changed = sum(map(_is_changed, intervals)) * 2 > len(intervals)
    rule = _of_each(checks[0].bound, level)
    return _simulated(pairs, rule, HALF, changed=most_changed)


def _simulated(
    pairs: RecordedPairs, decided: Callable[[Pair], float], power: float, *, changed: bool
) -> int | None:
    """Images of any kind that hold the clear ones that decide."""
    counts = pairs.counts
    clear = change_images_needed(
        counts[0], counts[1], counts[2], counts[3], decided, changed=changed, power=power
    )
    if clear is None:
        return None
    made = sum(len(before.seeds) + len(sample.seeds) for before, sample in pairs)
    return math.ceil(clear * made / int(np.sum(counts)))


# what decides


def _of_model(settings: Settings, check: Check) -> Callable[[Pair], float]:
    """Whether two runs decide the model's check, as ``parity_change`` does."""
    by_test = check.decided_by == "permutation test"
    level = settings.confidence if by_test else statistics.one_sided(settings.confidence)

    def decided(pair: Pair) -> float:
        change = statistics.paired_model_bias_change(
            *pair, level=level, seed=settings.seed, estimator=settings.estimator,
            words=settings.words,
        )  # fmt: skip
        if by_test:
            return float(detectable(change, level) <= COARSE)
        return float(judge.compare(change, check.bound, "higher") is not Outcome.INCONCLUSIVE)

    return decided


def _of_each(margin: float, level: float) -> Callable[[Pair], float]:
    """The share of prompts that are decided one by one."""

    @cache
    def is_open(before_men: int, before_women: int, men: int, women: int) -> bool:
        change = statistics.prompt_bias_change(before_men, before_women, men, women, level)
        return judge.compare(change, margin, "higher") is Outcome.INCONCLUSIVE

    def decided(pair: Pair) -> float:
        rows = np.stack(pair, axis=1).tolist()
        return 1.0 - float(np.mean([is_open(*row) for row in rows]))

    return decided


def _interval(check: Check) -> Interval | None:
    if check.estimate is None or check.low is None or check.high is None or check.level is None:
        return None
    return Interval(check.estimate, check.low, check.high, check.level, check.method, check.n)


def _is_changed(change: Interval) -> bool:
    """Whether it is sure to be one: what may be none is taken for none, as chance looks large."""
    return change.low > 0.0 or change.high < 0.0
