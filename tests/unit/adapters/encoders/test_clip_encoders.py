"""CLIP through transformers and open_clip, on tiny random models loaded as real ones are."""

from __future__ import annotations

import numpy as np
import pytest
import tiny
import torch
from PIL import Image
from transformers import CLIPModel

from pytest_t2i.adapters.encoders import clip, open_clip
from pytest_t2i.adapters.encoders.routing import is_open_clip, load_contrastive
from pytest_t2i.adapters.picture_files import PictureMemory
from pytest_t2i.errors import ModelLoadError, UnknownNameError
from pytest_t2i.protocols import Encoder, LoadOptions, TextEncoder

pytestmark = pytest.mark.slow

LIBRARIES = [
    pytest.param(clip, tiny.write_clip, id="transformers"),
    pytest.param(open_clip, tiny.write_open_clip, id="open_clip"),
]


def load(library, write, seed=0):
    return library.load(LoadOptions(source=str(tiny.written(write, seed)), device="cpu"))


def noise(seed: int, size=(40, 32)) -> Image.Image:
    rng = np.random.default_rng(seed)
    return Image.fromarray(rng.integers(0, 256, (size[1], size[0], 3), dtype=np.uint8))


@pytest.mark.parametrize(("library", "write"), LIBRARIES)
def test_features(library, write):
    encoder = load(library, write)
    assert isinstance(encoder, Encoder)
    assert isinstance(encoder, TextEncoder)
    features = encoder.encode([noise(1), noise(2), noise(1)])
    assert features.shape == (3, tiny.TEXT_WIDTH)
    assert features.dtype == np.float32
    np.testing.assert_array_equal(features[0], features[2])
    assert not np.allclose(features[0], features[1])
    texts = encoder.encode_text(["a photo of a male", "a photo of a female"])
    assert texts.shape == (2, tiny.TEXT_WIDTH)
    assert encoder.encode([]).shape[0] == 0


@pytest.mark.parametrize(("library", "write"), LIBRARIES)
def test_one_model_per_weights_and_one_encoding_per_picture(library, write, monkeypatch):
    encoder = load(library, write)
    assert load(library, write) is encoder
    seen: list[int] = []
    inner = encoder._encode_images
    monkeypatch.setattr(
        encoder, "_encode_images", lambda images: (seen.append(len(images)), inner(images))[1]
    )
    encoder.encode([noise(11), noise(12)])
    encoder.encode([noise(12), noise(13), noise(11)])
    assert seen == [2, 1]


@pytest.mark.parametrize(("library", "write"), LIBRARIES)
def test_fingerprint_follows_the_weights(library, write):
    assert load(library, write).fingerprint != load(library, write, seed=1).fingerprint


def test_memory_of_pictures_is_bounded(monkeypatch):
    encoder = load(clip, tiny.write_clip)
    monkeypatch.setattr(encoder, "_pictures", PictureMemory(2))
    encoder.encode([noise(k) for k in range(20, 25)])
    assert len(encoder._pictures) == 2


def test_agrees_with_transformers_itself():
    folder = tiny.written(tiny.write_clip)
    picture = noise(3, (32, 32))
    model = CLIPModel.from_pretrained(folder)
    pixels = torch.tensor(np.asarray(picture) / 127.5 - 1).permute(2, 0, 1)[None].float()
    tokens = tiny.clip_tokenizer()(["a nurse"], return_tensors="pt")
    with torch.no_grad():
        output = model(pixel_values=pixels, **tokens)
    encoder = load(clip, tiny.write_clip)
    cosine = encoder.similarities([picture], ["a nurse"])
    np.testing.assert_allclose(
        cosine[0, 0] * encoder.logit_scale, output.logits_per_image.item(), rtol=1e-4
    )


def test_long_texts_are_cut():
    assert load(clip, tiny.write_clip).encode_text(["long " * 90]).shape == (1, tiny.TEXT_WIDTH)


def test_folder_that_is_no_clip(tmp_path):
    with pytest.raises(ModelLoadError, match=r"no config.json"):
        clip.load(LoadOptions(source=str(tmp_path), device="cpu"))
    with pytest.raises(ModelLoadError, match="no such folder"):
        clip.load(LoadOptions(source="/no/such/clip", device="cpu"))


def test_unknown_open_clip_names_list_the_known():
    with pytest.raises(UnknownNameError, match="ViT-B-32"):
        open_clip.load(LoadOptions(source="ViT-B-33/openai", device="cpu"))
    with pytest.raises(UnknownNameError, match="laion2b_s34b_b79k"):
        open_clip.load(LoadOptions(source="ViT-B-32/laion2b", device="cpu"))


def test_names_lead_to_their_library():
    assert is_open_clip("ViT-B-32/laion2b_s34b_b79k")
    assert not is_open_clip("openai/clip-vit-large-patch14")
    assert not is_open_clip("")
    for library, write in ((clip, tiny.write_clip), (open_clip, tiny.write_open_clip)):
        options = LoadOptions(source=str(tiny.written(write)), device="cpu")
        assert load_contrastive(options) is library.load(options)
