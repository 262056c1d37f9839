"""Tags by RAM: a tiny random network in its authors' layout, against independent reckoning."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
import tiny_ram
from installed import needs
from PIL import Image

needs("torch", "timm", "transformers")

import torch
from torch.nn import functional
from transformers import SwinConfig, SwinModel

from pytest_t2i.adapters.finders.ram_network import HEADS, Ram
from pytest_t2i.adapters.finders.ram_tags import LIMIT, RamTags
from pytest_t2i.errors import ConfigurationError, FileFormatError, ModelLoadError

pytestmark = pytest.mark.slow

NAMES = ["Hat", "tie", "baseball bat", "3D CG rendering", "person"]
PICTURE = Image.fromarray(np.random.default_rng(0).integers(0, 256, (48, 80, 3), np.uint8))
CPU = torch.device("cpu")


NAMES_ELSEWHERE = {
    "patch_embed.proj": "embeddings.patch_embeddings.projection",
    "patch_embed.norm": "embeddings.norm",
    "attn.relative_position_bias_table": (
        "attention.relative_position_bias.relative_position_bias_table"
    ),
    "attn.proj": "attention.o_proj",
    "norm1": "layernorm_before",
    "norm2": "layernorm_after",
}


def swin_of_transformers(weights):
    """The encoder by another library, which keeps the order of the first code."""
    config = SwinConfig(
        image_size=32 * tiny_ram.WINDOW,
        patch_size=4,
        embed_dim=tiny_ram.EMBED,
        window_size=tiny_ram.WINDOW,
        depths=list(tiny_ram.DEPTHS),
        num_heads=list(tiny_ram.HEADS),
        drop_path_rate=0.0,
    )
    model = SwinModel(config, add_pooling_layer=False).eval()
    absent, unexpected = model.load_state_dict(dict(renamed(weights)), strict=False)
    assert not unexpected
    assert all("position_index" in name for name in absent)
    return lambda pixels: model(pixels).last_hidden_state


def renamed(weights):
    """The encoder's tensors by the names of transformers."""
    for full, value in weights.items():
        if not full.startswith("visual_encoder.") or re.search("attn_mask|position_index", full):
            continue
        name = full.removeprefix("visual_encoder.")
        for old, new in NAMES_ELSEWHERE.items():
            name = name.replace(old, new)
        name = re.sub("^layers", "encoder.layers", re.sub("^norm", "layernorm", name))
        if ".attn.qkv." in name:
            for part, third in zip("qkv", value.chunk(3), strict=True):
                yield name.replace("attn.qkv", f"attention.{part}_proj"), third
        else:
            yield name, value


def line(weights, name, x):
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def normed(weights, name, x):
    mean, variance = x.mean(-1, keepdim=True), x.var(-1, unbiased=False, keepdim=True)
    scaled = (x - mean) / torch.sqrt(variance + 1e-12)
    return scaled * weights[f"{name}.LayerNorm.weight"] + weights[f"{name}.LayerNorm.bias"]


def heads(x):
    return x.unflatten(-1, (HEADS, -1)).transpose(1, 2)


def reckoned(weights, pixels):
    """Logits of pictures [n, tags], from the tensors of the file alone."""
    seen = swin_of_transformers(weights)(pixels)
    tokens = line(weights, "image_proj", torch.cat([seen.mean(1, keepdim=True), seen], 1))
    x = torch.relu(line(weights, "wordvec_proj", weights["label_embed"])).expand(
        len(pixels), -1, -1
    )
    for number in range(tiny_ram.LAYERS):
        layer = f"tagging_head.encoder.layer.{number}."
        asking = f"{layer}crossattention.self."
        query = heads(line(weights, f"{asking}query", x))
        key, value = (heads(line(weights, f"{asking}{part}", tokens)) for part in ("key", "value"))
        scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
        mixed = (scores.softmax(-1) @ value).transpose(1, 2).flatten(2)
        told = line(weights, f"{layer}crossattention.output.dense", mixed)
        x = normed(weights, f"{layer}crossattention.output", x + told)
        inside = functional.gelu(line(weights, f"{layer}intermediate.dense", x))
        x = normed(weights, f"{layer}output", x + line(weights, f"{layer}output.dense", inside))
    return line(weights, "fc", x)[..., 0]


@torch.no_grad()
def test_logits_are_those_of_the_published_equations():
    weights = tiny_ram.tensors(len(NAMES))
    network = Ram(weights).eval()
    assert network.side == 64
    pixels = torch.randn(3, 3, network.side, network.side)
    logits = network(pixels)
    assert logits.shape == (3, len(NAMES))
    assert logits.std() > 0.1
    assert torch.allclose(logits, reckoned(weights, pixels), atol=1e-4)


@torch.no_grad()
def test_files_of_before_name_the_head_otherwise():
    weights = tiny_ram.tensors(2)
    old = {name.replace("tagging_head", "vision_multi"): value for name, value in weights.items()}
    pixels = torch.randn(1, 3, 64, 64)
    assert torch.equal(Ram(old).eval()(pixels), Ram(weights).eval()(pixels))


def test_tags_are_those_above_their_limits(tmp_path):
    network = Ram(tiny_ram.tensors(len(NAMES))).eval()
    plain = RamTags(tiny_ram.write(tmp_path / "plain", NAMES), CPU)
    with torch.no_grad():
        chances = torch.sigmoid(network(plain._pixels(PICTURE)))[0].tolist()
    assert plain.tags(PICTURE) == [
        name.lower() for name, chance in zip(NAMES, chances, strict=True) if chance > LIMIT
    ]
    limits = [chance + (0.01 if k % 2 else -0.01) for k, chance in enumerate(chances)]
    own = RamTags(tiny_ram.write(tmp_path / "own", NAMES, limits), CPU)
    assert own.tags(PICTURE) == ["hat", "baseball bat", "person"]
    assert own.facts != plain.facts
    assert own.tags(PICTURE.convert("L")) is not None


def test_a_picture_is_seen_as_torchvision_would_show_it(tmp_path):
    needs("torchvision")
    from torchvision import transforms

    shown = transforms.Compose(
        [
            transforms.Resize((64, 64)),
            transforms.ToTensor(),
            transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
        ]
    )(PICTURE)
    tags = RamTags(tiny_ram.write(tmp_path, NAMES), CPU)
    assert torch.allclose(tags._pixels(PICTURE)[0], shown, atol=1e-5)


WEIGHTS, LIST, LIMITS = "ram_swin_large_14m.pth", "ram_tag_list.txt", "ram_tag_list_threshold.txt"


@pytest.mark.parametrize(
    ("file", "text", "error", "message"),
    [
        (WEIGHTS, None, ConfigurationError, "a folder with RAM's files"),
        (LIST, None, ConfigurationError, "found ram_swin_large_14m.pth"),
        ("other.pth", "1", ConfigurationError, "found other.pth, ram_swin"),
        (LIST, "hat\n", FileFormatError, "expected 5 tags"),
        (LIMITS, "1\n", FileFormatError, "each of 5 tags, got 1"),
        (LIMITS, "sure\n" * 5, FileFormatError, "a number from"),
        (WEIGHTS, "no weights", ModelLoadError, "ram_swin"),
    ],
)
def test_files_that_do_not_fit_are_told(tmp_path, file, text, error, message):
    folder = tiny_ram.write(tmp_path, NAMES)
    (folder / file).unlink(missing_ok=True)
    if text is not None:
        (folder / file).write_text(text)
    with pytest.raises(error, match=message):
        RamTags(folder, CPU)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("fc.weight", "expected weights of RAM, got others"),
        ("reweight_scale", r"got RAM\+\+"),
    ],
)
def test_weights_of_other_networks_are_told(tmp_path, name, message):
    folder = tiny_ram.write(tmp_path, NAMES)
    keep(folder, name)
    with pytest.raises(ModelLoadError, match=message):
        RamTags(folder, CPU)


def keep(folder, name):
    """Of the file nothing but one tensor."""
    torch.save({"model": {name: torch.zeros(1)}}, folder / WEIGHTS)


def test_each_tensor_is_needed(tmp_path):
    weights = tiny_ram.tensors(2)
    for name in ("image_proj.bias", "label_embed", "visual_encoder.norm.weight", "fc.bias"):
        folder = tiny_ram.write(tmp_path / name, ["a", "b"])
        torch.save(
            {"model": {k: v for k, v in weights.items() if k != name}},
            folder / "ram_swin_large_14m.pth",
        )
        with pytest.raises(ModelLoadError, match="expected weights of RAM"):
            RamTags(folder, CPU)


def test_code_in_a_file_of_weights_is_not_run(tmp_path):
    class Harm:
        def __reduce__(self):
            return (exec, ("raise AssertionError('code was run')",))

    folder = tiny_ram.write(tmp_path, NAMES)
    torch.save({"model": Harm()}, folder / WEIGHTS)
    with pytest.raises(ModelLoadError):
        RamTags(folder, CPU)
