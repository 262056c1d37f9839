"""Semantic guidance to a drawn gender, in the smallest real pipelines."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

pytestmark = pytest.mark.slow
torch = pytest.importorskip("torch")
pytest.importorskip("diffusers")
tiny = pytest.importorskip("tiny", reason="stands in the tests of the repository")

from pytest_t2i.adapters.mitigations import Mitigated, load_mitigation
from pytest_t2i.adapters.models.diffusers import load
from pytest_t2i.adapters.registry import Registry
from pytest_t2i.data import ALL_VELOCITIES, ATTENTION, FINAL_LATENT, GenerationSettings, Request
from pytest_t2i.errors import ConfigurationError, T2IError
from pytest_t2i.protocols import LoadOptions

from pytest_t2i_mitigation.fair_diffusion import FairDiffusion

WRITERS = {
    "sd": tiny.write_stable_diffusion,
    "xl": tiny.write_stable_diffusion_xl,
    "sd3": tiny.write_stable_diffusion_3,
    "sd3.5": tiny.write_stable_diffusion_3_5,
}
NURSE = "a photo of a nurse"
SCALE = 3.0


@pytest.fixture(scope="module", params=WRITERS)
def model(request, tmp_path_factory):
    return loaded(WRITERS[request.param](tmp_path_factory.mktemp(request.param)))


def loaded(folder):
    return load(LoadOptions(source=str(folder), device="cpu", dtype="float32"))


def settings(steps=4, guidance=SCALE):
    return GenerationSettings(steps=steps, guidance=guidance, width=32, height=32)


def named(asked="fair-diffusion"):
    return load_mitigation(Registry("mitigation", {"fair-diffusion": FairDiffusion}), asked)


def requests(mitigation, count=5, **more):
    variation = mitigation.variation(())
    more = {"settings": settings()} | more
    return [Request(NURSE, seed, variation=variation, **more) for seed in range(count)]


def levels(made):
    return np.stack([np.asarray(one.image, np.int16) for one in made])


def plain(model, count=5, how=None):
    return levels(model.generate([Request(NURSE, k, how or settings()) for k in range(count)]))


def network(model):
    return getattr(model.pipeline, "unet", None) or model.pipeline.transformer


class Passes:
    """Notes arguments and results of every pass, and what the pipeline is given in the end."""

    def __init__(self, model):
        self.module, self.raw, self.given = network(model), [], []

    def __enter__(self):
        self.forward = self.module.forward

        def noted(*args, **kwargs):
            out = self.forward(*args, **kwargs)
            latents = args[0] if args else kwargs["hidden_states"]
            self.raw.append((latents, kwargs, out[0].double().numpy()))
            return out

        self.module.forward = noted
        return self

    def __exit__(self, *error):
        del self.module.forward

    def last(self):
        """A hook that sees what the pipeline is given, if registered last."""
        return self.module.register_forward_hook(
            lambda module, args, out: self.given.append(out[0].double().numpy())
        )


def semantic(passes, feminine, *, scale, threshold, warm_up, momentum, beta):
    """The formula of SEGA by loops over pictures and channels: what is added at each step."""
    n, nu = len(feminine), 0.0
    for step, (main, described) in enumerate(passes):
        gamma = np.zeros_like(main[n:])
        for row in range(n):
            for sign, of in ((1.0, described[row]), (-1.0, described[n + row])):
                psi = sign * (of - main[row])
                for channel, values in enumerate(np.abs(psi)):
                    keep = values >= np.quantile(values, threshold)
                    gamma[row, channel] += np.where(keep, scale * psi[channel], 0.0)
        gamma = gamma + momentum * nu
        nu = beta * nu + (1.0 - beta) * gamma
        yield gamma if step >= warm_up else np.zeros_like(gamma)


def test_what_is_added_is_semantic_guidance(model):
    mitigation = named("fair-diffusion:warm_up=0.3,momentum=0.4,threshold=0.9,scale=2")
    cure, asked = mitigation.mitigation, requests(mitigation)
    bare = [Request(NURSE, seed, settings()) for seed in range(5)]
    with Passes(model) as passes, cure.applied(model.pipeline, asked):
        handle = passes.last()
        list(model.generate(bare))
        handle.remove()
    feminine = [cure.is_feminine(one) for one in asked]
    assert len(set(feminine)) == 2
    raw = [
        (main[2], described[2])
        for main, described in zip(passes.raw[::2], passes.raw[1::2], strict=True)
    ]
    keys = {"scale": 2.0, "threshold": 0.9, "warm_up": 1, "momentum": 0.4, "beta": 0.6}
    added = list(semantic(raw, feminine, **keys))
    assert len(added) == len(passes.given) == 4
    for (main, _), gamma, given in zip(raw, added, passes.given, strict=True):
        np.testing.assert_allclose(given, main + np.concatenate([gamma, gamma]), atol=2e-6)
        text, without = given[5:], given[:5]
        guided = without + SCALE * (text - without)
        expected = main[:5] + SCALE * (main[5:] - main[:5]) + gamma
        np.testing.assert_allclose(guided, expected, atol=1e-5)
    assert not added[0].any()
    assert all(gamma.any() for gamma in added[1:])


def test_the_second_pass_asks_for_the_drawn_description_and_then_the_other(model):
    mitigation = named("fair-diffusion:feminine=a woman,masculine=a man")
    cure, asked = mitigation.mitigation, requests(mitigation)
    with Passes(model) as passes, cure.applied(model.pipeline, asked):
        list(model.generate([Request(NURSE, seed, settings()) for seed in range(5)]))
    texts = {}
    for text in ("a woman", "a man"):
        with Passes(model) as alone:
            list(model.generate([Request(text, 0, settings())]))
        texts[text] = alone.raw[0][1]
    (latents, main, _), (described_latents, described, _) = passes.raw[:2]
    assert torch.equal(described_latents, torch.cat([latents[5:], latents[5:]]))
    for row in range(10):
        feminine = cure.is_feminine(asked[row % 5]) == (row < 5)
        of = texts["a woman" if feminine else "a man"]
        for name in ("encoder_hidden_states", "pooled_projections"):
            if main.get(name) is not None:
                np.testing.assert_allclose(described[name][row], of[name][1], atol=1e-5)
        if main.get("added_cond_kwargs"):
            added, others = described["added_cond_kwargs"], of["added_cond_kwargs"]
            np.testing.assert_allclose(
                added["text_embeds"][row], others["text_embeds"][1], atol=1e-5
            )
            assert torch.equal(added["time_ids"][row], main["added_cond_kwargs"]["time_ids"][5])


def test_the_same_picture_alone_in_batches_and_beside_plain_ones(model):
    mitigation = named()
    mitigated, asked = Mitigated(model, mitigation), requests(mitigation)
    whole = levels(mitigated.generate(asked))
    # Rows of several texts may round otherwise than one, in plain pictures too.
    alone = np.concatenate([levels(mitigated.generate([one])) for one in asked])
    assert np.abs(alone - whole).max() <= 1
    assert np.abs(levels(mitigated.generate(asked[::-1]))[::-1] - whole).max() <= 1
    woman = Request("a photo of a woman", 7, settings())
    mixed = levels(mitigated.generate([*asked[:2], woman, *asked[2:]]))
    assert np.abs(np.delete(mixed, 2, axis=0) - whole).max() <= 1
    assert np.array_equal(mixed[2:3], levels(model.generate([woman])))
    assert (plain(model) != whole).reshape(5, -1).any(axis=1).all()


def test_the_pipeline_is_as_it_was_even_after_an_error(model):
    before, mitigation = plain(model, 3), named()
    list(Mitigated(model, mitigation).generate(requests(mitigation)))

    def fail():
        with mitigation.mitigation.applied(model.pipeline, requests(mitigation)):
            assert network(model)._forward_hooks
            raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        fail()
    assert not network(model)._forward_hooks
    assert np.array_equal(plain(model, 3), before)


def test_momentum_starts_anew_with_each_batch(model):
    mitigation = named("fair-diffusion:momentum=1,beta=0.9")
    mitigated, asked = Mitigated(model, mitigation), requests(mitigation, 2)
    assert np.array_equal(levels(mitigated.generate(asked)), levels(mitigated.generate(asked)))


def test_it_takes_as_many_rows_as_it_says(model):
    with Passes(model) as before:
        plain(model)
    mitigation = named()
    with Passes(model) as after:
        list(Mitigated(model, mitigation).generate(requests(mitigation)))
    rows = [sum(len(latents) for latents, *_ in one.raw) for one in (before, after)]
    assert rows[1] == rows[0] * mitigation.passes


@pytest.mark.parametrize("scheduler", ["PNDMScheduler", "HeunDiscreteScheduler"])
def test_schedulers_that_ask_twice_in_a_step_and_other_processes(tmp_path, scheduler):
    options = {"device": "cpu", "dtype": "float32", "extra": {"scheduler": scheduler}}
    folder = tiny.write_stable_diffusion(tmp_path)
    model = load(LoadOptions(source=str(folder), **options))
    mitigation = named("fair-diffusion:warm_up=0.5")
    made = levels(Mitigated(model, mitigation).generate(requests(mitigation)))
    assert not np.array_equal(made, plain(model))
    copy = pickle.loads(pickle.dumps(mitigation))
    assert np.array_equal(made, levels(Mitigated(model, copy).generate(requests(copy))))


def test_scale_0_gives_the_plain_pictures(model):
    nothing = named("fair-diffusion:scale=0")
    made = levels(Mitigated(model, nothing).generate(requests(nothing)))
    assert np.array_equal(made, plain(model))


def test_share_1_guides_all_to_one_description_and_0_to_the_other(model):
    def made(asked):
        mitigation = named(asked)
        return levels(Mitigated(model, mitigation).generate(requests(mitigation)))

    exchanged = "fair-diffusion:share=0,feminine=male person,masculine=female person"
    assert np.abs(made("fair-diffusion:share=1") - made(exchanged)).max() <= 1
    assert not np.array_equal(made("fair-diffusion:share=1"), made("fair-diffusion:share=0"))


def test_traces_are_those_of_the_mitigated_picture(model):
    mitigation = named()
    watched = {"observe": frozenset({ALL_VELOCITIES, FINAL_LATENT, ATTENTION})}
    (one,) = Mitigated(model, mitigation).generate(requests(mitigation, 1, **watched))
    (bare,) = model.generate([Request(NURSE, 0, settings(), observe=watched["observe"])])
    (alone,) = Mitigated(model, mitigation).generate(requests(mitigation, 1))
    assert np.array_equal(np.asarray(one.image), np.asarray(alone.image))
    assert one.trace.attention is None
    assert bare.trace.attention is not None
    assert not np.allclose(one.trace.velocities[-1], bare.trace.velocities[-1])
    assert not np.allclose(one.trace.final_latent, bare.trace.final_latent)


def test_without_guidance_it_says_so_before_any_picture(model):
    mitigation = named()
    with pytest.raises(ConfigurationError, match=r"expected a guidance above 1, got 1\. Set one"):
        _ = replace(mitigation, settings=settings(guidance=1.0)).passes
    with pytest.raises(T2IError, match=r"fair-diffusion needs classifier-free guidance"):
        list(
            Mitigated(model, mitigation).generate(
                requests(mitigation, settings=settings(guidance=1.0))
            )
        )
    assert not network(model)._forward_hooks


def test_another_family_is_told_what_fits(tmp_path):
    flux = loaded(tiny.write_flux(tmp_path))
    with pytest.raises(ConfigurationError, match=r"'guidance' of Stable.*not fit a FluxPipeline"):
        Mitigated(flux, named())


@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 1.0])
def test_directions_are_drawn_by_seed_and_prompt(share):
    cure = FairDiffusion(share=share)
    drawn = [cure.is_feminine(Request(NURSE, seed)) for seed in range(2000)]
    assert sum(drawn) / 2000 == pytest.approx(share, abs=0.04)
    assert drawn == [cure.is_feminine(Request(NURSE, seed)) for seed in range(2000)]
    if 0.0 < share < 1.0:
        assert drawn != [cure.is_feminine(Request("a cook", seed)) for seed in range(2000)]


@pytest.mark.parametrize(("share", "steps", "whole"), [(0.1, 50, 5), (0.29, 100, 29), (0.1, 8, 0)])
def test_the_warm_up_is_rounded_down_to_whole_steps(share, steps, whole):
    assert FairDiffusion(warm_up=share).steps_of(steps) == whole


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("share=2", "share: expected 0 to 1, got 2"),
        ("momentum=-1", "momentum: expected 0 to 1, got -1"),
        ("threshold=1", "threshold: expected 0 to below 1, got 1"),
        ("warm_up=10", "warm_up: expected 0 to below 1, got 10"),
        ("beta=nan", "beta: expected 0 to below 1, got nan"),
        ("scale=inf", "scale: expected a number of at least 0, got inf"),
        ("feminine=", "feminine: expected a description, got an empty text"),
        ("gender=f", "unknown key of mitigation 'fair-diffusion' 'gender'"),
    ],
)
def test_keys_that_make_no_sense_are_one_line(asked, message):
    with pytest.raises(ConfigurationError, match=message) as caught:
        named(f"fair-diffusion:{asked}")
    assert "\n" not in str(caught.value)
