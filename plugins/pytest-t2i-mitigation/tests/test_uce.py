"""Unified concept editing, in the smallest real pipelines."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

pytestmark = pytest.mark.slow
torch = pytest.importorskip("torch")
pytest.importorskip("diffusers")
tiny = pytest.importorskip("tiny", reason="stands in the tests of the repository")

from pytest_t2i import RunRecord
from pytest_t2i.adapters.mitigations import Mitigated, load_mitigation
from pytest_t2i.adapters.models.diffusers import load
from pytest_t2i.adapters.registry import Registry
from pytest_t2i.audits.shared_blocks import Counts
from pytest_t2i.data import GenerationSettings, Request
from pytest_t2i.errors import ConfigurationError, T2IError
from pytest_t2i.protocols import LoadOptions
from pytest_t2i.runs.record import PromptRecord

from pytest_t2i_mitigation import uce
from pytest_t2i_mitigation.uce import RIDGE, Move, UnifiedConceptEditing, change_of

WRITERS = {"sd": tiny.write_stable_diffusion, "xl": tiny.write_stable_diffusion_xl}
SETTINGS = GenerationSettings(steps=2, guidance=3.0, width=32, height=32)
NURSE = "a photo of one real person who is a nurse"
GYM = "a photo of one real person at the gym"
PAIRS = {
    NURSE: [NURSE.replace("a nurse", f"a {word} nurse") for word in ("female", "male")],
    GYM: [GYM.replace("person", word) for word in ("woman", "man")],
}


@pytest.fixture(scope="module", params=WRITERS)
def model(request, tmp_path_factory):
    return loaded(WRITERS[request.param](tmp_path_factory.mktemp(request.param)))


@pytest.fixture
def run(tmp_path):
    """Writes a run.json with these numbers of women and men of each prompt."""

    def write(name="run.json", variant="neutral", **counts):
        texts = {"nurse": (NURSE, "profession"), "gym": (GYM, "place"), "bus": ("a bus", "own")}
        rows = tuple(
            PromptRecord(
                concept, texts[concept][0], texts[concept][1], concept, variant,
                {"judge": Counts({"female": female, "male": male}, {})}, None, (),
            )
            for concept, (female, male) in counts.items()
        )  # fmt: skip
        record = RunRecord("2026-11-21T10:00:00+00:00", 1.0, "mine", {}, {}, {}, prompts=rows)
        (tmp_path / name).write_text(record.to_json())
        return str(tmp_path / name)

    return write


def loaded(folder):
    return load(LoadOptions(source=str(folder), device="cpu", dtype="float32"))


def named(asked):
    return load_mitigation(Registry("mitigation", {"uce": UnifiedConceptEditing}), asked)


def requests(mitigation, count=5, settings=SETTINGS):
    variation = mitigation.variation(())
    return [Request(NURSE, seed, settings, variation=variation) for seed in range(count)]


def pixels(made):
    return [np.asarray(one.image).tobytes() for one in made]


def apart(pictures, others):
    """The largest difference in levels: rows of several texts may round otherwise than one."""
    pairs = zip(pictures, others, strict=True)
    levels = [[np.frombuffer(each, np.uint8).astype(int) for each in pair] for pair in pairs]
    return max(int(np.abs(one - other).max()) for one, other in levels)


def plain(model, count=5, settings=SETTINGS):
    return pixels(model.generate([Request(NURSE, seed, settings) for seed in range(count)]))


def weights(model):
    return {name: weight.clone() for name, weight in model.pipeline.unet.named_parameters()}


def solution(weight, edited, kept):
    """Eq. 7 as it is printed, one token after the other, with the authors' term lambda I."""
    left, right = RIDGE * weight, RIDGE * np.eye(weight.shape[1])
    for c, target in edited:
        left = left + np.outer(weight @ target, c)
        right = right + np.outer(c, c)
    for c in kept:
        left = left + np.outer(weight @ c, c)
        right = right + np.outer(c, c)
    return left @ np.linalg.inv(right)


def test_the_matrix_is_that_of_equation_7():
    rng = np.random.default_rng(0)
    weight, c, target, kept = (rng.normal(size=(n, 6)) for n in (4, 9, 9, 5))
    change = change_of(*map(torch.tensor, (c, target, kept))).numpy()
    expected = solution(weight, zip(c, target, strict=True), kept)
    np.testing.assert_allclose(weight + weight @ change, expected, rtol=1e-9, atol=1e-12)
    assert not np.allclose(expected, weight)


def test_outputs_of_edited_tokens_move_and_those_of_others_stay():
    rng = np.random.default_rng(1)
    weight, kept = rng.normal(size=(4, 40)), rng.normal(size=(3, 40)) * 50
    c = rng.normal(size=(2, 40)) * 50
    target = c + rng.normal(size=(2, 40)) * 5
    change = change_of(*map(torch.tensor, (c, target, kept))).numpy()
    after = weight + weight @ change
    np.testing.assert_allclose(after @ c.T, weight @ target.T, rtol=0.01, atol=0.5)
    np.testing.assert_allclose(after @ kept.T, weight @ kept.T, rtol=0.01, atol=0.5)


def test_moves_are_desired_minus_observed_shares_summed_over_the_runs(run):
    first, second = run(nurse=(9, 1), gym=(0, 10)), run("second.json", nurse=(8, 2), gym=(5, 5))
    moves = UnifiedConceptEditing(f"{first}, {second}", share=0.5, strength=2.0).moves
    assert moves == (
        Move(NURSE, *PAIRS[NURSE], pytest.approx(2.0 * (-0.4 - 0.3))),
        Move(GYM, *PAIRS[GYM], pytest.approx(2.0 * 0.5)),
    )


def test_prompts_that_name_a_gender_or_show_nobody_do_not_move(run):
    mixed = run(nurse=(1, 3), gym=(0, 0), bus=(4, 4))
    assert [move.text for move in UnifiedConceptEditing(mixed).moves] == [NURSE]
    for empty in (run("f.json", "feminine", nurse=(9, 0)), run("n.json", nurse=(0, 0))):
        with pytest.raises(ValueError, match=r"runs: expected pictures of neutral prompts"):
            UnifiedConceptEditing(empty)


def test_a_picture_is_that_of_a_network_with_the_matrices_of_equation_7(model, run):
    """By hand: own embeddings, own alignment of tokens, and the sums of eq. 7."""
    mitigation = named(f"uce:runs={run(nurse=(10, 0), gym=(1, 3))},strength=3")
    got = pixels(Mitigated(model, mitigation).generate(requests(mitigation, 3)))
    pipeline, before = model.pipeline, weights(model)

    def embedded(text):
        with torch.no_grad():
            tokens, *_ = pipeline.encode_prompt(
                text, device="cpu", num_images_per_prompt=1, do_classifier_free_guidance=False
            )
        return tokens[0].double().numpy()

    def rows(text):
        return embedded(text)[sum(pipeline.tokenizer(text)["attention_mask"]) - 2 :]

    edited = []
    for text, alpha in ((NURSE, -1.5), (GYM, 0.75)):
        three = [rows(each) for each in (text, *PAIRS[text])]
        edited += [(c, c + alpha * f - alpha * m) for c, f, m in zip(*three, strict=False)]
    with torch.no_grad():
        changed = 0
        for name, weight in pipeline.unet.named_parameters():
            if "attn2.to_k" in name or "attn2.to_v" in name:
                new = solution(weight.double().numpy(), edited, embedded(""))
                weight.copy_(torch.tensor(new))
                changed += 1
    assert changed >= 2
    expected = pixels(model.generate([Request(NURSE, seed, SETTINGS) for seed in range(3)]))
    assert apart(got, expected) <= 1
    with torch.no_grad():
        for name, weight in pipeline.unet.named_parameters():
            weight.copy_(before[name])
    assert got != plain(model, 3)


def test_the_network_is_as_it_was_even_after_an_error(model, run):
    before, first = weights(model), plain(model)
    mitigation = named(f"uce:runs={run(nurse=(10, 0))}")
    places = {name: weight.data_ptr() for name, weight in model.pipeline.unet.named_parameters()}
    list(Mitigated(model, mitigation).generate(requests(mitigation)))

    def fail():
        with mitigation.mitigation.applied(model.pipeline, []):
            now = weights(model)
            changed = {name for name in now if not torch.equal(now[name], before[name])}
            assert changed == {f"{name}.weight" for name in uce._weights(model.pipeline.unet)}
            raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        fail()
    for name, weight in model.pipeline.unet.named_parameters():
        assert torch.equal(weight, before[name])
        assert weight.data_ptr() == places[name]
    assert plain(model) == first


@pytest.mark.parametrize("guidance", [1.0, 3.0])
def test_the_same_picture_alone_in_batches_and_beside_plain_ones(model, run, guidance):
    settings = GenerationSettings(steps=2, guidance=guidance, width=32, height=32)
    mitigation = named(f"uce:runs={run(nurse=(10, 0))}")
    mitigated, asked = Mitigated(model, mitigation), requests(mitigation, settings=settings)
    whole = pixels(mitigated.generate(asked))
    assert apart([pixels(mitigated.generate([one]))[0] for one in asked], whole) <= 1
    assert apart(pixels(mitigated.generate(asked[::-1])), whole[::-1]) <= 1
    woman = Request(PAIRS[NURSE][0], 7, settings)
    mixed = pixels(mitigated.generate([*asked[:2], woman, *asked[2:]]))
    assert mixed[2:3] == pixels(model.generate([woman]))
    assert apart(mixed[:2] + mixed[3:], whole) <= 1
    assert not set(whole) & set(plain(model, settings=settings))


def test_strength_0_and_an_even_model_change_nothing(model, run):
    for asked in (f"uce:runs={run(nurse=(10, 0))},strength=0", f"uce:runs={run(nurse=(5, 5))}"):
        mitigation = named(asked)
        assert pixels(Mitigated(model, mitigation).generate(requests(mitigation))) == plain(model)


def test_an_edit_is_made_once(model, run, monkeypatch):
    made, mitigation = [], named(f"uce:runs={run(nurse=(10, 0), gym=(0, 3))}")
    original = uce.edited
    monkeypatch.setattr(uce, "edited", lambda *given: made.append(1) or original(*given))
    for _ in range(3):
        list(Mitigated(model, mitigation).generate(requests(mitigation, 2)))
    assert len(made) == 1
    other = named(f"uce:runs={run(nurse=(9, 1), gym=(0, 3))}")
    list(Mitigated(model, other).generate(requests(other, 2)))
    assert len(made) == 2


def test_what_the_runs_say_is_part_of_the_keys_of_pictures(run):
    path = run(nurse=(10, 0))
    first = named(f"uce:runs={path}")
    assert named(f"uce:runs={path}").fingerprint == first.fingerprint
    run(nurse=(9, 1))
    assert named(f"uce:runs={path}").fingerprint != first.fingerprint


def test_another_process_edits_alike(model, run):
    mitigation = named(f"uce:runs={run(nurse=(10, 0))}")
    copy = pickle.loads(pickle.dumps(mitigation))
    assert copy.fingerprint == mitigation.fingerprint
    made = pixels(Mitigated(model, mitigation).generate(requests(mitigation, 2)))
    assert pixels(Mitigated(model, copy).generate(requests(copy, 2))) == made


def test_weights_of_16_bits_stay_so(tmp_path, run):
    folder = tiny.write_stable_diffusion(tmp_path)
    model = load(LoadOptions(source=str(folder), device="cpu", dtype="bfloat16"))
    before, mitigation = weights(model), named(f"uce:runs={run(nurse=(10, 0))}").mitigation
    with mitigation.applied(model.pipeline, []):
        now = weights(model)
    assert {weight.dtype for weight in now.values()} == {torch.bfloat16}
    assert any(not torch.equal(now[name], before[name]) for name in now)
    assert all(torch.equal(weight, before[name]) for name, weight in weights(model).items())


def test_matrices_that_are_not_plain_are_refused(model, run, monkeypatch):
    mitigation = named(f"uce:runs={run(nurse=(7, 0))}")
    name, *_ = uce._weights(model.pipeline.unet)
    layer = model.pipeline.unet.get_submodule(name)
    parent = model.pipeline.unet.get_submodule(name.rpartition(".")[0])
    monkeypatch.setitem(parent._modules, name.rpartition(".")[2], torch.nn.Sequential(layer))
    with pytest.raises(T2IError, match=r"uce edits plain matrices.* is a Sequential: load"):
        Mitigated(model, mitigation).generate(requests(mitigation)).__next__()


def test_another_family_is_told_what_fits(tmp_path, run):
    flow = loaded(tiny.write_stable_diffusion_3(tmp_path))
    with pytest.raises(
        ConfigurationError, match=r"of StableDiffusionPipeline, .*: it does not fit a StableDiff"
    ):
        Mitigated(flow, named(f"uce:runs={run(nurse=(7, 0))}"))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("uce:share=2", "share: expected a number from 0 to 1, got 2"),
        ("uce:strength=-1", "strength: expected a number of at least 0, got -1"),
        ("uce:strength=inf", "strength: expected a number of at least 0, got inf"),
        ("uce:share=nan", "share: expected a number from 0 to 1, got nan"),
        ("uce:runs=nowhere.json", r"nowhere\.json: no such run\.json"),
        ("uce:concepts=nurse", "unknown key of mitigation 'uce' 'concepts'"),
    ],
)
def test_keys_that_make_no_sense_are_one_line(asked, message):
    with pytest.raises(T2IError, match=message) as caught:
        named(asked)
    assert "\n" not in str(caught.value)


def test_without_a_run_it_says_what_to_do():
    with pytest.raises(ConfigurationError, match=r"uce: runs: expected run\.json files.* first"):
        _ = named("uce").passes
