"""Every text-to-image class of diffusers: what it makes of a request, or why it makes nothing."""

from dataclasses import replace

import numpy as np
import pytest
import tiny
import tiny_pipelines
from installed import needs

from pytest_t2i.data import Request
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.generation.model_probe import probed
from pytest_t2i.protocols import LoadOptions

pytestmark = pytest.mark.slow


def load(name: str, **extra: object):
    needs("diffusers")
    from pytest_t2i.adapters.models import diffusers

    folder = tiny.written(tiny_pipelines.PIPELINES[name].write)
    return diffusers.load(LoadOptions(source=str(folder), device="cpu", extra=extra))


def pixels(made):
    return np.asarray(made.image).astype(int)


@pytest.mark.parametrize("name", tiny_pipelines.PIPELINES)
def test_pipeline_makes_the_pictures_of_its_requests(name):
    model, settings = load(name), tiny_pipelines.PIPELINES[name].settings
    requests = [Request("a nurse", 1, settings), Request("a pilot", 2, settings)]
    together = list(model.generate(requests))
    (alone,) = model.generate(requests[1:])
    assert np.abs(pixels(together[1]) - pixels(alone)).max() <= 1
    assert np.abs(pixels(together[0]) - pixels(together[1])).max() > 1
    assert together[0].image.mode == "RGB"
    assert together[0].image.size == (settings.width, settings.height)


@pytest.mark.parametrize("name", tiny_pipelines.PIPELINES)
def test_guidance_changes_pixels_or_is_refused(name):
    model, settings = load(name), tiny_pipelines.PIPELINES[name].settings
    if model.other_guidance(settings) is None:
        with pytest.raises(ConfigurationError, match="guidance"):
            list(model.generate([Request("a nurse", 1, replace(settings, guidance=4.0))]))
        return
    low, high = (
        pixels(next(iter(model.generate([Request("a nurse", 1, replace(settings, guidance=g))]))))
        for g in (1.5, 12.0)
    )
    assert np.abs(low - high).max() > 0


@pytest.mark.parametrize("name", tiny_pipelines.PIPELINES)
def test_probe_finds_no_fault(name):
    probe = probed(load(name), tiny_pipelines.PIPELINES[name].settings)
    assert probe.faults == ()


def test_a_probe_names_a_guidance_without_effect():
    model = load("QwenImagePipeline")
    settings = tiny_pipelines.PIPELINES["QwenImagePipeline"].settings
    model._calls.pipeline.transformer.forward = lambda **kwargs: (kwargs["hidden_states"],)
    probe = probed(model, settings)
    assert probe.guidance == 0
    assert probe.faults == ("guidance has no effect: pictures with another guidance are equal",)
