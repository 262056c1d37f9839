"""What only a CUDA device shows; skipped where there is none."""

from __future__ import annotations

import numpy as np
import pytest
import tiny
import torch

from pytest_t2i.adapters.models import diffusers as adapter
from pytest_t2i.data import GenerationSettings, Request
from pytest_t2i.errors import OutOfDeviceMemoryError
from pytest_t2i.protocols import LoadOptions

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]

FAMILIES = [pytest.param(family, id=family.name) for family in tiny.FAMILIES]
SETTINGS = GenerationSettings(steps=2, width=32, height=32)
REQUESTS = [Request("a nurse", k, SETTINGS, frozenset({"final_latent"})) for k in range(4)]


def load(family, **options):
    return adapter.load(LoadOptions(source=str(tiny.written(family.write)), **options))


@pytest.mark.parametrize("family", FAMILIES)
def test_half_precision_by_default(family):
    model = load(family)
    assert model.provenance["device"] == "cuda"
    assert model.provenance["dtype"] in {"float16", "bfloat16"}
    assert all(made.image.size == (32, 32) for made in model.generate(REQUESTS))


@pytest.mark.parametrize("family", FAMILIES)
def test_noise_is_that_of_the_cpu(family):
    on_cpu = load(family, device="cpu").generate(REQUESTS)
    on_gpu = load(family, device="cuda", dtype="float32").generate(REQUESTS)
    for a, b in zip(on_cpu, on_gpu, strict=True):
        # TF32 keeps three digits, and latents of random weights reach 125.
        largest = np.abs(a.trace.final_latent).max()
        np.testing.assert_allclose(
            b.trace.final_latent, a.trace.final_latent, rtol=0, atol=0.01 * largest
        )


def test_out_of_memory_is_told_apart():
    huge = GenerationSettings(steps=1, width=2**15, height=2**15)
    with pytest.raises(OutOfDeviceMemoryError):
        load(tiny.FAMILIES[0]).generate([Request("a nurse", k, huge) for k in range(8)])
