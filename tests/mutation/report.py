"""``results.md``, made of rounds of mutants; rounds are not committed, their sections stay."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
ROUNDS, REASONS, RESULTS = HERE / "rounds", HERE / "reasons.toml", HERE / "results.md"
DIED, GONE, EQUAL, LIVES = "died", "gone", "equivalent by reading", "lives"
ROOMS = ("metrics", "statistics", "verdicts", "generation", "reporting")
SINCE = "died since"
"""By a test that was written after it had lived."""


class Row(NamedTuple):
    where: str
    before: str
    after: str
    fate: str
    by: str
    """The test that noticed."""


class Round(NamedTuple):
    seed: int
    of: int
    """Mutants that it was drawn from."""
    rows: list[Row]


def round_of(seed: int) -> Round | None:
    """As it was kept; None where it was not drawn yet."""
    path = ROUNDS / f"{seed}.json"
    if not path.is_file():
        return None
    known = json.loads(path.read_text(encoding="utf-8"))
    return Round(known["seed"], known["of"], [Row(*row) for row in known["rows"]])


def keep(result: Round) -> None:
    """Write the round, and the summary of all of them."""
    ROUNDS.mkdir(exist_ok=True)
    path = ROUNDS / f"{result.seed}.json"
    path.write_text(json.dumps(result._asdict(), indent=0) + "\n", encoding="utf-8")
    write()


def write() -> None:
    """Write results.md."""
    reasons = {
        (entry["where"], entry["before"], entry["after"]): entry["because"]
        for entry in tomllib.loads(REASONS.read_text(encoding="utf-8")).get("equivalent", [])
    }
    sections = _sections_before()
    for path in ROUNDS.glob("*.json"):
        drawn = round_of(int(path.stem))
        if drawn is not None:
            sections[drawn.seed] = _section(drawn, reasons)
    seeds = sorted(sections)
    head = HEAD.format(" ".join(map(str, seeds)))
    RESULTS.write_text("\n".join([head, *(sections[seed] for seed in seeds)]), encoding="utf-8")


def _sections_before() -> dict[int, str]:
    """Return the sections of results.md by seed: rounds of other machines and times."""
    text = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else ""
    starts = [*re.finditer(r"^## Seed (\d+)", text, re.MULTILINE)]
    ends = [*(start.start() for start in starts[1:]), len(text)]
    return {
        int(start[1]): text[start.start() : end].rstrip("\n") + "\n"
        for start, end in zip(starts, ends, strict=True)
    }


HEAD = """# Would the tests notice?

Made by `python tests/mutation/mutants.py {}`: 300 mutants of metrics,
statistics and verdicts in which an operator, a comparison or a number was changed, drawn at random,
each met by the fast tests of these rooms and of the audits, by oracles and doctests. From seed 53
on it is 100 mutants of statistics, met by the fast tests that import it; from seed 71 on 20 of each
of metrics, statistics, verdicts, generation and reporting.

*Died*: a test noticed. *Equivalent by reading*: nothing that can be observed changes, for the
reason given, which a person wrote (`reasons.toml`). *Gone*: the code was changed since the round
was drawn. *Lives*: no test noticed, and one could. *Died since*: it lived when it was drawn, and
the test that is named was written then. The round with the highest seed measures the tests as they
were before it; seeds between the others were drawn to find what lives, and not kept.
"""


def _section(known: Round, reasons: dict[tuple[str, str, str], str]) -> str:
    fates = [_fate(row, reasons) for row in known.rows]
    count = Counter(fates)
    total = len(fates)
    able = total - count[EQUAL]
    lines = [
        f"## Seed {known.seed}: {total} of {known.of}\n",
        f"**{count[DIED]} of {total} died ({100 * count[DIED] / total:.1f} %)**; "
        f"of those that are not equivalent {count[DIED]} of {able} "
        f"({100 * count[DIED] / able:.1f} %).",
    ]
    if late := count[SINCE]:
        lines[-1] += f" With tests written since, {count[DIED] + late} of {able}."
    lines += [
        "",
        "| room | mutants | died | died since | gone | equivalent by reading | live |",
        "|---|---|---|---|---|---|---|",
    ]
    for room in ROOMS:
        of_room = Counter(
            fate for row, fate in zip(known.rows, fates, strict=True) if f".{room}." in row.where
        )
        cells = [of_room[fate] for fate in (DIED, SINCE, GONE, EQUAL, LIVES)]
        lines.append(f"| {room} | {sum(cells)} | {' | '.join(map(str, cells))} |")
    lines += ["", "| where | before | after | |", "|---|---|---|---|"]
    for row, fate in sorted(zip(known.rows, fates, strict=True), key=lambda pair: pair[1]):
        if fate not in {DIED, GONE}:
            why = row.by if fate == SINCE else reasons.get(row[:3], "")
            cells = [row.where.removeprefix("pytest_t2i."), *_change(row.before, row.after)]
            lines.append(f"| {' | '.join(cells)} | {fate}{': ' if why else ''}{why} |")
    return "\n".join(lines) + "\n"


def _fate(row: Row, reasons: dict[tuple[str, str, str], str]) -> str:
    if row.fate in {DIED, SINCE, GONE}:
        return row.fate
    return EQUAL if row[:3] in reasons else LIVES


def _change(before: str, after: str, around: int = 50) -> tuple[str, str]:
    """Both, cut down to what is around the change."""
    before, after = (" ".join(code.split()).replace("|", "\\|") for code in (before, after))
    same = next(
        (k for k, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), len(after)
    )
    start = max(0, same - around)
    return tuple(  # type: ignore[return-value]
        f"`{'... ' if start else ''}{code[start : same + around]}`" for code in (before, after)
    )
