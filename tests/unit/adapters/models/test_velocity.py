"""Velocities against descriptions: in every family, and by passes of one's own."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import tiny
import torch

from pytest_t2i import metrics
from pytest_t2i.adapters.models.diffusers import load
from pytest_t2i.adapters.models.velocity import Time, _spi, decoded, kind_of
from pytest_t2i.data import (
    ALL_VELOCITIES,
    FORESEEN,
    VELOCITY,
    Attribute,
    GenerationSettings,
    Request,
    spi_name,
)
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.protocols import LoadOptions

pytestmark = pytest.mark.slow

HAT = Attribute("hat", "a man with a hat", "a man")
TURNED = Attribute("turned", "a man", "a man with a hat")
OLD = Attribute("old", "an old man", "a young man")
GUIDED = GenerationSettings(steps=3, guidance=3.0)
SMALL = GenerationSettings(steps=3, width=64, height=64)
ALL = frozenset({VELOCITY, FORESEEN, ALL_VELOCITIES})


def model_of(write):
    return load(LoadOptions(source=str(tiny.written(write)), device="cpu"))


def asked(settings, observe=ALL, seeds=(0, 1), attributes=(HAT, TURNED, OLD)):
    return [Request("a nurse", seed, settings, observe, attributes) for seed in seeds]


@pytest.mark.parametrize("family", tiny.FAMILIES, ids=lambda family: family.name)
def test_every_family_shows_them(family):
    model = model_of(family.write)
    settings = SMALL if family.name == "flux" else GUIDED
    seen = model.generate(asked(settings))
    unseen = model.generate(asked(settings, frozenset()))
    for image, plain in zip(seen, unseen, strict=True):
        assert np.array_equal(np.asarray(image.image), np.asarray(plain.image))
        hat, turned = (image.trace.spi[spi_name(one)] for one in (HAT, TURNED))
        assert hat.shape == (4, 3)
        assert np.array_equal(hat[1:], -turned[1:])
        assert np.all(np.abs(hat[1:3]) <= 1.0)
        assert list(hat[0]) == sorted(hat[0], reverse=True)
        assert len(image.trace.velocities) == len(image.trace.foreseen) == 3
        assert plain.trace.spi == {}
        # The last step leads where it says, up to the noise that is left.
        last = np.asarray(image.trace.foreseen[-1], int) - np.asarray(image.image, int)
        assert np.abs(last).max() <= 1
    alone = model.generate(asked(settings, seeds=(1,)))[0].trace.spi[spi_name(OLD)]
    assert alone == pytest.approx(seen[1].trace.spi[spi_name(OLD)], abs=1e-4)


def test_extra_passes_only_where_they_are_asked_for():
    model = model_of(tiny.write_stable_diffusion_3)
    rows = []
    forward = model.pipeline.transformer.forward

    def counted(*args, **kwargs):
        rows.append(len(kwargs["hidden_states"]))
        return forward(*args, **kwargs)

    model.pipeline.transformer.forward = counted
    settings = GenerationSettings(steps=1, guidance=1.0)
    both = asked(settings, frozenset({VELOCITY}), (0, 1), (HAT,))
    none = asked(settings, frozenset(), (2, 3), ())
    other = asked(settings, frozenset({VELOCITY}), (4, 5), (OLD, HAT))
    made = model.generate([*both, *none, *other])
    # Making two at a time, and of each description one row per image.
    assert sorted(rows) == sorted([2, 2 * 2, 2, 2, 2 * 4])
    assert [set(one.trace.spi) for one in made[::2]] == [
        {spi_name(HAT)},
        set(),
        {spi_name(OLD), spi_name(HAT)},
    ]


@pytest.mark.parametrize("guidance", [1.0, 3.0])
def test_a_flow_by_passes_of_ones_own(guidance):
    """Stable Diffusion 3: the transformer called by hand at each step's latent."""
    model = model_of(tiny.write_stable_diffusion_3)
    settings = GenerationSettings(steps=3, guidance=guidance)
    seen = model.generate(asked(settings, seeds=(5,)))[0].trace
    pipeline, latents = model.pipeline, []
    hook = pipeline.transformer.register_forward_pre_hook(
        lambda module, args, kwargs: latents.append((kwargs["hidden_states"][-1:].clone(),
                                                     kwargs["timestep"][-1:].clone())),
        with_kwargs=True,
    )  # fmt: skip
    model.generate(asked(settings, frozenset(), seeds=(5,)))
    hook.remove()

    def velocities(text):
        plain = {"prompt_2": None, "prompt_3": None, "do_classifier_free_guidance": False}
        embeds, _, pooled, _ = pipeline.encode_prompt(text, **plain)
        with torch.no_grad():
            return np.stack([
                -pipeline.transformer(hidden_states=x, timestep=t, encoder_hidden_states=embeds,
                                      pooled_projections=pooled, return_dict=False)[0][0].numpy()
                for x, t in latents
            ])  # fmt: skip

    prompt, positive, negative = map(velocities, ("a nurse", HAT.positive, HAT.negative))
    without = metrics.spi(prompt, positive, negative)
    assert seen.spi[spi_name(HAT)][2] == pytest.approx(without, abs=1e-4)
    centred = metrics.centred_spi(prompt, positive, negative)
    assert seen.spi[spi_name(HAT)][3] == pytest.approx(centred, abs=1e-4)
    if guidance == 1.0:
        assert seen.spi[spi_name(HAT)][1] == pytest.approx(without, abs=1e-4)
        assert seen.velocities == pytest.approx(prompt, abs=1e-4)
    else:
        empty = velocities("")
        guided = metrics.spi(empty + 3.0 * (prompt - empty), positive, negative)
        assert seen.spi[spi_name(HAT)][1] == pytest.approx(guided, abs=1e-4)


@pytest.mark.parametrize("kind", ["epsilon", "v_prediction", "sample"])
def test_the_flow_of_a_unet_is_one_whatever_it_predicts(kind):
    """dx/dphi of x = cos(phi) x0 + sin(phi) e, taken numerically and turned to the picture."""
    generator = torch.Generator().manual_seed(0)
    clean, noise = torch.randn((2, 1, 4, 2, 2), generator=generator, dtype=torch.float64)
    phi, little = 0.7, 1e-6
    at = lambda angle: np.cos(angle) * clean + np.sin(angle) * noise
    expected = -(at(phi + little) - at(phi - little)) / (2 * little)
    time = Time(kind, float(np.cos(phi)), float(np.sin(phi)))
    told = {"epsilon": noise, "sample": clean,
            "v_prediction": np.cos(phi) * noise - np.sin(phi) * clean}[kind]  # fmt: skip
    moved = time.toward(at(phi), told)
    cosine = torch.nn.functional.cosine_similarity(moved.flatten(), expected.flatten(), dim=0)
    assert float(cosine) == pytest.approx(1.0, abs=1e-9)
    assert torch.allclose(time.clean(at(phi), told), clean)


def test_velocities_that_cannot_be_had(monkeypatch):
    scheduler = SimpleNamespace(config={"prediction_type": "dreams"})
    with pytest.raises(ConfigurationError, match=r"prediction_type='dreams'\) cannot be computed"):
        kind_of(SimpleNamespace(scheduler=scheduler))
    model = model_of(tiny.write_stable_diffusion)
    monkeypatch.setattr(model, "_texts", None)  # models are shared
    with pytest.raises(ConfigurationError, match="StableDiffusionPipeline cannot be observed"):
        model.generate(asked(GUIDED))


class TestDecodingInFloat16:
    """SDXL's own VAE overflows in float16: its pipeline decodes in float32 and so do we."""

    @pytest.fixture
    def decoder(self, monkeypatch):
        """A pipeline whose VAE is in float16, and the dtypes that its decoder was given."""
        pipeline, dtypes = model_of(tiny.write_stable_diffusion_xl).pipeline, []
        vae = tiny.autoencoder(4).eval().half()

        def recorded(module, args):
            dtypes.append((args[0].dtype, next(module.parameters()).dtype))

        vae.decoder.register_forward_pre_hook(recorded)
        monkeypatch.setattr(pipeline, "vae", vae)  # models are shared
        return pipeline, dtypes

    def test_in_float32_and_put_back(self, decoder):
        pipeline, dtypes = decoder
        pictures = decoded(pipeline, torch.randn((3, 4, 16, 16)))
        assert len(pictures) == 3
        assert set(dtypes) == {(torch.float32, torch.float32)}
        assert {value.dtype for value in pipeline.vae.parameters()} == {torch.float16}

    def test_put_back_where_decoding_fails(self, decoder):
        pipeline, dtypes = decoder
        with pytest.raises(RuntimeError):
            decoded(pipeline, torch.randn((1, 5, 16, 16)))
        pipeline.vae.decoder.register_forward_hook(lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            decoded(pipeline, torch.randn((1, 4, 16, 16)))
        assert dtypes == [(torch.float32, torch.float32)]
        assert pipeline.vae.dtype == torch.float16

    def test_as_it_is_where_the_vae_does_not_ask_for_it(self, decoder):
        pipeline, dtypes = decoder
        pipeline.vae.register_to_config(force_upcast=False)
        decoded(pipeline, torch.randn((1, 4, 16, 16)))
        assert dtypes == [(torch.float16, torch.float16)]


def test_descriptions_that_are_read_alike_give_no_number():
    moved, same = torch.ones(2, 1, 4), torch.full((1, 4), 2.0)
    assert torch.isnan(_spi(moved, same, same * (1 + 1e-8))).all()
    assert not torch.isnan(_spi(moved, same, -same)).any()
