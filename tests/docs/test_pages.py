"""What documentation says of the code is so: names, examples, blocks of code."""

from __future__ import annotations

import ast
import inspect
import pkgutil
import re
import sys
import tomllib
from pathlib import Path
from unittest.mock import MagicMock

import pytest
from filled import filled_run

import pytest_t2i
from pytest_t2i import metrics, statistics

REPOSITORY = Path(__file__).parents[2]
DOCS = REPOSITORY / "docs"
PAGES = [
    *sorted(DOCS.rglob("*.md")),
    *(REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "suites/README.md")),
    *sorted((REPOSITORY / "examples").rglob("README.md")),
]
DIRECTIVES = {
    name
    for page in DOCS.rglob("*.md")
    for name in re.findall(r"^::: (\S+)", page.read_text(encoding="utf-8"), re.MULTILINE)
}
PUBLIC = [
    f"{module.__name__}.{name}"
    for module in (pytest_t2i, metrics, statistics)
    for name in module.__all__
    if name not in ("INFO", "metrics", "statistics", "strategies")
]
BLOCK = re.compile(r"^```(python|toml)(?: [^\n]*)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(language):
    return [
        pytest.param(match[2], id=f"{page.relative_to(REPOSITORY)}-{number}")
        for page in PAGES
        for number, match in enumerate(BLOCK.finditer(page.read_text(encoding="utf-8")))
        if match[1] == language
    ]


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_stands_on_a_page(name):
    assert name in DIRECTIVES, f"write '::: {name}' on a page of docs"


@pytest.mark.parametrize("name", sorted(DIRECTIVES))
def test_every_name_on_a_page_is_there(name):
    assert pkgutil.resolve_name(name) is not None


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_has_an_example(name):
    module, _, attribute = name.rpartition(".")
    value = getattr(sys.modules[module], attribute)
    own = inspect.isclass(value) or inspect.isfunction(value)
    text = value.__doc__ if own else inspect.getsource(sys.modules[module])
    assert ">>> " in (text or "")


@pytest.mark.parametrize("block", blocks("python"))
def test_python_on_a_page_names_what_there_is(block):
    for node in ast.walk(ast.parse(block)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pytest_t2i"):
            for alias in node.names:
                pkgutil.resolve_name(f"{node.module}.{alias.name}")


def test_the_recipe_for_mlflow_logs_scores_and_report(tmp_path, monkeypatch):
    page = (DOCS / "exports.md").read_text()
    (recipe,) = (found[2] for found in BLOCK.finditer(page) if "import mlflow" in found[2])
    mlflow = MagicMock()
    monkeypatch.setitem(sys.modules, "mlflow", mlflow)
    monkeypatch.chdir(tmp_path)
    Path("reports/t2i").mkdir(parents=True)
    run = filled_run()
    run.write(Path("reports/t2i/run.json"))
    exec(compile(recipe, "to_mlflow.py", "exec"), {})
    ((numbers,),) = (call.args for call in mlflow.log_metrics.call_args_list)
    assert len(numbers) == len({(c.metric, c.subject) for c in run.checks if c.interval}) > 0
    mlflow.log_artifacts.assert_called_once_with("reports/t2i/latest")


@pytest.mark.parametrize("block", blocks("toml"))
def test_toml_on_a_page_can_be_read(block):
    tomllib.loads(block)


def test_docstrings_become_markdown(monkeypatch):
    pytest.importorskip("griffe")
    monkeypatch.syspath_prepend(DOCS / "tools")
    from docstrings import as_markdown

    formula = ".. math:: a\n   + b      (Lyu eq. 1)"
    assert as_markdown(f"Sum.\n\n{formula}\n") == "Sum.\n\n```text\na + b (Lyu eq. 1)\n```\n"
    example = ">>> 1 + 1\n2\n>>> 3\n3"
    assert as_markdown(f"{example}\n\nThen") == f"```pycon\n{example}\n```\n\nThen"
    assert as_markdown("See :func:`add`.") == "See `add`."


def test_links_out_of_the_documentation_lead_to_the_repository(monkeypatch, tmp_path):
    from types import SimpleNamespace

    monkeypatch.syspath_prepend(DOCS / "tools")
    from hooks import on_page_markdown

    page = SimpleNamespace(
        file=SimpleNamespace(
            abs_src_path=str(DOCS / "tutorials" / "suite.md"), src_uri="tutorials/suite.md"
        )
    )
    config = SimpleNamespace(repo_url="https://example.org/it/")
    text = "[a](../numbers.md#x) [b](../../README.md#develop)\n```\n[c](../../README.md)\n```\n"
    assert on_page_markdown(text, page=page, config=config, files=None) == (
        "[a](../numbers.md#x) [b](https://example.org/it/blob/main/README.md#develop)\n"
        "```\n[c](../../README.md)\n```\n"
    )
    with pytest.raises(FileNotFoundError, match="nowhere"):
        on_page_markdown("[d](../../nowhere.md)", page=page, config=config, files=None)


def test_the_readme_lists_every_wish_once():
    rows = re.findall(
        r"^\| ([a-z][^|]+) \| \[", (REPOSITORY / "README.md").read_text("utf-8"), re.MULTILINE
    )
    assert len(rows) > 10
    assert sorted(set(rows)) == sorted(rows)


def test_the_first_page_is_the_readme(monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "tools")
    from hooks import readme

    assert "t2i demo" in readme()
    assert "](how-it-works.md)" in readme()
    assert "](../suites/README.md)" in readme()
    assert "test command" not in readme()
