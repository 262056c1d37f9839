"""Projection of text embeddings, in the smallest real pipeline."""

from __future__ import annotations

import numpy as np
import pytest

pytestmark = pytest.mark.slow
torch = pytest.importorskip("torch")
pytest.importorskip("diffusers")
tiny = pytest.importorskip("tiny", reason="stands in the tests of the repository")

from pytest_t2i.adapters.mitigations import Mitigated, load_mitigation
from pytest_t2i.adapters.models.diffusers import load
from pytest_t2i.adapters.registry import Registry
from pytest_t2i.data import VELOCITY, Attribute, GenerationSettings, Request, spi_name
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.protocols import LoadOptions

from pytest_t2i_mitigation.chuang import Chuang, calibrated, embedded_pairs, projected

SETTINGS = GenerationSettings(steps=2, guidance=3.0, width=32, height=32)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return load(model_options(tiny.write_stable_diffusion(tmp_path_factory.mktemp("sd"))))


def model_options(folder):
    return LoadOptions(source=str(folder), device="cpu", dtype="float32")


def named(asked="chuang"):
    return load_mitigation(Registry("mitigation", {"chuang": Chuang}), asked)


def requests(named, count=5, settings=SETTINGS, **more):
    variation = named.variation(())
    text = "a photo of a nurse"
    return [Request(text, seed, settings, variation=variation, **more) for seed in range(count)]


def pixels(made):
    return [np.asarray(one.image).tobytes() for one in made]


def plain(model, count=5, settings=SETTINGS):
    return pixels(
        model.generate([Request("a photo of a nurse", k, settings) for k in range(count)])
    )


def test_the_matrix_is_that_of_the_paper():
    rng = np.random.default_rng(0)
    feminine, masculine = rng.normal(size=(2, 7, 5))
    units = [x / np.linalg.norm(x, axis=1, keepdims=True) for x in (feminine, masculine)]
    total = np.zeros((5, 5))
    for z_i, z_j in zip(*units, strict=True):
        total += np.outer(z_i - z_j, z_i - z_j)
    expected = np.linalg.inv(np.eye(5) + 500.0 / 7 * total)
    got = calibrated(torch.tensor(feminine), torch.tensor(masculine), 500.0)
    np.testing.assert_allclose(got.numpy(), expected, rtol=1e-9, atol=1e-12)


def test_pairs_come_closer_the_stronger_it_is(model):
    feminine, masculine = embedded_pairs(model.pipeline)
    assert feminine.shape == masculine.shape == (40, tiny.TEXT_WIDTH)
    unit = torch.nn.functional.normalize
    apart = (unit(feminine.double(), dim=-1) - unit(masculine.double(), dim=-1)).T
    lengths = [
        float((calibrated(feminine, masculine, strength) @ apart).norm())
        for strength in (0.0, 1.0, 500.0, 1e6)
    ]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] == pytest.approx(float(apart.norm()))
    assert lengths[2] < 0.2 * lengths[0]


def test_only_rows_of_the_prompt_are_projected():
    rows = torch.arange(24.0).reshape(4, 3, 2)
    swapped = projected(rows, torch.tensor([[0.0, 1.0], [1.0, 0.0]]).double(), 2)
    assert torch.equal(swapped[:2], rows[:2])
    assert torch.equal(swapped[2:], rows[2:].flip(-1))


@pytest.mark.parametrize("guidance", [1.0, 3.0])
def test_strength_0_gives_the_plain_pictures_and_500_others(model, guidance):
    settings = GenerationSettings(steps=2, guidance=guidance, width=32, height=32)
    nothing, strong = named("chuang:strength=0"), named()
    unchanged = Mitigated(model, nothing).generate(requests(nothing, settings=settings))
    changed = Mitigated(model, strong).generate(requests(strong, settings=settings))
    before = plain(model, settings=settings)
    assert pixels(unchanged) == before
    assert not set(pixels(changed)) & set(before)


def test_the_same_picture_alone_in_batches_and_in_another_order(model):
    mitigated, asked = Mitigated(model, named()), requests(named())
    whole = pixels(mitigated.generate(asked))
    assert [pixels(mitigated.generate([one]))[0] for one in asked] == whole
    assert pixels(mitigated.generate(asked[::-1])) == whole[::-1]
    assert pixels(mitigated.generate(asked[:2])) == whole[:2]


def test_the_pipeline_is_as_it_was_and_plain_pictures_stay_plain_beside(model):
    before = plain(model)
    gendered = Request("a photo of a man", 7, SETTINGS)
    alone = pixels(model.generate([gendered]))
    mitigated, asked = Mitigated(model, named()), requests(named())
    mixed = pixels(mitigated.generate([*asked[:2], gendered, *asked[2:]]))
    assert mixed[2:3] == alone
    assert mixed[:2] + mixed[3:] == pixels(mitigated.generate(asked))
    assert not model.pipeline.unet._forward_pre_hooks
    assert plain(model) == before


def test_it_takes_as_many_passes_as_it_says(model):
    counted = []
    handle = model.pipeline.unet.register_forward_hook(lambda *_: counted.append(1))
    plain(model)
    passes = len(counted)
    list(Mitigated(model, named()).generate(requests(named())))
    handle.remove()
    assert len(counted) == passes * (1 + Chuang.passes)


def test_velocities_are_those_of_the_mitigated_picture(model):
    hat = Attribute("hat", "a man with a hat", "a man")
    watched = {"observe": frozenset({VELOCITY}), "attributes": (hat,)}

    def spi(asked):
        mitigation = named(asked)
        made = Mitigated(model, mitigation).generate(requests(mitigation, 2, **watched))
        return np.stack([one.trace.spi[spi_name(hat)] for one in made])

    bare = [Request("a photo of a nurse", seed, SETTINGS, **watched) for seed in range(2)]
    before = np.stack([one.trace.spi[spi_name(hat)] for one in model.generate(bare)])
    np.testing.assert_array_equal(spi("chuang:strength=0"), before)
    assert not np.allclose(spi("chuang"), before)


def test_another_family_is_told_what_fits(tmp_path):
    flow = load(model_options(tiny.write_stable_diffusion_3(tmp_path)))
    with pytest.raises(
        ConfigurationError, match=r"of StableDiffusionPipeline: .* a StableDiffusion3"
    ):
        Mitigated(flow, named())


@pytest.mark.parametrize("wrong", [-1.0, float("inf"), float("nan")])
def test_no_strength_is_refused(wrong):
    with pytest.raises(ValueError, match="strength: expected a number of at least 0, got"):
        Chuang(wrong)
