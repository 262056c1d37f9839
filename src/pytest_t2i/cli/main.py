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
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from importlib import import_module
from typing import Any, NoReturn

from pytest_t2i.errors import ConfigurationError, T2IError, nearest
from pytest_t2i.generation.heartbeat import signs_of_life

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
        "list the papers' tables and figures, or make them",
    ),
}
"""Command -> (module, help) in the order of ``t2i --help``; those of companions follow."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status, which is 130 after Ctrl-C."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    module = None
    try:
        parser = Parser(prog="t2i", helps=_helps(words))
        parser.add_argument("--version", action=_Version, help="print the version and exit")
        parsed = vars(parser.parse_args(words))
        command, module = parsed.pop("command"), parsed.pop("module")
        status = _run(command, module, parsed)
        # Flush here, so that a closed pipe raises inside this try, not when Python exits.
        sys.stdout.flush()
    except KeyboardInterrupt:
        _print_error(f"t2i: interrupted. {getattr(module, 'KEPT', KEPT)}")
        return INTERRUPTED
    except T2IError as error:
        _print_error(f"ERROR: {error}")
        return 2
    except BrokenPipeError:
        # The reader of the pipe (such as head) is gone. Without this, Python complains at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return status


def _run(name: str, module: Any, parsed: dict[str, Any]) -> int:
    from pytest_t2i.adapters.registry import asked_for

    typed = name.replace(".", " ")
    is_quiet = getattr(module, "TELLS_PROGRESS", False)
    with (
        asked_for("command", name, f"t2i {typed}"),
        nullcontext() if is_quiet else signs_of_life(typed),
    ):
        return int(module.run_words(parsed["typed"]) if "typed" in parsed else module.run(**parsed))


class Parser(argparse.ArgumentParser):
    """The parser of t2i, of a group, or of a command, whose module it imports when it parses.

    Its errors name the nearest option or choice to a mistyped one.
    """

    def __init__(
        self, *, command: str = "", helps: Mapping[str, str] | None = None, **how: Any
    ) -> None:
        super().__init__(allow_abbrev=False, **how)
        self._command, self._helps = command, helps or {}

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Add the commands of t2i or of a group, or the arguments of a command, and parse."""
        words = list(args or ())
        members = _members(self._command, self._helps)
        if self._command in self._helps and words[:1] not in [[member] for member in members]:
            module = _module(self._command)
            if hasattr(module, "run_words") and not {"-h", "--help"} & {*words[:1]}:
                return argparse.Namespace(command=self._command, module=module, typed=words), []
            module.add_arguments(self)
            self.set_defaults(command=self._command, module=module)
            if members:
                self.epilog = f"Also: {', '.join(f'{self.prog} {member}' for member in members)}."
        elif members:
            commands = self.add_subparsers(title="commands", metavar="COMMAND")
            for member in members:
                command = f"{self._command}.{member}".lstrip(".")
                summary = _summary(command, self._helps)
                commands.add_parser(
                    member,
                    command=command,
                    helps=self._helps,
                    help=summary.replace("%", "%%"),
                    description=_sentence(summary),
                )
            if not words:
                self.print_help()
                self.exit(0 if self._command else 2)
        namespace, unknown = super().parse_known_args(words, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return namespace, []

    def error(self, message: str) -> NoReturn:
        """Print usage, message and the nearest options; exit with status 2."""
        from pytest_t2i.adapters.registry import INSTALL

        choice = message.partition("invalid choice: '")[2].partition("'")[0]
        name = f"{self._command}.{choice}".lstrip(".")
        if install := INSTALL.get(("command", name)):
            raise ConfigurationError(
                f"t2i {name.replace('.', ' ')} is not installed. Run: {install}"
            )
        known = [str(known) for action in self._actions for known in action.choices or ()]
        guesses = [nearest(choice, known)] if choice else []
        words = message.partition("unrecognized arguments: ")[2].split()
        flags = [word.partition("=")[0] for word in words if word.startswith("--")]
        options = [option for action in self._actions for option in action.option_strings]
        guesses += [nearest(flag, options) for flag in flags]
        super().error(
            " ".join([message, *(f"Did you mean {guess}?" for guess in guesses if guess)])
        )


class _Version(argparse.Action):
    def __init__(self, **how: Any) -> None:
        super().__init__(**{**how, "nargs": 0, "dest": argparse.SUPPRESS})

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        # Read only here, as it takes a look into the installed files.
        from importlib.metadata import version

        parser.exit(message=f"{PACKAGE} {version(PACKAGE)}\n")


def _members(group: str, helps: Mapping[str, str]) -> list[str]:
    """Return what may be typed after t2i, or after a group, each once.

    >>> _members("", {"plan": "", "label.export": "", "label.import": ""})
    ['plan', 'label']
    """
    prefix = f"{group}." if group else ""
    names = (name.removeprefix(prefix) for name in helps if name.startswith(prefix))
    return list(dict.fromkeys(name.partition(".")[0] for name in names))


def _summary(name: str, helps: Mapping[str, str]) -> str:
    """Return the help of a command or of a group; a group names its commands."""
    members = _members(name, helps)
    if name not in helps:
        return f"{', '.join(members[:-1])} or {members[-1]}" if members[1:] else members[0]
    return f"{helps[name]}; also {', '.join(members)}" if members else helps[name]


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}.".replace("%", "%%")


def _helps(words: Sequence[str]) -> dict[str, str]:
    """Return command -> help; companions are read only where no built-in command is given."""
    helps = {name: text for name, (_, text) in COMMANDS.items()}
    if {*words[:1], ".".join(words[:2])} & helps.keys():
        return helps
    from pytest_t2i.adapters.registry import Registries

    companions = Registries().commands
    return helps | {name: _purpose(companions.summary(name)) for name in companions.names()}


def _purpose(docstring: str) -> str:
    """Return what a command does, from a docstring that begins with its name.

    >>> _purpose("``t2i label page``: label the images of a folder.")
    'label the images of a folder'
    """
    return docstring.rpartition("``: ")[2].rstrip(".")


def _module(name: str) -> Any:
    from pytest_t2i.adapters.registry import Registries

    gc.disable()  # Collection takes a twentieth of a short command while modules are imported.
    try:
        if name in COMMANDS:
            return import_module(f"pytest_t2i.cli.{COMMANDS[name][0]}")
        return Registries().commands.get(name)
    finally:
        gc.enable()


def _print_error(line: str) -> None:
    print(line, file=sys.stderr, flush=True)  # noqa: T201 - a command line tool
