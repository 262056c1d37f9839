"""``t2i init``: write a suite of your own words, with limits that its images can decide."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from pytest_t2i.cli.support import init_summary as summary
from pytest_t2i.cli.support.arguments import add_confidence, path, value
from pytest_t2i.cli.support.new_suite import another_suite, write_suite
from pytest_t2i.cli.support.presets import (
    BEYOND,
    GATE_MINUTES,
    PRESETS,
    PROMPT_LIMIT,
    SDXL_SECONDS,
    Question,
    Shape,
)
from pytest_t2i.cli.support.say import say
from pytest_t2i.cli.support.seconds_per_image import Rate, rate
from pytest_t2i.cli.support.suite_words import axes_of, thinned, words_of
from pytest_t2i.cli.support.uncalibrated_words import unknown_words
from pytest_t2i.errors import ConfigurationError, shown
from pytest_t2i.files import quoted
from pytest_t2i.prompts import Axis
from pytest_t2i.reporting.formatting import several
from pytest_t2i.settings import above_zero, names, text, whole

QUESTIONS = {
    "gate": "Is the model within its limit, and no more biased than what was shipped?",
    "audit": "Which words are one-sided, and is the model within its limit?",
    "research": "How biased is the model, and which of its words?",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: the folder, the purpose, the words, and the cost."""
    parser.add_argument(
        "folder",
        nargs="?",
        type=path,
        default=Path(),
        metavar="FOLDER",
        help="project to write to (default: .)",
    )
    parser.add_argument(
        "--preset",
        choices=tuple(PRESETS),
        default="gate",
        help="purpose of the suite. gate: judge the model in minutes, for CI (default); audit: "
        "judge every word; research: measure with narrow intervals",
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--words",
        type=value(names),
        default=(),
        metavar="A,B,C",
        help="words to test, as in nurse,pilot,judge",
    )
    which.add_argument(
        "--axes",
        type=value(names),
        default=(),
        metavar="A,B,C",
        help="built-in axes to take words from (t2i list axes)",
    )
    parser.add_argument(
        "--template",
        type=value(text),
        metavar="TEXT",
        help='prompt template for --words, such as "a portrait of {a word}"',
    )
    parser.add_argument(
        "--model",
        type=value(text),
        default="./model",
        metavar="NAME",
        help="model that the CI job tests (default: ./model)",
    )
    parser.add_argument(
        "--runs-on",
        type=value(names),
        default=(summary.RUNNER,),
        metavar="A,B",
        help=f"labels of the CI job's runner, such as self-hosted,gpu (default: {summary.RUNNER})",
    )
    parser.add_argument(
        "--minutes",
        type=value(above_zero),
        metavar="M",
        help="largest number of minutes that making the images may take (default: 10 for gate, no "
        "limit for the others)",
    )
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
        help="run.json whose seconds per image are used (default: the model's last run in "
        "FOLDER/reports/t2i/history)",
    )
    add_confidence(parser, "confidence level of the verdicts")
    parser.add_argument(
        "--seed",
        type=value(whole(0)),
        default=0,
        metavar="N",
        help="seed of the simulations (default: 0)",
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
    """Write the suite, and print what it can and cannot decide.

    Returns 0, or 1 where another suite is there and nothing is written.
    """
    if template is not None and not words:
        raise ConfigurationError(
            "--template needs --words: the words that are put into the template"
        )
    _check_no_expression("--model", model)
    for label in runs_on:
        _check_no_expression("--runs-on", label)
    every = axes_of(words, axes, template)
    for line in unknown_words(model, every):
        say(line)
    known = rate(seconds, measured, folder, model)
    assumed = Rate(SDXL_SECONDS, f"assumed, SDXL on one data-centre GPU; {model} has not run here")
    pace = known or assumed
    shape = _shape(preset, every, minutes, pace.seconds, level, seed)
    chosen = thinned(every, shape.words)
    limits = list(_limits(preset, shape))
    facts = {
        "preset": preset,
        "question": QUESTIONS[preset],
        "axes": chosen,
        "left_out": list(summary.left_out_comment(every, chosen)),
        "limits": limits,
        "model": model,
        "runs_on": _runner(runs_on),
        "tests_prompts": preset != "gate",
        "tests_growth": preset != "research",
    }
    kept = another_suite(folder, facts)
    settings = {"t2i_images": str(shape.images)}
    written = [] if kept else write_suite(folder, facts, settings)
    lines = [
        *([summary.not_written(kept, folder)] if kept else []),
        *summary.cost_and_verdicts(preset, shape, pace),
        *summary.all_words(preset, shape, every, chosen, pace.seconds),
        *([] if kept else [""]),
        *(line for each in written for line in str(each).splitlines()),
        *([] if kept else summary.next_lines(folder, preset, model, runs_on)),
    ]
    for line in lines:
        say(line)
    return 1 if kept else 0


def _check_no_expression(option: str, value: str) -> None:
    """Refuse a value that GitHub would compute in the workflow, where it may run as a command."""
    if "${{" in value:
        raise ConfigurationError(
            f"{option}: expected a name, got {shown(value)}, an expression that the workflow would "
            "compute. Write the suite with a name, and put the expression into the workflow by hand"
        )


def _runner(labels: Sequence[str]) -> str:
    """Return the labels of the runner as YAML: a text, or a list of several."""
    texts = [quoted(label) for label in labels]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


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
            f"--minutes {minutes:g} allows {images} images at {seconds:g} s each: too few for "
            f"{several(fewest, 'word')}"
        )
    return PRESETS[preset](Question(words, images, level, seed))


def _limits(preset: str, shape: Shape) -> Iterator[tuple[str, str, str]]:
    """Yield the name and the bound of each limit, and how the bound was suggested."""
    if preset != "gate":
        yield (
            "prompt_bias_score",
            f"{PROMPT_LIMIT:g}",
            f"Suggested: {PROMPT_LIMIT:g} means one gender in 3 of 4 images of a prompt.",
        )
    limit = shape.model_limit
    known = limit is not None
    yield (
        "model_bias_score",
        f"{limit if limit is not None else BEYOND:g}",
        f"Suggested: the strictest limit that {several(shape.words, 'word')} with "
        f"{several(shape.images, 'image')} can decide."
        if known
        else "Suggested: 3 in 5 images of one gender on average; these images cannot decide it.",
    )
