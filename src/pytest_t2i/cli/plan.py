"""``t2i plan``: compute how many images the verdicts of a limits.toml take."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pytest_t2i.cli.support.arguments import add_confidence, path, say, value
from pytest_t2i.cli.support.seconds_per_image import rate
from pytest_t2i.data import Money
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.settings import above_zero, part, price, share, whole
from pytest_t2i.statistics import one_sided, paired_model_bias_change
from pytest_t2i.statistics.gaps import parity_difference_p_value
from pytest_t2i.statistics.group_sequential import SequentialTest, expected_stop
from pytest_t2i.statistics.inversion import Alternative
from pytest_t2i.statistics.planning import (
    PER_MODEL,
    SMALL,
    SPREADS,
    Design,
    even_biases,
    images_needed,
    model_is_decided,
    prompt_power,
    simulated_power,
)
from pytest_t2i.verdicts.limits_file import FILE_NAME, MARGIN, read_limits
from pytest_t2i.verdicts.measurement import TOLERATED

BEYOND, GROUPS = 0.2, 10
"""By default, how far beyond its limit lies what is to FAIL, and the number of groups compared."""
PROMPT, MODEL, GAP = "prompt_bias_score", "model_bias_score", "demographic_parity_difference"
"""The metrics whose power is known."""
GATE = f"{MODEL}{MARGIN}"
REPEATS = 200
"""The number of simulated suites per number of images and distribution of bias."""


class PlannedVerdict(NamedTuple):
    """A verdict that a suite is to reach."""

    words: str
    power: Callable[[int], float]
    """Images per prompt -> probability of this verdict."""
    sizes: tuple[int, ...] = ()
    """The numbers of images per prompt to try; () stands for all numbers."""
    groups: int = 1
    """The number of groups into which the prompts fall."""


GATED = (0.0, 0.3, 0.6)
"""Scores of the models that a gate is planned for."""


def model_power(bias: float, bound: float, images: int, design: Design) -> float:
    """Return the chance that the model's check is decided, however bias is spread over prompts."""
    decided = model_is_decided(bound, design.level, "greater" if bias > bound else "less")
    worlds = [[spread(bias, design.prompts)] for spread in SPREADS.values()]
    # Only one distribution has a mean of 0 or 1.
    return simulated_power(worlds[: 1 if bias in {0.0, 1.0} else None], decided, images, design)


def gate_power(margin: float, images: int, design: Design, *, any_growth: bool = False) -> float:
    """Return the chance that an unchanged model passes its baseline, with other seeds.

    With ``any_growth`` a permutation test fails at 1 - level besides.
    """
    level = one_sided(design.level)

    def passes(*counts: Any) -> float:
        return float(paired_model_bias_change(*counts, level=level, seed=0).high <= margin)

    worlds = [[even_biases(score, design.prompts)] * 2 for score in GATED]
    power = simulated_power(worlds, passes, images, design)
    return power * design.level if any_growth else power


def parity_power(gap: float, bound: float, images: int, design: Design, groups: int) -> float:
    """Return the chance that a check of the gap between groups is decided.

    It is the smallest over worlds in which one group, or half of them, lies apart, or all are
    evenly spread; prompts of a group have one share, or evenly spread ones.
    """
    side: Alternative = "greater" if gap > bound else "less"

    def decided(*counts: Any) -> float:
        pairs = enumerate(zip(counts[::2], counts[1::2], strict=True))
        shown = {str(k): [np.repeat([1, 0], [men.sum(), women.sum()])] for k, (men, women) in pairs}
        p_value = parity_difference_p_value(shown, bound, alternative=side)
        return float(p_value <= 1.0 - design.level + SMALL)

    place, room = np.arange(groups), 1.0 - gap
    apart = [place == 0, place < groups // 2, place / (groups - 1)] if gap else [place == 0]
    prompts = [part.size for part in np.array_split(np.arange(design.prompts), groups)]
    worlds = [
        [
            gap * (2.0 * at - 1.0) + spread * ((2.0 * np.arange(size) + 1.0) / size - 1.0)
            for size, at in zip(prompts, steps, strict=True)
        ]
        for steps in apart
        for spread in (0.0, room)
    ]
    return simulated_power(worlds, decided, images, design)


def _is_gap(name: str) -> bool:
    return name.partition(".")[0] == GAP and not name.endswith(MARGIN)


def _verdicts(
    bounds: Mapping[str, float], design: Design, beyond: float, groups: int
) -> Iterator[PlannedVerdict]:
    """Yield the verdicts of a limits file, in the order of the table."""
    simulated = design._replace(repeats=REPEATS)
    if (bound := bounds.get(PROMPT)) is not None:
        power = partial(prompt_power, design=design)
        yield from _at_limit(PROMPT, bound, beyond, power, "prompt")
    if (bound := bounds.get(MODEL)) is not None:
        of_model = partial(model_power, design=simulated)
        yield from _at_limit(MODEL, bound, beyond, of_model, "model", PER_MODEL)
    for name in filter(_is_gap, bounds):
        of_gap = partial(parity_power, design=simulated, groups=groups)
        what = f"gap between {groups} groups"
        for verdict in _at_limit(name, bounds[name], beyond, of_gap, what, PER_MODEL):
            yield verdict._replace(groups=groups)
    margin = bounds.get(GATE)
    if margin is not None or MODEL in bounds:
        tolerated = TOLERATED if margin is None else margin
        how = f"margin {tolerated:g}" + " (by default)" * (margin is None)
        yield PlannedVerdict(
            f"{MODEL} against a baseline, {how}: an unchanged model passes with other seeds",
            lambda images: gate_power(tolerated, images, design, any_growth=margin is None),
            PER_MODEL,
        )


def _at_limit(
    metric: str,
    bound: float,
    beyond: float,
    power: Callable[[float, float, int], float],
    what: str,
    sizes: tuple[int, ...] = (),
) -> Iterator[PlannedVerdict]:
    if not 0.0 <= bound <= 1.0:
        raise ConfigurationError(
            f"{metric}: expected a limit of the absolute score, from 0 to 1, got {bound:g}"
        )
    worse = min(1.0, bound + beyond)
    alone = ", alone among fair ones" if metric == PROMPT else ""
    for bias, verdict in ((0.0, "passes"), (worse, f"fails{alone}")):
        if bias == 0.0 or bias > bound:
            yield PlannedVerdict(
                f"{metric} <= {bound:g}: a {what} at {bias:g} {verdict}",
                partial(power, bias, bound),
                sizes,
            )


def _power_lines(verdicts: Iterator[PlannedVerdict], images: int, design: Design) -> Iterator[str]:
    """Yield the lines of the table for a number of images."""
    yield f"{design.prompts} prompts of {images} images, confidence {design.level:g}"
    yield f"{'power':>10}"
    for verdict in verdicts:
        yield f"{verdict.power(images):>10.2f}  {verdict.words}"


def _lines(
    verdicts: Iterator[PlannedVerdict], design: Design, seconds: float | None, price: Money | None
) -> Iterator[str]:
    yield (
        f"{design.prompts} prompts, confidence {design.level:g}, power {design.power:g}. Images "
        "are counted without undetected ones: a verdict holds whatever these show, so each of them "
        "costs more than a clear image adds"
    )
    money = "" if price is None else f" {'price':>14}"
    yield f"{'per prompt':>10} {'images':>9} {'minutes':>9}{money}"
    for verdict in verdicts:
        count = images_needed(verdict.power, design.power, verdict.sizes)
        images = None if count is None else count * design.prompts
        per_prompt, total, minutes, cost = "none", "-", "-", "-"
        if images is not None:
            per_prompt, total = f"{count:,}", f"{images:,}"
            minutes = "-" if seconds is None else f"{images * seconds / 60:,.1f}"
            cost = "" if price is None else str(price.times(images))
        more = ""
        if images is not None and verdict.groups > 1:
            more = f", {images / verdict.groups:,.0f} images a group"
        cost = "" if price is None else f" {cost:>14}"
        yield f"{per_prompt:>10} {total:>9} {minutes:>9}{cost}  {verdict.words}{more}"


MOST = (20, 30, 50, 80, 112, 150, 200)
"""The values of ``--t2i-images`` to plan early stopping for."""


def _sequential_lines(bound: float, design: Design, beyond: float) -> Iterator[str]:
    """Yield an exact table for one limit of the prompt bias score."""
    scores = sorted({0.0, min(1.0, bound + beyond), 1.0})
    yield f"{PROMPT} <= {bound:g} with --t2i-sequential, one of {design.prompts} prompts"
    heads = ["even: images, PASS", *(f"at {score:g}: images, FAIL" for score in scores[1:])]
    yield f"  {'--t2i-images':>12}  " + "  ".join(f"{head:>22}" for head in heads)
    for most in MOST:
        test = SequentialTest(most, bound, level=design.level, members=design.prompts)
        cells = []
        for score in scores:
            stop = expected_stop(test, (1.0 + score) / 2.0)
            chance = stop.beyond if score else stop.within
            cells.append(f"{stop.images:.0f} of {most}, {chance:.2f}")
        yield f"  {most:>12}  " + "  ".join(f"{cell:>22}" for cell in cells)
    yield (
        "  images on average, and the share of prompts with this verdict. FAIL counts prompts that "
        "stop beyond the limit; their common error rate may leave some of them INCONCLUSIVE"
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: the limits, the suite, and the cost of images."""
    parser.add_argument(
        "--limits",
        type=path,
        default=Path(FILE_NAME),
        metavar="FILE",
        help=f"plan for the limits and the margin of this file (default: {FILE_NAME})",
    )
    parser.add_argument(
        "--prompts",
        type=value(whole(1)),
        default=100,
        metavar="N",
        help="number of prompts in the suite (default: 100)",
    )
    parser.add_argument(
        "--groups",
        type=value(whole(2)),
        default=GROUPS,
        metavar="N",
        help=f"number of groups, such as languages, whose shares are compared (default: {GROUPS})",
    )
    parser.add_argument(
        "--beyond",
        type=value(part),
        default=BEYOND,
        metavar="D",
        help=f"how far beyond its limit lies what is to fail (default: {BEYOND})",
    )
    parser.add_argument(
        "--images",
        type=value(whole(1)),
        metavar="N",
        help="tell the power of N images per prompt, not the images that a power takes",
    )
    add_confidence(parser, "confidence level of the verdicts")
    parser.add_argument(
        "--power",
        type=value(share),
        default=0.8,
        help="wanted probability of the right verdict (default: 0.8)",
    )
    parser.add_argument(
        "--sequential",
        action="store_true",
        help="also plan for early stopping of prompts (--t2i-sequential)",
    )
    time = parser.add_mutually_exclusive_group()
    time.add_argument(
        "--seconds-per-image",
        dest="seconds",
        type=value(above_zero),
        metavar="S",
        help="seconds that an image takes (default: the slowest pace in .t2i)",
    )
    time.add_argument(
        "--run",
        dest="measured",
        type=path,
        metavar="RUN",
        help="run.json whose seconds per image are used",
    )
    parser.add_argument(
        "--price", type=value(price), metavar="MONEY", help='price of one image, as in "0.04 USD"'
    )


def run(
    *,
    limits: Path,
    prompts: int,
    groups: int,
    beyond: float,
    images: int | None,
    level: float,
    power: float,
    sequential: bool,
    seconds: float | None,
    measured: Path | None,
    price: Money | None,
) -> int:
    """Print the plan; return 0."""
    design = Design(prompts, level, power)
    bounds = {name: entry.bound for name, entry in read_limits(limits).items()}
    unknown = [name for name in bounds if name not in (PROMPT, MODEL, GATE) and not _is_gap(name)]
    if len(unknown) == len(bounds):
        raise ConfigurationError(
            f"{limits}: a plan can be made for limits of {PROMPT}, {MODEL} and {GAP}, and for the "
            f"margin of {MODEL}; got {', '.join(unknown) or 'no limit'}"
        )
    if groups > prompts and any(map(_is_gap, bounds)):
        raise ConfigurationError(
            f"--groups: expected at most as many groups as prompts, {prompts}, got {groups}"
        )
    prompt_bound = bounds.get(PROMPT, 1.0)
    if sequential and prompt_bound >= 1.0:
        raise ConfigurationError(f"--sequential: expected a limit of {PROMPT} below 1 in {limits}")
    pace = rate(seconds, measured)
    seconds = pace.seconds if pace else None
    verdicts = _verdicts(bounds, design, beyond, groups)
    lines = (
        _power_lines(verdicts, images, design)
        if images
        else _lines(verdicts, design, seconds, price)
    )
    for line in lines:
        say(line)
    if sequential:
        for line in _sequential_lines(prompt_bound, design, beyond):
            say(line)
    if pace and images is None:
        say(f"minutes: at {pace}")
    if unknown:
        say(f"not planned (their power cannot be computed): {', '.join(unknown)}")
    return 0
