"""Files of heads: ours, the public release's layout, and what is wrong with others."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from pytest_t2i import LoadOptions, T2IError
from safetensors.torch import save_file
from toy import ENCODER, Halves, picture

from pytest_t2i_goya.encoder import embedded, load
from pytest_t2i_goya.heads import RELEASE, Heads, read_heads, save_heads
from pytest_t2i_goya.networks import SPACES, Goya, Sizes

pytestmark = pytest.mark.slow

SIZES = Sizes(features=12, hidden=10, width=8, styles=3)
PICTURES = [picture("a nurse", "night", k) for k in range(3)]


def goya(seed):
    torch.manual_seed(seed)
    return Goya(SIZES)


def released(at: Path, prefix: str = "") -> tuple[Goya, Goya]:
    """The two checkpoints of a training that was best for content and for style at other times."""
    both = goya(1), goya(2)
    for file, each in zip(RELEASE, both, strict=True):
        optimiser = torch.optim.Adam(each.parameters(), lr=5e-4)
        state = {prefix + name: tensor for name, tensor in each.state_dict().items()}
        checkpoint = {"epoch": 3, "state_dict": state, "best_loss": 0.5}
        torch.save({**checkpoint, "optimizer": optimiser.state_dict()}, at / file)
    return both


@pytest.fixture
def saved(tmp_path):
    heads = Heads(goya(0), SIZES, ENCODER, ("line", "night", "sepia"), {"seed": "0"})
    save_heads(heads, tmp_path / "heads.safetensors")
    return heads, tmp_path / "heads.safetensors"


@pytest.mark.parametrize("prefix", ["", "module."])
def test_the_release_gives_content_of_one_file_and_style_of_the_other(tmp_path, prefix):
    content, style = released(tmp_path, prefix)
    heads = read_heads(str(tmp_path))
    x = np.random.default_rng(0).normal(size=(4, 12)).astype(np.float32)
    got = embedded(heads, x)
    said = content(torch.from_numpy(x)), style(torch.from_numpy(x))
    assert np.allclose(got["content"], said[0].content.detach(), atol=1e-6)
    assert np.allclose(got["projected-style"], said[1].projected_style.detach(), atol=1e-6)
    assert (heads.encoder, heads.styles) == ("clip:vit-b-32", ())
    alone = read_heads(str(tmp_path / RELEASE[1]))
    assert np.allclose(embedded(alone, x)["content"], said[1].content.detach(), atol=1e-6)


def test_what_is_written_is_what_is_read(saved):
    heads, file = saved
    again = read_heads(str(file))
    assert again.digest == heads.digest
    assert (again.encoder, again.styles) == (ENCODER, ("line", "night", "sepia"))
    assert again.facts == {"seed": "0"}


def test_half_the_bits_are_nearly_the_same(saved, tmp_path):
    heads, file = saved
    save_heads(heads, tmp_path / "half.safetensors", half=True)
    assert (tmp_path / "half.safetensors").stat().st_size < 0.7 * file.stat().st_size
    x = np.random.default_rng(0).normal(size=(4, 12)).astype(np.float32)
    near = embedded(read_heads(str(tmp_path / "half.safetensors")), x)["content"]
    assert np.allclose(near, embedded(heads, x)["content"], atol=0.01)


@pytest.mark.parametrize("space", SPACES)
def test_each_space_is_an_encoder(saved, space):
    heads, file = saved
    encoder = load(LoadOptions(source=f"{file}+{space}"))
    rows = encoder.encode(PICTURES)
    assert rows.dtype == np.float32
    assert np.allclose(rows, embedded(heads, Halves().encode(PICTURES))[space])
    assert encoder.encode([]).shape[0] == 0
    assert encoder.provenance["space"] == space
    others = {load(LoadOptions(source=f"{file}+{one}")).fingerprint for one in SPACES}
    assert len(others) == len(SPACES)


def test_other_numbers_are_another_encoder(saved, tmp_path):
    _heads, file = saved
    save_heads(Heads(goya(5), SIZES, ENCODER), tmp_path / "other.safetensors")
    of = [
        load(LoadOptions(source=f"{one}+style")) for one in (file, tmp_path / "other.safetensors")
    ]
    assert of[0].fingerprint != of[1].fingerprint


class Trap:
    def __reduce__(self):
        return print, ("this must never be run",)


def test_what_is_pickled_is_not_run(tmp_path, capsys):
    torch.save({"state_dict": goya(0).state_dict(), "trap": Trap()}, tmp_path / "GOYA.pth.tar")
    with pytest.raises(T2IError, match=r"GOYA.pth.tar: cannot be read as tensors"):
        read_heads(str(tmp_path / "GOYA.pth.tar"))
    assert "never" not in capsys.readouterr().out


def changed(**tensors):
    return {**goya(0).state_dict(), **{n.replace("__", "."): t for n, t in tensors.items()}}


@pytest.mark.parametrize(
    ("tensors", "told"),
    [
        (
            changed(style_encoder__fc2__weight=torch.zeros(12, 9)),
            r"fc2.weight: expected shape \[12, 12\], got \[12, 9\]",
        ),
        (
            changed(projector_c__0__weight=torch.zeros(4, 4)),
            r"projector_c.0.weight: expected shape \[8, 8\]",
        ),
        (
            {"weight": torch.zeros(2)},
            "expected the tensors of GOYA, such as 'content_encoder.fc1.weight'",
        ),
    ],
)
@pytest.mark.parametrize("kind", ["safetensors", "pth.tar"])
def test_other_shapes_are_told_in_one_line(tmp_path, tensors, told, kind):
    file = tmp_path / f"heads.{kind}"
    save_file(tensors, file) if kind == "safetensors" else torch.save({"state_dict": tensors}, file)
    with pytest.raises(T2IError, match=told) as error:
        read_heads(str(file))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "told"),
    [(b"no tensors", "cannot be read as tensors"), (b"", "cannot be read as tensors")],
)
@pytest.mark.parametrize("name", ["heads.safetensors", "heads.pth.tar"])
def test_damaged_files_are_told_in_one_line(tmp_path, content, told, name):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(T2IError, match=told) as error:
        read_heads(str(tmp_path / name))
    assert "\n" not in str(error.value)


def test_a_checkpoint_without_names_is_told(tmp_path):
    torch.save([torch.zeros(2)], tmp_path / "list.pth.tar")
    with pytest.raises(T2IError, match="expected named tensors"):
        read_heads(str(tmp_path / "list.pth.tar"))


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("", r"expected NAME\+SPACE"),
        ("reference", r"such as goya:reference\+content, got 'reference'"),
        ("reference+colour", "a space of content, style, projected-content"),
        ("nowhere+content", "heads 'nowhere': expected 'reference', a .safetensors file"),
    ],
)
def test_names_that_are_none(source, told):
    with pytest.raises(T2IError, match=told):
        load(LoadOptions(source=source))


def test_a_folder_without_a_release_says_what_is_missing(tmp_path):
    with pytest.raises(T2IError, match=r"GOYA_content.pth.tar: no such file"):
        read_heads(str(tmp_path))


def test_features_of_another_encoder_are_told(saved):
    with pytest.raises(T2IError, match="take 12 features, got 5: they were trained on another"):
        embedded(saved[0], np.zeros((2, 5), np.float32))


def test_styles_that_are_no_list(tmp_path):
    save_file(goya(0).state_dict(), tmp_path / "h.safetensors", {"styles": json.dumps({"a": 1})})
    with pytest.raises(T2IError, match="styles: expected a list of names"):
        read_heads(str(tmp_path / "h.safetensors"))
