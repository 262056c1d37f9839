"""Would the tests notice? Mutants of metrics, statistics and verdicts, killed by the fast tests.

Run by hand from the root, with mutmut installed (``pip install mutmut``)::

    python tests/mutation/mutants.py 300 > tests/mutation/results.md

Of all mutants that mutmut makes, those are drawn in which an operator, a comparison or a number
was changed; texts of messages and arguments left out are not. mutmut works on a copy, in the
folder ``mutants``, which can be removed afterwards.
"""

from __future__ import annotations

import ast
import random
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

SEED = 20
COPY = Path("mutants/src")
ROOMS = ("metrics", "statistics", "verdicts")
FUNCTION = re.compile(r"^(?P<function>.+)__mutmut_(?P<number>\d+|orig)$")
FIRST = "pytest_t2i.metrics.lyu.x_prompt_bias_score__mutmut_1"
"""Running any makes all, and learns which test meets which function."""
KILLED = {"🎉": "killed", "⏰": "killed", "🤔": "suspicious", "🙁": "lives", "🫥": "not tested"}
"""mutmut's signs; a mutant that makes a test run for ever is noticed, too."""


class Mutant(NamedTuple):
    name: str
    """As mutmut calls it."""
    where: str
    before: str
    after: str


def mutmut(*names: str) -> str:
    """Run mutmut on these mutants; what it prints."""
    command = [sys.executable, "-m", "mutmut", "run", "--max-children", "1", *names]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode not in (0, 1):
        sys.exit(run.stdout[-2000:] + run.stderr)
    return run.stdout


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
                yield Mutant(f"{dotted}.{function}__mutmut_{number}", dotted, before, after)


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


def main(count: int) -> None:
    """Draw mutants, have them run, print the table."""
    mutmut(FIRST)
    all_of_them = [
        mutant
        for room in ROOMS
        for module in sorted((COPY / "pytest_t2i" / room).glob("*.py"))
        for mutant in mutants(module)
    ]
    drawn = random.Random(SEED).sample(all_of_them, min(count, len(all_of_them)))
    fates = dict(_fates(mutmut(*(mutant.name for mutant in drawn))))
    report(drawn, [fates.get(mutant.name, "not run") for mutant in drawn], len(all_of_them))


def _fates(told: str) -> Iterator[tuple[str, str]]:
    for line in re.split(r"[\r\n]+", told):
        sign, _, name = line.strip().partition(" ")
        if sign in KILLED and "__mutmut_" in name:
            yield name, KILLED[sign]


def report(drawn: Sequence[Mutant], fates: Sequence[str], of: int) -> None:
    """Print the table, those that live named."""
    killed = sum(fate == "killed" for fate in fates)
    print("# Would the tests notice?\n")
    print(f"Made by `python tests/mutation/mutants.py {len(drawn)}`, seed {SEED}: {len(drawn)} of")
    print(f"{of} mutants of metrics, statistics and verdicts in which an operator, a comparison or")
    print("a number was changed, each met by the fast tests of these rooms and of the audits, by")
    print("oracles and doctests.\n")
    print(f"**{killed} of {len(drawn)} die ({100 * killed / len(drawn):.1f} %).**\n")
    print("| room | mutants | die |\n|---|---|---|")
    for room in ROOMS:
        of_room = [f for m, f in zip(drawn, fates, strict=True) if f".{room}." in m.where]
        print(f"| {room} | {len(of_room)} | {sum(fate == 'killed' for fate in of_room)} |")
    print("\n## Those that live\n")
    print("| where | before | after | |\n|---|---|---|---|")
    for mutant, fate in zip(drawn, fates, strict=True):
        if fate != "killed":
            cells = (mutant.where.removeprefix("pytest_t2i."), *map(_cell, mutant[2:]), fate)
            print(f"| {' | '.join(cells)} |")


def _cell(code: str) -> str:
    line = " ".join(code.split()).replace("|", "\\|")
    return f"`{line[:110]}`"


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
