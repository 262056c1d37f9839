"""A grammar of mistakes in options: every option of pytest and t2i with every wrong value."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from documents import DOCUMENTS

NOT_WHOLE = (
    "",
    " ",
    "x",
    "1.5",
    "-1",
    "1e3",
    "0x10",
    "²",
    "1 2",
    "nan",
    "inf",
    "9" * 30,
    "9" * 5000,
)
NOT_A_NUMBER = ("", "x", "-1", "nan", "inf", "-inf", "1,5", "1e999", "½", "9" * 400)
NOT_A_WORD = ("", " ", "x", "Auto!", "float8", "pass fail", "\x1b[31m", "x" * 3000)
NOT_A_FILE = (
    "", "absent", "folder", "pipe", "/dev/zero", "a\0b", "x" * 3000, "~nobody-of-this-name/x",
    "circle", "bytes", "empty", "\x1b[2J",
)  # fmt: skip
KINDS: dict[str, Sequence[str]] = {
    "images": (*NOT_WHOLE, "0", "10" * 6), "seed": NOT_WHOLE, "steps": (*NOT_WHOLE, "0", "10" * 6),
    "batch": (*NOT_WHOLE, "0", "10" * 6),
    "guidance": NOT_A_NUMBER,
    "confidence": (*NOT_A_NUMBER, "0", "0.5", "1", "2", "95"),
    "size": ("", "x", "512x", "x512", "0", "0x5", "512x512x512", "-5", "5.5", "²", "9" * 30, "axb"),
    "dtype": NOT_A_WORD, "inconclusive": (*NOT_A_WORD, "pass,fail,pass", "pass,"),

    "model": (
        "", " ", "sdxxl", "./nowhere", "fakes:absent", "absent_module:x", "images:",
        "images:absent",
        "images:folder", "images:pipe", "images:" + "x" * 3000, "~nobody-of-this-name/x", "a\0b",
        "x" * 3000, "fakes:" + "x" * 3000, "fakes:fair.absent", "factories:nothing",
        "factories:raises",
        ":", "fakes:", "../..", "pipe", "\x1b[31m",
    ),
    "detector": ("", ",", "clipp", "x" * 3000, "colour,absent", "\x1b[31m", ":", "a\0b"),
    "executor": (
        "", " ", "x", ":", "processes:0", "processes:-1", "processes:65", "processes:1.5",
        "processes:x", "processes:²", "in-process:2", "auto:2", "ray:0", "ray:x", "absent_module:x",
        "fakes:absent", "factories:nothing", "factories:raises", "x" * 3000, "\x1b[31m",
    ),
    "detect-where": (*NOT_A_WORD, "worker"),
    "objects": ("", "absent", "x" * 3000),
    "limits": NOT_A_FILE, "baseline": NOT_A_FILE, "labels": NOT_A_FILE, "captions": NOT_A_FILE,
    "catalogue": NOT_A_FILE, "reference": NOT_A_FILE,
    "store": ("", "bytes", "bytes/x", "pipe", "/dev/null/x", "circle", "a\0b", "x" * 3000),
}  # fmt: skip
"""Option -> values that it does not take."""
TAKEN_FROM = {
    "limits": "limits", "baseline": "baseline", "reference": "reference", "catalogue": "catalogue",
    "COCO": "captions", "Label Studio": "labels",
}  # fmt: skip
"""Document -> option that it is given to."""
FEW = 25
"""Mistakes of a document that are given to an option."""
COMMANDS: dict[str, Sequence[tuple[str, ...]]] = {
    "run": (
        ("report", "run.json", "out"), ("label", "export", "run.json", "out"),
        ("plan", "--run", "run.json"),
        ("compare", "stereotypes", "run.json"), ("export", "run.json", "--to", "model-card"),
    ),
    "models": (("compare", "run.json", "run.json", "--report", "out"),),
    "baseline": (("compare", "base.json", "base.json", "--report", "out"),),
    "labels": (("label", "agreement", "."),),
    "Label Studio": (("label", "agreement", "export.json"),),
}  # fmt: skip
"""Document -> commands that read it."""


FACTORIES = """

def nothing(options):
    pass

def raises(options):
    raise OSError(1)
"""


@dataclass(frozen=True)
class Row:
    """One command line with a mistake."""

    program: str
    """pytest or t2i."""
    arguments: tuple[str, ...]
    words: str
    is_wrong: bool = True
    """Whether it must be refused; else it must only not break."""


def write_obstacles(folder: Path) -> None:
    """What NOT_A_FILE names."""
    (folder / "folder").mkdir(exist_ok=True)
    (folder / "bytes").write_bytes(b"\xff\xfe\x00\x81")
    (folder / "empty").write_bytes(b"")
    for name, make in (("pipe", os.mkfifo), ("circle", lambda path: path.symlink_to(path))):
        if not os.path.lexists(folder / name):
            make(folder / name)
    (folder / "factories.py").write_text(FACTORIES)


def option_rows(folder: Path) -> Iterator[Row]:
    """Every option of pytest with every value that it does not take."""
    write_obstacles(folder)
    for option, values in KINDS.items():
        for value in values:
            if "\0" in value and option not in ("limits", "store"):
                continue  # no shell passes it; two stand for all
            words = f"--t2i-{option} {json.dumps(value)[:40]}"
            yield Row(
                "pytest",
                (*_rest(option), f"--t2i-{option}", value),
                words,
                _is_wrong(option, value),
            )
    for document in DOCUMENTS:
        if option := TAKEN_FROM.get(document.name):
            yield from _document_rows(folder, document, option)


def _document_rows(folder: Path, document, option: str) -> Iterator[Row]:
    wrong = [mistake for mistake in document.mistakes() if mistake.place]
    for number, mistake in enumerate(wrong[:: max(1, len(wrong) // FEW)]):
        if any(key in document.free for key in mistake.place):
            continue
        path = folder / f"{option}-{number}{Path(document.file).suffix}"
        path.write_bytes(mistake.content)
        words = f"{document.name} with {mistake.words}"[:90]
        yield Row("pytest", (*_rest(option), f"--t2i-{option}", path.name), words)


def _is_wrong(option: str, value: str) -> bool:
    """Not every odd value is refused: a limits file may be empty, and so may a catalogue."""
    return not (value == "empty" and option in ("limits", "catalogue"))


def _rest(option: str) -> tuple[str, ...]:
    """The model and the detector, where they are not what is wrong."""
    model = () if option == "model" else ("--t2i-model", "fair")
    return (*model, *(() if option == "detector" else ("--t2i-detector", "colour")))


def command_rows(folder: Path) -> Iterator[Row]:
    """Every command of t2i with files that are none."""
    del folder
    for value in NOT_A_FILE:
        if "\0" not in value:
            for commands in COMMANDS.values():
                for command in commands:
                    arguments = tuple(
                        value if "." in part and part != "--" else part for part in command
                    )
                    words = f"t2i {command[0]} {json.dumps(value)[:40]}"
                    yield Row("t2i", arguments, words, is_wrong=value != "folder")
    for command, option in (
        ("plan", "--images"), ("plan", "--seed"), ("plan", "--prompts"),
        ("label export", "--per-prompt"),
        ("research stop", "--images"), ("research stop", "--tokens"), ("label page", "--port"),
    ):  # fmt: skip
        for value in NOT_WHOLE:
            yield Row(
                "t2i",
                (*command.split(), f"{option}={value}"),
                f"t2i {command} {option} {value[:20]!r}",
            )
