"""The thesis' three, in the smallest real pipelines of SD3 and SD3.5."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytestmark = pytest.mark.slow
torch = pytest.importorskip("torch")
pytest.importorskip("diffusers")
tiny = pytest.importorskip("tiny", reason="stands in the tests of the repository")

import joint_attention_reference as reference
from pytest_t2i.adapters.mitigations import Mitigated, load_mitigation
from pytest_t2i.adapters.models.diffusers import load
from pytest_t2i.adapters.registry import Registry
from pytest_t2i.data import (
    ALL_VELOCITIES,
    ATTENTION,
    FINAL_LATENT,
    VELOCITY,
    Attribute,
    GenerationSettings,
    Request,
    spi_name,
)
from pytest_t2i.errors import ConfigurationError, T2IError
from pytest_t2i.protocols import LoadOptions

from pytest_t2i_mitigation.interpolation import mitigations
from pytest_t2i_mitigation.interpolation.attention import Interpolating

ALL = {
    one.name: one
    for one in (
        mitigations.TextInterpolation,
        mitigations.PreAttentionInterpolation,
        mitigations.PostAttentionInterpolation,
    )
}
ATTENTION_ONES = [name for name, one in ALL.items() if one.where]
WRITERS = {"sd3": tiny.write_stable_diffusion_3, "sd3.5": tiny.write_stable_diffusion_3_5}
NEUTRAL, WOMAN, MAN = "a person at work", "a woman at work", "a man at work"


class Shades:
    """An encoder that tells pictures apart by their pixels."""

    fingerprint = "shades"

    def encode(self, images):
        return np.stack([np.asarray(i, np.float32)[::8, ::8].ravel() - 127.0 for i in images])


@pytest.fixture(scope="module", params=WRITERS)
def model(request, tmp_path_factory):
    return loaded(WRITERS[request.param](tmp_path_factory.mktemp("flow")))


def loaded(folder):
    return load(LoadOptions(source=str(folder), device="cpu", dtype="float32"))


def settings(steps=5, guidance=3.0):
    return GenerationSettings(steps=steps, guidance=guidance, width=32, height=32)


def named(asked):
    return load_mitigation(Registry("mitigation", ALL), asked)


def around(model, asked):
    return Mitigated(model, named(asked), Shades)


def requests(mitigated, count=5, texts=(WOMAN, MAN), how=None, **more):
    variation = mitigated.named.variation(texts)
    how = how or settings()
    return [Request(NEUTRAL, seed, how, variation=variation, **more) for seed in range(count)]


def levels(made):
    return np.stack([np.asarray(one.image, np.int16) for one in made])


def pixels(made):
    return [np.asarray(one.image).tobytes() for one in made]


def plain(model, text, count=5, how=None):
    return pixels(model.generate([Request(text, k, how or settings()) for k in range(count)]))


@pytest.mark.parametrize("guidance", [1.0, 3.0])
@pytest.mark.parametrize("name", ALL)
def test_weights_0_and_1_give_the_pictures_of_the_endpoints(model, name, guidance):
    how = settings(guidance=guidance)
    for weight, text in ((0, MAN), (1, WOMAN)):
        mitigated = around(model, f"{name}:weight={weight}")
        made = levels(mitigated.generate(requests(mitigated, how=how)))
        asked = [Request(text, k, how) for k in range(len(made))]
        # Other numbers of rows may be summed up in another order: the last bit of a level.
        assert np.abs(made - levels(model.generate(asked))).max() <= 1
    between = around(model, f"{name}:weight=0.5")
    made = set(pixels(between.generate(requests(between, how=how))))
    assert not made & {*plain(model, MAN, how=how), *plain(model, WOMAN, how=how)}


@pytest.mark.parametrize("asked", [*ALL, *(f"{name}:mode=path,k=4,n=3" for name in ALL)])
def test_equal_counterparts_give_the_picture_of_that_text(model, asked):
    mitigated = around(model, asked)
    asked_for = requests(mitigated, texts=(WOMAN, WOMAN))
    assert pixels(mitigated.generate(asked_for)) == plain(model, WOMAN)


@pytest.mark.parametrize("guidance", [1.0, 3.0])
@pytest.mark.parametrize("name", ALL)
def test_velocities_are_those_of_the_equations(model, name, guidance):
    weight, warm_up, steps = 0.3, 2, 5
    share = 1.0 if name == "text-interpolation" else warm_up / steps
    mitigated = around(model, f"{name}:weight={weight},warm_up={share}")
    given = []
    network = model.pipeline.transformer
    handle = network.register_forward_hook(lambda _m, _a, out: given.append(out[0]))
    how = settings(steps, guidance)
    list(mitigated.generate(requests(mitigated, count=2, how=how)))
    handle.remove()
    assert len(given) == steps
    expected = from_equations(model.pipeline, how, weight, warm_up, ALL[name].where)
    for mine, theirs in zip(given, expected, strict=True):
        # Row 1, with seed 1: without the text first where there is guidance.
        own = torch.stack([mine[k] for k in range(1, len(mine), 2)])
        torch.testing.assert_close(own, theirs, rtol=1e-5, atol=1e-5)


@torch.no_grad()
def from_equations(pipeline, how, weight, warm_up, where):
    """Each step's predictions of the picture with seed 1, by Euler steps for m, n and f."""
    network, guided = pipeline.transformer, how.guidance > 1.0
    encode = {"prompt_2": None, "prompt_3": None, "do_classifier_free_guidance": False}
    told = {k: pipeline.encode_prompt(t, **encode) for k, t in {"m": MAN, "f": WOMAN}.items()}
    tokens, pooled = ({k: told[k][place] for k in "mf"} for place in (0, 2))
    for of in (tokens, pooled):
        of["n"] = (1 - weight) * of["m"] + weight * of["f"]
    nothing = pipeline.encode_prompt("", **encode)
    pipeline.scheduler.set_timesteps(how.steps)
    noise = torch.randn((1, 4, 16, 16), generator=torch.Generator().manual_seed(1))
    latents, made = dict.fromkeys("mnf", noise), []
    for step, at in enumerate(pipeline.scheduler.timesteps):
        apply = where if step < warm_up else None
        with_text = reference.velocities(network, latents, tokens, pooled, at, weight, apply)
        empty = [dict.fromkeys("mnf", nothing[place]) for place in (0, 2)]
        without = reference.velocities(network, latents, *empty, at, weight, None)
        made.append(torch.cat([without["n"], with_text["n"]] if guided else [with_text["n"]]))
        wide = pipeline.scheduler.sigmas[step + 1] - pipeline.scheduler.sigmas[step]
        for k, v in with_text.items():
            velocity = without[k] + how.guidance * (v - without[k]) if guided else v
            latents[k] = latents[k] + wide * velocity
    return made


@pytest.mark.parametrize("asked", [*ALL, "post-attention-interpolation:mode=path,k=4,n=3"])
def test_the_same_picture_alone_in_batches_and_in_another_order(model, asked):
    mitigated = around(model, asked)
    asked_for = requests(mitigated, count=32)
    whole = levels(mitigated.generate(asked_for))
    assert len({one.tobytes() for one in whole}) == 32
    # Rows of several texts round alike on some processors and not on others.
    alone = [levels(mitigated.generate([one])) for one in asked_for[:4]]
    assert np.abs(np.concatenate(alone) - whole[:4]).max() <= 1
    fives = [levels(mitigated.generate(asked_for[k : k + 5])) for k in range(0, 32, 5)]
    assert np.abs(np.concatenate(fives) - whole).max() <= 1
    assert np.abs(levels(mitigated.generate(asked_for[::-1]))[::-1] - whole).max() <= 1


def test_a_lone_picture_without_guidance_is_the_same_too(model):
    how = settings(guidance=1.0)
    for asked in (*ALL, "pre-attention-interpolation:mode=path,k=4,n=3,keep=yes"):
        mitigated = around(model, asked)
        asked_for = requests(mitigated, count=5, how=how)
        whole = pixels(mitigated.generate(asked_for))
        assert [pixels(mitigated.generate([one]))[0] for one in asked_for] == whole


def rows(model, make):
    """Rows that went through the first block."""
    counted = []
    block = model.pipeline.transformer.transformer_blocks[0]
    hook = lambda _module, _args, kwargs: counted.append(len(kwargs["hidden_states"]))
    handle = block.register_forward_pre_hook(hook, with_kwargs=True)
    list(make())
    handle.remove()
    return sum(counted)


@pytest.mark.parametrize("guidance", [1.0, 3.0])
@pytest.mark.parametrize(
    "asked",
    [
        *ALL,
        *(f"{name}:mode=path" for name in ALL),
        "post-attention-interpolation:mode=path,k=5,n=3,warm_up=0.5",
        "pre-attention-interpolation:mode=path,keep=yes",
    ],
)
def test_it_takes_as_many_passes_as_it_says(model, asked, guidance):
    how = settings(steps=6, guidance=guidance)
    mitigated = around(model, asked)
    asked_for = requests(mitigated, count=3, how=how)
    bare = rows(model, lambda: model.generate([replace(r, variation=None) for r in asked_for]))
    took = rows(model, lambda: mitigated.generate(asked_for))
    of = mitigated.named.mitigation
    assert took == pytest.approx(bare * of.passes_with(how))
    if "keep" in asked:
        assert took == 7 * bare


@pytest.mark.parametrize("name", ALL)
def test_the_costs_of_the_thesis(name):
    # 2 endpoints, and 5 pictures that attend to both for 5 of 28 steps: 246 passes.
    how = GenerationSettings(steps=28, guidance=1.0)
    path, single = (named(f"{name}:mode={mode}").mitigation for mode in ("path", "single"))
    expected = (7.0, 1.0) if name == "text-interpolation" else (246 / 28, 38 / 28)
    assert (path.passes_with(replace(how, guidance=1.0)), single.passes) == expected


def test_path_with_kept_keys_finds_what_it_finds_without(model):
    found = []
    for keep in ("no", "yes"):
        mitigated = around(model, f"post-attention-interpolation:mode=path,keep={keep}")
        (request,) = requests(mitigated, count=1)
        mitigation = mitigated.named.mitigation.seeing(Shades())
        with mitigation.applied(model.pipeline, [request]) as searches:
            list(model.generate([replace(request, variation=None)]))
        found.append(searches[0])
    assert found[0].weights == pytest.approx(found[1].weights, abs=1e-3)
    assert found[0].path == found[1].path


@pytest.mark.parametrize("name", ALL)
def test_the_search_goes_from_the_masculine_to_the_feminine_picture(model, name):
    mitigated = around(model, f"{name}:mode=path")
    asked_for = requests(mitigated, count=3)
    mitigation = mitigated.named.mitigation.seeing(Shades())
    with mitigation.applied(model.pipeline, asked_for) as searches:
        made = pixels(model.generate([replace(one, variation=None) for one in asked_for]))
    men, women = plain(model, MAN, 3), plain(model, WOMAN, 3)
    for one, picture, man, woman in zip(searches, made, men, women, strict=True):
        shown = [np.asarray(image).tobytes() for image in one.pictures]
        assert (shown[0], shown[-1]) == (man, woman)
        assert list(one.weights) == sorted(one.weights)
        assert (one.weights[0], one.weights[-1], len(one.weights)) == (0.0, 1.0, 7)
        assert len(one.path) == 5
        assert one.chosen in one.path[1:-1]
        assert shown[one.chosen] == picture
        assert 0.0 < one.smoothness <= 1.0
        assert one.consistency > 0.0
        np.testing.assert_allclose(one.distances, one.distances.T)


def test_a_perceptual_distance_is_the_square_of_that_of_features(model):
    class Perceptual(Shades):
        squared = True

    mitigated = around(model, "text-interpolation:mode=path")
    (request,) = requests(mitigated, count=1)
    mitigation = mitigated.named.mitigation.seeing(Perceptual())
    with mitigation.applied(model.pipeline, [request]) as searches:
        list(model.generate([replace(request, variation=None)]))
    (search,) = searches
    seen = Shades().encode(search.pictures).astype(np.float64)
    squares = ((seen[:, None] - seen[None]) ** 2).sum(axis=-1)
    np.testing.assert_allclose(search.distances, squares, rtol=1e-9)


@pytest.mark.parametrize("asked", [*ALL, "pre-attention-interpolation:mode=path"])
def test_the_pipeline_is_as_it_was_also_after_an_exception(model, asked):
    network = model.pipeline.transformer
    before = plain(model, NEUTRAL)
    processors = dict(network.attn_processors)
    mitigated = around(model, asked)
    list(mitigated.generate(requests(mitigated)))
    with (
        pytest.raises(LookupError, match="halfway"),
        mitigated.named.mitigation.applied(model.pipeline, requests(mitigated)),
    ):
        raise LookupError("halfway")
    broken = network.transformer_blocks[0].register_forward_hook(lambda *_: 1 / 0)
    with pytest.raises(T2IError, match="ZeroDivisionError"):
        list(mitigated.generate(requests(mitigated)))
    broken.remove()
    assert dict(network.attn_processors) == processors
    assert not any(isinstance(p, Interpolating) for p in processors.values())
    assert "forward" not in network.__dict__
    assert plain(model, NEUTRAL) == before


def test_plain_pictures_and_those_of_other_settings_stay_themselves_beside(model):
    mitigated = around(model, "post-attention-interpolation")
    one, other = requests(mitigated, 2)
    longer = replace(other, settings=settings(steps=6))
    bare = Request(WOMAN, 3, settings())
    mixed = pixels(mitigated.generate([one, bare, longer]))
    alone = [pixels(mitigated.generate([each]))[0] for each in (one, bare, longer)]
    assert mixed == alone


@pytest.mark.parametrize("name", ALL)
def test_traces_are_those_of_the_mitigated_picture(model, name):
    hat = Attribute("hat", "a man with a hat", "a man")
    watched = {"observe": frozenset({VELOCITY, ALL_VELOCITIES, FINAL_LATENT, ATTENTION})}
    mitigated = around(model, f"{name}:weight=0")
    made = list(mitigated.generate(requests(mitigated, 2, attributes=(hat,), **watched)))
    asked = [Request(MAN, k, settings(), attributes=(hat,), **watched) for k in range(2)]
    for mine, theirs in zip(made, model.generate(asked), strict=True):
        assert mine.trace.attention is None
        np.testing.assert_array_equal(mine.trace.final_latent, theirs.trace.final_latent)
        np.testing.assert_array_equal(mine.trace.velocities, theirs.trace.velocities)
        hats = (one.trace.spi[spi_name(hat)] for one in (mine, theirs))
        np.testing.assert_allclose(*hats, rtol=1e-5)


def test_a_warm_up_of_no_step_is_one_line(model):
    mitigated = around(model, "pre-attention-interpolation")
    with pytest.raises(ConfigurationError, match=r"0\.2 of 4 steps comes to 0 steps"):
        list(mitigated.generate(requests(mitigated, how=settings(steps=4))))


def test_path_without_an_encoder_is_one_line(model):
    mitigated = Mitigated(model, named("text-interpolation:mode=path"))
    with pytest.raises(T2IError, match="compares pictures, and was given no encoder"):
        list(mitigated.generate(requests(mitigated)))


def test_a_processor_of_another_kind_is_one_line(model):
    network = model.pipeline.transformer
    before = dict(network.attn_processors)
    network.set_attn_processor(lambda *_: None)
    mitigated = around(model, "pre-attention-interpolation")
    with pytest.raises(T2IError, match="for JointAttnProcessor2_0 only, but transformer_b"):
        list(mitigated.generate(requests(mitigated)))
    network.set_attn_processor(before)


def test_too_little_memory_is_one_line(model, monkeypatch):
    monkeypatch.setattr("pytest_t2i_mitigation.interpolation.pictures._free", lambda _: 1000)
    mitigated = around(model, "pre-attention-interpolation:mode=path,keep=yes")
    with pytest.raises(T2IError, match=r"keep=yes needs 0\.0 GiB for keys and values"):
        list(mitigated.generate(requests(mitigated)))


def test_a_unet_is_told_what_fits(tmp_path):
    model = loaded(tiny.write_stable_diffusion(tmp_path))
    with pytest.raises(
        ConfigurationError,
        match=r"'attention' of StableDiffusion3Pipeline: it does not fit a StableDiffusionPipeline",
    ):
        around(model, "post-attention-interpolation")
