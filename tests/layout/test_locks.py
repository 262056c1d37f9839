"""Every lock of a file says at once where the file system has none: ``files.FileLock``."""

from __future__ import annotations

import ast

from layout import source

ROOTS = (source.SOURCE, *source.REPOSITORY.glob("plugins/*/src"))


def test_only_one_module_takes_locks_of_the_library():
    taking = {
        path.name
        for root in ROOTS
        for path in root.rglob("*.py")
        for node in ast.walk(source.tree(path))
        if (isinstance(node, ast.Import) and "filelock" in {name.name for name in node.names})
        or (
            isinstance(node, ast.ImportFrom)
            and node.module == "filelock"
            and {name.name for name in node.names} != {"Timeout"}
        )
    }
    assert taking == {"files.py"}
