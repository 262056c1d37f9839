"""Arrows only point down (DESIGN: layers), and starting pytest stays cheap."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "pytest_t2i"

# From the bottom to the top; a module imports from its own layer and those above this line.
LAYERS = (
    {"data", "errors"},
    {"protocols", "files"},
    {"prompts", "registry", "metrics"},
    {"statistics", "catalogue", "planning", "strategies"},
    {"verdicts", "config", "record", "measurement"},
    {"models", "detectors", "faces", "persons", "encoders", "engines", "store", "labels"},
    {"components", "limits", "baselines", "progress"},
    {"observer"},
    {"examiner"},
    {"runner", "seeds"},
    {"audits"},
    {"asking", "marker", "named_limits", "hunting"},
    {"session", "making", "rounds"},
    {"summary", "comparing"},
    {"reporting"},
    {"labelling"},
    {"commands"},
    {"plugin", "active", "workers", "cli", "hookspecs"},
)
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}
HEAVY = ("torch", "diffusers", "transformers", "numpy", "scipy", "skimage", "PIL", "rich", "jinja2")


def modules():
    return sorted(path for path in SOURCE.rglob("*.py") if path.name != "__init__.py")


def imports(path):
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def layer(module):
    return module.split(".")[1] if module.startswith("pytest_t2i.") else None


def test_every_module_has_a_layer():
    found = {path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in modules()}
    assert found <= set(RANK)


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_arrows_point_down(path):
    mine = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    above = {
        name for name in imports(path) if layer(name) in RANK and RANK[layer(name)] > RANK[mine]
    }
    assert not above


@pytest.mark.parametrize("folder", ["metrics", "statistics"])
def test_pure_functions_import_no_torch_and_no_files(folder):
    for path in (SOURCE / folder).rglob("*.py"):
        roots = {name.split(".")[0] for name in imports(path)}
        assert not roots & {"torch", "pytest", "pathlib", "os", "sqlite3"}, path


def test_only_plugin_side_modules_know_pytest():
    knowing = {p.relative_to(SOURCE).parts[0] for p in modules() if "pytest" in set(imports(p))}
    assert knowing <= {"plugin.py", "active.py", "hookspecs.py", "config.py", "making.py",
        "marker.py", "workers.py"}  # fmt: skip


def test_the_core_names_no_companion():
    for path in SOURCE.rglob("*.py"):
        assert "pytest_t2i_reference" not in path.read_text(), path


@pytest.mark.parametrize("module", ["pytest_t2i", "pytest_t2i.plugin.hooks"])
def test_importing_is_cheap(module):
    code = f"import sys, {module}; print(*[m for m in {HEAVY!r} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []


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
    loaded = next(line for line in run.stdout.splitlines() if line.startswith("LOADED"))
    assert loaded.split() == ["LOADED"]
