"""Word attention: of every family, adding up, where its word is; and no pixel changes by it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import tiny
import torch

from pytest_t2i.adapters.devices import memory_guard
from pytest_t2i.adapters.models.attention import (
    Sums,
    _laid_out,
    _shape,
    observed,
    token_places,
    word_maps,
)
from pytest_t2i.adapters.models.diffusers import load
from pytest_t2i.adapters.models.prompt_embeddings import family_of
from pytest_t2i.data import ATTENTION, GenerationSettings, Request
from pytest_t2i.prompts.words_in_prompts import attention_words
from pytest_t2i.protocols import LoadOptions

pytestmark = pytest.mark.slow

PROMPT = "a photo of a nurse with a hat"
SETTINGS = GenerationSettings(steps=2, width=32, height=48)
families = pytest.mark.parametrize("family", tiny.FAMILIES, ids=lambda one: one.name)


def model_of(family):
    return load(LoadOptions(source=str(tiny.written(family.write)), device="cpu"))


@families
def test_switching_it_on_changes_no_pixel(family):
    model = model_of(family)
    plain = [Request(PROMPT, seed, SETTINGS) for seed in range(2)]
    watched = [replace(request, observe=frozenset({ATTENTION})) for request in plain]
    without, with_it = model.generate(plain), model.generate(watched)
    for a, b in zip(without, with_it, strict=True):
        assert np.array_equal(np.asarray(a.image), np.asarray(b.image))
        assert a.trace.attention is None
        assert b.trace.attention.shape == (len(attention_words(PROMPT)), 12, 8)
        assert np.isfinite(b.trace.attention.astype(float)).all()
    # A picture alone, and beside others, was looked at alike.
    (alone,) = model.generate(watched[:1])
    np.testing.assert_allclose(alone.trace.attention, with_it[0].trace.attention, atol=1e-3)
    # Nothing of it stays behind.
    network = getattr(model.pipeline, "unet", None) or model.pipeline.transformer
    assert not [p for p in network.attn_processors.values() if hasattr(p, "sums")]


@families
def test_attention_adds_up_to_what_looks_at_texts(family):
    model = model_of(family)
    with memory_guard("testing"), observed(model.pipeline, 1) as sums:
        model.pipeline(PROMPT, num_inference_steps=2, width=32, height=32, output_type="latent")
    for places, heads in sums.counted.items():
        total = sum(maps for (size, *_), maps in sums.by_map.items() if size == places)
        looked = (total.sum(dim=1) / heads).numpy()
        if family.name.startswith("stable-diffusion-3") or family.name == "flux":
            assert (looked < 1).all()
            assert (looked > 0).all()
        else:
            np.testing.assert_allclose(looked, 1.0, atol=1e-4)


@families
def test_tokens_of_a_word_are_told_by_the_tokenizers(family):
    pipeline = model_of(family).pipeline
    layout = family_of(pipeline)
    nurse, hat = (token_places(pipeline, layout, PROMPT, word) for word in ("nurse", "hat"))
    assert nurse
    assert hat
    assert set(nurse).isdisjoint(hat)
    assert len(token_places(pipeline, layout, "a hat and a hat", "hat")) == 2 * len(hat)
    assert token_places(pipeline, layout, PROMPT, "umbrella") == []


def test_maps_have_the_shape_of_the_picture():
    assert _shape(96, 32 / 48) == (12, 8)
    assert _shape(64, 1.0) == (8, 8)
    assert _shape(4096, 2.0) in {(32, 128), (64, 64)}
    sums = Sums(1)
    fine, coarse = torch.zeros(1, 2, 64), torch.ones(1, 2, 1)
    sums.by_map = {(64, "fine", 0): fine, (1, "coarse", 0): coarse}
    sums.counted = {64: 2, 1: 1}
    # A single place says nothing of where.
    assert float(_laid_out(sums, (16, 16)).max()) == 0.0
    sums.by_map[16, "middle", 0] = torch.ones(1, 2, 16)
    sums.counted[16] = 2
    assert float(_laid_out(sums, (16, 16)).mean()) == pytest.approx(0.25)


def test_each_head_is_resized_and_clamped_by_itself():
    sums = Sums(1)
    fine = torch.zeros(1, 1, 64)
    # Bicubic interpolation overshoots below zero beside a peak, and above zero beside a hole.
    peak, hole = torch.zeros(1, 1, 16), torch.ones(1, 1, 16)
    peak[..., 5], hole[..., 5] = 1.0, 0.0
    sums.by_map = {(64, "a", 0): fine, (16, "b", 0): peak, (16, "b", 1): hole}
    sums.counted = {64: 1, 16: 2}
    size = {"size": (8, 8), "mode": "bicubic"}
    apart = [
        torch.nn.functional.interpolate(x.reshape(1, 1, 4, 4), **size).clamp(min=0)
        for x in (peak, hole)
    ]
    torch.testing.assert_close(_laid_out(sums, (8, 8)), (apart[0] + apart[1]) / 3)
    together = torch.nn.functional.interpolate((peak + hole).reshape(1, 1, 4, 4), **size)
    assert not torch.allclose(together.clamp(min=0), apart[0] + apart[1])


def test_a_word_that_was_cut_off_was_looked_at_nowhere(monkeypatch):
    from pytest_t2i.adapters.models import attention

    sums = Sums(1)
    sums.by_map, sums.counted = {(16, "", 0): torch.rand(1, 3, 16)}, {16: 1}
    spots = {"hat": [1, 2], "a": [0], "nurse": []}
    monkeypatch.setattr(attention, "token_places", lambda p, f, prompt, word: spots[word])
    (maps,) = word_maps(sums, None, None, ["a nurse a hat"], (8, 8))
    assert maps.shape == (3, 4, 4)
    assert not maps[1].any()
    expected = sums.by_map[16, "", 0][0, 1:].mean(dim=0).reshape(4, 4).half().numpy()
    np.testing.assert_array_equal(maps[2], expected)


def test_a_pipeline_without_cross_attention_shows_none():
    class Blind:
        unet = None
        transformer = None

    with observed(Blind(), 1) as sums:
        assert sums is None
