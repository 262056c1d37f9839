"""Options and ini keys of pytest, resolved once into one frozen Settings."""

from __future__ import annotations

import argparse
import copy
import itertools
import os
from collections.abc import Sequence
from os.path import isfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_t2i.option_names import EVERYDAY, OPTIONS, TYPED, Option

if TYPE_CHECKING:
    from pytest_t2i.settings import Settings


TITLE = "fairness of text-to-image models (all {} options: t2i run --help)"


def add_options(parser: pytest.Parser) -> None:
    """Register every option; the help shows those that everybody needs."""
    group = parser.getgroup("t2i", TITLE.format(len(OPTIONS)))
    for option in OPTIONS:
        how: dict[str, Any] = {"metavar": option.metavar}
        if option.is_switch:
            how = {"action": "store_const", "const": "true"}
        if option.is_repeated:
            how["action"] = "append"
        text = option.help if option.name in EVERYDAY else argparse.SUPPRESS
        group.addoption(option.flag, dest=option.ini, default=None, help=text, **how)


def add_ini_keys(parser: pytest.Parser, args: Sequence[str]) -> None:
    """Register the ini key of every option; for the help those of its options, in a line each."""
    for option in OPTIONS:
        if not _is_help(args) or option.name in EVERYDAY:
            parser.addini(option.ini, f"{option.flag} in a file", default=None)


def _is_help(args: Sequence[str]) -> bool:
    return not {"-h", "--help"}.isdisjoint(args)


def search_project(config: pytest.Config, args: Sequence[str]) -> None:
    """Let conftest.py files and ``module:factory`` find modules in the project's folders.

    Only where an option of ours is there: pytest itself searches the folders of the files that it
    collects, and in its mode importlib none. These are the current folder, that of the ini file,
    and those on the command line that have a conftest.py.
    """
    if _is_help(args):
        return
    in_file = any(_in_ini(config, option.ini) for option in OPTIONS)
    if in_file or any(arg.startswith("--t2i") for arg in args):
        from pytest_t2i.adapters.registry import search

        here = config.invocation_params.dir
        paths = [here / arg.partition("::")[0] for arg in args if not arg.startswith("-")]
        folders = [path.parent if path.suffix == ".py" else path for path in paths]
        # The value of an option may be no name of a file at all: os.path.isfile then says no.
        with_conftest = [folder for folder in folders if isfile(folder / "conftest.py")]  # noqa: PTH113
        for folder in (here, project_folder(config), *with_conftest):
            search(folder)


NEED_MODEL = ("baseline", "anchor", "save-baseline")
"""Options of the command line that require a model."""
SETTINGS = pytest.StashKey["Settings"]()
"""Stash key of the configuration: the resolved settings."""


def are_given(config: pytest.Config) -> bool:
    on_command_line = any(config.getoption(option.ini) is not None for option in OPTIONS)
    return on_command_line or any(_in_ini(config, option.ini) for option in OPTIONS)


def _in_ini(config: pytest.Config, key: str) -> bool:
    try:
        return config.getini(key) not in (None, "")
    except (TypeError, pytest.UsageError):  # a text was expected
        return True


def resolve(config: pytest.Config) -> Settings:
    """Return the settings: the command line first, then the ini file, then defaults; cached."""
    if SETTINGS not in config.stash:
        config.stash[SETTINGS] = _resolved(config)
    return config.stash[SETTINGS]


def _resolved(config: pytest.Config) -> Settings:
    from pytest_t2i.errors import ConfigurationError
    from pytest_t2i.settings import settings_of

    values: dict[str, Any] = {
        "store": project_folder(config) / ".t2i",
        "report": project_folder(config) / "reports" / "t2i",
    }
    try:
        for option in OPTIONS:
            value = _value(config, option)
            if value is not None:
                values[option.name] = value
        if "model" not in values and "labels" not in values:
            _check_model_is_not_needed(config)
        return settings_of(values)
    except ConfigurationError as error:
        raise pytest.UsageError(str(error)) from None


def _check_model_is_not_needed(config: pytest.Config) -> None:
    """Refuse options of a gate without model or labels: it would be green and test nothing."""
    from pytest_t2i.errors import ConfigurationError

    for option in OPTIONS:
        if option.name in NEED_MODEL and config.getoption(option.ini) is not None:
            raise ConfigurationError(
                f"{option.flag}: expected a model or labelled images beside it: give --t2i-model "
                "NAME or --t2i-labels FOLDER, or t2i_model in the ini file that pytest reads"
            )


def project_folder(config: pytest.Config) -> Path:
    """Return the folder of the ini file, else the folder in which pytest was started.

    This is not pytest's rootdir. Without an ini file, rootdir is the common ancestor of all paths
    on the command line, and a model or labelled set may lie elsewhere. An ini file that pytest
    found only because of such a path is not used, either.
    """
    here = config.invocation_params.dir
    if config.inipath and config.inipath.parent in (here, *here.parents):
        return config.inipath.parent
    return here


def ini_text(config: pytest.Config, key: str, between: str = ",") -> str:
    """Return the value of an ini key as an ini file writes it; "" where there is none.

    A table ``[tool.pytest]`` of TOML may hold numbers, true or false, and lists of names, whose
    elements are joined by ``between``. Raises ConfigurationError for any other value.
    """
    import warnings

    from pytest_t2i.errors import ConfigurationError, shown

    with warnings.catch_warnings():
        # A list in [tool.pytest.ini_options], which pytest warns about.
        warnings.simplefilter("ignore")
        try:
            value = config.getini(key)
        except (TypeError, pytest.UsageError):  # a text was expected
            value = _native(config, key)
    parts = value if isinstance(value, list) else [value]
    if not all(isinstance(part, str | int | float | None) for part in parts):
        raise ConfigurationError(
            f"{key}: expected a text, a number, true or false, got {shown(value)}"
        )
    return between.join("" if part is None else str(part).strip() for part in parts)


def _native(config: pytest.Config, key: str) -> Any:
    from pytest_t2i.read_files import read_toml

    table = read_toml(config.inipath) if config.inipath else {}
    if config.inipath and config.inipath.name == "pyproject.toml":
        table = table.get("tool", {})
    return table.get("pytest", {}).get(key)


def _value(config: pytest.Config, option: Option) -> Any:
    from pytest_t2i.settings import READERS

    from_command_line = config.getoption(option.ini)
    if option.is_repeated and from_command_line:
        from_command_line = "\n".join(from_command_line)
    if from_command_line is not None:
        return READERS[option.name](option.flag, from_command_line)
    from_ini = ini_text(config, option.ini, "\n" if option.is_repeated else ",")
    if not from_ini:
        return None
    if option.is_place:
        from_ini = _places_beside_ini(config, option.name, from_ini)
    return _beside_ini(config, option, READERS[option.name](option.ini, from_ini))


OF_FOLDERS = ("images", "people")
"""Names before a colon that take a folder."""


def _places_beside_ini(config: pytest.Config, option: str, value: str) -> str:
    if project_folder(config) == Path.cwd():
        return value
    # The name of a folder may hold a comma.
    is_one = os.path.exists(project_folder(config) / value.removeprefix("images:"))  # noqa: PTH110
    parts = [value] if is_one else value.split(",")
    return ",".join(_place(config, option, part.strip()) for part in parts)


def _place(config: pytest.Config, option: str, value: str) -> str:
    """Resolve a folder or file of the ini file against the file's folder.

    A value that can also be a hub id or a registered name is a path if it exists beside the file.
    """
    name, colon, path = value.partition(":") if ":" in value else ("", "", value)
    place = project_folder(config) / path
    if not path or Path(path).is_absolute() or path.startswith("~"):
        return value
    looks_so = option == "labels" or bool({"/", "\\", "."} & set(path))
    is_path = name in OF_FOLDERS or (looks_so and os.path.exists(place))  # noqa: PTH110
    # A relative path keeps the names of folders of this machine out of reports.
    return f"{name}{colon}{os.path.relpath(place)}" if is_path else value


def _beside_ini(config: pytest.Config, option: Option, value: Any) -> Any:
    """Resolve a path of the ini file against the file's folder, as pytest does."""
    if isinstance(value, Path) and not value.is_absolute():
        return project_folder(config) / value
    if option.name == "model-option" and isinstance(value.get("lora"), str):
        from pytest_t2i.settings import lora

        source, scale = lora(option.ini, value["lora"])
        placed = _place(config, "model", source)
        return value if placed == source else {**value, "lora": f"{placed}:{scale:g}"}
    if option.name == "reference" and str(value).endswith(".toml"):
        return str(project_folder(config) / value)
    return value


FLAGS = tuple(option.flag for option in OPTIONS if not option.is_switch)


def keep_rootdir(config: Any, parser: Any, args: list[str]) -> None:
    """Read the settings again if the value of one of our options has changed where they are.

    Pytest looks for its rootdir and its settings file before it knows our options, and takes their
    values for paths of tests once these exist: the second run with a new store would be another.
    """
    setup = _setup(config) if _has_path(args) else None
    if setup is None or setup[:2] == (config.rootpath, config.inipath):
        return
    # Nothing public sets these once plugins are loaded: what follows is what Config.parse does.
    has_same_settings = setup[1] == config.inipath
    wrong = config.getini("addopts")
    has_python_path = hasattr(config, "_unconfigure_python_path")  # before pytest 9 it is a hook
    if has_python_path:
        config._unconfigure_python_path()  # noqa: SLF001
    settings = "_inicfg" if hasattr(config, "_inicfg") else "inicfg"
    for name, value in zip(("_rootpath", "_inipath", settings), setup, strict=False):
        setattr(config, name, value)
    config._inicache.clear()  # noqa: SLF001
    parser.extra_info |= {"rootdir": str(setup[0]), "inifile": str(setup[1])}
    if has_python_path:
        config._configure_python_path()  # noqa: SLF001
    if not has_same_settings:
        args[:] = [*config.getini("addopts"), *args[len(wrong) :]]
        config._checkversion()  # noqa: SLF001
        config.pluginmanager.consider_preparse(args, exclude_only=False)
        config._validate_plugins()  # noqa: SLF001
    options = parser.parse_known_args(args, namespace=copy.copy(config.option))
    if options.confcutdir is None:
        options.confcutdir = str(config.inipath.parent if config.inipath else config.rootpath)
    config.known_args_namespace = options


def check_spelling(parser: Any, args: Sequence[str]) -> None:
    """Raise UsageError for an option that nobody has and that is nearly one of ours."""
    flags = {arg.partition("=")[0] for arg in itertools.takewhile(lambda arg: arg != "--", args)}
    groups = [*parser._groups, parser._anonymous]  # noqa: SLF001 - nothing public lists options
    registered = {name for group in groups for option in group.options for name in option.names()}
    unknown = sorted(flag for flag in flags - registered if flag.startswith("--"))
    if not unknown:
        return
    from difflib import get_close_matches

    ours = sorted(name for name in registered if name.startswith("--t2i-"))
    if TYPED in os.environ:  # t2i run, which takes our options without their prefix, too
        ours += [f"--{option.name}" for option in OPTIONS]
    for flag in unknown:
        if flag.startswith("--t2i") or get_close_matches(flag, ours, cutoff=NEAR):
            near = get_close_matches(flag, ours, n=1)
            guess = f" Did you mean {near[0]!r}?" if near else ""
            raise pytest.UsageError(f"unknown option {flag!r}.{guess} {HELP}")


NEAR = 0.8
"""How alike a mistyped option is to one of ours, as difflib counts."""
HELP = "pytest --help explains them."


def hide_no_file(config: pytest.Config) -> None:
    """Keep pytest's header free of the settings file of ``t2i run`` where there is none."""
    if TYPED in os.environ and config.inipath and str(config.inipath) == os.devnull:
        config._inipath = None  # noqa: SLF001 - pytest has no switch for its line "configfile"


def _has_path(args: Sequence[str]) -> bool:
    """Whether one of our options has as a separate argument an existing path."""
    # os.path accepts texts that cannot be a path, too.
    return any(
        flag in FLAGS and os.path.exists(value)  # noqa: PTH110
        for flag, value in itertools.pairwise(args)
    )


def _setup(config: pytest.Config) -> tuple[Any, ...] | None:
    """Return rootdir, settings file and settings that pytest would choose; None if unknown.

    Now it knows our options.
    """
    import inspect

    from _pytest.config import findpaths

    namespace = config.known_args_namespace
    facts: dict[str, Any] = {
        "inifile": namespace.inifilename,
        "override_ini": namespace.override_ini,
        "args": namespace.file_or_dir,
        "rootdir_cmd_arg": namespace.rootdir or None,
        "invocation_dir": config.invocation_params.dir,
    }
    # The parameters of pytest's private function differ between versions.
    accepted = inspect.signature(findpaths.determine_setup).parameters
    if not {"inifile", "args", "rootdir_cmd_arg"} <= set(accepted) <= {*facts, "config"}:
        return None
    return findpaths.determine_setup(
        **{name: value for name, value in facts.items() if name in accepted}
    )
