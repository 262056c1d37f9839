"""A diffusers pipeline in memory: told apart by its weights, and made no picture twice."""

from __future__ import annotations

import fakes
import pytest
import tiny

from pytest_t2i import audit
from pytest_t2i.library.in_memory import factory_of, name_of_model
from pytest_t2i.protocols import LoadOptions

pytestmark = pytest.mark.slow


@pytest.fixture
def diffusers():
    return pytest.importorskip("diffusers")


@pytest.fixture
def pipeline(diffusers):

    folder = tiny.written(tiny.write_stable_diffusion)
    return diffusers.StableDiffusionPipeline.from_pretrained(folder)


def fingerprint(pipeline):
    return factory_of(pipeline, None)(LoadOptions()).fingerprint


def test_it_is_told_by_weights_and_configuration(pipeline, diffusers):
    first = fingerprint(pipeline)
    assert fingerprint(pipeline) == first
    weight = next(pipeline.unet.parameters())
    weight.data[0] += 1.0
    changed = fingerprint(pipeline)
    assert changed != first
    weight.data[0] -= 1.0
    pipeline.scheduler = diffusers.DDIMScheduler.from_config(pipeline.scheduler.config)
    assert fingerprint(pipeline) not in (first, changed)


def test_pictures_are_made_once(pipeline, tmp_path):
    def run():
        return audit(
            pipeline, "a nurse", images=2, detector=fakes.FakeDetector(), steps=1, size=32,
            store=tmp_path, progress=False,
        )  # fmt: skip

    assert name_of_model(pipeline) == "StableDiffusionPipeline in memory"
    assert run().record.done.made == 2
    assert run().record.done.made == 0
