"""The topics of a plan: limits and margins, with the power of their verdicts."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from pytest_t2i.cli.support.plan_lines import Question, Topic
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.statistics.planning import (
    PER_CHANGE,
    PER_MODEL,
    Design,
    PowerRange,
    furthest,
    group_model_power,
    group_prompt_power,
    model_change_power_range,
    model_power_range,
    prompt_change_power,
    prompt_power,
)
from pytest_t2i.verdicts.limits_file import checked, read_limits

REPEATS = 200
"""The number of simulated suites per number of images and spread."""
GROUP_REPEATS = 100
"""The number of simulated suites with groups, each of which takes ten times as long."""
METRICS = ("prompt_bias_score", "model_bias_score")
GROUPS = ("group_distance", "group_distance.model")
"""The metrics of group limits: for a prompt, and for a model."""
MARGIN = ".margin"
Power = Callable[[float, int], PowerRange]


def bounds_of(
    limits: Path | None,
    metric: str | None,
    limit: float | None,
    margin: float | None,
    groups: int | None,
) -> tuple[dict[str, float], list[str]]:
    """Return the bounds to plan for by name, and the names whose power cannot be computed.

    Raises ConfigurationError for arguments that do not fit together, and without any bound.
    """
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
    if metric in GROUPS and groups is None:
        raise ConfigurationError(
            f"--metric {metric} needs --groups N, the number of the detector's labels"
        )
    known = {n: bound for n, bound in bounds.items() if _is_planned(n, groups)}
    if not known:
        raise ConfigurationError(
            f"a plan can be made for {' and '.join(METRICS)}, and with --groups N for limits of "
            f"{' and '.join(GROUPS)}; got {', '.join(bounds)}"
        )
    for name, bound in known.items():
        if not 0.0 <= bound <= 1.0 and not name.endswith(MARGIN):
            raise ConfigurationError(
                f"{name}: expected a limit of the absolute score, from 0 to 1, got {bound:g}"
            )
    return known, [name for name in bounds if name not in known]


def _is_planned(name: str, groups: int | None) -> bool:
    if name in GROUPS:
        return groups is not None
    return name.removesuffix(MARGIN) in METRICS


def topic_of(
    name: str, bound: float, beyond: float, before: float, groups: int | None, design: Design
) -> Topic:
    """Return the topic of a limit or a margin."""
    if name.endswith(MARGIN):
        return _margin(name.removesuffix(MARGIN), bound, beyond, before, design)
    if name in GROUPS and groups is not None:
        return _limit_of_groups(name, bound, beyond, groups, design)
    asked = _prompts(bound, design) if name == METRICS[0] else _models(bound, design)
    return _limit(name, bound, beyond, asked, design)


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
    of = group_prompt_power if name == GROUPS[0] else group_model_power
    simulated = design._replace(repeats=GROUP_REPEATS)
    what = "a prompt" if name == GROUPS[0] else "a model"

    def power(value: float, images: int) -> PowerRange:
        return of(min(value, most), bound, images, groups, simulated)

    return _limit(f"{name} of {groups}", bound, beyond, Asked(what, power, PER_MODEL, most), design)


def _limit(name: str, bound: float, beyond: float, asked: Asked, design: Design) -> Topic:
    what, most = asked.what, asked.most
    decided = _remembered(asked.power)
    passes = Question(f"{what} at 0 passes", decided, 0.0, None, asked.sizes, most)
    worse = min(most, bound + beyond)
    fails = Question(
        f"{what} at {worse:.3g} fails{_together(what, design)}", decided, worse, bound,
        asked.sizes, most,
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
    grown = Question(text, _remembered(grows), push, min(bound, room), sizes)
    return Topic(f"{metric} against a baseline, margin {bound:g}", (grown,))


def _together(what: str, design: Design) -> str:
    return f", alone among {design.prompts} fair ones" if what == "a prompt" else ""


def _remembered(power: Power) -> Power:
    """Return the function with a cache; without images the probability is 0."""

    @lru_cache(maxsize=512)
    def known(value: float, images: int) -> PowerRange:
        return power(value, images) if images else _one(0.0)

    return known


def _one(chance: float) -> PowerRange:
    return PowerRange(chance, chance, chance)
