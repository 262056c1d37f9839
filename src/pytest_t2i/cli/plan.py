"""``t2i plan``: compute how many images a verdict takes, and what fewer can show."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from pytest_t2i.cli.support.arguments import add_confidence, path, value
from pytest_t2i.cli.support.plan_lines import ImageCost, lines
from pytest_t2i.cli.support.plan_sequential import sequential_lines
from pytest_t2i.cli.support.plan_topics import GROUPS, METRICS, bounds_of, topic_of
from pytest_t2i.cli.support.say import say
from pytest_t2i.cli.support.seconds_per_image import HISTORY, rate
from pytest_t2i.data import Money
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.runs.history import ENOUGH_MADE
from pytest_t2i.settings import above_zero, budget, price, share, whole
from pytest_t2i.statistics.planning import Design


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
        help="run.json whose seconds per image are used (default: the last run in "
        "reports/t2i/history)",
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
    bounds, left_out = bounds_of(limits, metric, limit, margin, groups)
    topics = [topic_of(name, x, beyond, before, groups, design) for name, x in bounds.items()]
    known = rate(seconds, measured)
    cost = ImageCost(known.seconds if known else None, price)
    for line in lines(topics, design, cost, _affordable(budget, cost)):
        say(line)
    if sequential:
        _say_sequential(bounds, beyond, design)
    if known:
        say(f"minutes: at {known}")
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
    for line in sequential_lines(bound, beyond, design):
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
                f"a --budget in minutes needs --seconds-per-image S, --run run.json or a run in "
                f"{HISTORY} that made {ENOUGH_MADE} images or more"
            )
        amount = amount * 60.0 / cost.seconds
    return math.floor(amount)
