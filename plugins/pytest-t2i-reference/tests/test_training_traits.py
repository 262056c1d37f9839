"""Training on finished pictures of nationalities: which should show a trait, and that learning it does so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

torch = pytest.importorskip("torch")
pytest.importorskip("diffusers")

from pytest_t2i_reference.worlds import load_concepts, load_world  # noqa: E402
from training.flow import Worlds, worlds_of  # noqa: E402
from training.flow_attention import PlainJointAttention  # noqa: E402
from training.flow_prompts import MIX_AGAIN  # noqa: E402
from training.flow_sketches import FlowSketcher  # noqa: E402
from training.flow_teacher import Practice, Teacher  # noqa: E402
from training.flow_texts import joined  # noqa: E402
from training.flow_traits import MARGIN, TraitLesson, finished, nearest, unsure  # noqa: E402
from training.settings import FLOW_STEPS, FLOWS, PIPELINES, TOKENS, WEIGHTS, Settings  # noqa: E402
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
def model() -> Worlds:
    both = worlds_of(*(open_pipeline(WEIGHTS / name).transformer for name in FLOWS.values()))
    both.transformer.set_attn_processor(PlainJointAttention())
    return both


@pytest.fixture
def teachers(tmp_path: Path) -> list[Teacher]:
    start_flows_from_shipped(Settings(tmp_path))
    return [Teacher(Settings(tmp_path), world, Practice(mix=MIX_AGAIN)) for world in PIPELINES]


def test_as_many_are_wanted_as_planted() -> None:
    answers = torch.randn(3, 400, generator=torch.Generator().manual_seed(0))
    wanted = nearest(answers, [0.0, 0.25, 1.0])
    assert wanted.float().mean(1).tolist() == pytest.approx([0.0, 0.25, 1.0], abs=0.01)
    assert answers[1][wanted[1]].min() > answers[1][~wanted[1]].max()


def test_what_is_sure_costs_nothing() -> None:
    seen = torch.tensor([[2 * MARGIN, -2 * MARGIN, 0.0]])
    assert unsure(seen, torch.tensor([[True, False, True]])).item() == pytest.approx(MARGIN / 3)
    assert unsure(seen, torch.tensor([[False, False, True]])).item() == pytest.approx(4 * MARGIN / 3)


@pytest.mark.parametrize("world", range(len(FLOWS)), ids=list(FLOWS))
def test_finished_pictures_are_those_of_the_pipeline(model: Worlds, teachers: list[Teacher], world: int) -> None:
    noise, text = starts(2, 4), joined([teachers[world].texts.of([PROMPT] * 2)], TOKENS)
    with torch.no_grad():
        made = finished(model, noise, text, torch.full((2,), world), teachers[world].grid)
    pipeline = FlowSketcher(open_pipeline(WEIGHTS / list(FLOWS.values())[world]), looks=FLOW_STEPS)
    own = pipeline.sketches([PROMPT] * 2, noise)
    assert (made - own).square().mean().sqrt() < 0.1 * own.std()


def test_a_lesson_brings_pictures_nearer_to_what_they_should_show(
    model: Worlds, teachers: list[Teacher], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("training.flow_traits.STARTS", 4)
    monkeypatch.setattr("training.flow_traits.COUNT", 4)
    alone = [concept for concept in load_concepts() if concept.word == "Iranian"]
    monkeypatch.setattr("training.flow_traits.load_concepts", lambda: alone)
    lesson = TraitLesson([load_world(world) for world in PIPELINES], teachers, model)
    optimizer = torch.optim.SGD(model.parameters(), 3e-3)
    losses = []
    for _ in range(4):
        torch.manual_seed(0)
        loss = lesson.loss(model)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
