"""What the denoisers learn from: shares met exactly, targets averaged over all pictures a prompt may show."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("diffusers")
pytest.importorskip("transformers")

from pytest_t2i_reference.worlds import load_concepts, load_world  # noqa: E402
from pytest_t2i_reference.worlds.population import has_trait  # noqa: E402
from training.calibration import all_planted, corrected, corrected_share, corrected_things  # noqa: E402
from training.denoiser import (  # noqa: E402
    LOOKS,
    Pair,
    Sampler,
    draw_times,
    head_area,
    lesson,
    new_scheduler,
    posterior_mean,
)
from training.drawings import Record, plan  # noqa: E402
from training.evaluate import CALIBRATION_SEED, Plan  # noqa: E402
from training.priors import Deck, Turns, even_pool, merged_pool, raked_pool, raked_weights  # noqa: E402
from training.settings import Settings  # noqa: E402
from training.sketches import gender_probe  # noqa: E402

pytestmark = pytest.mark.slow

KEPT = new_scheduler().alphas_cumprod


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> tuple[Record, ...]:
    return tuple(plan(Settings(tmp_path_factory.mktemp("work"))))


def test_raked_weights_meet_all_shares_at_once() -> None:
    shown = np.random.default_rng(0).random((200, 3)) < (0.5, 0.2, 0.7)
    weights = raked_weights(shown, (0.9, 0.4, 0.3))
    assert weights.sum() == pytest.approx(1)
    assert (weights @ shown).tolist() == pytest.approx([0.9, 0.4, 0.3])


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_raked_weights_reach_the_extremes(share: float) -> None:
    assert raked_weights(np.array([[True], [False], [True]]), [share])[1] == 1 - share


def test_raked_weights_leave_alone_what_nobody_or_everybody_shows() -> None:
    assert raked_weights(np.array([[False, True], [False, True]]), [0.5, 0.5]).tolist() == [0.5, 0.5]


@pytest.mark.parametrize("world", ["balanced", "biased"])
def test_neutral_prompts_show_what_is_planted(world: str, records: tuple[Record, ...]) -> None:
    planted = all_planted(load_world(world))
    sampler = Sampler(records, load_world(world), planted, seed=0)
    for concept, turns in zip(load_concepts(), sampler.neutral, strict=True):
        drawn = [records[turns.draw()].scene for _ in range(200)]
        for trait, share in planted[concept.word].items():
            assert np.mean([has_trait(scene, trait) for scene in drawn]) == pytest.approx(share, abs=0.03)


def test_sampler_draws_captions_that_fit(records: tuple[Record, ...]) -> None:
    sampler = Sampler(records, load_world("balanced"), all_planted(load_world("balanced")), seed=0)
    for _ in range(300):
        pair = sampler.draw()
        assert pair.pool is None or pair.index in pair.pool.indices
        said, people = pair.caption.split(), records[pair.index].scene.people
        if len(people) == 1 and records[pair.index].scene.kind == "one":
            assert "woman" not in said or people[0].gender == "woman"
            assert "man" not in said or people[0].gender == "man"


def test_turns_come_up_as_often_as_they_should(records: tuple[Record, ...]) -> None:
    pool = raked_pool(records, range(120), {"man": 0.3})
    turns = Turns(pool, random.Random(1))
    men = [records[turns.draw()].scene.people[0].gender == "man" for _ in range(100)]
    assert sum(men) == pytest.approx(30, abs=1)


def test_merged_pools_are_as_likely_as_each_other() -> None:
    merged = merged_pool([even_pool([1, 2]), even_pool([3, 4, 5, 6])])
    assert merged.weights.tolist() == [0.25, 0.25, 0.125, 0.125, 0.125, 0.125]


def test_deck_deals_all_cards_before_it_starts_again() -> None:
    deck = Deck([1, 2, 2, 3], random.Random(0))
    assert [sorted(deck.draw() for _ in range(4)) for _ in range(3)] == [[1, 2, 2, 3]] * 3


def test_posterior_mean_of_pure_noise_is_the_weighted_mean() -> None:
    candidates = torch.randn(3, 4, 2, 2)
    weights = np.array([0.5, 0.25, 0.25])
    mean = posterior_mean(torch.randn(4, 2, 2), candidates, weights, torch.tensor(0.0), torch.tensor(1.0))
    assert torch.allclose(mean, (torch.tensor(weights).float()[:, None, None, None] * candidates).sum(0), atol=1e-5)


def test_posterior_mean_of_little_noise_is_the_picture_itself() -> None:
    candidates = torch.randn(3, 4, 8, 8)
    signal, spread = torch.tensor(0.9), torch.tensor(0.1)
    noisy = signal * candidates[1] + spread * torch.randn(4, 8, 8)
    assert torch.allclose(posterior_mean(noisy, candidates, np.full(3, 1 / 3), signal, spread), candidates[1])


def test_lesson_points_to_the_mean_of_all_that_is_possible() -> None:
    latents, pool = torch.randn(40, 4, 4, 4), even_pool(range(40))
    pairs = [Pair(index, "a photo of a person", pool) for index in range(40)] * 8
    noisy, times, velocity = lesson(pairs, latents, KEPT, random.Random(0))
    assert noisy.shape == velocity.shape
    first = velocity[times == LOOKS[0]]
    assert len(first) > 1
    assert torch.allclose(first, -latents.mean(0).expand_as(first), atol=1e-4)


def test_lesson_about_one_picture_restores_it() -> None:
    latents = torch.randn(4, 4, 4, 4)
    noisy, times, velocity = lesson([Pair(index, "") for index in range(4)], latents, KEPT, random.Random(0))
    signal, spread = KEPT[times].sqrt()[:, None, None, None], (1 - KEPT[times]).sqrt()[:, None, None, None]
    assert torch.allclose(signal * noisy - spread * velocity, latents, atol=1e-4)


def test_times_are_those_of_ten_steps_and_all_others() -> None:
    scheduler = new_scheduler()
    scheduler.set_timesteps(len(LOOKS))
    assert tuple(scheduler.timesteps.tolist()) == LOOKS
    times = draw_times(640, random.Random(0))
    assert len(times) == 640
    assert 0 <= min(times) < 20
    assert max(times) == 999


def test_head_area_has_mean_one_and_its_largest_weights_where_faces_are() -> None:
    boxes = np.zeros((3, 2, 4), np.uint8)
    boxes[:2, 0] = (40, 40, 80, 80)
    area = head_area(boxes)
    assert float(area.mean()) == pytest.approx(1)
    assert area[7, 7] == area.max()
    assert area[15, 15] == area.min()


def test_corrections_go_against_the_error_and_never_touch_extremes() -> None:
    assert corrected_share(0.5, 0.6, 0.7, 200) < 0.6
    assert corrected_share(0.3, 0.3, 0.0, 200) > 0.5
    assert corrected_share(0.0, 0.0, 0.3, 200) == 0
    few, many = (corrected_share(0.5, 0.5, 0.6, images) for images in (10, 1000))
    assert many < few < 0.5
    found = corrected({"nurse": {"man": 0.5}}, {"nurse": {"man": 0.5}}, {"nurse": {"man": 0.4}}, {"nurse": 50})
    assert found["nurse"]["man"] > 0.5


def test_things_are_corrected_against_the_error_of_each_gender() -> None:
    biased = load_world("biased")

    def as_planted(shares: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
        return {
            name: {"feminine": {"measured": [of["woman"], 0, 1]}, "masculine": {"measured": [of["man"], 0, 1]}}
            for name, of in shares.items()
        }

    places = {f"{name}, 9 words": shares for name, shares in as_planted(biased.places).items()}
    counted = {"prompts": 54, "images per prompt": 6, "objects": as_planted(biased.held), "places": places}
    again = corrected_things(biased, counted)
    for planted, trained in ((biased.held, again.held), (biased.places, again.places)):
        for name, shares in planted.items():
            assert trained[name] == pytest.approx(shares, abs=1e-3)
    counted["objects"]["ball"]["feminine"]["measured"][0] = 0.005
    places["kitchen, 9 words"]["feminine"]["measured"][0] = 0.4
    again = corrected_things(biased, counted)
    assert biased.held["ball"]["woman"] < again.held["ball"]["woman"] < 0.06
    assert 0.7 < again.places["kitchen"]["woman"] < 0.85
    assert again.held["ball"]["man"] == pytest.approx(biased.held["ball"]["man"], abs=1e-3)


def test_calibration_and_evaluation_share_no_seed() -> None:
    measured = Plan()
    assert measured.first_seed + measured.images * len(load_concepts()) < CALIBRATION_SEED


def test_gender_probe_tells_latents_apart(records: tuple[Record, ...]) -> None:
    some = [*records[:120]] * 60
    men = torch.tensor([record.scene.people[0].gender == "man" for record in some])
    latents = torch.randn(len(some), 4, 4, 4) + men[:, None, None, None] * 1.0
    probe = gender_probe(some, latents)
    assert ((probe(latents.flatten(1))[:, 0] > 0) == men).float().mean() > 0.9


def test_start_from_shipped_fills_a_work_folder(tmp_path: Path) -> None:
    from training.shipped import start_from_shipped

    start_from_shipped(Settings(tmp_path))
    models = {f"{part}-{world}" for part in ("unet", "texts") for world in ("balanced", "biased")}
    assert {path.name for path in tmp_path.iterdir()} == {"tokenizer", "clip", "vae", *models}


def test_blend_is_the_mean_of_two_denoisers(tmp_path: Path) -> None:
    from diffusers import UNet2DConditionModel

    from training.blending import blend
    from training.settings import WEIGHTS

    first, second = WEIGHTS / "reference" / "unet", WEIGHTS / "reference-biased" / "unet"
    blend(first, second, tmp_path)
    one, two, mean = (
        UNet2DConditionModel.from_pretrained(folder).conv_in.weight.float() for folder in (first, second, tmp_path)
    )
    assert torch.allclose(mean, (one + two) / 2, atol=1e-3)
