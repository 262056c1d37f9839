"""Would the tests notice? Mutants of what makes, judges and reports, killed by the fast tests.

Run by hand from the root, with mutmut installed (``pip install mutmut``)::

    python tests/mutation/mutants.py 21       # 100 drawn with this seed, as many of each room
    python tests/mutation/mutants.py 20 21    # both rounds once more, on today's code and tests

Of all mutants that mutmut makes, those are drawn in which an operator, a comparison or a number
was changed; texts of messages and arguments left out are not. mutmut writes them into a copy, the
folder ``mutants``; they meet the tests in forks (forks.py). A round is kept in ``rounds``, which
git ignores, and gets its section of ``results.md`` (report.py). A run that was cut short goes on
where it ended, as long as ``mutants/met.jsonl`` is there.
"""

from __future__ import annotations

import ast
import json
import random
import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import forks
import report

COUNT = 100
COPY = Path("mutants/src")
MET = Path("mutants/met.jsonl")
"""Fates of a run that is not through: a line for each mutant, by where, before and after."""
FUNCTION = re.compile(r"^(?P<function>.+)__mutmut_(?P<number>\d+|orig)$")
PREFIX = re.compile("^x[_ǁ]")
"""What mutmut puts before the name of a function, or of a class and its method."""


class Mutant(NamedTuple):
    name: str
    """As mutmut calls it."""
    where: str
    before: str
    after: str


def population() -> list[Mutant]:
    """All mutants that count, of the code as it is."""
    from mutmut.__main__ import copy_also_copy_files, copy_src_dir, create_mutants

    Path("mutants").mkdir(exist_ok=True)
    copy_src_dir()
    copy_also_copy_files()
    create_mutants(1)
    return [
        mutant
        for subpackage in report.ROOMS
        for module in sorted((COPY / "pytest_t2i" / subpackage).rglob("*.py"))
        for mutant in mutants(module)
    ]


def functions(module: Path) -> dict[str, dict[str, ast.AST]]:
    """Function -> number of the mutant, or "orig" -> its tree."""
    trees: dict[str, dict[str, ast.AST]] = {}
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef) and (match := FUNCTION.match(node.name)):
            trees.setdefault(match["function"], {})[match["number"]] = node
    return trees


def mutants(module: Path) -> Iterator[Mutant]:
    """The mutants of a module in which an operator, a comparison or a number was changed."""
    dotted = ".".join(module.relative_to(COPY).with_suffix("").parts).removesuffix(".__init__")
    for function, trees in functions(module).items():
        for number, tree in trees.items():
            if number == "orig":
                continue
            changed = list(differences(trees["orig"], tree))
            if changed and all(map(counts, changed)):
                before, after = (ast.unparse(_statement(trees["orig"], tree, k)) for k in (0, 1))
                where = f"{dotted}.{PREFIX.sub('', function).replace('ǁ', '.')}"
                yield Mutant(f"{dotted}.{function}__mutmut_{number}", where, before, after)


def differences(a: ast.AST, b: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """The smallest parts in which two trees differ."""
    if type(a) is not type(b):
        yield a, b
        return
    if isinstance(a, ast.Constant):
        if a.value != b.value or type(a.value) is not type(b.value):  # type: ignore[attr-defined]
            yield a, b
        return
    mine, theirs = _children(a), _children(b)
    if len(mine) != len(theirs):
        yield a, b
        return
    for one, other in zip(mine, theirs, strict=True):
        yield from differences(one, other)


def counts(pair: tuple[ast.AST, ast.AST]) -> bool:
    """Whether this is a change of an operator, a comparison or a number."""
    a, b = pair
    if isinstance(a, ast.Constant) and isinstance(b, ast.Constant):
        return all(isinstance(c.value, int | float) for c in (a, b))
    if isinstance(a, ast.UnaryOp) or isinstance(b, ast.UnaryOp):  # "not" that came or went
        return True
    kinds = (ast.operator, ast.cmpop, ast.boolop, ast.unaryop)
    return any(isinstance(a, kind) and isinstance(b, kind) for kind in kinds)


def _children(node: ast.AST) -> list[ast.AST]:
    # Operators have no children, and names of the functions differ by design.
    return list(ast.iter_child_nodes(node))


def _statement(a: ast.AST, b: ast.AST, which: int) -> ast.AST:
    """The smallest statement, or its test, that holds the change."""
    pair = (a, b)
    while type(pair[0]) is type(pair[1]):
        inner = [
            (x, y)
            for x, y in zip(_children(pair[0]), _children(pair[1]), strict=True)
            if any(differences(x, y))
        ]
        if len(inner) != 1 or not isinstance(inner[0][0], ast.stmt | ast.expr):
            return pair[which]
        pair = inner[0]
        if isinstance(pair[0], ast.Assign | ast.Return | ast.Compare | ast.AugAssign):
            break
    return pair[which]


def draw(everything: Sequence[Mutant], seed: int) -> list[Mutant]:
    """As many mutants of each room, at random."""
    random_numbers = random.Random(seed)
    return [
        mutant
        for room in report.ROOMS
        for mutant in random_numbers.sample(
            [mutant for mutant in everything if f".{room}." in mutant.where],
            COUNT // len(report.ROOMS),
        )
    ]


class Waiting(NamedTuple):
    """A round that is to meet the tests."""

    known: report.Round
    names: dict[tuple[str, ...], str]
    """Where, before and after -> the mutant; of what is still there."""

    def through(self, fates: dict[str, forks.Fate]) -> report.Round:
        """The round as it came out."""
        gone = forks.Fate(report.GONE, "")
        met = [fates[self.names[k[:3]]] if k[:3] in self.names else gone for k in self.known.rows]
        rows = [_as_met(row, fate) for row, fate in zip(self.known.rows, met, strict=True)]
        return self.known._replace(rows=rows)


def _as_met(row: report.Row, now: forks.Fate) -> report.Row:
    """What lived when it was drawn, or died since, did not die then."""
    late = row.fate in {forks.LIVES, forks.UNTESTED, report.SINCE} and now.fate == forks.DIED
    return report.Row(*row[:3], report.SINCE if late else now.fate, now.by)


def main(seeds: Sequence[int]) -> None:
    """Rounds: one that is kept meets the code and tests of today, another is drawn from them."""
    everything = population()
    now = {mutant[1:]: mutant.name for mutant in everything}
    waiting = []
    for seed in seeds:
        known = report.round_of(seed)
        if known is None:
            drawn = draw(everything, seed)
            rows = [report.Row(*mutant[1:], "", "") for mutant in drawn]
            known = report.Round(seed, len(everything), rows)
        names = {row[:3]: now[row[:3]] for row in known.rows if row[:3] in now}
        waiting.append(Waiting(known, names))
    meet(waiting)


def meet(waiting: Sequence[Waiting]) -> None:
    """Let mutants meet the tests that pyproject.toml names, and keep the rounds."""
    with Path("pyproject.toml").open("rb") as file:
        options = tomllib.load(file)["tool"]["mutmut"]
    arguments = [
        *options["pytest_add_cli_args"], *options["pytest_add_cli_args_test_selection"]
    ]  # fmt: skip
    changes = {name: change for known in waiting for change, name in known.names.items()}
    before = met_before()
    if not before:
        (MET.parent / forks.LEARNT).unlink(missing_ok=True)
    fates = {name: before[change] for name, change in changes.items() if change in before}
    left = [name for name in changes if name not in fates]
    with MET.open("a", encoding="utf-8") as log:
        for name, fate in forks.fates(Path.cwd() / "mutants", arguments, left):
            fates[name] = fate
            print(json.dumps([*changes[name], *fate]), file=log, flush=True)
            print(len(fates), fate.fate, name, fate.by, file=sys.stderr, flush=True)
    for known in waiting:
        report.keep(known.through(fates))
    MET.unlink()


def met_before() -> dict[tuple[str, ...], forks.Fate]:
    """Where, before and after -> fate, of a run that was cut short."""
    lines = MET.read_text(encoding="utf-8").splitlines() if MET.is_file() else []
    rows = [json.loads(line) for line in lines]
    return {tuple(row[:3]): forks.Fate(*row[3:]) for row in rows}


if __name__ == "__main__":
    main([int(seed) for seed in sys.argv[1:]])
