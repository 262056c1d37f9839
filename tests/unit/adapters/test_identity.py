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


def test_ours_counts_as_far_as_it_is_plugged_in(package):
    def modules():
        names = []
        find = identity._plugged_in

        def noted(name):
            names.append(name) if find(name) else None
            return find(name)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(identity, "_plugged_in", noted)
            digest_of()
        return set(names)

    assert modules() == set()
    (package / "near.py").write_text(
        "from pytest_t2i import Detection\nfrom pytest_t2i.data import Box\n"
        "from pytest_t2i.adapters.detectors.screening import screened\n"
        "from pytest_t2i.adapters.loading import needs\n"
    )
    plugged = {"detectors.screening", "black_or_unreadable"}
    assert {f"pytest_t2i.adapters.{name}" for name in plugged} <= modules()
    assert all(name.startswith("pytest_t2i.adapters.") for name in modules())
    assert "pytest_t2i.adapters.loading" not in modules()


FUNCTION = 'def f(x):\n    """Say."""\n    if x:\n        raise ValueError("no")\n    return x\n'


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ("return x", "return -x", False),
        ("if x:", "if not x:", False),
        ("if x:", "if x :  # why", True),
        ('"""Say."""', '"""Say it."""', True),
        ('    """Say."""\n', "", True),
        ('"no"', '"not so"', True),
        ("def f(x):", "\n\ndef f(x):", True),
    ],
)
def test_what_changes_a_word(package, before, after, same):
    (package / "near.py").write_text(FUNCTION)
    first = digest_of()
    (package / "near.py").write_text(FUNCTION.replace(before, after))
    assert (digest_of() == first) is same


def test_what_has_no_source_has_no_digest(package):
    assert identity.code_of_entry_point("no_such_package.module") == ""
    assert identity.code_of_entry_point("sys") == ""
    assert identity.code_of_factory(len) == ""
    (package / "main.py").write_text("def broken(:\n")
    assert digest_of() == ""


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


def test_the_version_of_a_package_follows_its_files(package):
    identity._stamped.cache_clear()
    before = identity.version_of_package("their_detector.main")
    (package / "apart.py").write_text("a = 12345\n")
    assert identity.version_of_package("their_detector.main") == before
    identity._stamped.cache_clear()
    assert identity.version_of_package("their_detector.main") != before
    assert identity.version_of_package("pytest_t2i.adapters.x") == identity.version_of_package(
        "pytest_t2i.prompts"
    )
