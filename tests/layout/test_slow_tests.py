"""Which slow tests a commit runs."""

from __future__ import annotations

import pytest
import slow_tests

FILES = {f"tests/test_{number}.py": 80.0 for number in range(10)}


def test_a_commit_draws_as_many_files_as_its_seconds_allow():
    first, second = (slow_tests.files_of_commit(FILES, name) for name in ("1234567", "abcdef0"))
    assert len(first) == len(second) == slow_tests.SECONDS / 80.0
    assert first != second
    assert slow_tests.files_of_commit({"long": 900.0}, "1234567") == {"long"}


def test_what_changed_comes_first():
    changed = ("tests/test_3.py", "tests/test_7.py", "README.md")
    assert slow_tests.files_of_commit(FILES, "1234567", changed) >= set(changed[:2])
    assert len(slow_tests.files_of_commit(FILES, "1234567", FILES)) == slow_tests.SECONDS / 80.0


@pytest.mark.parametrize(
    ("arguments", "run"),
    [
        (["tests"], ["tests/drawn.py", "tests/golden/any.py"]),
        (["tests/other.py::test_a"], ["tests/drawn.py", "tests/golden/any.py", "tests/other.py"]),
    ],
)
def test_drawn_golden_and_named_files_are_run(pytestconfig, monkeypatch, arguments, run):
    monkeypatch.setattr(slow_tests, "_run_here", lambda: {"tests/drawn.py"})
    monkeypatch.setattr(pytestconfig, "args", arguments)
    left_out = slow_tests.LeftOut(pytestconfig)
    names = ["tests/drawn.py", "tests/golden/any.py", "tests/other.py"]
    paths = [pytestconfig.invocation_params.dir / name for name in names]
    kept = [name for name, path in zip(names, paths, strict=True) if not left_out.is_left_out(path)]
    assert kept == run
