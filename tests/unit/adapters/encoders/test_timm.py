"""Networks of timm: pooled features, classes, patches; and what cannot be had."""

from __future__ import annotations

import numpy as np
import pytest
import tiny
from installed import needs
from PIL import Image

needs("timm")

from pytest_t2i.adapters.encoders.timm import load
from pytest_t2i.errors import ConfigurationError, ModelLoadError, UnknownNameError
from pytest_t2i.protocols import Encoder, LoadOptions

pytestmark = pytest.mark.slow

PICTURES = [
    Image.fromarray(np.random.default_rng(k).integers(0, 256, (40, 40, 3), np.uint8))
    for k in range(3)
]


def encoder(suffix="", write=tiny.write_timm_vit):
    return load(LoadOptions(source=f"{tiny.written(write)}{suffix}", device="cpu"))


def test_a_network_gives_what_it_was_trained_to_give():
    vit = encoder()
    assert isinstance(vit, Encoder)
    assert vit.encode(PICTURES).shape == (3, 16)
    assert encoder(write=tiny.write_timm_resnet).encode(PICTURES).shape == (3, 5)


def test_patches_are_those_of_the_picture():
    features = encoder("+patches").encode(PICTURES)
    assert features.shape == (3, 16, 16)
    assert encoder("+patches").fingerprint != encoder().fingerprint


def test_the_order_plays_no_part():
    np.testing.assert_allclose(
        encoder().encode(PICTURES)[::-1], encoder().encode(PICTURES[::-1]), atol=1e-6
    )


def test_a_network_without_patches_is_refused():
    with pytest.raises(ConfigurationError, match="a network without patches"):
        encoder("+patches", tiny.write_timm_resnet)


def test_absent_weights_are_told(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(UnknownNameError, match="vit_small"):
        load(LoadOptions(source="vit_smal_patch16_224.dino", device="cpu"))
    with pytest.raises(ModelLoadError, match=r"config\.json"):
        load(LoadOptions(source=str(tmp_path), device="cpu"))
    with pytest.raises(ModelLoadError, match="no such folder"):
        load(LoadOptions(source=str(tmp_path / "absent"), device="cpu"))
