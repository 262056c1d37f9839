"""Parts of a pipeline that lie elsewhere, and tensors that replace its own."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import tiny
import torch
from safetensors.torch import save_file

from pytest_t2i.adapters.identity import folder_digest
from pytest_t2i.adapters.models import diffusers as adapter
from pytest_t2i.adapters.models.pipeline_parts import assembled, pipeline_digest
from pytest_t2i.data import GenerationSettings, Request
from pytest_t2i.errors import ConfigurationError, ModelLoadError, UnknownNameError
from pytest_t2i.protocols import LoadOptions

pytestmark = pytest.mark.slow
ASKED = [Request("a photo of a nurse", 1, GenerationSettings(steps=2, width=32, height=32))]
WHOLE = tiny.write_stable_diffusion


@pytest.fixture
def without_vae(tmp_path):
    folder = tmp_path / "without"
    shutil.copytree(tiny.written(WHOLE), folder, ignore=shutil.ignore_patterns("vae"))
    return folder


def load(source: Path, **extra):
    return adapter.load(LoadOptions(source=str(source), device="cpu", extra=extra))


def picture(model) -> np.ndarray:
    return np.asarray(model.generate(ASKED)[0].image)


def test_a_part_that_lies_elsewhere_changes_nothing(without_vae):
    whole = load(tiny.written(WHOLE))
    shared = load(without_vae, parts={"vae": str(tiny.written(WHOLE) / "vae")})
    assert shared.fingerprint == whole.fingerprint
    assert np.array_equal(picture(shared), picture(whole))


def test_a_swapped_part_changes_pictures_and_fingerprint(tmp_path):
    folder, own = tmp_path / "vae", tiny.written(WHOLE)
    torch.manual_seed(7)
    tiny.autoencoder(4).save_pretrained(folder)
    whole, swapped = load(own), load(own, parts={"vae": str(folder)})
    assert swapped.fingerprint != whole.fingerprint
    assert not np.array_equal(picture(swapped), picture(whole))


def test_an_autoencoder_without_a_shift_suits_a_flow_pipeline(tmp_path):
    folder = tmp_path / "vae"
    torch.manual_seed(7)
    tiny.autoencoder(4, shift_factor=None).save_pretrained(folder)
    own = tiny.written(tiny.write_stable_diffusion_3)
    assert picture(load(own, parts={"vae": str(folder)})).std() > 0


def test_the_digest_is_that_of_the_whole_folder(without_vae):
    own = tiny.written(WHOLE)
    assert pipeline_digest(own, {}) == folder_digest(own)
    assert pipeline_digest(without_vae, {"vae": own / "vae"}) == folder_digest(own)


def test_a_folder_is_put_together_for_reading_alone(without_vae):
    own = tiny.written(WHOLE)
    with assembled(without_vae, {"vae": own / "vae"}) as place:
        assert sorted(path.name for path in place.iterdir()) == sorted(
            p.name for p in own.iterdir()
        )
    assert not place.exists()
    assert (own / "vae" / "config.json").is_file()


@pytest.mark.parametrize("inner", ["", "text_model."], ids=["transformers-5", "transformers-4"])
def test_changed_tensors_take_the_place_of_its_own(tmp_path, inner):
    file, whole = tmp_path / "c.safetensors", load(tiny.written(WHOLE))
    before = whole.pipeline.text_encoder.get_input_embeddings().weight.detach()
    after = torch.randn(before.shape, generator=torch.Generator().manual_seed(3))
    save_file({f"text_encoder.{inner}embeddings.token_embedding.weight": after}, file)
    changed = load(tiny.written(WHOLE), changes=str(file))
    assert torch.equal(changed.pipeline.text_encoder.get_input_embeddings().weight, after)
    assert changed.fingerprint != whole.fingerprint
    assert not np.array_equal(changed.embed_text(["a"])[0], whole.embed_text(["a"])[0])


@pytest.mark.parametrize(
    ("tensors", "problem"),
    [
        ({"unet.nothing": torch.zeros(1)}, r"names that it does not have: unet.nothing"),
        (
            {"unet.conv_in.bias": torch.zeros(3)},
            r"expected unet.conv_in.bias of the shape \[8\], got \[3\]",
        ),
    ],
)
def test_changes_that_do_not_fit(tmp_path, tensors, problem):
    save_file(tensors, tmp_path / "c.safetensors")
    with pytest.raises(ConfigurationError, match=problem):
        load(tiny.written(WHOLE), changes=str(tmp_path / "c.safetensors"))


def test_changes_that_cannot_be_read(tmp_path):
    with pytest.raises(ModelLoadError, match="does not exist"):
        load(tiny.written(WHOLE), changes=str(tmp_path / "nowhere.safetensors"))
    (tmp_path / "c.safetensors").write_bytes(b"broken")
    with pytest.raises(ModelLoadError, match="is damaged"):
        load(tiny.written(WHOLE), changes=str(tmp_path / "c.safetensors"))


def test_parts_that_are_not_there(without_vae):
    with pytest.raises(ModelLoadError, match="the folder vae/, which"):
        load(without_vae)
    with pytest.raises(ModelLoadError, match="no such folder"):
        load(without_vae, parts={"vae": "/no/such/folder"})
    with pytest.raises(UnknownNameError, match="Did you mean 'vae'"):
        load(without_vae, parts={"vaee": str(without_vae)})


def test_a_part_without_safetensors(without_vae, tmp_path):
    (tmp_path / "vae").mkdir()
    (tmp_path / "vae" / "weights.bin").touch()
    with pytest.raises(ModelLoadError, match="no safetensors"):
        load(without_vae, parts={"vae": str(tmp_path / "vae")})


def test_how_long_texts_are_is_heeded():
    folder = tiny.written(tiny.write_stable_diffusion_3)
    short, long = (load(folder, call={"max_sequence_length": n}) for n in (8, 16))
    states = [m._texts.arguments(["a"], None)["prompt_embeds"] for m in (short, long)]
    assert states[1].shape[1] - states[0].shape[1] == 8
    assert short.fingerprint != long.fingerprint
    assert picture(short).std() > 0
