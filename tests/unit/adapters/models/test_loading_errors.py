"""Everything that can be wrong with a model's name or files ends in one clear message."""

from __future__ import annotations

import json
import shutil

import httpx
import huggingface_hub
import pytest
import tiny
from huggingface_hub import constants, errors

from pytest_t2i.adapters.devices import loading_weights, pick_device, pick_dtype
from pytest_t2i.adapters.loading import load_failure, needs
from pytest_t2i.adapters.models import diffusers as adapter
from pytest_t2i.errors import (
    ConfigurationError,
    MissingExtraError,
    ModelLoadError,
    UnknownNameError,
)
from pytest_t2i.protocols import LoadOptions

pytestmark = pytest.mark.slow


def load(source, **options):
    return adapter.load(LoadOptions(**{"source": str(source), "device": "cpu", **options}))


@pytest.fixture
def copied(tmp_path):
    folder = tmp_path / "copied"
    shutil.copytree(tiny.written(tiny.write_stable_diffusion), folder)
    return folder


def test_folder_that_does_not_exist():
    with pytest.raises(ModelLoadError, match="does not exist"):
        load("/no/such/folder")


def test_file_in_place_of_a_folder(tmp_path):
    (tmp_path / "model.safetensors").touch()
    with pytest.raises(ModelLoadError, match="is a file"):
        load(tmp_path / "model.safetensors")


def test_folder_without_an_index_says_what_it_holds(tmp_path):
    (tmp_path / "weights.ckpt").touch()
    with pytest.raises(ModelLoadError, match=r"model_index.json, found .*weights.ckpt"):
        load(tmp_path)


def test_index_that_is_not_json(copied):
    (copied / "model_index.json").write_text("{")
    with pytest.raises(ModelLoadError, match="not valid JSON"):
        load(copied)


def test_missing_part(copied):
    shutil.rmtree(copied / "vae")
    with pytest.raises(ModelLoadError, match="the folder vae/, which"):
        load(copied)


def test_pickled_weights_are_refused(copied):
    weights = copied / "unet" / "diffusion_pytorch_model.safetensors"
    weights.rename(weights.with_suffix(".bin"))
    with pytest.raises(ModelLoadError, match=r"no safetensors.*unet/diffusion_pytorch_model.bin"):
        load(copied)


def test_truncated_weights_are_named(copied):
    weights = copied / "unet" / "diffusion_pytorch_model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    with pytest.raises(ModelLoadError, match=r"unet/diffusion\S+ is damaged"):
        load(copied)


def test_own_code_needs_consent(copied):
    index = json.loads((copied / "model_index.json").read_text())
    index["_class_name"] = ["pipeline", "Mine"]
    (copied / "model_index.json").write_text(json.dumps(index))
    with pytest.raises(ConfigurationError, match="--t2i-trust-remote-code"):
        load(copied)


def test_schedulers_are_listed():
    folder = tiny.written(tiny.write_stable_diffusion)
    with pytest.raises(UnknownNameError, match="EulerDiscreteScheduler"):
        load(folder, extra={"scheduler": "EulerDiscretScheduler"})
    with pytest.raises(ConfigurationError, match="expected one that fits"):
        load(folder, extra={"scheduler": "FlowMatchEulerDiscreteScheduler"})


@pytest.mark.parametrize("name", ["cuda", "cuda:3", "mps"])
def test_absent_device_lists_what_there_is(name, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr("torch.backends.mps.is_available", lambda: False)
    with pytest.raises(ConfigurationError, match="has only: cpu"):
        pick_device(name)


@pytest.mark.parametrize("name", ["gpu", "cpu:x", "cuda:x"])
def test_unknown_device(name):
    with pytest.raises(ConfigurationError, match="expected auto, cpu, cuda"):
        pick_device(name)


def test_unknown_dtype():
    with pytest.raises(ConfigurationError, match="dtype='half'"):
        pick_dtype("half", pick_device("cpu"))


def test_no_source():
    with pytest.raises(ConfigurationError, match="expected a hub id"):
        load("")


def test_offline_with_missing_weights(monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ModelLoadError, match=r"HF_HUB_OFFLINE.*`hf download nobody/nothing`"):
        load("nobody/nothing")


def answer(kind: type[Exception]) -> Exception:
    response = httpx.Response(403, request=httpx.Request("GET", "https://huggingface.co/x"))
    return kind("refused", response=response)


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (answer(errors.GatedRepoError), r"licence at https://huggingface.co/a/b.*hf auth login"),
        (answer(errors.RepositoryNotFoundError), "no model 'a/b'"),
        (answer(errors.RevisionNotFoundError), "revision='v9'"),
        (errors.HFValidationError("bad"), "expected an existing folder or a hub id"),
        (errors.LocalEntryNotFoundError("none"), "cannot be reached"),
        (httpx.ConnectError("down"), "cannot be reached"),
        (errors.OfflineModeIsEnabled("off"), "HF_HUB_OFFLINE"),
        (OSError("no file named model.safetensors found in directory"), "no safetensors"),
        (KeyError("odd"), "KeyError"),
    ],
)
def test_hub_answers(monkeypatch, raised, said):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    wrapped = OSError("cannot load")
    wrapped.__cause__ = raised
    error = raised if isinstance(raised, KeyError) else wrapped
    with pytest.raises(ModelLoadError, match=said):
        raise load_failure(error, "a/b", "v9")


def test_error_of_the_hub_client_reaches_the_user_clear(monkeypatch):
    def refuse(*_args, **_given):
        raise answer(errors.GatedRepoError)

    monkeypatch.setattr("diffusers.DiffusionPipeline.download", refuse)
    with pytest.raises(ModelLoadError, match="gated model"):
        load("black-forest-labs/FLUX.1-dev")


def test_the_trace_of_a_library_does_not_hide_the_one_message():
    with pytest.raises(ModelLoadError, match="cannot be reached") as told, loading_weights("a/b"):
        raise httpx.ConnectError("down")
    assert told.value.__cause__ is None
    assert told.value.__suppress_context__


def test_missing_package_names_the_extra():
    with (
        pytest.raises(MissingExtraError, match=r"pip install \"pytest-t2i\[diffusers\]\""),
        needs("the adapter", "diffusers"),
    ):
        import no_such_package  # noqa: F401


def test_hub_client_is_the_one_these_errors_come_from():
    assert huggingface_hub.errors is errors


def test_a_library_of_the_system_that_is_absent_is_told_with_its_remedy():
    told = "libGL.so.1: cannot open shared object file"
    with pytest.raises(ConfigurationError, match="opencv-python-headless"), needs("YOLO", "yolo"):
        raise ImportError(told)
    with pytest.raises(ImportError, match="another"), needs("YOLO", "yolo"):
        raise ImportError("another")
