"""The console script ``t2i``: it imports the module of the command given and runs it.

Every other module in this package is one command, and has ``add_arguments(parser)`` and
``run(**arguments)``. Only the module of the given command is imported, so that each command starts
fast. While a command runs, heartbeat lines are written, unless its module sets ``TELLS_PROGRESS``.
After Ctrl-C, the module's ``KEPT`` says what is kept. Companions register commands as entry points
of the group ``pytest_t2i.commands``; ``research.hunt`` is the command ``t2i research hunt``.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib import import_module
from typing import Any

from pytest_t2i.errors import T2IError
from pytest_t2i.generation.heartbeat import signs_of_life

PACKAGE = "pytest-t2i"
INTERRUPTED = 130
"""Exit status after Ctrl-C: 128 plus the number of SIGINT, as in shells."""
GROUPED = "command of the group"
"""Destination of the name of a command within its group."""
KEPT = "Finished files are kept; the same command makes the rest."
"""Note after an interruption, unless the command's module has its own ``KEPT``."""
COMMANDS = {
    "run": ("run", "run a shipped suite by name, or list the suites"),
    "demo": ("demo", "show a PASS and a FAIL in seconds, from shipped pictures"),
    "init": ("init", "write a suite of your own words, with limits and a CI job"),
    "list": ("listing", "list registered names, or the prompts of suites"),
    "fetch": ("fetch", "download the weights of a detector, or list them with size and licence"),
    "check-detector": ("check_detector", "evaluate a detector on labelled images"),
    "report": ("report", "render a run.json as index.html and summary.md"),
    "compare": ("compare", "compare the bias of several models"),
    "history": ("history", "show scores over versions, and where they changed"),
    "export": ("export", "export a run as a card, PDF, SARIF, Parquet, CSV or to MLflow"),
    "verify-report": (
        "verify_report",
        "check against its manifest that a report and its inputs are unchanged",
    ),
    "plan": ("plan", "compute how many images a verdict takes, and what fewer can show"),
    "sample": ("sample", "copy a random part of a run's images to label"),
    "agreement": ("agreement", "compute how far annotators agree, and list where they differ"),
    "label-import": (
        "label_import",
        "import labels from a table of another shape, or from Label Studio",
    ),
    "store": (
        "store",
        "show, verify, repair, prune, merge, export and import a store of images",
    ),
    "stereotypes": (
        "stereotypes",
        "print the tables of OASIS for one or several recorded runs",
    ),
}
"""Command -> (module, help)."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status, which is 130 after Ctrl-C."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return _run(words)
    except KeyboardInterrupt:
        return _interrupted(None)


def _run(words: list[str]) -> int:
    command_name = _chosen(words)
    helps = _helps(command_name)
    members = [name for name in helps if name.startswith(f"{command_name}.")]
    if not members and (install := _install_command(command_name, helps)):
        _print_error(f"ERROR: t2i {command_name} is not installed. Run: {install}")
        return 2
    if members and words == [command_name]:
        return _list(members, helps)
    if members:
        command_name = f"{command_name}.{_chosen(words[words.index(str(command_name)) + 1 :])}"
    if command_name == "run" and not {"-h", "--help"} & set(words[:2]):
        implementation = _module("run")

        def start() -> int:
            return int(implementation.run_words(words[words.index("run") + 1 :]))
    else:
        implementation, parsed = _parse(words, command_name, helps)

        def start() -> int:
            return int(implementation.run(**parsed))

    try:
        with _heartbeat(command_name, implementation):
            status = start()
        # Flush here, so that a closed pipe raises inside this try, not when Python exits.
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _interrupted(implementation)
    except T2IError as error:
        _print_error(f"ERROR: {error}")
        return 2
    except BrokenPipeError:
        # The reader of the pipe (such as head) is gone. Without this, Python complains at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return status


def _parse(
    words: Sequence[str], command_name: str | None, helps: Mapping[str, str]
) -> tuple[Any, dict[str, Any]]:
    """Return the module of the command and its arguments."""
    parser = argparse.ArgumentParser(
        prog="t2i", description="Commands beside the pytest plugin pytest-t2i."
    )
    is_asked = any(word.startswith("--v") for word in words)
    parser.add_argument("--version", action="version", version=_version() if is_asked else PACKAGE)
    commands = {"": parser.add_subparsers(dest="command", required=True, metavar="COMMAND")}
    for name, summary in helps.items():
        group, _, member = name.rpartition(".")
        if group not in commands:
            commands[group] = _add_group(commands[""], group, helps)
        described = f"{summary[:1].upper()}{summary[1:].rstrip('.')}."
        command = commands[group].add_parser(member, help=summary, description=described)
        if name == command_name:
            with _no_collection():
                implementation = _module(name)
            implementation.add_arguments(command)
    parsed = vars(parser.parse_args(words))
    for entry in ("command", GROUPED):
        parsed.pop(entry, None)
    return implementation, parsed


def _list(members: Sequence[str], helps: Mapping[str, str]) -> int:
    """Print each command of a group with its help; return 0."""
    width = max(map(len, members))
    for name in members:
        words = name.replace(".", " ").ljust(width)
        print(f"t2i {words}  {helps[name].replace('%%', '%')}")  # noqa: T201 - a command line tool
    return 0


def _add_group(commands: Any, group: str, helps: Mapping[str, str]) -> Any:
    """Add the parser of a group such as ``research``; return the action that takes its commands."""
    names = [name.rpartition(".")[2] for name in helps if name.startswith(f"{group}.")]
    summary = f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else names[0]
    parser = commands.add_parser(group, help=summary, description=f"Commands: {', '.join(names)}.")
    return parser.add_subparsers(dest=GROUPED, required=True, metavar="COMMAND")


def _helps(command_name: str | None) -> dict[str, str]:
    """Return command -> help; companions are read only where no built-in command is given.

    A command of a group has a name such as ``research.hunt``.
    """
    ours = {name: words for name, (_, words) in COMMANDS.items()}
    if command_name in ours:
        return ours
    from pytest_t2i.adapters.registry import Registries

    companions = Registries().commands
    # argparse expands % in help texts.
    summaries = {
        name: _purpose(companions.summary(name)).replace("%", "%%") for name in companions.names()
    }
    return summaries | ours


def _purpose(docstring: str) -> str:
    """Return what a command does, from a docstring that begins with its name.

    >>> _purpose("``t2i label``: label the images of a folder.")
    'label the images of a folder'
    """
    return docstring.rpartition("``: ")[2].rstrip(".")


def _install_command(name: str | None, helps: Mapping[str, str]) -> str:
    """Return how to install a companion's command that is not there; "" if that is not known."""
    if name is None or name in helps:
        return ""
    from pytest_t2i.adapters.registry import INSTALL

    return INSTALL.get(("command", name), "")


def _module(name: str) -> Any:
    if name in COMMANDS:
        return import_module(f"pytest_t2i.cli.{COMMANDS[name][0]}")
    from pytest_t2i.adapters.registry import Registries

    return Registries().commands.get(name)


def _heartbeat(command: str | None, module: Any) -> AbstractContextManager[object]:
    """Return a context that writes heartbeat lines, unless the module sets TELLS_PROGRESS."""
    if getattr(module, "TELLS_PROGRESS", False):
        return nullcontext()
    return signs_of_life(str(command).replace(".", " "))


def _print_error(line: str) -> None:
    print(line, file=sys.stderr)  # noqa: T201 - a command line tool


def _chosen(words: Sequence[str]) -> str | None:
    return next((word for word in words if not word.startswith("-")), None)


def _interrupted(module: Any) -> int:
    """Print the KEPT of a command's module, else the default; return the exit status."""
    _print_error(f"t2i: interrupted. {getattr(module, 'KEPT', KEPT)}")
    return INTERRUPTED


def _version() -> str:
    # Read only for --version, as it takes a look into the installed files.
    from importlib.metadata import version

    return f"{PACKAGE} {version(PACKAGE)}"


@contextmanager
def _no_collection() -> Iterator[None]:
    """Disable garbage collection during imports, which takes a twentieth of a short command."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
