"""Starting pytest where the plugin is installed, and not used, stays cheap."""

from __future__ import annotations

import subprocess
import sys

import pytest
from layout import source

HEAVY = ("torch", "diffusers", "transformers", "numpy", "scipy", "skimage", "PIL", "rich", "jinja2")


def loaded_by(code: str) -> list[str]:
    """Heavy libraries that a fresh interpreter has loaded after this code."""
    told = f"import sys\n{code}\nprint(*[m for m in {HEAVY!r} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    return run.stdout.split()


@pytest.mark.parametrize("module", ["pytest_t2i", "pytest_t2i.plugin.hooks", "pytest_t2i.cli.main"])
def test_importing_is_cheap(module):
    assert loaded_by(f"import {module}") == []


def test_starting_pytest_loads_nothing_heavy(tmp_path):
    (tmp_path / "conftest.py").write_text(
        "import sys\n"
        "def pytest_unconfigure(config):\n"
        f"    print('LOADED', *[m for m in {HEAVY!r} if m in sys.modules])\n"
    )
    (tmp_path / "test_a.py").write_text("def test_a(): pass\n")
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-s", "-p", "no:cacheprovider", str(tmp_path)],
        capture_output=True, text=True, cwd=tmp_path, check=True,
    )  # fmt: skip
    (loaded,) = (line for line in run.stdout.splitlines() if line.startswith("LOADED"))
    assert loaded.split() == ["LOADED"]


@pytest.mark.slow
def test_collecting_a_suite_loads_no_scipy_stats():
    """It takes longer to load than all else; what calls a function of it loads it."""
    suite = str(source.REPOSITORY / "suites" / "quick")
    collect = f"pytest.main(['--collect-only', '-q', '-p', 'no:cacheprovider', {suite!r}])"
    code = f"import sys, pytest\n{collect}\nprint('scipy.stats' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "40 tests collected" in run.stdout
    assert run.stdout.split()[-1] == "False"


def test_the_audits_that_a_start_declares_load_nothing_heavy():
    code = "from pytest_t2i.audits.discovery import installed_audits\ninstalled_audits()"
    assert loaded_by(code) == []
