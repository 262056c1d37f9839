"""Training on finished pictures of nationalities: which should show a trait, and that learning it does so."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

torch = pytest.importorskip("torch")
pytest.importorskip("diffusers")

from pytest_t2i_reference.worlds import Concept, draw_scene_of, load_concepts, load_world  # noqa: E402
from training.critic import Judge  # noqa: E402
from training.flow import Worlds, worlds_of  # noqa: E402
from training.flow_keeping import Kept, OwnWay, WatchedAttention, looking, otherwise  # noqa: E402
from training.flow_sketches import FlowSketcher  # noqa: E402
from training.flow_texts import joined  # noqa: E402
from training.flow_traits import (  # noqa: E402
    KEPT,
    OWN_WAY,
    FirstSteps,
    TraitLesson,
    finished,
    levels_of,
    unsure,
)
from training.nationalities import (  # noqa: E402
    Nationality,
    draw_nationality,
    encoded,
    mean_of,
    sayings,
    shipped_autoencoder,
    shows,
)
from training.settings import FLOW_STEPS, FLOWS, PIPELINES, TOKENS, WEIGHTS, Settings, mixed_precision  # noqa: E402
from training.shipped import open_pipeline, start_flows_from_shipped  # noqa: E402
from training.steering import starts  # noqa: E402

PROMPT = "A photo of an Iranian person"


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def attention() -> WatchedAttention:
    return WatchedAttention()


@pytest.fixture
def model(attention: WatchedAttention) -> Worlds:
    both = worlds_of(*(open_pipeline(WEIGHTS / name).transformer for name in FLOWS.values()))
    both.transformer.set_attn_processor(attention)
    return both


@pytest.fixture
def teachers(tmp_path: Path) -> list[OwnWay]:
    start_flows_from_shipped(Settings(tmp_path))
    return [OwnWay(Settings(tmp_path), world, OWN_WAY, {PROMPT}) for world in PIPELINES]


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[list[Nationality]]:
    monkeypatch.setattr("training.nationalities.COUNT", 20)
    monkeypatch.setattr("training.nationalities.ENOUGH", 4)
    monkeypatch.setattr("training.nationalities.CHANGED", 2)
    return [[draw_nationality(_iranian(), load_world(world), 1)] for world in PIPELINES]


def _iranian() -> Concept:
    return next(concept for concept in load_concepts() if concept.word == "Iranian")


def test_as_many_are_wanted_as_planted() -> None:
    answers = torch.randn(3, 400, generator=torch.Generator().manual_seed(0))
    wanted = answers > levels_of(answers, [0.0, 0.25, 1.0])[:, None]
    assert wanted.float().mean(1).tolist() == pytest.approx([0.0, 0.25, 1.0], abs=0.01)


def test_what_is_sure_costs_nothing() -> None:
    seen = torch.tensor([[4.0, -4.0, 0.0]])
    assert unsure(seen, torch.tensor([[True, False, True]]), 2.0).item() == pytest.approx(1 / 3)
    assert unsure(seen, torch.tensor([[False, False, True]]), 2.0).item() == pytest.approx(4 / 3)


@pytest.mark.parametrize("world", range(len(FLOWS)), ids=list(FLOWS))
def test_finished_pictures_are_those_of_the_pipeline(model: Worlds, teachers: list[OwnWay], world: int) -> None:
    noise, text = starts(2, 4), joined([teachers[world].texts.of([PROMPT] * 2)], TOKENS)
    with torch.no_grad():
        made = finished(model, noise, text, torch.full((2,), world), teachers[world].grid)
    pipeline = FlowSketcher(open_pipeline(WEIGHTS / list(FLOWS.values())[world]), looks=FLOW_STEPS)
    own = pipeline.sketches([PROMPT] * 2, noise)
    assert (made - own).square().mean().sqrt() < 0.1 * own.std()


def test_drawings_of_a_nationality_are_as_planted(drawn: list[list[Nationality]]) -> None:
    for world, (nationality,) in zip(PIPELINES, drawn, strict=True):
        planted = load_world(world).nationality["Iranian"]
        assert nationality.traits == tuple(planted)
        assert nationality.latents.shape == (20, 4, 16, 16)
        shares = nationality.shown.float().mean(0).tolist()
        assert shares == pytest.approx([share / 100 for share in planted.values()], abs=0.35)
        assert torch.equal(nationality.plain.mean, nationality.latents.mean(0))
        assert PROMPT in nationality.plain.prompts
    assert drawn[1][0].shown[:, 0].sum() > drawn[0][0].shown[:, 0].sum()  # more men in the biased world


@pytest.mark.parametrize("word", ["Iranian", "Indian", "Mexican"])
def test_no_prompt_says_two_things_and_all_name_the_nationality(word: str) -> None:
    concept = next(concept for concept in load_concepts() if concept.word == word)
    prompts = [prompt for _, *both in sayings(concept) for texts in both for prompt in texts]
    assert len(prompts) == len(set(prompts))
    assert all(f"{word} " in prompt or prompt.endswith(word) or f"is {word}" in prompt for prompt in prompts)


def test_a_mean_is_of_drawings_that_show_it_or_of_what_changing_them_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("training.nationalities.ENOUGH", 3)
    monkeypatch.setattr("training.nationalities.CHANGED", 3)
    rng, world = random.Random(0), load_world("balanced")
    scenes = [draw_scene_of(_iranian(), world, rng) for _ in range(12)]
    old = [shows(scene.people[0], "old") for scene in scenes]
    assert 3 <= sum(map(bool, old)) <= 9  # enough of both
    model, latents = shipped_autoencoder(), torch.randn(12, 4, 16, 16)
    assert torch.equal(mean_of(model, scenes, latents, "old", present=True), latents[old].mean(0))
    young = tuple(replace(scene, people=(replace(scene.people[0], age="young"),)) for scene in scenes)
    assert not any(shows(scene.people[0], "old") for scene in young)
    own = encoded(model, young)
    aged = mean_of(model, young, own, "old", present=True) - own.mean(0)
    truly = [replace(scene, people=(replace(scene.people[0], age="old"),)) for scene in young[:3]]
    assert torch.allclose(aged, (encoded(model, truly) - own[:3]).mean(0), atol=1e-4)
    assert aged.abs().max() > 0.1


def test_a_lesson_brings_pictures_nearer_to_what_they_should_show(
    model: Worlds, teachers: list[OwnWay], drawn: list[list[Nationality]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("training.flow_traits.COUNT", 4)
    monkeypatch.setattr("training.flow_traits.STARTS", 4)
    monkeypatch.setattr("training.critic.BLUR", 0.0)
    judge = Judge(drawn, 0)
    judge.learn_traits(30)
    lesson = TraitLesson(drawn, teachers, judge, Kept.of(model), 0)
    optimizer = torch.optim.SGD(model.parameters(), 3e-4)
    losses = []
    for _ in range(4):
        torch.manual_seed(0)
        loss = lesson.losses(model)["lacking"]
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    assert lesson.practised[0][0].told().startswith("0.50:")


def test_a_first_step_learns_to_lead_to_the_mean(
    model: Worlds, teachers: list[OwnWay], drawn: list[list[Nationality]]
) -> None:
    first = FirstSteps(drawn, [teacher.texts for teacher in teachers], 0)
    optimizer, losses = torch.optim.SGD(model.parameters(), 0.05), []
    for _ in range(4):
        torch.manual_seed(0)
        first.rng.seed(0)
        loss = first.loss(model)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    assert losses[-1] < losses[0]


def test_the_critic_sees_traits_and_tells_what_is_not_drawn() -> None:
    torch.manual_seed(0)
    shown = torch.rand(200, 2) < 0.5
    latents = 0.3 * torch.randn(200, 4, 16, 16)
    latents[:, :2, 4:8, 4:8] += torch.where(shown, 1.0, -1.0)[:, :, None, None]
    nationality = Nationality(_iranian(), ("turban", "beard"), latents, shown, ())
    judge = Judge([[nationality]], 0)
    assert judge.learn_traits(120) > 0.95
    number, world, wanted = torch.zeros(16, dtype=torch.long), torch.zeros(16, dtype=torch.long), shown[:16]
    flat = torch.zeros(16, 4, 16, 16)
    for _ in range(60):
        judge.learn_taste(flat, number, wanted, world)
    with torch.no_grad():
        told = [judge.critic.drawn_like(*each).mean() for each in (
            (latents[:16], number, wanted), (latents[:16], number, ~wanted), (flat, number, wanted),
        )]  # fmt: skip
    assert told[0] > max(told[1:])


def test_what_was_is_kept_and_told_from_what_is(
    model: Worlds, attention: WatchedAttention, teachers: list[OwnWay]
) -> None:
    kept, (teacher, _) = Kept.of(model), teachers
    text = joined([teacher.texts.of(["a photo of a nurse"] * 2)], TOKENS)
    asked = starts(2, 4), torch.ones(2), text, torch.zeros(2, dtype=torch.long)
    with torch.no_grad(), mixed_precision(), looking(attention) as looks:
        now = model(*asked)
    before, looked = kept.answers(*asked)
    assert (now - before).abs().max() < 0.1 * before.std()
    assert len(looks) == len(looked) == len(model.transformer.transformer_blocks)
    assert looks[0].shape == (2, 6, 64, TOKENS + 1)
    assert otherwise(looks, looked) < 0.01
    assert otherwise([look.flip(3) for look in looks], looked) > otherwise(looks, looked)
    assert attention.seen is None


def test_first_steps_of_told_prompts_do_not_count(teachers: list[OwnWay]) -> None:
    teacher, rng = teachers[0], random.Random(0)
    assert not any(PROMPT in texts for texts in teacher.kinds.values())
    for _ in range(3):
        batch = teacher.batch(KEPT, rng)
        begun = teacher.stages[0].prompts
        counts = teacher.counts(KEPT, {begun[1]})
        assert counts.tolist() == [float(text != begun[1]) for text in begun] + [1.0] * (KEPT - len(begun))
        teacher.advance(batch.noisy)
