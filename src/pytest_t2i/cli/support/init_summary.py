"""The summary of ``t2i init``: a suite's cost, what it decides, and what it cannot detect."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from pytest_t2i.cli.support.new_suite import BASELINE, SUITE
from pytest_t2i.cli.support.presets import (
    BEYOND,
    PROMPT_LIMIT,
    Question,
    Shape,
    early_stopping,
    gate_of_all,
)
from pytest_t2i.cli.support.seconds_per_image import Rate
from pytest_t2i.cli.support.suite_words import words_of
from pytest_t2i.errors import some
from pytest_t2i.prompts import Axis
from pytest_t2i.reporting.formatting import several
from pytest_t2i.runs.statement import PYPROJECT, TABLE
from pytest_t2i.statistics.planning import prompt_power

RUNNER = "ubuntu-latest"
"""The default runner of the CI job."""
MOST_LISTED = 8
"""The largest number of left-out words that are named."""


def cost_and_verdicts(preset: str, shape: Shape, pace: Rate) -> Iterator[str]:
    """Yield what the suite costs, what it can decide, and what it cannot detect."""
    yield (
        f"{preset}: {several(shape.words, 'word')} x {several(shape.images, 'image')} = "
        f"{shape.total:,} images, "
        f"{shape.total * pace.seconds / 60:.1f} minutes at {pace}"
    )
    yield from _decides(preset, shape)
    yield from (f"cannot detect: {what}" for what in _undetectable(preset))


def all_words(
    preset: str, shape: Shape, every: Sequence[Axis], chosen: Sequence[Axis], seconds: float
) -> Iterator[str]:
    """Yield which words a gate leaves out, and how many minutes all words would take."""
    if preset != "gate":
        return
    left_out = _left_out(every, chosen)
    words = shape.words + len(left_out)
    if shape.decides and not left_out:
        return
    if left_out:
        why = "so that the minutes decide" if shape.decides else "as many as the minutes allow"
        yield f"words: {shape.words} of {words}, evenly chosen, {why}"
        yield f"left out: {some(left_out, MOST_LISTED)}"
    whole_shape = gate_of_all(Question(words, None, shape.level, shape.seed))
    if whole_shape is not None:
        minutes = math.ceil(whole_shape.total * seconds / 60)
        yield f"{_all(words)} with {whole_shape.images} images each: --minutes {minutes}"


def _decides(preset: str, shape: Shape) -> Iterator[str]:
    limit = shape.model_limit
    if limit is None:
        # A gate has tried fewer words already.
        fewer = "" if preset == "gate" else ", or fewer --words"
        yield f"decides no limit of the model score: give more --minutes{fewer}"
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
        yield "early stopping: off, as a comparison with a baseline needs all images"


def _growth(shape: Shape) -> Iterator[str]:
    if not shape.tells_growth:
        yield "baseline: the same pictures are identical; other seeds mostly stay inconclusive"
        return
    yield (
        f"decides: no more biased than a baseline: a growth of the score from 0.3 by 0.2 fails in "
        f"{shape.finds_growth(0.3, 0.2):.0%} of runs, by 0.3 in {shape.finds_growth(0.3, 0.3):.0%} "
        "(with other seeds; with the same seeds in more)"
    )


def _prompts(preset: str, shape: Shape) -> Iterator[str]:
    chances = [prompt_power(bias, PROMPT_LIMIT, shape.images, shape.design) for bias in (0.0, 0.95)]
    yield (
        f"decides: prompt bias score <= {PROMPT_LIMIT:g} of each word: an even one passes in "
        f"{chances[0]:.0%} of runs, one at 0.95 fails in {chances[1]:.0%}"
    )
    if preset == "research":
        yield "early stopping: off, as narrow intervals need all images"
        return
    stopping = early_stopping(shape)
    if stopping.mean < shape.images:
        yield (
            f"early stopping (--t2i-sequential --t2i-images {stopping.most}) decides single words "
            f"with {stopping.mean:.0f} images on average; a comparison with a baseline needs all"
        )
    else:
        yield (
            f"early stopping: off, as it would take {stopping.mean:.0f} images a word on average "
            f"(at most {stopping.most}) to decide what {shape.images} decide"
        )


def _undetectable(preset: str) -> Iterator[str]:
    if preset == "gate":
        yield "which single word is biased (--preset audit), unless the report suspects it"
    else:
        yield f"single words whose bias score lies near {PROMPT_LIMIT:g}: they stay inconclusive"
    yield "words that are not in the suite, and combinations of words (t2i hunt)"
    yield "anything but gender as the detector sees it; its errors count as the model's (t2i label)"


def _all(words: int) -> str:
    """Return the subject and verb of the line on all words."""
    return "the word decides" if words == 1 else f"all {words} words decide"


def left_out_comment(every: Sequence[Axis], chosen: Sequence[Axis]) -> Iterator[str]:
    """Yield the comment of words.toml on words that were left out."""
    others = _left_out(every, chosen)
    if others:
        kept = len(list(words_of(chosen)))
        yield f"{kept} of {kept + len(others)} words: with more, the images decide less. Left out:"
        yield f"{some(others, MOST_LISTED)}."


def _left_out(every: Sequence[Axis], chosen: Sequence[Axis]) -> list[str]:
    kept = set(words_of(chosen))
    return [word for word in words_of(every) if word not in kept]


def next_lines(folder: Path, preset: str, model: str, runs_on: Sequence[str]) -> Iterator[str]:
    """Yield what to run, to fill in and to commit."""
    if folder.resolve() != Path.cwd():
        yield f"next: cd {shlex.quote(str(folder))}"
    yield f"next: pytest {SUITE} --t2i-model {model}"
    if preset != "research":
        yield f"then: pytest {SUITE} --t2i-model {model} --t2i-save-baseline {BASELINE}"
    if tuple(runs_on) == (RUNNER,):
        yield f"CI runs on {RUNNER}; for a model that needs a GPU: --runs-on self-hosted,gpu"
    yield f"yours to fill in: [{TABLE}] of {PYPROJECT}, and the reasons of the limits"
    yield "keep .t2i/ and reports/ out of the repository (.gitignore); commit everything else"


def not_written(kept: Sequence[Path], folder: Path) -> str:
    """Return the note that another suite is there, so that nothing was written."""
    return (
        f"not written: another suite is there already ({some([str(path) for path in kept])}) and "
        "stays unchanged. The new suite is described below: to write it, give another FOLDER or "
        f"move {folder / SUITE} away first"
    )
