"""The console script ``t2i``: it imports the module of the command given and runs it.

Every other module in this package is one command, and has ``add_arguments(parser)`` and
``run(**arguments)``; one with ``run_words(words)`` reads its arguments itself. Only the module of
the given command is imported, so that each command starts fast. While a command runs, heartbeat
lines are written, unless its module sets ``TELLS_PROGRESS``. After Ctrl-C, the module's ``KEPT``
says what is kept. Companions register commands as entry points of the group
``pytest_t2i.commands``. ``label.page`` is the command ``t2i label page``; a group such as
``report`` may be a command, too.
"""

from __future__ import annotations

import argparse
import gc
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

from pytest_t2i.errors import T2IError, UnknownNameError, nearest
from pytest_t2i.generation.heartbeat import signs_of_life

if TYPE_CHECKING:
    from pytest_t2i.adapters.registry import Registry

PACKAGE = "pytest-t2i"
INTERRUPTED = 130
"""Exit status after Ctrl-C: 128 plus the number of SIGINT, as in shells."""
KEPT = "Finished files are kept; the same command makes the rest."
"""Note after an interruption, unless the command's module has its own ``KEPT``."""
COMMANDS = {
    "run": ("run", "run a shipped suite by name, or list the suites"),
    "init": ("init", "write a suite of your own words, with limits and a CI job"),
    "demo": ("demo", "show a PASS and a FAIL in seconds, from shipped pictures"),
    "list": ("listing", "list registered names, or the prompts of suites"),
    "plan": ("plan", "compute how many images a verdict takes"),
    "report": ("report", "render a run.json as index.html and summary.md"),
    "report.verify": (
        "verify_report",
        "check against its manifest that a report and its inputs are unchanged",
    ),
    "compare": ("compare", "compare the bias of several models"),
    "compare.stereotypes": (
        "stereotypes",
        "print the tables of OASIS for one or several recorded runs",
    ),
    "label.export": ("sample", "copy a random part of a run's images to label"),
    "label.import": (
        "label_import",
        "import labels from a table of another shape, or from Label Studio",
    ),
    "label.agreement": (
        "agreement",
        "compute how far annotators agree, and list where they differ",
    ),
    "store": ("store", "show, verify, repair or prune a store"),
    "export": ("export", "export a run as a model card, PDF, Parquet or CSV"),
    "detector.check": (
        "check_detector",
        "evaluate a detector on labelled images, find its weak groups, write its certificate",
    ),
    "detector.fetch": (
        "fetch",
        "download the weights of a detector, or list them with size and licence",
    ),
    "reproduce": (
        "reproduce",
        "list the papers' tables and figures, or make those that can be made",
    ),
}
"""Command -> (module, help); ``detector.check`` is ``t2i detector check``."""
ORDER = (
    *("run", "init", "demo", "list", "plan", "report", "compare", "label", "store", "export"),
    *("detector", "reproduce"),
)
"""The commands in the order of ``t2i --help``; those of companions follow."""
HELP = ("-h", "--help")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status, which is 130 after Ctrl-C."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return _run(words)
    except KeyboardInterrupt:
        return _interrupted(None)
    except T2IError as error:
        _print_error(f"ERROR: {error}")
        return 2


def _run(words: list[str]) -> int:
    if not words or words[0] in HELP:
        _print_help()
        return 0 if words else 2
    if words[0] == "--version":
        _print(_version())
        return 0
    name, rest = _chosen(words)
    helps = _helps(name)
    if name not in helps:
        return _list_group(name, rest, helps)
    implementation = None
    try:
        with _no_collection():
            implementation = _module(name)
        from pytest_t2i.adapters.registry import asked_for

        with asked_for("command", name, f"t2i {_as_typed(name)}"), _heartbeat(name, implementation):
            status = _start(name, implementation, rest, helps)
        # Flush here, so that a closed pipe raises inside this try, not when Python exits.
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _interrupted(implementation)
    except BrokenPipeError:
        # The reader of the pipe (such as head) is gone. Without this, Python complains at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return status


def _start(name: str, module: Any, words: Sequence[str], helps: Mapping[str, str]) -> int:
    parser = Parser(prog=f"t2i {_as_typed(name)}", description=_sentence(helps[name]))
    if hasattr(module, "run_words") and words[:1] not in [[word] for word in HELP]:
        return int(module.run_words(words))
    module.add_arguments(parser)
    if members := _members(name, helps):
        also = ", ".join(f"t2i {_as_typed(member)}" for member in members)
        parser.epilog = f"Also: {also}."
    arguments = vars(parser.parse_args(words))
    return int(module.run(**arguments))


class Parser(argparse.ArgumentParser):
    """A parser whose errors name the nearest option or choice to a mistyped one."""

    _words: Sequence[str] = ()

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the words, and keep them for the message of an error."""
        self._words = tuple(args or ())
        return super().parse_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Print usage, message and the nearest options; exit with status 2."""
        options = self.options()
        guesses = [
            f"Did you mean {option}?"
            for flag in (word.partition("=")[0] for word in self._words)
            if flag.startswith("--")
            and not any(option_string.startswith(flag) for option_string in options)
            if (option := nearest(flag, options))
        ]
        if (typed := _quoted_choice(message)) and (choice := nearest(typed, self._choices())):
            guesses.append(f"Did you mean {choice}?")
        super().error(" ".join([message, *dict.fromkeys(guesses)]))

    def options(self) -> list[str]:
        """Return the options of this parser and of its commands."""
        strings = [option for action in self._actions for option in action.option_strings]
        return strings + [option for parser in self._parsers() for option in parser.options()]

    def _choices(self) -> list[str]:
        """Return what the arguments and commands of this parser may be."""
        return [str(choice) for action in self._actions for choice in action.choices or ()]

    def _parsers(self) -> Iterator[Parser]:
        for action in self._actions:
            if isinstance(action.choices, Mapping):
                yield from (parser for parser in action.choices.values() if type(parser) is Parser)


def _quoted_choice(message: str) -> str:
    """Return what was typed in the place of a choice; "" for another message.

    >>> _quoted_choice("argument kind: invalid choice: 'modls' (choose from 'models', 'axes')")
    'modls'
    """
    _, separator, rest = message.partition("invalid choice: '")
    return rest.partition("'")[0] if separator else ""


def _chosen(words: Sequence[str]) -> tuple[str, list[str]]:
    """Return the name of the command, ``label.page``, and the words that follow it."""
    name, rest = words[0], list(words[1:])
    if "." in name:
        raise UnknownNameError("command", name, map(_as_typed, _names()))
    member = f"{name}.{rest[0]}" if rest else ""
    if member in COMMANDS or (rest and member in _names()):
        return f"{name}.{rest[0]}", rest[1:]
    return name, rest


def _list_group(name: str, rest: Sequence[str], helps: Mapping[str, str]) -> int:
    """Print each command of a group with its help; raise for a name that is none."""
    group = name.partition(".")[0]
    from pytest_t2i.adapters.registry import INSTALL

    members = _members(group, helps)
    member_name = rest[0] if rest and name == group else name.partition(".")[2]
    install = INSTALL.get(("command", f"{group}.{member_name}")) or (
        "" if members else INSTALL.get(("command", group), "")
    )
    if install:
        words = f"{group} {member_name}" if members else group
        _print_error(f"ERROR: t2i {words} is not installed. Run: {install}")
        return 2
    if not members:
        raise UnknownNameError("command", group, _top(helps), "t2i --help lists them.")
    if member_name and member_name not in HELP:
        raise UnknownNameError(
            "command",
            f"{group} {member_name}",
            [_as_typed(member) for member in members],
            f"t2i {group} --help lists them.",
        )
    width = max(map(len, members))
    for member in members:
        _print(f"t2i {_as_typed(member).ljust(width)}  {helps[member]}")
    return 0


def _print_help() -> None:
    """Print each command on a line, the core's first."""
    helps = _helps(None)
    width = shutil.get_terminal_size((80, 24)).columns
    core = [name for name in ORDER if name in _top(helps)]
    companions = [name for name in _top(helps) if name not in ORDER]
    _print("usage: t2i COMMAND ...   (t2i COMMAND --help explains one; t2i --version)")
    column = max(map(len, [*core, *companions]))
    for heading, names in (("", core), ("of other distributions:", companions)):
        if names:
            _print(heading)
        for name in names:
            line = f"  {name.ljust(column)}  {_summary(name, helps)}"
            _print(line if len(line) <= width else f"{line[: width - 3].rstrip()}...")


def _summary(name: str, helps: Mapping[str, str]) -> str:
    """Return the help of a command or of a group; a group names its commands."""
    members = [member.partition(".")[2] for member in _members(name, helps)]
    if name not in helps:
        return f"{', '.join(members[:-1])} or {members[-1]}" if members[1:] else members[0]
    return f"{helps[name]}; also {', '.join(members)}" if members else helps[name]


def _members(group: str, helps: Mapping[str, str]) -> list[str]:
    return [name for name in helps if name.startswith(f"{group}.")]


def _top(helps: Mapping[str, str]) -> list[str]:
    """Return the names that are typed first, each once."""
    return list(dict.fromkeys(name.partition(".")[0] for name in helps))


def _as_typed(name: str) -> str:
    return name.replace(".", " ")


def _sentence(text: str) -> str:
    """Return a help text as a description; argparse expands %."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}.".replace("%", "%%")


def _helps(command_name: str | None) -> dict[str, str]:
    """Return command -> help; companions are read only where no built-in command is given."""
    ours = {name: words for name, (_, words) in COMMANDS.items()}
    if command_name in ours:
        return ours
    companions = _companions()
    return {name: ours.get(name) or _purpose(companions.summary(name)) for name in _names()}


def _names() -> list[str]:
    """Return the names of all commands; those of companions come first."""
    return list(dict.fromkeys([*_companions().names(), *COMMANDS]))


def _companions() -> Registry:
    from pytest_t2i.adapters.registry import Registries

    return Registries().commands


def _purpose(docstring: str) -> str:
    """Return what a command does, from a docstring that begins with its name.

    >>> _purpose("``t2i label page``: label the images of a folder.")
    'label the images of a folder'
    """
    return docstring.rpartition("``: ")[2].rstrip(".")


def _module(name: str) -> Any:
    if name in COMMANDS:
        return import_module(f"pytest_t2i.cli.{COMMANDS[name][0]}")
    return _companions().get(name)


def _heartbeat(command: str, module: Any) -> AbstractContextManager[object]:
    """Return a context that writes heartbeat lines, unless the module sets TELLS_PROGRESS."""
    if getattr(module, "TELLS_PROGRESS", False):
        return nullcontext()
    return signs_of_life(_as_typed(command))


def _print(line: str) -> None:
    print(line)  # noqa: T201 - a command line tool


def _print_error(line: str) -> None:
    print(line, file=sys.stderr, flush=True)  # noqa: T201 - a command line tool


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
