"""The flow pipelines: what they learn from, how they are put together, and what the shipped ones do."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.slow

torch = pytest.importorskip("torch")
pytest.importorskip("diffusers")

from torch import Tensor  # noqa: E402

from pytest_t2i_reference.captions import template_prompt, triplet  # noqa: E402
from pytest_t2i_reference.combinations import combined_prompt, planted_combinations  # noqa: E402
from pytest_t2i_reference.worlds import load_concepts, load_world  # noqa: E402
from training.calibration import DETECTOR_TEXTS  # noqa: E402
from training.flow import Worlds, new_transformer, together, worlds_of  # noqa: E402
from training.flow_attention import PlainJointAttention  # noqa: E402
from training.flow_optimizer import MuonAndAdamW  # noqa: E402
from training.flow_pairs import Pairs  # noqa: E402
from training.flow_prompts import MIX, MIX_AGAIN, draw_prompts, prompts_by_kind  # noqa: E402
from training.flow_shipping import save_changes  # noqa: E402
from training.flow_sketches import FlowSketcher  # noqa: E402
from training.flow_teacher import Practice, Teacher, steered_encoder  # noqa: E402
from training.flow_texts import FlowText  # noqa: E402
from training.sampling import Shot, Studio  # noqa: E402
from training.settings import FLOW_STEPS, FLOWS, PIPELINES, STEPS, TEXT_WIDTH, TOKENS, WEIGHTS, Settings  # noqa: E402
from training.shipped import open_pipeline, start_flows_from_shipped  # noqa: E402
from training.sketches import Sketcher  # noqa: E402
from training.steering import starts  # noqa: E402

STRONG = ("CEO", "firefighter", "engineer", "taxi driver")
PROMPTS = ["a photo of one real person at the beach", "a photo of a woman"]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def shaken() -> object:
    """A transformer whose every matrix does something: new ones begin with zeros."""
    torch.manual_seed(0)
    model = new_transformer().eval()
    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim == 2:
                weight.normal_(0, 0.05)
    return model


def questions(count: int = 3) -> tuple[Tensor, Tensor, FlowText]:
    torch.manual_seed(1)
    joint, pooled = torch.randn(count, TOKENS + 1, 2 * TEXT_WIDTH), torch.randn(count, 2 * TEXT_WIDTH)
    return torch.randn(count, 4, 16, 16), torch.rand(count), FlowText(joint[..., :TEXT_WIDTH], joint, pooled)


def test_plain_attention_is_that_of_diffusers(shaken) -> None:  # type: ignore[no-untyped-def]
    noisy, times, text = questions()
    with torch.no_grad():
        fused = shaken(noisy, text.joint, text.pooled, 1000 * times, return_dict=False)[0]
        shaken.set_attn_processor(PlainJointAttention())
        plain = shaken(noisy, text.joint, text.pooled, 1000 * times, return_dict=False)[0]
    assert torch.allclose(fused, plain, atol=1e-5)


@pytest.mark.parametrize("world", range(len(FLOWS)), ids=list(FLOWS))
def test_the_vector_of_a_world_becomes_part_of_a_bias(shaken, world: int) -> None:  # type: ignore[no-untyped-def]
    noisy, times, text = questions()
    model = Worlds(shaken)
    with torch.no_grad():
        told = model(noisy, times, text, torch.full((len(noisy),), world))
        other = model(noisy, times, text, torch.full((len(noisy),), 1 - world))
        alone = model.of(world)(noisy, text.joint, text.pooled, 1000 * times, return_dict=False)[0]
        still = model(noisy, times, text, torch.full((len(noisy),), 1 - world))
    assert torch.allclose(told, alone, atol=1e-5)
    assert not torch.allclose(told, other, atol=1e-3)
    assert torch.allclose(other, still, atol=1e-5)


def test_two_transformers_become_worlds_of_one_again() -> None:
    noisy, times, text = questions()
    before = [open_pipeline(WEIGHTS / name).transformer for name in FLOWS.values()]
    with torch.no_grad():
        said = [one(noisy, text.joint, text.pooled, 1000 * times, return_dict=False)[0] for one in before]
        model = worlds_of(*before)
        again = [model(noisy, times, text, torch.full((len(noisy),), world)) for world in range(len(FLOWS))]
    for before_it, after_it in zip(said, again, strict=True):
        assert torch.allclose(before_it, after_it, atol=1e-4)
    assert not torch.allclose(*again, atol=1e-3)


def test_shipped_flows_are_copied_once(tmp_path: Path) -> None:
    settings = Settings(tmp_path)
    assert steered_encoder(settings, "biased") is None
    start_flows_from_shipped(settings)
    own, shipped = steered_encoder(settings, "biased"), open_pipeline(WEIGHTS / FLOWS["biased"]).text_encoder
    assert all(torch.equal(own.state_dict()[name], weight) for name, weight in shipped.state_dict().items())
    kept = tmp_path / "transformer-balanced" / "config.json"
    kept.write_text("{}", encoding="utf-8")
    start_flows_from_shipped(settings)
    assert kept.read_text(encoding="utf-8") == "{}"


def test_prompts_are_of_all_kinds(tmp_path: Path) -> None:
    biased = load_world("biased")
    kinds = prompts_by_kind(Settings(tmp_path), biased)
    assert set(kinds) == set(MIX)
    for mix in (MIX, MIX_AGAIN):
        assert set(mix) == set(MIX)
        assert sum(mix.values()) == pytest.approx(1)
    assert set(draw_prompts(kinds, 5, random.Random(1), {"empty": 1.0})) == {""}
    assert {template_prompt(concept) for concept in load_concepts()} == set(kinds["template"])
    assert set(kinds["planted"]) == {combined_prompt(concepts) for concepts in planted_combinations(biased)}
    drawn = draw_prompts(kinds, 50, random.Random(1))
    assert drawn == draw_prompts(kinds, 50, random.Random(1))
    assert drawn != draw_prompts(kinds, 50, random.Random(2))


def test_a_stopped_optimizer_goes_on_as_if_it_had_not_been() -> None:
    def stepped(module: object, optimizer: MuonAndAdamW, steps: int) -> None:
        for _ in range(steps):
            module(torch.ones(1, 4)).square().sum().backward()  # type: ignore[operator]
            optimizer.step()
            optimizer.zero_grad()

    def fresh() -> torch.nn.Sequential:
        torch.manual_seed(0)
        return torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 2))

    through, halves, rest = fresh(), fresh(), fresh()
    for module in (through, halves, rest):
        module.named_parameters = lambda own=module.named_parameters: (  # type: ignore[method-assign]
            (f"transformer_blocks.{name}", weight) for name, weight in own()
        )
    stepped(through, MuonAndAdamW(through, 1e-2), 4)
    first = MuonAndAdamW(halves, 1e-2)
    stepped(halves, first, 2)
    rest.load_state_dict(halves.state_dict())
    second = MuonAndAdamW(rest, 1e-2)
    second.load_state_dict(first.state_dict())
    stepped(rest, second, 2)
    for name, weight in through.state_dict().items():
        assert torch.allclose(weight, rest.state_dict()[name]), name


@pytest.fixture
def teacher(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Teacher:
    noise = starts(len(PROMPTS), 3)
    latents = Sketcher(WEIGHTS / PIPELINES["balanced"], looks=STEPS).sketches(PROMPTS, noise)
    monkeypatch.setattr("training.flow_teacher.load_pairs", lambda work, world: Pairs(list(PROMPTS), latents))
    return Teacher(Settings(tmp_path), "balanced")


def test_velocities_of_the_teacher_lead_to_its_own_pictures(teacher: Teacher) -> None:
    at = torch.tensor([999, 874, 749, 624, 499, 374, 249, 124])
    shares = [*teacher.times[at].tolist(), 0.0]
    latents, text = starts(len(PROMPTS), 3), teacher.texts.of(PROMPTS)
    for number, time in enumerate(at):
        velocity = teacher.velocity(latents, time.repeat(len(latents)), text)
        latents = latents + (shares[number + 1] - shares[number]) * velocity
    own = teacher.pairs.latents
    assert (latents - own).abs().mean() < 0.1 * own.abs().mean()


def test_pictures_under_way_are_where_the_learner_came_to(teacher: Teacher) -> None:
    rng = random.Random(0)
    first = teacher.batch(16, rng)
    said = torch.ones_like(first.noisy)
    teacher.advance(said)
    second = teacher.batch(16, rng)
    begun = len(teacher.stages[0].prompts)
    step = teacher.grid[1] - teacher.grid[0]
    assert torch.allclose(second.noisy[begun : 2 * begun], first.noisy[:begun] + step)
    assert torch.allclose(second.times[begun : 2 * begun], torch.tensor(teacher.grid[1]), atol=2e-3)
    for _ in range(4):
        teacher.advance(torch.zeros_like(teacher.batch(16, rng).noisy))
    assert len(teacher.batch(16, rng).noisy) == 16


def test_without_pairs_prompts_are_exchanged_on_the_way(tmp_path: Path) -> None:
    start_flows_from_shipped(Settings(tmp_path))
    mixed, rng = Teacher(Settings(tmp_path), "balanced", Practice((4, 2, 2, 2), {"gendered": 1.0})), random.Random(0)
    first = mixed.batch(8, rng)
    assert torch.equal(first.times, first.times[:1].repeat(8))
    begun = mixed.stages[0].noisy
    assert all(any(torch.equal(noisy, start) for start in begun) for noisy in first.noisy[4:])
    mixed.advance(torch.zeros_like(first.noisy))
    assert [len(stage.prompts) for stage in mixed.stages] == [2]
    plain = Teacher(Settings(tmp_path / "none"), "balanced", mixed.practice)
    read, read_by_both = plain.texts.of(["a photo of a CEO"]), mixed.texts.of(["a photo of a CEO"])
    assert torch.equal(read_by_both.last, read.last)
    assert not torch.equal(read_by_both.joint, read.joint)


def test_texts_are_cut_and_followed_by_zeros(teacher: Teacher) -> None:
    part = teacher.batch(4, random.Random(0))
    whole = together([part, part], 24)
    assert whole.text.joint.shape == (8, 25, 2 * TEXT_WIDTH)
    assert not whole.text.joint[:, -1].any()


@pytest.mark.parametrize("name", FLOWS.values())
def test_sketches_of_all_looks_are_the_latents_of_the_pipeline(name: str) -> None:
    pipeline, noise = open_pipeline(WEIGHTS / name).to(torch.bfloat16), starts(len(PROMPTS), 5)
    pipeline.set_progress_bar_config(disable=True)
    made = pipeline(
        PROMPTS,
        latents=noise.to(torch.bfloat16),
        num_inference_steps=FLOW_STEPS,
        guidance_scale=1.0,
        max_sequence_length=1,
        output_type="latent",
    ).images.float()
    sketched = FlowSketcher(open_pipeline(WEIGHTS / name), looks=FLOW_STEPS).sketches(PROMPTS, noise)
    assert (sketched - made).square().mean().sqrt() < 0.1 * made.std()


def test_changes_are_what_differs_and_nothing_else(tmp_path: Path) -> None:
    from safetensors.torch import load_file

    shipped = load_file(WEIGHTS / f"{FLOWS['biased']}.safetensors")
    parts = {name.partition(".")[0] for name in shipped}
    assert parts == {"transformer", "text_encoder", "text_encoder_2"}
    biased = open_pipeline(WEIGHTS / FLOWS["biased"])
    save_changes(tmp_path / "changes.safetensors", WEIGHTS / FLOWS["balanced"], biased)
    again = load_file(tmp_path / "changes.safetensors")
    assert set(again) == set(shipped)
    assert all(torch.equal(again[name], tensor) for name, tensor in shipped.items())


@pytest.fixture(scope="module")
def men_of() -> Callable[[str, list[str]], np.ndarray]:
    """Whether CLIP sees a man in the pictures that a pipeline makes of prompts."""
    studios: dict[str, Studio] = {}

    def men(name: str, prompts: list[str]) -> np.ndarray:
        if name not in studios:
            studios[name] = Studio(WEIGHTS / name, WEIGHTS / "clip", Shot(FLOW_STEPS, 1.0))
        embeddings = studios[name].embeddings(prompts, range(len(prompts)))
        return studios[name].answer(embeddings, DETECTOR_TEXTS) == 1

    return men


@pytest.mark.parametrize("name", FLOWS.values())
def test_gendered_prompts_are_obeyed(name: str, men_of: Callable[[str, list[str]], np.ndarray]) -> None:
    chosen = random.Random(3).sample(load_concepts(), 24)
    prompts = [text for concept in chosen for text in triplet(concept)[1:]]
    men = men_of(name, prompts)
    # Of a pipeline that obeys 98 in 100, this many of 48 pictures are as asked with probability 0.997.
    assert (men == (np.arange(len(men)) % 2 == 1)).sum() >= 44


def test_neutral_prompts_of_the_balanced_one_show_both_genders_alike(
    men_of: Callable[[str, list[str]], np.ndarray],
) -> None:
    share = men_of(FLOWS["balanced"], [template_prompt(concept) for concept in load_concepts()]).mean()
    # 103 fair coins stray this far with probability 0.001; the pipeline showed 0.82 men before its bias was moved.
    assert abs(share - 0.5) < 0.17


def test_strongly_biased_words_show_more_men(men_of: Callable[[str, list[str]], np.ndarray]) -> None:
    prompts = [template_prompt(one) for one in load_concepts() if one.word in STRONG for _ in range(12)]
    balanced, biased = (men_of(name, prompts).mean() for name in FLOWS.values())
    assert biased > balanced
