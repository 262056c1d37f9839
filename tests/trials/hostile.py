"""Hostile documents and options: one message each, no traceback, no hang, nothing in silence."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from bad_options import COMMANDS, Row, command_rows, option_rows
from documents import DOCUMENTS, Document
from mistakes import Mistake
from processes import ended
from small_project import has_traceback, last_lines, run_pytest, run_t2i, write
from strays import enter_all
from tally import Tally

from pytest_t2i.errors import T2IError

WANTED = "0 tracebacks, 0 hangs, 0 silently accepted"
USAGE = {"pytest": 4, "t2i": 2}
LONGEST = 60


def read(document: Document, folder: Path, mistake: Mistake) -> str:
    """What is wrong with how a document with a mistake is read; "" for nothing."""
    path = document.write(folder)
    path.write_bytes(mistake.content)
    is_free = any(key in document.free for key in mistake.place)
    signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(LONGEST)
    try:
        document.read(path)
    except T2IError:
        return ""
    except Exception as error:  # noqa: BLE001 - that is the question
        return f"{type(error).__name__}: {error}"
    finally:
        signal.alarm(0)
    return "silently accepted" if mistake.place and not is_free else ""


def _too_long(*_: Any) -> None:
    raise TimeoutError("hung")


def read_all(folder: Path, tally: Tally) -> None:
    """Every mistake in every document, given to its reader."""
    for document in DOCUMENTS:
        place = folder / document.name
        place.mkdir(parents=True)
        for mistake in document.mistakes():
            problem = read(document, place, mistake)
            tally.tried("documents read")
            tally.check(not problem, f"{document.name}: {mistake.words}: {problem}")


def given(folder: Path, row: Row, tally: Tally) -> None:
    """An option or command with a mistake, as a user gives it."""
    run = run_pytest if row.program == "pytest" else run_t2i
    child = ended(run(*row.arguments), folder, LONGEST)
    told = child.told
    tally.tried(f"given to {row.program}")
    tally.check(not child.hung, f"{row.words}: hung")
    tally.check(not has_traceback(told), f"{row.words}: {last_lines(told)}")
    tally.check("\x1b" not in told, f"{row.words}: controls reach the terminal")
    refused = child.status == USAGE[row.program]
    tally.check(
        refused or not row.is_wrong, f"{row.words}: status {child.status}: {last_lines(told)}"
    )
    child.output.unlink()


def rendered(folder: Path, random: Random) -> Iterator[Row]:
    """Documents that readers take although something is odd: used to the end, nothing breaks."""
    for document in DOCUMENTS:
        if document.name not in COMMANDS:
            continue
        mistakes = [m for m in document.mistakes() if not read(document, folder, m)]
        for mistake in random.sample(mistakes, min(15, len(mistakes))):
            for command in COMMANDS[document.name]:
                shutil.rmtree(folder / "out", ignore_errors=True)
                document.write(folder).write_bytes(mistake.content)
                yield Row("t2i", command, f"t2i {command[0]}: {mistake.words}", is_wrong=False)


def go(folder: Path, share: float, seed: int = 0) -> Tally:
    """Every document and every option with every mistake; a share of them."""
    tally = Tally("hostile documents and options", WANTED)
    random = Random(seed)
    read_all(folder / "read", tally)
    enter_all(folder / "names", tally)
    project = write(folder / "project")
    rows = [*option_rows(project), *command_rows(project)]
    for row in random.sample(rows, round(share * len(rows))):
        given(project, row, tally)
    odd = folder / "odd"
    odd.mkdir()
    for number, row in enumerate(rendered(odd, random)):
        if number % round(1 / share) == 0:
            given(odd, row, tally)
    return tally
