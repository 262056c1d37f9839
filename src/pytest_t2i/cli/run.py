"""``t2i run``: run a shipped suite by name, or list the suites."""

from __future__ import annotations

import argparse
import ast
import os
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_t2i.errors import ConfigurationError, UnknownNameError
from pytest_t2i.option_names import GROUPS, LOADED, OPTIONS, TYPED
from pytest_t2i.read_files import read_toml

TELLS_PROGRESS = True
INI_FILES = {
    "pytest.toml": "pytest",
    ".pytest.toml": "pytest",
    "pytest.ini": "",
    ".pytest.ini": "",
    "pyproject.toml": "tool.pytest",
    "tox.ini": "[pytest]",
    "setup.cfg": "[tool:pytest]",
}
"""Settings files of pytest in the order that it takes, and the table that each needs; "": none."""


def suites_folder() -> Path:
    """Return the folder of the shipped suites: in the package, or in a clone beside ``src``."""
    package = Path(__file__).parents[1]
    inside = package / "suites"
    return inside if inside.is_dir() else package.parents[1] / "suites"


def suites() -> dict[str, Path]:
    """Return the folder of every shipped suite by its name."""
    folder = suites_folder()
    if not folder.is_dir():
        raise ConfigurationError(
            f"the shipped suites are not there: expected the folder {folder}. Install the package "
            "anew, or give pytest the path of a suite"
        )
    return {place.name: place for place in sorted(folder.iterdir()) if any(place.glob("test_*.py"))}


def question(suite: Path) -> str:
    """Return what a suite asks: the first line of its first module."""
    for file in sorted(suite.glob("test_*.py"), key=lambda file: "regression" in file.name):
        text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
        if text:
            return text.partition("\n")[0]
    return ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the arguments; ``run_words`` reads them."""
    parser.usage = "t2i run [SUITE[::TEST]] [--OPTION VALUE ...]"
    parser.add_argument("suite", nargs="?", metavar="SUITE", help="name; without one, list all")
    option_of = {option.name: option for option in OPTIONS}
    for title, names in GROUPS.items():
        group = parser.add_argument_group(title)
        for option in (option_of[name] for name in names):
            how: dict[str, Any] = {"metavar": option.metavar}
            group.add_argument(
                f"--{option.name}",
                help=option.help.replace("%", "%%"),
                **({"action": "store_true"} if option.is_switch else how),
            )
    parser.epilog = (
        "Each option may also be written as for pytest, --t2i-OPTION; every other option of pytest "
        "is passed on, such as -k EXPRESSION and -n WORKERS. The store and the report are written "
        "to the current folder."
    )


def run_words(words: Sequence[str]) -> int:
    """Run the suite that the words name, or list the suites; return the exit status."""
    arguments = [_as_pytest_takes_it(word) for word in words]
    folders = suites()
    names = [place for place in range(len(arguments)) if _is_name(arguments, place, folders)]
    if not names:
        for line in _listed(arguments):
            print(line)  # noqa: T201 - a command line tool
        return 0
    for place in names:
        name, *test = arguments[place].split("::")
        if name not in folders:
            raise UnknownNameError("suite", name, folders, "A suite of yours: pytest PATH")
        arguments[place] = "::".join([str(folders[name]), *test])
    return _pytest(arguments, shlex.join(["t2i", "run", *words]))


SHORT = {f"--{option.name}": option for option in OPTIONS}
"""The options of a run without their prefix."""
TAKE_A_VALUE = {option.flag for option in OPTIONS if not option.is_switch} | {
    *("-k", "-m", "-n", "-p", "-c", "-o", "-r", "-W", "--maxfail", "--junitxml", "--junit-xml"),
    *("--tb", "--durations", "--rootdir", "--basetemp", "--color", "--dist", "--deselect"),
    *("--ignore", "--ignore-glob", "--log-level", "--capture", "--verbosity", "--show-capture"),
    *("--cov", "--timeout", "--reruns", "--numprocesses", "--override-ini", "--config-file"),
}
"""Options whose value is a word of its own, and no name of a suite."""


def _as_pytest_takes_it(word: str) -> str:
    """Return ``--t2i-model`` for ``--model``; other words stay.

    >>> [_as_pytest_takes_it(word) for word in ("--model=sdxl", "--t2i-seed", "-x", "parity")]
    ['--t2i-model=sdxl', '--t2i-seed', '-x', 'parity']
    """
    name, equals, value = word.partition("=")
    return f"{SHORT[name].flag}{equals}{value}" if name in SHORT else word


def _is_name(words: Sequence[str], place: int, folders: Mapping[str, Path]) -> bool:
    """Whether a word names a suite, well or badly: it is no option, and no option's value."""
    word, before = words[place], words[place - 1] if place else ""
    if word.startswith("-") or before in TAKE_A_VALUE:
        return False
    # An option that we do not know may take the word; pytest says so if there is no such option.
    return not before.startswith("--") or "=" in before or word.partition("::")[0] in folders


def _pytest(arguments: Sequence[str], command: str) -> int:
    """Run pytest on suites that lie elsewhere as if they lay in the current folder."""
    # Pytest reads conftest.py beside and above tests, and these lie elsewhere.
    conftest = ["-p", "conftest"] if Path("conftest.py").is_file() else []
    words = [
        sys.executable,
        "-m",
        "pytest",
        *LOADED,
        *as_if_here(arguments),
        *conftest,
        *arguments,
    ]
    environment = {**os.environ, TYPED: command}
    if os.name == "nt":
        return subprocess.call(words, env=environment)  # noqa: S603 - the Python that runs this
    # In the place of this process, so that signals reach pytest alone.
    return os.execve(sys.executable, words, environment)  # noqa: S606


def as_if_here(arguments: Sequence[str] = ()) -> list[str]:
    """Return the options with which pytest reads the settings of the current folder.

    Without them it reads those beside and above the tests.
    """
    if {word.partition("=")[0] for word in arguments} & {"-c", "--config-file", "--rootdir"}:
        return []
    here = Path.cwd()
    return ["-c", str(_ini_file(here) or os.devnull), "--rootdir", str(here)]


def _ini_file(here: Path) -> Path | None:
    for folder in (here, *here.parents):
        for name, table in INI_FILES.items():
            if (folder / name).is_file() and _has_settings(folder / name, table):
                return folder / name
    return None


def _has_settings(file: Path, table: str) -> bool:
    if table == "tool.pytest":
        return "pytest" in read_toml(file).get("tool", {})
    return not table or table in file.read_text(encoding="utf-8", errors="replace")


def _listed(arguments: Sequence[str]) -> Iterator[str]:
    """Yield the suites with question and images; with minutes and price where these are known."""
    from pytest_t2i.cli.support.seconds_per_image import rate

    parser = argparse.ArgumentParser(prog="t2i run", add_help=False, allow_abbrev=False)
    for name in ("model", "price", "images"):
        parser.add_argument(f"--t2i-{name}", dest=name)
    options, unknown = parser.parse_known_args(list(arguments))
    if unknown:
        raise ConfigurationError(
            f"expected the name of a suite, one of {', '.join(suites())}; got only "
            f"{shlex.join(unknown)}. t2i run alone lists the suites; --model, --images and --price "
            "go with the list"
        )
    from pytest_t2i.settings import price

    money = None if options.price is None else price("--price", options.price)
    pace = rate(None, None, options.model)
    folders = suites()
    per_prompt, images_of = _images_of(folders.values(), options.images)
    yield _images_per_prompt(per_prompt, options.images)
    width = max(map(len, folders))
    for name, folder in folders.items():
        images = images_of.get(name, 0)  # 0 where people's labels are what it needs
        cost = [f"{images:,} images" if images else "labelled images"]
        if images and pace is not None:
            cost.append(f"{images * pace.seconds / 60:,.1f} minutes")
        if images and money is not None:
            cost.append(str(money.times(images)))
        yield f"{name:<{width}}  {question(folder)}"
        yield f"{'':<{width}}  {', '.join(cost)}"
    if pace is not None:
        yield f"minutes at {pace}"
    elif options.model is not None:
        yield f"minutes: not known, as {options.model} has not made images here yet"
    yield (
        "t2i run SUITE --model NAME runs one; --model adds minutes, once that model has run here, "
        "and --price the price"
    )


def _images_per_prompt(count: int, option: str | None) -> str:
    """Return the first line of the list: where its numbers of images come from."""
    from pytest_t2i.settings import Settings

    file = _ini_file(Path.cwd())
    if option is not None:
        source = "--images"
    elif count != Settings().images and file is not None:
        source = f"t2i_images of {file.name}"
    else:
        source = "the default"
    change = "" if option is not None else "; --images N changes it"
    return f"images: {count} per prompt ({source}{change}), unless a suite sets its own"


def _images_of(folders: Iterable[Path], images: str | None) -> tuple[int, dict[str, int]]:
    from pytest_t2i.cli.listing import collected

    options = () if images is None else ("--t2i-images", images)
    counts = collected([*as_if_here(), *options, *map(str, folders)])
    images_of = {Path(folder).name: count for folder, count in counts["images"].items()}
    return int(counts["per prompt"]), images_of
