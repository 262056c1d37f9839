"""The first exception of a chain is told, and which packages to install where they do not fit."""

from __future__ import annotations

import sys

import pytest

from pytest_t2i.adapters.loading import load_failure, needs
from pytest_t2i.adapters.registry import Registry
from pytest_t2i.errors import ConfigurationError, MissingExtraError, T2IError, blamed

OPERATOR = "operator torchvision::nms does not exist"
VISION = f"""
import torchless
raise RuntimeError({OPERATOR!r})
"""
LAZY = """
def load(name):
    try:
        import visionless
    except (ImportError, RuntimeError) as error:
        raise ModuleNotFoundError(
            f"Could not import module {name!r}. Are this object's requirements defined correctly?"
        ) from error
"""


@pytest.fixture
def unfit(tmp_path, monkeypatch):
    """Distributions whose modules cannot be imported together, as torch and torchvision."""
    for name, text in {"torchless": "", "visionless": VISION, "lazyformers": LAZY}.items():
        (tmp_path / f"{name}.py").write_text(text)
        about = tmp_path / f"{name}-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (about / "top_level.txt").write_text(name)
        (about / "RECORD").write_text(f"{name}.py,,\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in ("torchless", "visionless", "lazyformers"):
        sys.modules.pop(name, None)


INSTALL = "Run: pip install --upgrade lazyformers visionless"


def told(raised: pytest.ExceptionInfo[T2IError]) -> str:
    words = str(raised.value)
    assert OPERATOR in words
    assert INSTALL in words
    return words


def test_an_import_names_the_first_exception(unfit):
    import lazyformers

    with pytest.raises(ConfigurationError) as raised, needs("the encoder clip", "clip"):
        lazyformers.load("PreTrainedModel")
    assert told(raised).startswith("the encoder clip cannot import its packages: RuntimeError: ")


def test_a_library_that_loads_lazily_names_it_too(unfit):
    import lazyformers

    with pytest.raises(ConfigurationError) as raised, blamed(ConfigurationError, "model", "mine"):
        lazyformers.load("PreTrainedModel")
    assert "PreTrainedModel" in told(raised)
    with pytest.raises(ModuleNotFoundError) as failed:
        lazyformers.load("PreTrainedModel")
    words = str(load_failure(failed.value, "owner/name"))
    assert words.startswith("cannot load 'owner/name': ModuleNotFoundError: Could not import")
    assert OPERATOR in words
    assert INSTALL in words


def test_an_import_of_one_package_alone(unfit):
    match = "pip install --upgrade visionless"
    with pytest.raises(ConfigurationError, match=match), needs("the finder own", "grounded-sam"):
        import visionless  # noqa: F401


@pytest.mark.parametrize("name", ["nothing_here", "lazyformers"])
def test_an_absent_name_of_a_package(unfit, name):
    """A package that is not there is missing; one that lacks a name is another version."""
    with pytest.raises(ConfigurationError) as raised, needs("the encoder clip", "clip"):
        exec(f"from {name} import CLIPModel")
    if name == "lazyformers":
        assert "cannot import name 'CLIPModel'" in str(raised.value)
        assert "pip install --upgrade lazyformers" in str(raised.value)
    else:
        assert isinstance(raised.value, MissingExtraError)


def test_a_missing_package_behind_a_lazy_import(unfit, monkeypatch):
    (unfit / "visionless.py").write_text("import httpx_that_is_absent")
    import lazyformers

    registry = Registry("detector", {"own": lazyformers.load})
    match = "'httpx_that_is_absent'"
    with pytest.raises(MissingExtraError, match=match), needs("the detector own", "clip"):
        registry.get("own")("CLIP")


def test_a_users_own_error_says_how_it_began():
    def fail():
        try:
            {}["steps"]
        except KeyError as error:
            raise ValueError("no settings") from error

    with pytest.raises(ConfigurationError) as raised, blamed(ConfigurationError, "model", "mine"):
        fail()
    assert "ValueError: no settings, which began with KeyError: 'steps' (" in str(raised.value)
    assert "pip install" not in str(raised.value)
