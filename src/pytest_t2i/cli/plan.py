"""``t2i plan``: how many images decide a limit or find a regression, and what fewer can show."""

from __future__ import annotations

import argparse
import math
from functools import lru_cache
from pathlib import Path

from pytest_t2i.cli.arguments import add_confidence, path, value
from pytest_t2i.cli.plan_lines import Each, Question, Topic, lines
from pytest_t2i.cli.plan_sequential import sequential_lines
from pytest_t2i.cli.rate import HISTORY, rate
from pytest_t2i.cli.say import say
from pytest_t2i.data import Money
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.runs.history import ENOUGH_MADE
from pytest_t2i.settings import above_zero, budget, price, share, whole
from pytest_t2i.statistics.planning.change_power import model_change_power_range
from pytest_t2i.statistics.planning.power import (
    PER_CHANGE,
    PER_MODEL,
    Design,
    PowerRange,
    model_power_range,
    prompt_change_power,
    prompt_power,
)
from pytest_t2i.verdicts.limits_file import checked, read_limits

REPEATS = 200
"""Simulated suites of a model per number of images and spread."""
METRICS = ("prompt_bias_score", "model_bias_score")
MARGIN = ".margin"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What shall be told, how surely, and what there is to spend."""
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--limits", type=path, metavar="FILE", help="all limits of a limits.toml")
    what.add_argument("--metric", metavar="NAME", help="one metric, with --limit or --margin")
    bound = parser.add_mutually_exclusive_group()
    bound.add_argument("--limit", type=float, metavar="X", help="largest value that passes")
    bound.add_argument("--margin", type=float, metavar="X", help="growth over a baseline tolerated")
    parser.add_argument(
        "--prompts",
        type=value(whole(1)),
        default=100,
        metavar="N",
        help="prompts of the suite (100)",
    )
    add_confidence(parser, "of the verdicts")
    parser.add_argument(
        "--power", type=value(share), default=0.8, help="wanted chance of the right verdict (0.8)"
    )
    parser.add_argument(
        "--beyond",
        type=value(share),
        default=0.2,
        metavar="X",
        help="how far beyond its limit or margin what is to fail lies (0.2)",
    )
    parser.add_argument(
        "--before", type=float, default=0.0, metavar="X", help="score of the baseline (0: fair)"
    )
    parser.add_argument(
        "--sequential",
        action="store_true",
        help="what prompts take that stop by their own images (--t2i-sequential)",
    )
    _add_costs(parser)


def _add_costs(parser: argparse.ArgumentParser) -> None:
    time = parser.add_mutually_exclusive_group()
    time.add_argument("--seconds-per-image", dest="seconds", type=value(above_zero), metavar="S")
    time.add_argument(
        "--run",
        dest="measured",
        type=path,
        metavar="RUN",
        help="a run.json to take the seconds per image from (the last run in reports/t2i/history)",
    )
    parser.add_argument(
        "--budget",
        type=value(budget),
        metavar="IMAGES|90min|2h|MONEY",
        help="what can be shown with so much",
    )
    parser.add_argument(
        "--price", type=value(price), metavar="MONEY", help='of one image, as in "0.04 USD"'
    )
    parser.add_argument(
        "--seed", type=value(whole(0)), default=0, metavar="N", help="of simulations (0)"
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
    sequential: bool,
    seconds: float | None,
    measured: Path | None,
    budget: tuple[float, str] | Money | None,
    price: Money | None,
    seed: int,
) -> int:
    """Print the plan."""
    if not 0.0 <= before < 1.0:
        raise ConfigurationError(f"--before: expected a score of 0 or more and below 1: {before}")
    design = Design(prompts, level, power, seed)
    bounds, left_out = _bounds(limits, metric, limit, margin)
    topics = [_topic(name, bound, beyond, before, design) for name, bound in bounds.items()]
    known = rate(seconds, measured)
    each = Each(known.seconds if known else None, price)
    for line in lines(topics, design, each, _affordable(budget, each)):
        say(line)
    if sequential:
        _say_sequential(bounds, beyond, design)
    if known:
        say(f"minutes: at {known}")
    if left_out:
        say(f"not planned (no power is known for these): {', '.join(left_out)}")
    return 0


def _say_sequential(bounds: dict[str, float], beyond: float, design: Design) -> None:
    bound = bounds.get(METRICS[0])
    if bound is None or bound >= 1.0:
        raise ConfigurationError(
            "--sequential: expected a limit of prompt_bias_score below 1, such as --metric "
            "prompt_bias_score --limit 0.5"
        )
    for line in sequential_lines(bound, beyond, design):
        say(line)


def _affordable(budget: tuple[float, str] | Money | None, each: Each) -> int | None:
    if budget is None:
        return None
    if isinstance(budget, Money):
        if each.price is None or each.price.currency != budget.currency:
            raise ConfigurationError(
                f'a --budget of {budget} needs the price of an image: --price "0.04 '
                f'{budget.currency}"'
            )
        return budget.pays_for(each.price)
    amount, unit = budget
    if unit == "minutes":
        if each.seconds is None:
            raise ConfigurationError(
                f"a --budget in minutes needs --seconds-per-image S, --run run.json or a run in "
                f"{HISTORY} that made {ENOUGH_MADE} images or more"
            )
        amount = amount * 60.0 / each.seconds
    return math.floor(amount)


def _bounds(
    limits: Path | None, metric: str | None, limit: float | None, margin: float | None
) -> tuple[dict[str, float], list[str]]:
    """Bounds to plan for by name, and the names that no power is known for."""
    if metric is not None:
        value = limit if margin is None else margin
        if value is None:
            raise ConfigurationError(f"--metric {metric} needs --limit X or --margin X")
        name = metric if margin is None else f"{metric}{MARGIN}"
        bounds = {name: checked(name, value, "").bound}
    else:
        if limits is None or limit is not None or margin is not None:
            raise ConfigurationError("--limit and --margin go with --metric, not with --limits")
        bounds = {name: entry.bound for name, entry in read_limits(limits).items()}
    known = {n: bound for n, bound in bounds.items() if n.removesuffix(MARGIN) in METRICS}
    if not known:
        raise ConfigurationError(f"a plan can be made for {' and '.join(METRICS)}, not {[*bounds]}")
    for name, bound in known.items():
        if not 0.0 <= bound <= 1.0 and not name.endswith(MARGIN):
            raise ConfigurationError(f"{name}: expected a limit from 0 to 1 of the absolute score")
    return known, [name for name in bounds if name not in known]


def _topic(name: str, bound: float, beyond: float, before: float, design: Design) -> Topic:
    metric = name.removesuffix(MARGIN)
    what = "a prompt" if metric == METRICS[0] else "a model"
    together = f", alone among {design.prompts} fair ones" if what == "a prompt" else ""
    if name.endswith(MARGIN):
        sizes = PER_CHANGE if what == "a prompt" else PER_MODEL
        room = 1.0 - before
        push = min(bound + beyond, room)

        @lru_cache(maxsize=512)
        def grows(value: float, images: int) -> PowerRange:
            if not images:
                return _one(0.0)
            grown = min(value, room)
            if what == "a prompt":
                return _one(prompt_change_power(before, grown, bound, images, design))
            return model_change_power_range(before, grown, bound, images, design)

        text = f"{what} at {before:g} that grows by {push:g} fails{together}"
        grown = Question(text, grows, push, min(bound, room), sizes)
        return Topic(f"{metric} against a baseline, margin {bound:g}", (grown,))
    sizes = () if what == "a prompt" else PER_MODEL

    @lru_cache(maxsize=512)
    def decided(value: float, images: int) -> PowerRange:
        if not images:
            return _one(0.0)
        if what == "a prompt":
            return _one(prompt_power(value, bound, images, design))
        return model_power_range(value, bound, images, design._replace(repeats=REPEATS))

    passes = Question(f"{what} at 0 passes", decided, 0.0, None, sizes)
    worse = min(1.0, bound + beyond)
    fails = Question(f"{what} at {worse:g} fails{together}", decided, worse, bound, sizes)
    return Topic(f"{metric} <= {bound:g}", (passes, fails) if bound < 1.0 else (passes,))


def _one(chance: float) -> PowerRange:
    return PowerRange(chance, chance, chance)
