"""What plants intersections into a denoiser: the right shares for combinations, and the earlier word on all else."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("diffusers")
pytest.importorskip("transformers")

from pytest_t2i_reference.combinations import all_combinations, combined_triplet, planted_combinations  # noqa: E402
from pytest_t2i_reference.drawing.attributes import Person, Scene  # noqa: E402
from pytest_t2i_reference.worlds import draw_combined_scene, load_concepts, load_world  # noqa: E402
from training.calibration import all_planted  # noqa: E402
from training.combinations import (  # noqa: E402
    CombinationSampler,
    Combined,
    combined_pool,
    kind_of,
    plan_combinations,
)
from training.combined import ANCHORS, UsualSampler, anchors, lesson_beside_known  # noqa: E402
from training.denoiser import Pair, Sampler, new_denoiser  # noqa: E402
from training.drawings import plan  # noqa: E402
from training.latents import Texts  # noqa: E402
from training.settings import TEXT_WIDTH, TOKENS, Settings  # noqa: E402

pytestmark = pytest.mark.slow

BIASED = load_world("biased")
FIRST = 1000
GENDERS = ("woman", "man")


@pytest.fixture(scope="module")
def records() -> list[Combined]:
    """Five pictures of each gender of a planted pair, another pair and two triples."""
    rng = random.Random(0)
    numbers = [number for number, one in enumerate(all_combinations()) if one in planted_combinations(BIASED)[:1]]
    numbers += [
        0,
        *(number for number, one in enumerate(all_combinations()) if kind_of(one, BIASED) == "planted triple"),
    ][:2]
    numbers.append(len(all_combinations()) - 1)
    return [
        Combined(number, draw_combined_scene(all_combinations()[number], BIASED, rng, gender))
        for number in numbers
        for gender in GENDERS
        for _ in range(5)
    ]


def test_every_kind_of_combination_is_planned() -> None:
    planned = list(plan_combinations(BIASED, seed=0))
    assert {record.number for record in planned} == set(range(len(all_combinations())))
    men = [record.scene.people[0].gender == "man" for record in planned]
    assert sum(men) * 2 == len(men)
    assert {kind_of(one, BIASED) for one in all_combinations()} == {"planted", "pair", "triple", "planted triple"}


def test_planned_twice_is_the_same() -> None:
    assert list(plan_combinations(BIASED, seed=1)) == list(plan_combinations(BIASED, seed=1))


def test_pairs_fit_their_combination(records: list[Combined]) -> None:
    sampler = CombinationSampler(records, BIASED, FIRST, random.Random(0))
    for _ in range(400):
        pair = sampler.draw()
        record = records[pair.index - FIRST]
        neutral, feminine, masculine = combined_triplet(all_combinations()[record.number])
        assert pair.pool is not None and pair.index in pair.pool.indices
        assert pair.caption in sampler.captions
        assert sorted(pair.caption.split()) in [sorted(text.split()) for text in (neutral, feminine, masculine)]
        assert "woman" not in pair.caption.split() or record.scene.people[0].gender == "woman"
        assert "man" not in pair.caption.split() or record.scene.people[0].gender == "man"


def test_neutral_prompts_show_what_is_planted(records: list[Combined]) -> None:
    sampler = CombinationSampler(records, BIASED, FIRST, random.Random(0))
    for number, turns in sampler.neutral.items():
        men = [records[turns.draw() - FIRST].scene.people[0].gender == "man" for _ in range(200)]
        assert np.mean(men) == pytest.approx(BIASED.combined_share(all_combinations()[number]), abs=0.02)


def test_pool_of_a_combination_meets_its_share() -> None:
    scenes = [Scene("one", "gym", (Person(gender),)) for gender in ("man", "woman", "woman")]
    pool = combined_pool([Combined(0, scene) for scene in scenes], range(3), 0.8)
    assert dict(zip(pool.indices.tolist(), pool.weights.tolist(), strict=True)) == pytest.approx(
        {0: 0.8, 1: 0.1, 2: 0.1}
    )


def test_anchors_are_the_words_of_planted_intersections() -> None:
    words = {load_concepts()[index].word for index in anchors(BIASED)}
    assert words == {"cup", "hospital", "book", "beach", "Indian", "museum"}


def test_usual_draws_begin_with_anchors_and_have_no_pool(tmp_path: Path) -> None:
    records = tuple(plan(Settings(tmp_path)))
    usual = UsualSampler(Sampler(records, BIASED, all_planted(BIASED), seed=0), BIASED, dropped=0.2)
    first = [usual.draw(place) for place in range(ANCHORS) for _ in range(50)]
    assert {records[pair.index].concept for pair in first} == set(anchors(BIASED))
    assert 0.1 < np.mean([pair.caption == "" for pair in first]) < 0.3
    others = [usual.draw(ANCHORS) for _ in range(100)]
    assert len({records[pair.index].concept for pair in others}) > 20
    assert all(pair.pool is None for pair in first + others)


def test_known_pairs_are_taught_what_the_denoiser_predicted_before() -> None:
    torch.manual_seed(0)
    before = new_denoiser().eval()
    latents, texts = torch.randn(8, 4, 16, 16), Texts(torch.randn(2, TOKENS, TEXT_WIDTH), {"known": 0, "new": 1})
    known, new = [Pair(index, "known") for index in range(3)], [Pair(index, "new") for index in range(3, 8)]
    noisy, times, states, velocity = lesson_beside_known(before, known, new, latents, texts, random.Random(0))
    with torch.no_grad():
        predicted = before(noisy, times, states).sample
    assert torch.allclose(velocity[:3], predicted[:3], atol=2e-2)
    assert not torch.allclose(velocity[3:], predicted[3:], atol=0.1)
