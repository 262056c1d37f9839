"""The root is seen at a glance; lengths of modules and functions are reported, not capped."""

from __future__ import annotations

from layout import source

MOST_MODULES, MOST_FOLDERS = 8, 15
"""In the root."""


def test_the_root_is_seen_at_a_glance():
    files = [path.name for path in source.SOURCE.glob("*.py")]
    folders = {path.parent.name for path in source.SOURCE.glob("*/__init__.py")}
    assert len(files) <= MOST_MODULES, files
    assert len(folders) <= MOST_FOLDERS, folders


def test_every_folder_of_modules_is_a_package():
    folders = {path.parent for path in source.modules().values()}
    assert [folder for folder in folders if not (folder / "__init__.py").is_file()] == []
