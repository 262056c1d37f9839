"""``t2i init``: a suite of your own words, with limits that its images can decide."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from pytest_t2i.cli.arguments import add_confidence, path, value
from pytest_t2i.cli.known_words import unknown_words
from pytest_t2i.cli.new_suite import BASELINE, SUITE, write_suite
from pytest_t2i.cli.own_words import axes_of, thinned, words_of
from pytest_t2i.cli.presets import (
    BEYOND,
    GATE_MINUTES,
    PRESETS,
    PROMPT_LIMIT,
    SDXL_SECONDS,
    Question,
    Shape,
    early_stopping,
    gate_of_all,
)
from pytest_t2i.cli.rate import Rate, rate
from pytest_t2i.cli.say import say
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.prompts import Axis
from pytest_t2i.runs.statement import PYPROJECT, TABLE
from pytest_t2i.settings import above_zero, names, text, whole
from pytest_t2i.statistics.planning.power import prompt_power

QUESTIONS = {
    "gate": "Is the model within its limit, and no more biased than what was shipped?",
    "audit": "Which words are one-sided, and is the model within its limit?",
    "research": "How biased is the model, and which of its words?",
}
RUNNER = "ubuntu-latest"
"""Where the CI job runs, unless it is said."""
MOST_LISTED = 8
"""Words that were left out and are named."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """For what, about which words, at which price."""
    parser.add_argument(
        "folder", nargs="?", type=path, default=Path(), metavar="FOLDER", help="project (here)"
    )
    parser.add_argument(
        "--preset",
        choices=tuple(PRESETS),
        default="gate",
        help="gate: decide the model in minutes, for CI (default); audit: every word; research: "
        "narrow intervals",
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--words", type=value(names), default=(), metavar="A,B,C", help="your words, by comma"
    )
    which.add_argument(
        "--axes", type=value(names), default=(), metavar="A,B,C", help="axes to take words from"
    )
    parser.add_argument(
        "--template",
        type=value(text),
        metavar="TEXT",
        help='sentence of your words, such as "a portrait of {a word}"',
    )
    parser.add_argument(
        "--model", type=value(text), default="./model", help="model of the CI job (./model)"
    )
    parser.add_argument(
        "--runs-on",
        type=value(names),
        default=(RUNNER,),
        metavar="A,B",
        help=f"labels of the CI job's runner, such as self-hosted,gpu ({RUNNER})",
    )
    parser.add_argument(
        "--minutes",
        type=value(above_zero),
        metavar="M",
        help="of the device; at most (gate: 10; else as many as it takes)",
    )
    time = parser.add_mutually_exclusive_group()
    time.add_argument("--seconds-per-image", dest="seconds", type=value(above_zero), metavar="S")
    time.add_argument(
        "--run",
        dest="measured",
        type=path,
        metavar="RUN",
        help="a run.json to take them from (the model's last run in FOLDER/reports/t2i/history)",
    )
    add_confidence(parser, "of the verdicts")
    parser.add_argument(
        "--seed", type=value(whole(0)), default=0, metavar="N", help="of simulations (0)"
    )


def run(
    *,
    folder: Path,
    preset: str,
    words: tuple[str, ...],
    axes: tuple[str, ...],
    template: str | None,
    model: str,
    runs_on: tuple[str, ...],
    minutes: float | None,
    seconds: float | None,
    measured: Path | None,
    level: float,
    seed: int,
) -> int:
    """Write the suite, and say what it can and cannot tell."""
    if template is not None and not words:
        raise ConfigurationError("--template goes with --words, the words that are put into it")
    every = axes_of(words, axes, template)
    for line in unknown_words(model, every):
        say(line)
    known = rate(seconds, measured, folder, model)
    assumed = Rate(SDXL_SECONDS, f"assumed, SDXL on one data-centre GPU; {model} has not run here")
    pace = known or assumed
    shape = _shape(preset, every, minutes, pace.seconds, level, seed)
    chosen = thinned(every, shape.words)
    for line in _shows(preset, shape, pace):
        say(line)
    for line in _all_words(preset, shape, len(list(words_of(every))), pace.seconds):
        say(line)
    say("")
    limits = list(_limits(preset, shape))
    facts = {
        "preset": preset,
        "question": QUESTIONS[preset],
        "axes": chosen,
        "left_out": list(_left_out(every, chosen)),
        "limits": limits,
        "model": model,
        "runs_on": json.dumps(runs_on[0] if len(runs_on) == 1 else runs_on),
        "tests_prompts": preset != "gate",
        "tests_growth": preset != "research",
    }
    for written in write_suite(folder, facts, {"t2i_images": str(shape.images)}):
        for line in str(written).splitlines():
            say(line)
    for line in _next(preset, model, runs_on):
        say(line)
    return 0


def _shape(
    preset: str,
    axes: Sequence[Axis],
    minutes: float | None,
    seconds: float,
    level: float,
    seed: int,
) -> Shape:
    if minutes is None and preset == "gate":
        minutes = GATE_MINUTES
    images = None if minutes is None else int(minutes * 60 / seconds)
    words = len(list(words_of(axes)))
    fewest = 1 if preset == "gate" else words
    if images is not None and images < fewest:
        raise ConfigurationError(
            f"--minutes {minutes:g} are {images} images at {seconds:g} s each: too few for "
            f"{fewest} words"
        )
    return PRESETS[preset](Question(words, images, level, seed))


def _shows(preset: str, shape: Shape, pace: Rate) -> Iterator[str]:
    """What the suite costs, what it can tell and what it cannot."""
    yield (
        f"{preset}: {shape.words} words x {shape.images} images = {shape.total:,} images, "
        f"{shape.total * pace.seconds / 60:.1f} minutes at {pace}"
    )
    yield from _decides(preset, shape)
    yield from (f"cannot see: {what}" for what in _blind(preset))


def _all_words(preset: str, shape: Shape, words: int, seconds: float) -> Iterator[str]:
    """What it would take to decide with all words."""
    if preset != "gate" or shape.words == words:
        return
    whole_shape = gate_of_all(Question(words, None, shape.level, shape.seed))
    price = (
        ""
        if whole_shape is None
        else (
            f"; all {words} with {whole_shape.images} each decide too: "
            f"--minutes {math.ceil(whole_shape.total * seconds / 60)}"
        )
    )
    yield f"words: {shape.words} of {words}, evenly chosen, so that the minutes decide{price}"


def _decides(preset: str, shape: Shape) -> Iterator[str]:
    limit = shape.model_limit
    if limit is None:
        yield "decides no limit of the model: give more --minutes, or fewer --words"
    else:
        even, near = (shape.passes(bias, limit) for bias in (0.0, 0.1))
        worse = limit + BEYOND
        yield (
            f"decides: model bias score <= {limit:g}: an even model passes in {even:.0%} of runs, "
            f"one at 0.1 in {near:.0%}, one at {worse:g} fails in {shape.fails(worse, limit):.0%}"
        )
    if preset != "research":
        yield from _growth(shape)
    if preset != "gate":
        yield from _prompts(preset, shape)
    else:
        yield "early stopping: off, as a comparison with a baseline looks at all images"


def _growth(shape: Shape) -> Iterator[str]:
    if not shape.tells_growth:
        yield "baseline: the same pictures are identical; other seeds mostly stay inconclusive"
        return
    yield (
        f"decides: no more biased than a baseline: growth from 0.3 by 0.2 fails in "
        f"{shape.finds_growth(0.3, 0.2):.0%} of runs, by 0.3 in {shape.finds_growth(0.3, 0.3):.0%} "
        "(other seeds; with the same ones more)"
    )


def _prompts(preset: str, shape: Shape) -> Iterator[str]:
    chances = [prompt_power(bias, PROMPT_LIMIT, shape.images, shape.design) for bias in (0.0, 0.95)]
    yield (
        f"decides: prompt bias score <= {PROMPT_LIMIT:g} of each word: an even one passes in "
        f"{chances[0]:.0%} of runs, one at 0.95 fails in {chances[1]:.0%}"
    )
    if preset == "research":
        yield "early stopping: off, as narrow intervals take all images"
        return
    stopping = early_stopping(shape)
    if stopping.mean < shape.images:
        yield (
            f"early stopping (--t2i-sequential --t2i-images {stopping.most}) decides words alone "
            f"with {stopping.mean:.0f} images on average; a comparison with a baseline takes all"
        )
    else:
        yield (
            f"early stopping: off, it would take {stopping.mean:.0f} images a word on average (at "
            f"most {stopping.most}) for what {shape.images} decide"
        )


def _blind(preset: str) -> Iterator[str]:
    if preset == "gate":
        yield "which single word is biased (--preset audit), unless the report suspects it"
    else:
        yield f"single words whose bias score lies near {PROMPT_LIMIT:g}: they stay inconclusive"
    yield "words that are not in it, and what words do together (t2i hunt)"
    yield "anything but gender as the detector sees it; its errors count as the model's (t2i label)"


def _limits(preset: str, shape: Shape) -> Iterator[tuple[str, str, str]]:
    """Name and bound of each limit, and what was computed for it: no reason for a policy."""
    if preset != "gate":
        yield (
            "prompt_bias_score",
            f"{PROMPT_LIMIT:g}",
            f"Suggested: {PROMPT_LIMIT:g} is one gender in 3 of 4 images of a prompt.",
        )
    limit = shape.model_limit
    known = limit is not None
    yield (
        "model_bias_score",
        f"{limit if limit is not None else BEYOND:g}",
        f"Suggested: the strictest that {shape.words} words with {shape.images} images decide."
        if known
        else "Suggested: 3 in 5 images of one gender on average; these images cannot decide it.",
    )


def _left_out(every: Sequence[Axis], chosen: Sequence[Axis]) -> Iterator[str]:
    """What is said of words that the images do not suffice for."""
    kept = list(words_of(chosen))
    others = [word for word in words_of(every) if word not in kept]
    if others:
        more = f" and {len(others) - MOST_LISTED} more" if len(others) > MOST_LISTED else ""
        yield (
            f"{len(kept)} of {len(kept) + len(others)} words: with more, the images decide less. "
            "Left out:"
        )
        yield f"{', '.join(others[:MOST_LISTED])}{more}."


def _next(preset: str, model: str, runs_on: tuple[str, ...]) -> Iterator[str]:
    yield f"next: pytest {SUITE} --t2i-model {model}"
    if preset != "research":
        yield f"then: pytest {SUITE} --t2i-model {model} --t2i-save-baseline {BASELINE}"
    if runs_on == (RUNNER,):
        yield f"CI runs on {RUNNER}; for a model that needs a GPU: --runs-on self-hosted,gpu"
    yield f"yours to fill in: [{TABLE}] of {PYPROJECT}, and the reasons of the limits"
    yield "keep .t2i/ and reports/ out of the repository (.gitignore); commit everything else"
