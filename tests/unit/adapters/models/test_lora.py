"""A LoRA is part of the weights: of the pictures, the fingerprint and the record."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tiny
import torch
from safetensors.torch import save_file

from pytest_t2i.adapters.loading import is_installed
from pytest_t2i.adapters.models import diffusers as adapter
from pytest_t2i.adapters.models.pipeline_parts import add_lora
from pytest_t2i.data import FINAL_LATENT, GenerationSettings, Request
from pytest_t2i.errors import ConfigurationError, MissingExtraError, ModelLoadError
from pytest_t2i.protocols import LoadOptions

pytestmark = pytest.mark.slow
needs_peft = pytest.mark.skipif(not is_installed("peft"), reason="peft is not installed")

SETTINGS = GenerationSettings(steps=2, width=32, height=32)
FAMILIES = [pytest.param(family, id=family.name) for family in tiny.FAMILIES]
SD = tiny.write_stable_diffusion


def load(write: Callable[[Path], None], source: Path | None = None, scale: float = 1.0):
    extra = {} if source is None else {"lora": {"source": str(source), "scale": scale}}
    return adapter.load(LoadOptions(source=str(tiny.written(write)), device="cpu", extra=extra))


def lora_of(pipeline) -> dict[str, torch.Tensor]:
    """Tensors of a LoRA of rank 2 on every query of a pipeline's network."""
    part = "unet" if hasattr(pipeline, "unet") else "transformer"
    random = torch.Generator().manual_seed(0)
    tensors = {}
    for name, module in getattr(pipeline, part).named_modules():
        if name.endswith("to_q"):
            down, up = (2, module.in_features), (module.out_features, 2)
            tensors[f"{part}.{name}.lora_A.weight"] = torch.randn(down, generator=random)
            tensors[f"{part}.{name}.lora_B.weight"] = torch.randn(up, generator=random)
    return tensors


def pixels(model, observe: frozenset[str] = frozenset()) -> list:
    (made,) = model.generate([Request("a nurse", 1, SETTINGS, observe)])
    return np.asarray(made.image).tolist()


@needs_peft
@pytest.mark.parametrize("family", FAMILIES)
def test_a_lora_changes_pictures_and_fingerprint_by_its_scale(family, tmp_path):
    plain = load(family.write)
    save_file(lora_of(plain.pipeline), tmp_path / "mine.safetensors")
    whole, half = (load(family.write, tmp_path, scale) for scale in (1.0, 0.5))
    assert len({model.fingerprint for model in (plain, whole, half)}) == 3
    assert len({str(pixels(model)) for model in (plain, whole, half)}) == 3
    assert pixels(load(family.write, tmp_path, 0.0)) == pixels(plain)
    assert pixels(whole, frozenset({FINAL_LATENT})) == pixels(whole)
    assert "lora=sha256:" in half.provenance["extra"]
    assert half.provenance["extra"].endswith(" times 0.5")


@needs_peft
def test_the_place_of_a_lora_is_no_part_of_the_fingerprint_and_its_content_is(tmp_path):
    tensors = lora_of(load(SD).pipeline)
    (tmp_path / "b").mkdir()
    save_file(tensors, tmp_path / "a.safetensors")
    save_file(tensors, tmp_path / "b" / "pytorch_lora_weights.safetensors")
    first = load(SD, tmp_path / "a.safetensors").fingerprint
    assert load(SD, tmp_path / "b").fingerprint == first
    other = {name: tensor + 1 for name, tensor in tensors.items()}
    save_file(other, tmp_path / "a.safetensors")
    assert load(SD, tmp_path / "a.safetensors").fingerprint != first


@needs_peft
def test_a_lora_of_another_program_is_the_same(tmp_path):
    tensors = lora_of(load(SD).pipeline)
    (tmp_path / "kohya").mkdir()
    save_file(tensors, tmp_path / "ours.safetensors")
    names = {"lora_A": "lora_down", "lora_B": "lora_up"}
    theirs = {}
    for name, tensor in tensors.items():
        layer, kind, _ = name.rsplit(".", 2)
        layer = f"lora_{layer.replace('.', '_')}"
        theirs[f"{layer}.{names[kind]}.weight"] = tensor
        theirs[f"{layer}.alpha"] = torch.tensor(2.0)  # the rank: a factor of 1
    save_file(theirs, tmp_path / "kohya" / "theirs.safetensors")
    pictures = [pixels(load(SD, tmp_path / name)) for name in ("ours.safetensors", "kohya")]
    assert pictures[0] == pictures[1]


def elsewhere(tensors):
    return {name.replace("unet.", "prior."): tensor for name, tensor in tensors.items()}


def one_more(tensors):
    sizes = (("A", (2, 4)), ("B", (4, 2)))
    return tensors | {f"unet.no.to_q.lora_{k}.weight": torch.zeros(size) for k, size in sizes}


def narrow(tensors):
    return {k: torch.ones(2, 3) if "lora_A" in k else tensor for k, tensor in tensors.items()}


@needs_peft
@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (elsewhere, "16 of its 16 tensors have no place in it"),
        (one_more, "2 of its 18 tensors have no place in it"),
        (narrow, "size mismatch"),
        (lambda _: {"a.b": torch.zeros(2)}, "Invalid LoRA checkpoint"),
    ],
    ids=["another part", "another layer", "another width", "no LoRA"],
)
def test_a_lora_that_does_not_fit_is_refused(tmp_path, change, problem):
    save_file(change(lora_of(load(SD).pipeline)), tmp_path / "mine.safetensors")
    with pytest.raises(ConfigurationError, match=rf"lora: .*mine\.safetensors does not.*{problem}"):
        load(SD, tmp_path)


@needs_peft
def test_a_lora_that_flux_would_enlarge_is_refused(tmp_path):
    tensors = narrow(lora_of(load(tiny.write_flux).pipeline))
    save_file(tensors, tmp_path / "mine.safetensors")
    with pytest.raises(ConfigurationError, match="2 of its 4 tensors have no place in it"):
        load(tiny.write_flux, tmp_path)


@needs_peft
def test_the_file_of_a_lora_is_found_or_asked_for(tmp_path):
    with pytest.raises(ModelLoadError, match=r"expected one \.safetensors file, got none"):
        load(SD, tmp_path)
    for name in "ab":
        (tmp_path / f"{name}.safetensors").touch()
    with pytest.raises(ModelLoadError, match=r"got a\.safetensors, b\.safetensors.*lora=FILE:SCA"):
        load(SD, tmp_path)
    with pytest.raises(ModelLoadError, match="expected a folder, a file or a hub id"):
        load(SD, tmp_path / "nowhere")


@pytest.mark.skipif(is_installed("peft"), reason="peft is installed")
def test_the_package_that_a_lora_needs_is_named(tmp_path):
    with pytest.raises(MissingExtraError, match=r'pip install "pytest-t2i\[lora\]"'):
        load(SD, tmp_path)


def test_a_pipeline_that_takes_no_lora_says_so(tmp_path):
    class Plain:
        pass

    with pytest.raises(ConfigurationError, match="lora: Plain takes no LoRA: leave it out"):
        add_lora(Plain(), tmp_path / "mine.safetensors", 1.0)
