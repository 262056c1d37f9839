"""Fair principal components of text embeddings, in the smallest real pipelines."""

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
from pytest_t2i.data import GenerationSettings, Request
from pytest_t2i.protocols import LoadOptions

from pytest_t2i_mitigation.fair_pca import FairPCA, component, fitted

WRITERS = {"sd": tiny.write_stable_diffusion, "sd3": tiny.write_stable_diffusion_3}
GUIDED = GenerationSettings(steps=2, guidance=3.0, width=32, height=32)


@pytest.fixture(scope="module", params=WRITERS)
def model(request, tmp_path_factory):
    folder = WRITERS[request.param](tmp_path_factory.mktemp(request.param))
    return load(LoadOptions(source=str(folder), device="cpu", dtype="float32"))


@pytest.fixture
def texts():
    rng = np.random.default_rng(1)
    return torch.tensor(rng.normal(size=(2, 9, 6)) + np.array([2.0, 0.0])[:, None, None])


def mitigated(model, asked="fair-pca"):
    named = load_mitigation(Registry("mitigation", {"fair-pca": FairPCA}), asked)
    return Mitigated(model, named), named


def pictures(model, count=5, asked="fair-pca", settings=GUIDED):
    made, named = mitigated(model, asked)
    variation = named.variation(())
    return pixels(
        made.generate(
            [Request("a photo of a nurse", k, settings, variation=variation) for k in range(count)]
        )
    )


def pixels(made):
    return [np.asarray(one.image).tobytes() for one in made]


def levels(made):
    return np.stack([np.asarray(one.image, np.int16) for one in made])


def network(model):
    pipeline = model.pipeline
    return getattr(pipeline, "transformer", None) or pipeline.unet


def test_the_projection_is_that_of_the_paper(texts):
    """By the null space, as the authors write it, instead of the projection beside n."""
    scipy = pytest.importorskip("scipy.linalg")
    women, men = (one.numpy() for one in texts)
    x = np.concatenate([women, men])
    z = np.repeat([1.0, 0.0], 9) - 0.5
    apart = z @ x
    null = scipy.null_space(apart[None])
    values, vectors = np.linalg.eigh(null.T @ x.T @ x @ null)
    u = null @ vectors[:, np.argsort(values)[-3:]]
    got = fitted(*texts, 3)
    np.testing.assert_allclose(got.kept.numpy(), u @ u.T, atol=1e-12)
    np.testing.assert_allclose(got.direction.numpy(), apart / np.linalg.norm(apart), atol=1e-12)
    whole = fitted(*texts, 0)
    np.testing.assert_allclose(whole.kept.numpy(), null @ null.T, atol=1e-12)


def test_both_groups_look_alike_on_average_once_projected(texts):
    kept = fitted(*texts, 0).kept
    women, men = ((one @ kept).mean(0) for one in texts)
    assert float((women - men).norm()) < 1e-12


def test_groups_and_texts_are_drawn_with_equal_chances(texts):
    projection = fitted(*texts, 0)
    drawn = [component(projection, seed, "a nurse") for seed in range(4000)]
    women, men = projection.feminine.tolist(), projection.masculine.tolist()
    counts = {value: drawn.count(value) for value in (*women, *men)}
    assert sum(counts.values()) == 4000
    assert sum(counts[value] for value in women) == pytest.approx(2000, abs=130)
    assert min(counts.values()) > 150
    assert drawn[7] == component(projection, 7, "a nurse")
    assert drawn[:40] != [component(projection, seed, "a cook") for seed in range(40)]


def test_what_the_network_is_given(model):
    """Prompts lose the direction and gain that of the drawn text; the negative ones stay."""
    given = {}

    def note(module, args, kwargs):
        given.setdefault("plain" if not given else "changed", dict(kwargs))

    handle = network(model).register_forward_pre_hook(note, with_kwargs=True)
    list(model.generate([Request("a photo of a nurse", 3, GUIDED)]))
    made, named = mitigated(model)
    asked = [Request("a photo of a nurse", 3, GUIDED, variation=named.variation(()))]
    handle.remove()
    before = given["plain"]
    given.clear()
    given["plain"] = {}
    with made.inside.applied(model.pipeline, asked):
        # Registered last, so that it sees what the network is given.
        handle = network(model).register_forward_pre_hook(note, with_kwargs=True)
        list(model.generate([Request("a photo of a nurse", 3, GUIDED)]))
        handle.remove()
    projection = FairPCA()._projection(model.pipeline)
    width = len(projection.direction)
    for name in ("encoder_hidden_states", "pooled_projections"):
        if before.get(name) is None:
            continue
        old, new = before[name].double(), given["changed"][name].double()
        half = len(old) // 2
        assert torch.equal(old[:half], new[:half])
        assert torch.equal(old[half:, ..., width:], new[half:, ..., width:])
        along = new[half:, ..., :width] @ projection.direction
        expected = 0.6 * component(projection, 3, "a photo of a nurse")
        np.testing.assert_allclose(along.numpy(), expected, atol=1e-4)
        across = (new - old)[half:, ..., :width] @ projection.kept
        np.testing.assert_allclose(across.numpy(), 0.0, atol=1e-4)


@pytest.mark.parametrize("guidance", [1.0, 3.0])
def test_the_same_picture_alone_in_batches_and_in_another_order(model, guidance):
    settings = GenerationSettings(steps=2, guidance=guidance, width=32, height=32)
    made, named = mitigated(model)
    variation = named.variation(())
    asked = [Request("a photo of a nurse", k, settings, variation=variation) for k in range(5)]
    whole = levels(made.generate(asked))
    # Rows of several texts may round otherwise than one, in plain pictures too.
    alone = np.concatenate([levels(made.generate([one])) for one in asked])
    assert np.abs(alone - whole).max() <= 1
    assert np.abs(levels(made.generate(asked[::-1]))[::-1] - whole).max() <= 1
    plain = levels(model.generate([Request("a photo of a nurse", k, settings) for k in range(5)]))
    assert (plain != whole).reshape(5, -1).any(axis=1).all()


def test_the_pipeline_is_as_it_was(model):
    asked = [Request("a photo of a nurse", k, GUIDED) for k in range(3)]
    before = pixels(model.generate(asked))
    pictures(model)
    assert not network(model)._forward_pre_hooks
    assert pixels(model.generate(asked)) == before


def test_it_takes_as_many_passes_as_it_says(model):
    counted = []
    handle = network(model).register_forward_hook(lambda *_: counted.append(1))
    list(model.generate([Request("a photo of a nurse", k, GUIDED) for k in range(5)]))
    passes = len(counted)
    pictures(model)
    handle.remove()
    assert len(counted) == passes * (1 + FairPCA.passes)


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"noise": -1.0}, "noise: expected a number of at least 0, got -1"),
        ({"noise": float("nan")}, "noise: expected a number of at least 0, got nan"),
        ({"dimension": -2}, "dimension: expected a number of at least 0, got -2"),
    ],
)
def test_keys_that_make_no_sense_are_refused(keys, told):
    with pytest.raises(ValueError, match=told):
        FairPCA(**keys)


def test_more_components_than_there_are_is_refused(texts):
    with pytest.raises(ValueError, match="dimension: expected at most 5 for these texts, got 6"):
        fitted(*texts, 6)
