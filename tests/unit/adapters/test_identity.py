"""Which code counts for a factory, and which changes of it do."""

from __future__ import annotations

import functools
import importlib
import sys

import pytest

from pytest_t2i.adapters import identity


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of four modules, installed and not imported."""
    folder = tmp_path / "their_detector"
    (folder / "inner").mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "inner" / "__init__.py").write_text("")
    (folder / "main.py").write_text(
        "from . import near\nfrom .inner.far import deep\nimport json\n"
    )
    (folder / "near.py").write_text("from their_detector.inner import far\n")
    (folder / "inner" / "far.py").write_text("from ..near import x\ndeep = 1\n")
    (folder / "apart.py").write_text("a = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    return folder


def digest_of():
    return identity.code_of_entry_point("their_detector.main")


@pytest.mark.parametrize("module", ["main.py", "near.py", "inner/far.py"])
def test_what_a_module_imports_of_its_package_counts(package, module):
    before = digest_of()
    (package / module).write_text((package / module).read_text() + "changed = 1\n")
    assert digest_of() != before
    assert "their_detector" not in sys.modules


def test_the_rest_of_the_package_does_not_count(package):
    before = digest_of()
    (package / "apart.py").write_text("a = 2\n")
    assert digest_of() == before


@pytest.mark.parametrize(
    "text",
    [
        "from their_detector import (  # two\n    apart,\n)\n",
        "if x:\n    import json, their_detector.apart as a\n",
    ],
)
def test_an_import_counts_however_it_is_written(package, text):
    (package / "near.py").write_text(text)
    before = digest_of()
    (package / "apart.py").write_text("a = 2\n")
    assert digest_of() != before


def test_our_detectors_count_with_the_adapters_that_they_import():
    detector = identity._file_of("pytest_t2i.adapters.detectors.fairface")
    root = identity._file_of(identity.ADAPTERS).parent
    _, files = identity._read(detector, None, root, identity.ADAPTERS, False)
    read = {file.relative_to(root).as_posix() for file in files}
    assert {"finders/chips.py", "detectors/screening.py"} <= read


def test_what_has_no_source_has_no_digest(package):
    assert identity.code_of_entry_point("no_such_package.module") == ""
    assert identity.code_of_entry_point("sys") == ""
    assert identity.code_of_factory(len) == ""


def test_a_factory_is_looked_up_through_what_wraps_it(tmp_path, monkeypatch):
    text = "class Made:\n    def __call__(self, options): ...\ndef make(options, n): ...\n"
    (tmp_path / "beside.py").write_text("x = 1\n")
    (tmp_path / "their_conftest.py").write_text(f"import beside\n{text}")
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("their_conftest")
    monkeypatch.setitem(sys.modules, "their_conftest", module)
    kinds = [module.Made, module.Made(), module.make, functools.partial(module.make, n=1)]
    digests = {identity.code_of_factory(kind) for kind in kinds}
    assert len(digests) == 1
    assert digests != {""}
    (tmp_path / "beside.py").write_text("x = 22\n")
    assert identity.code_of_factory(module.make) not in digests
