"""How large and how tangled the package is, in a few lines.

PYTHONPATH=tests python tests/layout/figures.py
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import numpy as np
from layout import source


def classes() -> Iterator[tuple[str, ast.ClassDef]]:
    """file:class of every class, and how it is written."""
    for path in source.modules().values():
        for node in source.nodes(path):
            if isinstance(node, ast.ClassDef):
                yield f"{path.relative_to(source.SOURCE)}:{node.name}", node


def methods(node: ast.ClassDef) -> int:
    """Functions of a class, its properties included."""
    return sum(isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) for each in node.body)


def fields(node: ast.ClassDef) -> int:
    """Annotated names of a class: the fields of a record."""
    return sum(isinstance(each, ast.AnnAssign) for each in node.body)


def lines() -> dict[str, int]:
    """Lines of every module."""
    return {
        name: len(path.read_text(encoding="utf-8").splitlines())
        for name, path in source.modules().items()
    }


def _largest(counts: dict[str, int], shown: int = 3) -> str:
    ranked = sorted(counts.items(), key=lambda pair: -pair[1])[:shown]
    return ", ".join(f"{name} {count}" for name, count in ranked)


def main() -> None:
    """Print them."""
    sizes, lengths = lines(), [function.lines for function in source.functions()]
    graph = source.arrows()
    print(f"lines      {sum(sizes.values())} in {len(sizes)} modules")
    print(f"modules    median {np.median(list(sizes.values())):g} lines; {_largest(sizes)}")
    print(f"classes    most methods: {_largest({n: methods(c) for n, c in classes()})}")
    print(f"records    most fields: {_largest({n: fields(c) for n, c in classes()})}")
    print(
        f"functions  {len(lengths)}: median {np.median(lengths):g} lines, 90th percentile "
        f"{np.percentile(lengths, 90):g}, longest {max(lengths)}"
    )
    print(
        f"imports    {sum(map(len, graph.values()))}: {len(source.cycles(graph))} cycles, "
        f"{len(source.upward(graph))} upward"
    )


if __name__ == "__main__":
    main()
