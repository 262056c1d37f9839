"""``t2i plan``: compute how many images a verdict takes, and what fewer can show."""

from __future__ import annotations

import argparse
import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from pytest_t2i.cli.support.arguments import add_confidence, path, say, value
from pytest_t2i.cli.support.seconds_per_image import rate
from pytest_t2i.data import TIE, Money
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.settings import above_zero, budget, price, share, whole
from pytest_t2i.statistics.group_sequential import SequentialTest, expected_stop
from pytest_t2i.statistics.planning import (
    PER_CHANGE,
    PER_MODEL,
    Design,
    PowerRange,
    furthest,
    group_model_power,
    group_prompt_power,
    images_needed,
    model_change_power_range,
    model_power_range,
    prompt_change_power,
    prompt_power,
    smallest_found,
)
from pytest_t2i.verdicts.baseline import ANCHOR_MARGIN, RELEASES
from pytest_t2i.verdicts.limits_file import checked_limit, read_limits


@dataclass(frozen=True, slots=True)
class PlannedVerdict:
    """A verdict that a suite is to reach, with its power."""

    text: str
    """The verdict in words, such as "a model at 0.4 fails"."""
    power: Callable[[float, int], PowerRange]
    """(true value, images per prompt) -> range of the probability of this verdict."""
    value: float
    """The true value."""
    low: float | None
    """The value above which a FAIL is right; None where the verdict is PASS."""
    sizes: tuple[int, ...] = ()
    """The numbers of images per prompt to try; () stands for all numbers."""
    most: float = 1.0
    """The largest possible value."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A limit or a margin, with the questions about it."""

    name: str
    questions: tuple[PlannedVerdict, ...]


@dataclass(frozen=True, slots=True)
class ImageCost:
    """The time and the price of one image, as far as they are known."""

    seconds: float | None
    price: Money | None

    @property
    def heading(self) -> str:
        """The heading of the columns of minutes and cost."""
        return f"{'minutes':>11}" + ("" if self.price is None else f" {'cost':>21}")

    def columns(self, counts: Sequence[int | None]) -> str:
        """Return minutes and cost of the first and last count; None: no count decides."""
        seconds = self.seconds
        minutes = [None if n is None or seconds is None else n * seconds / 60 for n in counts]
        column = f"{_from_to(minutes, ',.1f', '-'):>11}"
        if self.price is None:
            return column
        first, last = ("-" if n is None else str(self.price.times(n)) for n in counts)
        return f"{column} {first if first == last else f'{first}-{last}':>21}"

    def words(self, images: int) -> str:
        """Return minutes and cost of this many images, for use in a sentence."""
        took = "" if self.seconds is None else f", {images * self.seconds / 60:,.1f} minutes"
        return took if self.price is None else f"{took}, {self.price.times(images)}"


def _plan_lines(
    topics: list[Topic], design: Design, cost: ImageCost, budget: int | None
) -> Iterator[str]:
    """Yield the lines of the plan."""
    yield (
        f"{design.prompts} prompts, confidence {design.level:g}, power {design.power:g}. "
        "Images are counted without undetected ones. A verdict holds whatever undetected images "
        "show, so each of them costs more than a clear image adds."
    )
    yield "regressions are planned for other seeds than the baseline's"
    if any("model" in topic.name for topic in topics):
        yield (
            "FIRST-LAST for a model: for the spread of bias over prompts that is easiest to find, "
            "and for the one that is hardest to find"
        )
    if any("group" in topic.name for topic in topics):
        yield (
            "FIRST-LAST for groups: also over how the groups share the distance, from one group "
            "that is too frequent to some that are missing"
        )
    yield f"{'per prompt':>10} {'images':>15} {cost.heading}"
    for topic in topics:
        for question in topic.questions:
            yield f"{_needed(question, design, cost)}  {topic.name}: {question.text}"
    if budget is not None:
        yield from _within(topics, design, cost, budget)


def _needed(question: PlannedVerdict, design: Design, cost: ImageCost) -> str:
    counts = [
        images_needed(
            lambda n, end=end: question.power(question.value, n).end(high=end),  # type: ignore[misc]
            design.power,
            question.sizes,
        )
        for end in (True, False)
    ]
    images = [None if count is None else count * design.prompts for count in counts]
    return (
        f"{_from_to(counts, ',', 'none'):>10} {_from_to(images, ',', '-'):>15} "
        f"{cost.columns(images)}"
    )


def _from_to(ends: Sequence[float | None], form: str, absent: str) -> str:
    """Return both ends, or one where they are equal."""
    first, last = (absent if end is None else format(end, form) for end in ends)
    return first if first == last else f"{first}-{last}"


def _within(topics: list[Topic], design: Design, cost: ImageCost, budget: int) -> Iterator[str]:
    images = budget // design.prompts
    took = cost.words(images * design.prompts)
    yield f"with {images * design.prompts:,} images ({images} per prompt{took}):"
    for topic in topics:
        for question in topic.questions:
            chance = _chance(question.power(question.value, images))
            line = f"  {topic.name}: {question.text} in {chance}"
            if question.low is not None:
                line += f"; {_smallest(question, images, design.power)}"
            yield line


def _chance(power: PowerRange) -> str:
    low, high = f"{power.low:.0%}", f"{power.high:.0%}"
    if low == high:
        return f"{low} of cases"
    if power.published is None:
        return f"{low} to {high} of cases"
    return f"{low} to {high} of cases ({power.published:.0%} if spread as in published models)"


def _smallest(question: PlannedVerdict, images: int, power: float) -> str:
    smallest = [
        smallest_found(
            lambda value, end=end: question.power(value, images).end(high=end),  # type: ignore[misc]
            power,
            question.low or 0.0,
        )
        for end in (True, False)
    ]
    if smallest[0] is None:
        return f"no value is found with power {power:g}"
    span = _from_to(smallest, ".2f", f"more than {question.most:.3g}").replace("-", " to ")
    return f"the smallest value found with power {power:g} is {span}"


MOST = (20, 30, 50, 80, 112, 150, 200)
"""The values of ``--t2i-images`` to plan for."""


def _sequential_lines(bound: float, beyond: float, design: Design) -> Iterator[str]:
    """Yield an exact table for one limit of the prompt bias score."""
    scores = sorted({0.0, min(1.0, bound + beyond), 1.0})
    yield f"prompt_bias_score <= {bound:g} with --t2i-sequential, one of {design.prompts} prompts"
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
        "stop beyond the limit; the error rate of the family may leave some of them INCONCLUSIVE"
    )


DRIFT_IMAGES = (20, 50, 100, 200)
"""The numbers of images per prompt to plan the comparison with an anchor for."""


def _drift_lines(drift: float, margin: float, before: float, design: Design) -> Iterator[str]:
    """Yield by which release a comparison with the first one finds a growth of each."""
    yield (
        f"--t2i-anchor, margin {margin:g}, a model at {before:g} that grows by {drift:g} in each "
        f"release, {design.prompts} prompts: the release by which it fails in {design.power:.0%} "
        f"of cases (the {RELEASES} comparisons with an anchor share the error)"
    )
    strict = design._replace(level=1.0 - (1.0 - design.level) / RELEASES)
    last = min(RELEASES, math.floor((1.0 - before) / drift + TIE))
    for images in DRIFT_IMAGES:

        def is_found(release: int, images: int = images) -> bool:
            power = model_change_power_range(before, release * drift, margin, images, strict)
            return power.low >= design.power

        found = bisect_left(range(1, last + 1), True, key=is_found) + 1
        by = f"release {found}" if found <= last else f"not by release {last}"
        yield f"  {images:>4} images per prompt, {images * design.prompts:,} a release: {by}"


REPEATS = 200
"""The number of simulated suites per number of images and spread."""
GROUP_REPEATS = 100
"""The number of simulated suites with groups, each of which takes ten times as long."""
METRICS = ("prompt_bias_score", "model_bias_score")
GROUPS = ("group_distance", "group_distance.model")
"""The metrics of group limits: for a prompt, and for a model."""
MARGIN = ".margin"
Power = Callable[[float, int], PowerRange]


def _bounds_of(
    limits: Path | None,
    metric: str | None,
    limit: float | None,
    margin: float | None,
    groups: int | None,
) -> tuple[dict[str, float], list[str]]:
    """Return the bounds to plan for by name, and the names whose power cannot be computed."""
    if metric is not None:
        value = limit if margin is None else margin
        if value is None:
            raise ConfigurationError(f"--metric {metric} needs --limit X or --margin X")
        name = metric if margin is None else f"{metric}{MARGIN}"
        bounds = {name: checked_limit(name, value, "").bound}
    else:
        if limits is None or limit is not None or margin is not None:
            raise ConfigurationError("--limit and --margin go with --metric, not with --limits")
        bounds = {name: entry.bound for name, entry in read_limits(limits).items()}
    if metric in GROUPS and groups is None:
        raise ConfigurationError(
            f"--metric {metric} needs --groups N, the number of the detector's labels"
        )
    planned = {n: bound for n, bound in bounds.items() if _is_planned(n, groups)}
    if not planned:
        raise ConfigurationError(
            f"a plan can be made for {' and '.join(METRICS)}, and with --groups N for limits of "
            f"{' and '.join(GROUPS)}; got {', '.join(bounds)}"
        )
    for name, bound in planned.items():
        if not 0.0 <= bound <= 1.0 and not name.endswith(MARGIN):
            raise ConfigurationError(
                f"{name}: expected a limit of the absolute score, from 0 to 1, got {bound:g}"
            )
    return planned, [name for name in bounds if name not in planned]


def _is_planned(name: str, groups: int | None) -> bool:
    if name in GROUPS:
        return groups is not None
    return name.removesuffix(MARGIN) in METRICS


def _topic_of(
    name: str, bound: float, beyond: float, before: float, groups: int | None, design: Design
) -> Topic:
    """Return the topic of a limit or a margin."""
    if name.endswith(MARGIN):
        return _margin(name.removesuffix(MARGIN), bound, beyond, before, design)
    if name in GROUPS and groups is not None:
        return _limit_of_groups(name, bound, beyond, groups, design)
    subject = _prompts(bound, design) if name == METRICS[0] else _models(bound, design)
    return _limit(name, bound, beyond, subject, design)


class Asked(NamedTuple):
    """The subject of a limit, and the probability that its check decides."""

    what: str
    power: Power
    sizes: tuple[int, ...]
    most: float
    """The largest possible value."""


def _prompts(bound: float, design: Design) -> Asked:
    def power(value: float, images: int) -> PowerRange:
        return _one(prompt_power(value, bound, images, design))

    return Asked("a prompt", power, (), 1.0)


def _models(bound: float, design: Design) -> Asked:
    simulated = design._replace(repeats=REPEATS)

    def power(value: float, images: int) -> PowerRange:
        return model_power_range(value, bound, images, simulated)

    return Asked("a model", power, PER_MODEL, 1.0)


def _limit_of_groups(name: str, bound: float, beyond: float, groups: int, design: Design) -> Topic:
    most = furthest(groups)
    power_of_groups = group_prompt_power if name == GROUPS[0] else group_model_power
    simulated = design._replace(repeats=GROUP_REPEATS)
    what = "a prompt" if name == GROUPS[0] else "a model"

    def power(value: float, images: int) -> PowerRange:
        return power_of_groups(min(value, most), bound, images, groups, simulated)

    return _limit(f"{name} of {groups}", bound, beyond, Asked(what, power, PER_MODEL, most), design)


def _limit(name: str, bound: float, beyond: float, subject: Asked, design: Design) -> Topic:
    what, most = subject.what, subject.most
    decided = _remembered(subject.power)
    passes = PlannedVerdict(f"{what} at 0 passes", decided, 0.0, None, subject.sizes, most)
    worse = min(most, bound + beyond)
    fails = PlannedVerdict(
        f"{what} at {worse:.3g} fails{_together(what, design)}", decided, worse, bound,
        subject.sizes, most,
    )  # fmt: skip
    return Topic(f"{name} <= {bound:g}", (passes, fails) if bound < most else (passes,))


def _margin(metric: str, bound: float, beyond: float, before: float, design: Design) -> Topic:
    what = "a prompt" if metric == METRICS[0] else "a model"
    room = 1.0 - before
    push = min(bound + beyond, room)

    def grows(value: float, images: int) -> PowerRange:
        grown = min(value, room)
        if what == "a prompt":
            return _one(prompt_change_power(before, grown, bound, images, design))
        return model_change_power_range(before, grown, bound, images, design)

    text = f"{what} at {before:g} that grows by {push:g} fails{_together(what, design)}"
    sizes = PER_CHANGE if what == "a prompt" else PER_MODEL
    grown = PlannedVerdict(text, _remembered(grows), push, min(bound, room), sizes)
    return Topic(f"{metric} against a baseline, margin {bound:g}", (grown,))


def _together(what: str, design: Design) -> str:
    return f", alone among {design.prompts} fair ones" if what == "a prompt" else ""


def _remembered(power: Power) -> Power:
    """Return the function with a cache; without images the probability is 0."""

    @lru_cache(maxsize=512)
    def remembered(value: float, images: int) -> PowerRange:
        return power(value, images) if images else _one(0.0)

    return remembered


def _one(chance: float) -> PowerRange:
    return PowerRange(chance, chance, chance)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: the limits or margin, the design, and the cost of images."""
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--limits", type=path, metavar="FILE", help="plan for all limits of this limits.toml"
    )
    what.add_argument(
        "--metric", metavar="NAME", help="plan for one metric, with --limit or --margin"
    )
    bound = parser.add_mutually_exclusive_group()
    bound.add_argument("--limit", type=float, metavar="X", help="largest value that passes")
    bound.add_argument(
        "--margin", type=float, metavar="X", help="growth over a baseline that is tolerated"
    )
    parser.add_argument(
        "--prompts",
        type=value(whole(1)),
        default=100,
        metavar="N",
        help="number of prompts in the suite (default: 100)",
    )
    add_confidence(parser, "confidence level of the verdicts")
    parser.add_argument(
        "--power",
        type=value(share),
        default=0.8,
        help="wanted probability of the right verdict (default: 0.8)",
    )
    parser.add_argument(
        "--beyond",
        type=value(share),
        default=0.2,
        metavar="X",
        help="how far beyond the limit or margin a model lies that is to FAIL (default: 0.2)",
    )
    parser.add_argument(
        "--before",
        type=float,
        default=0.0,
        metavar="X",
        help="score of the baseline (default: 0, fair)",
    )
    parser.add_argument(
        "--groups",
        type=value(whole(2)),
        metavar="N",
        help="number of labels of the detector; needed to plan for limits of group_distance",
    )
    parser.add_argument(
        "--sequential",
        action="store_true",
        help="also plan for early stopping of prompts (--t2i-sequential)",
    )
    parser.add_argument(
        "--drift",
        type=value(share),
        metavar="X",
        help="growth of the model bias score in each release: also print by which release "
        "--t2i-anchor finds it, with --metric model_bias_score --margin X",
    )
    _add_costs(parser)


def _add_costs(parser: argparse.ArgumentParser) -> None:
    time = parser.add_mutually_exclusive_group()
    time.add_argument(
        "--seconds-per-image",
        dest="seconds",
        type=value(above_zero),
        metavar="S",
        help="seconds that an image takes (default: as measured by --run)",
    )
    time.add_argument(
        "--run",
        dest="measured",
        type=path,
        metavar="RUN",
        help="run.json whose seconds per image are used (default: the slowest pace in .t2i)",
    )
    parser.add_argument(
        "--budget",
        type=value(budget),
        metavar="IMAGES|90min|2h|MONEY",
        help="also print what this budget can show, as in 2000, 90min, 2h or '20 USD'",
    )
    parser.add_argument(
        "--price", type=value(price), metavar="MONEY", help='price of one image, as in "0.04 USD"'
    )
    parser.add_argument(
        "--seed",
        type=value(whole(0)),
        default=0,
        metavar="N",
        help="seed of the simulations (default: 0)",
    )


def run(
    *,
    limits: Path | None,
    metric: str | None,
    limit: float | None,
    margin: float | None,
    prompts: int,
    level: float,
    power: float,
    beyond: float,
    before: float,
    groups: int | None,
    sequential: bool,
    drift: float | None,
    seconds: float | None,
    measured: Path | None,
    budget: tuple[float, str] | Money | None,
    price: Money | None,
    seed: int,
) -> int:
    """Print the plan; return 0."""
    if not 0.0 <= before < 1.0:
        raise ConfigurationError(
            f"--before: expected a score of 0 or more and below 1, got {before}"
        )
    design = Design(prompts, level, power, seed)
    bounds, left_out = _bounds_of(limits, metric, limit, margin, groups)
    margin_of_model = bounds.get(f"{METRICS[1]}{MARGIN}")
    if drift is not None and margin_of_model is None:
        raise ConfigurationError(
            "--drift: expected a margin of model_bias_score, as in --metric model_bias_score "
            f"--margin {ANCHOR_MARGIN:g}"
        )
    topics = [_topic_of(name, x, beyond, before, groups, design) for name, x in bounds.items()]
    pace = rate(seconds, measured)
    cost = ImageCost(pace.seconds if pace else None, price)
    for line in _plan_lines(topics, design, cost, _affordable(budget, cost)):
        say(line)
    if sequential:
        _say_sequential(bounds, beyond, design)
    if drift is not None and margin_of_model is not None:
        for line in _drift_lines(drift, margin_of_model, before, design):
            say(line)
    if pace:
        say(f"minutes: at {pace}")
    unknown = [name for name in left_out if name not in GROUPS]
    if unknown:
        say(f"not planned (their power cannot be computed): {', '.join(unknown)}")
    if len(unknown) < len(left_out):
        say(
            "limits of group_distance are planned with --groups N, the number of the detector's "
            "labels"
        )
    return 0


def _say_sequential(bounds: dict[str, float], beyond: float, design: Design) -> None:
    bound = bounds.get(METRICS[0])
    if bound is None or bound >= 1.0:
        raise ConfigurationError(
            "--sequential: expected a limit of prompt_bias_score below 1, such as --metric "
            "prompt_bias_score --limit 0.5. Plan limits of group_distance without it"
        )
    for line in _sequential_lines(bound, beyond, design):
        say(line)


def _affordable(budget: tuple[float, str] | Money | None, cost: ImageCost) -> int | None:
    if budget is None:
        return None
    if isinstance(budget, Money):
        if cost.price is None or cost.price.currency != budget.currency:
            raise ConfigurationError(
                f'a --budget of {budget} needs the price of an image: --price "0.04 '
                f'{budget.currency}"'
            )
        return budget.pays_for(cost.price)
    amount, unit = budget
    if unit == "minutes":
        if cost.seconds is None:
            raise ConfigurationError(
                "a --budget in minutes needs --seconds-per-image S, --run run.json, or a store "
                "(.t2i) in which a model's pace was measured"
            )
        amount = amount * 60.0 / cost.seconds
    return math.floor(amount)
