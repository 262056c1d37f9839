"""Slow tests are left out exactly where what they depend on is unchanged since they passed."""

from __future__ import annotations

import json
import shutil

import last_results
import pytest

CONFTEST = """
import os

import last_results

last_results.SECONDS = float(os.environ.get("SECONDS", "900"))

def pytest_addoption(parser):
    parser.addoption("--all-simulations", action="store_true")

def pytest_configure(config):
    everything = config.getoption("all_simulations")
    config.pluginmanager.register(last_results.LeftOut(config, everything=everything), "left-out")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(last_results.Recorder(), "last-results")

def pytest_ignore_collect(collection_path, config):
    if collection_path.name == "test_whole.py":
        return config.pluginmanager.get_plugin("left-out").is_left_out(collection_path) or None
"""
FILES = {
    "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["tests", "src"]\n'
    'testpaths = ["tests"]\n'
    'addopts = "--import-mode=importlib -p no:cacheprovider"\nmarkers = ["slow"]\n',
    "conftest.py": CONFTEST,
    "src/pytest_t2i/__init__.py": "_NAMES = {}\n_MODULES = {}\n",
    "src/pytest_t2i/far.py": "VALUE = 1\n",
    "src/pytest_t2i/near.py": "from pytest_t2i.far import (\n    VALUE,  # of afar\n)\n",
    "src/pytest_t2i/other.py": "",
    "src/pytest_t2i/words.toml": "",
    "tests/helper.py": "import pytest_t2i.near\n",
    "tests/test_whole.py": "import pytest\nfrom helper import pytest_t2i\n"
    "pytestmark = pytest.mark.slow\ndef test_a(): pass\ndef test_b(): pass\n",
    "tests/test_mixed.py": "import pytest\nfrom pathlib import Path\n"
    "HERE = Path(__file__).parent\ndef test_quick(): pass\n"
    "@pytest.mark.slow\ndef test_slow(): pass\n"
    "@pytest.mark.slow\ndef test_fails(): assert not (HERE.parent / 'broken').exists()\n",
    "tests/test_starts.py": "import pytest\nimport subprocess\n"
    "@pytest.mark.slow\ndef test_process(): pass\n",
}  # fmt: skip
ALL = 5


@pytest.fixture
def repository(pytester, monkeypatch):
    """A small one with this bookkeeping."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    for name, text in FILES.items():
        (pytester.path / name).parent.mkdir(parents=True, exist_ok=True)
        (pytester.path / name).write_text(text)
    shutil.copy(last_results.__file__, pytester.path / "tests")

    def run(*arguments):
        """How many passed, failed and were left out."""
        result = pytester.runpytest_subprocess("-W", "ignore", *arguments)
        counts = result.parseoutcomes()
        assert result.ret == bool(counts.get("failed"))
        left = [line for line in result.outlines if "are left out" in line]
        number = int(left[0].split()[0]) if left else 0
        return counts.get("passed", 0), counts.get("failed", 0), number

    run.path = pytester.path
    run.table = lambda: json.loads((pytester.path / "tests/last_results.json").read_text())
    return run


@pytest.mark.slow
@pytest.mark.parametrize("workers", [(), ("-p", "xdist", "-n", "2")], ids=["alone", "two workers"])
def test_what_passed_is_left_out_until_what_it_depends_on_changes(repository, workers):
    assert repository(*workers) == (1 + ALL, 0, 0)
    assert repository(*workers) == (1, 0, ALL)
    # A module that a module of a helper imports: that of one file, and of what starts a process.
    (repository.path / "src/pytest_t2i/far.py").write_text("VALUE = 2\n")
    assert repository(*workers) == (1 + 3, 0, 2)
    assert repository(*workers) == (1, 0, ALL)
    assert repository("--all-simulations", *workers) == (1 + ALL, 0, 0)


def test_what_is_not_imported_runs_only_what_starts_processes(repository):
    repository()
    (repository.path / "src/pytest_t2i/other.py").write_text("OTHER = 1\n")
    assert repository() == (1 + 1, 0, ALL - 1)


def test_data_beside_a_module_count(repository):
    repository()
    (repository.path / "src/pytest_t2i/words.toml").write_text("word = 1\n")
    assert repository() == (1 + 3, 0, 2)


@pytest.mark.slow
def test_a_test_that_failed_is_run_until_it_passes(repository):
    (repository.path / "broken").touch()
    assert repository() == (ALL, 1, 0)
    row = repository.table()["tests/test_mixed.py"]
    assert (row["tests"], row["still"]) == (1, ["test_fails"])
    assert repository() == (1, 1, ALL - 1)
    (repository.path / "broken").unlink()
    assert repository() == (1 + 1, 0, ALL - 1)
    assert repository() == (1, 0, ALL)
    row = repository.table()["tests/test_mixed.py"]
    assert (row["tests"], row["still"]) == (2, [])


def test_a_skipped_test_did_not_pass(repository):
    text = FILES["tests/test_starts.py"] + "    pytest.skip('no device')\n"
    (repository.path / "tests/test_starts.py").write_text(text.replace(": pass", ":"))
    assert repository() == (ALL, 0, 0)
    assert "tests/test_starts.py" not in repository.table()
    assert repository() == (1, 0, ALL - 1)


@pytest.mark.parametrize(
    "arguments", [("-k", "test_a"), ("tests/test_whole.py::test_a",), ("-m", "slow", "-k", "a")]
)
def test_a_part_of_a_file_proves_nothing_of_the_rest(repository, arguments):
    repository(*arguments)
    table = repository.path / "tests/last_results.json"
    assert not table.exists() or "tests/test_whole.py" not in repository.table()


def test_a_run_that_leaves_out_all_passes(repository):
    repository()
    assert repository("-m", "slow") == (0, 0, ALL)


def test_a_file_that_is_named_is_run(repository):
    repository()
    assert repository("tests/test_whole.py") == (2, 0, 0)
    assert repository("tests/test_mixed.py::test_slow") == (1, 0, 0)


def test_a_commit_runs_as_many_changed_files_as_its_seconds_allow(
    repository, pytester, monkeypatch
):
    monkeypatch.setenv("SECONDS", "1")
    result = pytester.runpytest_subprocess("-W", "ignore")
    assert "slow tests of 2 files are left to other commits" in result.stdout.str()
    first = set(repository.table())
    assert len(first) == 1
    result = pytester.runpytest_subprocess("-W", "ignore")
    assert "slow tests of 1 files are left to other commits" in result.stdout.str()
    assert len(set(repository.table()) - first) == 1
