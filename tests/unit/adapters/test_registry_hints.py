"""What a registry says of a name that it does not know, and where it looks for modules."""

from __future__ import annotations

import sys
from importlib.util import find_spec

import pytest

from pytest_t2i.adapters import registry
from pytest_t2i.errors import ConfigurationError, UnknownNameError


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("ray", "Known: mine. Run: pip install pytest-t2i-ray"),
        ("ray:4", "Run: pip install pytest-t2i-ray"),
        ("rays", "module:factory[:source] is accepted, too."),
    ],
)
def test_an_executor_that_is_not_installed(name, told, monkeypatch):
    monkeypatch.setattr(registry, "_installed", lambda group: {})
    executors = registry.Registry("executor", {"mine": dict})
    with pytest.raises(UnknownNameError) as caught:
        executors.named(name)
    assert told in str(caught.value)
    assert "Run:" not in told or "module:factory" not in str(caught.value)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with a module; Python's path does not have it, as in a console script."""
    (tmp_path / "lying_here.py").write_text("def make(options):\n    return options\n")
    package = tmp_path / "package_here"
    package.mkdir()
    (package / "part.py").write_text("import lying_here\nmake = lying_here.make\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path / "nowhere")  # so that what is added goes again
    yield tmp_path
    for name in ("lying_here", "package_here", "package_here.part"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("kind", ["detector", "encoder", "object", "executor", "language"])
@pytest.mark.parametrize("name", ["lying_here:make", "package_here.part:make:weights"])
def test_a_factory_of_a_module_in_the_current_folder(folder, kind, name):
    factory, source = registry.named_part(registry.Registry(kind), name)
    assert factory(1) == 1
    assert source == name.partition("make")[2].removeprefix(":")


def test_a_module_of_the_current_folder_never_hides_another_one(folder):
    (folder / "this.py").write_text("raise RuntimeError")
    factory = registry.import_factory("lying_here:make")
    assert factory.__module__ == "lying_here"
    assert str(folder) not in find_spec("this").origin


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("lying_her:make", ("module 'lying_her' not found in {folder}", "expected module:factory")),
        ("nowhere:make:source", ("module 'nowhere' not found in {folder}",)),
        ("clpi:ViT-L-14", ("module 'clpi' not found", "Did you mean 'clip'?")),
        ("package_here.nothing:make", ("there is no module 'package_here.nothing' in {folder}",)),
        ("lying_here", ("unknown detector", "lying_here.py is a file here: write lying_here:")),
        ("./lying_here.py:make", ("unknown detector", "write lying_here:FACTORY")),
        ("clpi", ("unknown detector 'clpi'. Did you mean 'clip'?", "module:factory")),
    ],
)
def test_a_module_that_is_absent_is_not_an_unknown_name(folder, name, parts):
    with pytest.raises(ConfigurationError) as caught:
        registry.Registry("detector").named(name)
    for part in parts:
        assert part.format(folder=folder) in str(caught.value)
    assert ("not found" in str(caught.value)) != ("unknown detector" in str(caught.value)) or (
        "there is no module" in str(caught.value)
    )
