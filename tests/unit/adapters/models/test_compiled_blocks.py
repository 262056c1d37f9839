"""Compiled blocks and fused projections draw the same pictures, or are refused with the reason.

The backend is torch's "eager", which traces the blocks and compiles nothing.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
import tiny
import torch

from pytest_t2i.adapters.models import diffusers as adapter
from pytest_t2i.adapters.models import pipelines
from pytest_t2i.data import ATTENTION, VELOCITY, Attribute, GenerationSettings, Request
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.protocols import LoadOptions

pytestmark = pytest.mark.slow

SETTINGS = GenerationSettings(steps=2, width=32, height=32)
COMPILED = [
    pytest.param(write, id=write.__name__)
    for write in (tiny.write_stable_diffusion, tiny.write_stable_diffusion_xl, tiny.write_flux)
]


@pytest.fixture(autouse=True)
def eager(monkeypatch):
    monkeypatch.setattr(pipelines, "BACKEND", "eager")
    yield
    torch.compiler.reset()


def load(write, **extra):
    return adapter.load(LoadOptions(source=str(tiny.written(write)), device="cpu", extra=extra))


def requests(count, **observed):
    return [
        Request(f"a photo of a nurse {k % 2}", 7 + k, SETTINGS, **observed) for k in range(count)
    ]


def pixels(pictures):
    return np.stack([np.asarray(picture.image).astype(int) for picture in pictures])


@pytest.mark.parametrize("write", COMPILED)
def test_compiled_blocks_draw_the_same_pictures_under_another_fingerprint(write):
    plain, compiled = load(write), load(write, compile=True)
    drawn = pixels(compiled.generate(requests(3)))
    assert abs(drawn - pixels(plain.generate(requests(3)))).max() <= 1
    assert abs(drawn[:1] - pixels(compiled.generate(requests(1)))).max() <= 1
    assert compiled.provenance["compiled"] == "repeated blocks, fused projections"
    assert "compiled" not in plain.provenance
    assert compiled.fingerprint != plain.fingerprint
    assert compiled.fingerprint_uncompiled == plain.fingerprint
    assert compiled.compile_seconds > 0 == plain.compile_seconds


def test_threads_share_compiled_blocks():
    model = load(tiny.write_stable_diffusion, compile=True)
    parts = [requests(4)[:2], requests(4)[2:]]
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda lane, part: lane.generate(part), model.lanes(2), parts))
    alone = load(tiny.write_stable_diffusion, compile=True).generate(requests(4))
    assert abs(pixels([*both[0], *both[1]]) - pixels(alone)).max() <= 1


def test_velocities_of_compiled_blocks_are_those_of_the_plain_ones_and_change_no_picture():
    observed = {
        "observe": frozenset({VELOCITY}),
        "attributes": (Attribute("old", "an old person", "a young person"),),
    }
    plain, compiled = load(tiny.write_flux), load(tiny.write_flux, compile=True)
    of_plain, of_compiled = (m.generate(requests(2, **observed)) for m in (plain, compiled))
    assert abs(pixels(of_compiled) - pixels(compiled.generate(requests(2)))).max() == 0
    for one, other in zip(of_plain, of_compiled, strict=True):
        for name, array in one.trace.spi.items():
            assert np.allclose(array, other.trace.spi[name], atol=1e-3, equal_nan=True)


def test_attention_of_compiled_blocks_is_refused():
    model = load(tiny.write_stable_diffusion, compile=True)
    with pytest.raises(ConfigurationError, match="attention cannot be observed in compiled blocks"):
        model.generate(requests(1, observe=frozenset({ATTENTION})))


def test_a_class_without_repeated_blocks_is_refused():
    with pytest.raises(
        ConfigurationError, match=r"SD3Transformer2DModel has none in diffusers 0\."
    ):
        load(tiny.write_stable_diffusion_3, compile=True)
    with pytest.raises(ConfigurationError, match="SimpleNamespace, whose parts have none"):
        pipelines.compile_blocks(SimpleNamespace(), torch.device("cpu"))


def test_a_machine_without_a_compiler_is_told_of(monkeypatch):
    def fail(*_):
        raise RuntimeError("No working C++ compiler found in ('g++',)\nand much more")

    monkeypatch.setattr(pipelines, "BACKEND", fail)
    with pytest.raises(
        ConfigurationError, match=r"No working C\+\+ compiler.*such as g\+\+"
    ) as told:
        load(tiny.write_stable_diffusion, compile=True)
    assert "much more" not in str(told.value)


def test_fused_weights_that_nothing_reads_are_taken_back():
    import tiny_pipelines

    model = load(tiny_pipelines.PIPELINES["Krea2Pipeline"].write, compile=True)
    assert model.provenance["compiled"] == "repeated blocks"
    assert not [name for name in model.pipeline.transformer.state_dict() if "to_qkv" in name]
