"""Mutated run.json files: refused with one line, or read and rendered by all that reads them."""

from __future__ import annotations

import contextlib
import io
import json
import math
import shutil
import signal
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

from documents import DOCUMENTS
from filled import filled_run
from mistakes import WRONG_VALUES, places, renamed, replaced, value_at, without
from tally import Tally

from pytest_t2i.audits.discovery import installed_audits, recorded_kinds
from pytest_t2i.cli.main import main
from pytest_t2i.data import Outcome, Undetected, Variant
from pytest_t2i.errors import T2IError
from pytest_t2i.plugin.checks import one_line
from pytest_t2i.reporting import failure_text
from pytest_t2i.reporting.terminal import summarise
from pytest_t2i.runs.record.read_run import read_run
from pytest_t2i.runs.record.record import Counts, RunRecord
from pytest_t2i.settings import Settings
from pytest_t2i.verdicts.baseline_file import read_baseline
from pytest_t2i.verdicts.caveats.how_decided import how_decided
from pytest_t2i.verdicts.check import Check

WANTED = "0 tracebacks, 0 hangs, 0 impossible numbers accepted"
LONGEST = 30
"""Seconds for one document and everything that reads it."""
VALUES: tuple[Any, ...] = (
    *WRONG_VALUES.values(),
    *(0, 1, 2, 1e9, -0.5, 1.5, 1e300, 2**62, " ", "=1+1", "yesterday", "2026-02-31", "model"),
    *("male", "neutral", "<script>alert(1)</script>", "@someone", "a|b`c", "\u2028", "{x}", "%s"),
)
CHANGED = (1, 1, 1, 1, 2, 3)
"""Places of a document that are changed at once; most are refused where it is several."""
COMMANDS: dict[str, tuple[str, ...]] = {
    "report": ("report", "{run}", "{out}"),
    "card": ("export", "card", "{run}", "--output", "{out}/README.md"),
    "CSV": ("export", "csv", "{run}", "--output", "{out}/tables"),
    "Label Studio": ("label", "studio", "{run}", "--output", "{out}/studio"),
    "compare": ("compare", "{run}", "{whole}", "--report", "{out}/compare"),
    "stereotypes": ("compare", "stereotypes", "{run}"),
}
SHARES = (
    "p_value", "floor", "expected", "margin", "undetected", "covered", "gap",
    "masculine", "feminine", "probability", "chi_square_p_value",
)  # fmt: skip
"""Keys of numbers from 0 to 1; several name counts elsewhere, which are at least 0."""
COUNTS = (
    "n", "images", "prompts", "clear_images", "triplets", "labels", "left_out", "rare", "least",
    "neutral", "amount", "nouns", "clear", "selected", "judged", "planned", "made", "refused",
    "images_to_decide", "labels_to_halve", "settles", "seconds", "male", "female", "detected",
)  # fmt: skip


def whole() -> RunRecord:
    """A valid record with something in every field, as runs write them."""
    record = filled_run()
    limit = replace(record.checks[0], against="limit", operator="<=", bound=0.1)
    checks = (
        replace(
            limit,
            metric="model_bias_score",
            subject="model",
            is_of_model=True,
            outcome=Outcome.FAIL,
        ),
        replace(limit, metric="prompt_bias_score", outcome=Outcome.INCONCLUSIVE),
        replace(record.checks[0], metric="model_bias_score", subject="model", is_of_model=True),
        replace(record.checks[0], caveats=(how_decided("margin"),), outcome=Outcome.FAIL),
        replace(
            limit, estimate=None, low=None, high=None, level=None, outcome=Outcome.INCONCLUSIVE
        ),
    )
    counts = {"key": Counts({"male": 2, "female": 1}, {Undetected.NO_FACE: 1})}
    prompts = tuple(
        replace(prompt, id=f"axis-{number}", variant=Variant.NEUTRAL.value, counts=counts)
        for number, prompt in enumerate(record.prompts)
    )
    return replace(
        record,
        settings={
            "images": 2, "seed": 0, "confidence": 0.95, "store": ".t2i", "report": "r",
            "inconclusive": ["pass", "fail"], "detectors": ["key"],
        },
        provenance={"model": {"fingerprint": "f"}, "detectors": {"key": "d"}},
        work={"planned": 2, "made": 2, "notes": ["a note"]},
        checks=checks,
        prompts=prompts,
        is_interrupted=False,
    )  # fmt: skip


def mutated(plain: Any, random: Random) -> Any:
    """The document with one to three changes somewhere."""
    for _ in range(random.choice(CHANGED)):
        place = random.choice(list(places(plain)))
        change = random.choice(CHANGES)
        plain = change(plain, place, random)
    return plain


def _other(plain: Any, place: Any, random: Random) -> Any:
    return replaced(plain, place, random.choice(VALUES))


def _number(plain: Any, place: Any, random: Random) -> Any:
    """A number beyond what it can be, where there is one."""
    numbers = [p for p in places(plain) if type(value_at(plain, p)) in (int, float)]
    return replaced(plain, random.choice(numbers), random.choice((-1, -1e-3, 2, 1e9, 1e300, 0)))


def _emptied(plain: Any, place: Any, _: Random) -> Any:
    value = value_at(plain, place)
    return replaced(plain, place, type(value)() if value is not None else "")


def _moved(plain: Any, place: Any, random: Random) -> Any:
    """What stands elsewhere in the document."""
    return replaced(plain, place, value_at(plain, random.choice(list(places(plain)))))


CHANGES: tuple[Callable[[Any, Any, Random], Any], ...] = (
    _other,
    _number,
    _emptied,
    _moved,
    lambda plain, place, _: without(plain, place),
    lambda plain, place, _: renamed(plain, place) if isinstance(place[-1], str) else plain,
)


def impossible(plain: Any) -> Iterator[str]:
    """Every number of a document that no run comes to, by rules that the records do not share."""
    for place in places(plain):
        key, value = place[-1], value_at(plain, place)
        # Facts of a row are its audit's own.
        free = "facts" in place or (place[0] in ("settings", "provenance") and len(place) > 1)
        if type(value) in (int, float) and not free and not _is_possible(str(key), value):
            yield f"{'.'.join(map(str, place))}={value}"
        if key == "created" and not free and not _is_moment(value):
            yield f"created={value}"
        if isinstance(value, dict) and not free:
            low, high = value.get("low"), value.get("high")
            if all(type(end) in (int, float) for end in (low, high)) and low > high:
                yield f"{'.'.join(map(str, place))}: {low} > {high}"


def _is_possible(key: str, value: float) -> bool:
    if not math.isfinite(value):
        return False
    if key == "level":
        return 0 < value <= 1
    whole_number = key in ("undetected", "feminine", "masculine") and type(value) is int
    if key in SHARES and not whole_number:
        return key == "gap" or 0 <= value <= 1
    return value >= 0 if key in COUNTS or whole_number else True


def _is_moment(value: Any) -> bool:
    try:
        datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return False
    return True


class _Writer:
    """What pytest's terminal is to the summary."""

    def section(self, title: str, sep: str = "=", **_: bool) -> None:
        _shown(title)

    def write_line(self, line: str, **_: bool) -> None:
        _shown(line)


def _shown(line: str) -> None:
    if "\x1b" in line or "\u202e" in line:
        raise ValueError(f"controls reach the terminal: {line!r}")


def _run(source: Path, sound: Path, out: Path) -> None:
    """Everything that reads a run.json, given one."""
    record = _taken(read_run, source)
    summarise(record, Settings(), _Writer(), width=80)
    for check in record.checks:
        _told(check)
    for command in COMMANDS.values():
        main([part.format(run=source, out=out, whole=sound) for part in command])


def _baseline(source: Path, sound: Path, out: Path) -> None:
    """The command that reads baselines besides pytest."""
    _taken(lambda path: read_baseline(path, recorded_kinds(installed_audits())), source)
    main(["compare", str(source), str(sound), "--report", str(out)])


def _taken(read: Callable[[Path], Any], source: Path) -> Any:
    """What a reader made of a document, in which nothing is impossible."""
    record = read(source)
    files = sorted(source.glob("*.json")) if source.is_dir() else [source]
    plain = [json.loads(file.read_text()) for file in files]
    for document in plain:
        document.pop("seals", None)  # digests, by the names of what they seal
    faults = [fault for document in plain for fault in impossible(document)]
    if faults:
        raise ValueError(f"impossible: {'; '.join(faults)}")
    return record


def _told(check: Check) -> None:
    one_line(check)
    failure_text.explained(check)


@dataclass(frozen=True)
class Kind:
    """A kind of document, and what is done with one."""

    name: str
    text: str
    """A valid one."""
    use: Callable[[Path, Path, Path], None]
    """Given the document, a valid one and a folder to write; raises what a user would see."""


def kinds() -> tuple[Kind, ...]:
    """Every kind; runs come first and most often."""
    baseline = next(document.text for document in DOCUMENTS if document.name == "baseline")
    run = Kind("run", whole().to_json(), _run)
    return run, run, run, Kind("baseline", baseline, _baseline)


def tried(kind: Kind, folder: Path, text: str, tally: Tally) -> str:
    """What is wrong with how a document is treated; "" for nothing."""
    shutil.rmtree(folder, ignore_errors=True)
    source, sound, out = folder / "in" / "a.json", folder / "whole.json", folder / "out"
    for place in (source.parent, out):
        place.mkdir(parents=True)
    for place, content in ((source, text), (sound, kind.text)):
        whole().write(place)  # for the images beside it
        place.write_text(content)
    signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(LONGEST)
    quiet = io.StringIO()
    try:
        with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
            kind.use(source, sound, out)
    except T2IError as error:
        tally.tried(f"{kind.name} refused")
        return "more than one line" if "\n" in str(error) else ""
    except Exception as error:  # noqa: BLE001 - that is the question
        tally.tried(f"{kind.name} broken")
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})"
    finally:
        signal.alarm(0)
    tally.tried(f"{kind.name} read and rendered")
    return "" if "\x1b" not in quiet.getvalue() else "controls reach the terminal"


def _too_long(*_: Any) -> None:
    raise TimeoutError("hung")


def go(folder: Path, times: int, seed: int = 0) -> Tally:
    """So many mutated documents."""
    tally = Tally("mutated records", WANTED)
    random, every = Random(seed), kinds()
    for number in range(times):
        kind = every[number % len(every)]
        text = json.dumps(mutated(json.loads(kind.text), random))
        problem = tried(kind, folder, text, tally)
        tally.check(not problem, f"{kind.name}, number {number} of seed {seed}: {problem}")
    return tally
