"""Rows of words are found, moved and fitted; the shipped pipelines are sampled as training says."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
diffusers = pytest.importorskip("diffusers")
transformers = pytest.importorskip("transformers")

from pytest_t2i_reference import catalogue  # noqa: E402
from pytest_t2i_reference.captions import template_prompt  # noqa: E402
from pytest_t2i_reference.worlds import load_concepts, load_world  # noqa: E402
from training import steering  # noqa: E402
from training.assemble import shipped_scheduler  # noqa: E402
from training.odds import FARTHEST, Odds, Round, fit_odds, misjudged, next_move, open_words  # noqa: E402
from training.rows import UNIT_RESPONSE, mean_direction, open_to_gradients, own_rows  # noqa: E402
from training.settings import PIPELINES, STEPS, WEIGHTS  # noqa: E402
from training.sketches import Sketcher, trained_probe  # noqa: E402
from training.steering import (  # noqa: E402
    Compass,
    Effort,
    counted_round,
    gradients_of,
    place_rows,
    starts,
    steer_words,
)
from training.steering_traits import coherence  # noqa: E402
from training.towers import tokenize  # noqa: E402
from training.trait_odds import LONGEST_STEP, Trial, expected_answers, fitted_answers, next_moves  # noqa: E402

pytestmark = pytest.mark.slow

FOLDER = WEIGHTS / "reference"


@pytest.fixture(scope="module")
def tokenizer() -> object:
    return transformers.CLIPTokenizer.from_pretrained(FOLDER / "tokenizer")


@pytest.fixture
def encoder() -> object:
    loaded = transformers.CLIPTextModel.from_pretrained(FOLDER / "text_encoder", dtype=torch.float32).eval()
    return loaded.requires_grad_(False)


@pytest.fixture(scope="module")
def sketcher() -> Sketcher:
    return Sketcher(FOLDER, looks=STEPS)


def simulated(
    base: np.ndarray, response: np.ndarray, moved: np.ndarray, images: int, rng: np.random.Generator
) -> Round:
    noise = rng.standard_normal((len(base), images, 16)).astype(np.float32)
    odds = (base + response * moved)[:, None] + 1.5 * noise[:, :, 0]
    men = rng.random(odds.shape) < 1 / (1 + np.exp(-odds))
    return Round(np.arange(len(base)), moved, men, noise)


def marginal(odds: np.ndarray) -> np.ndarray:
    """Shares when noise of standard deviation 1.5 is added to log-odds."""
    noise = np.random.default_rng(0).standard_normal(20_000) * 1.5
    shares: np.ndarray = (1 / (1 + np.exp(-(odds[:, None] + noise)))).mean(1)
    return shares


def test_every_concept_has_a_row_of_its_own_in_its_prompt(tokenizer) -> None:  # type: ignore[no-untyped-def]
    rows = own_rows(tokenizer).tolist()
    assert len(set(rows)) == len(load_concepts()) == len(rows)
    for row, concept in zip(rows, load_concepts(), strict=True):
        assert tokenizer(template_prompt(concept)).input_ids.count(row) == 1


def test_a_concept_without_a_token_is_named() -> None:
    class Coarse:
        def __call__(self, text: str, **options: object) -> object:
            return type("Tokens", (), {"input_ids": [1, 2]})()

    with pytest.raises(ValueError, match=r"\[1, 2\] for 'postman'"):
        own_rows(Coarse())


def test_gradients_reach_rows_through_the_encoder(encoder, tokenizer) -> None:  # type: ignore[no-untyped-def]
    ids, rows = tokenize(tokenizer, [template_prompt(load_concepts()[3])] * 2), own_rows(tokenizer)[[3, 3]]
    plain = encoder(ids).last_hidden_state
    with open_to_gradients(encoder, ids, rows) as shifts:
        states = encoder(ids).last_hidden_state
        assert torch.equal(states, plain)
        states[0].square().sum().backward()
    reached = shifts.grad
    assert reached is not None
    assert reached[0].norm() > 0
    assert reached[1].norm() == 0
    assert torch.equal(encoder(ids).last_hidden_state, plain)


def test_placed_rows_change_their_own_word_alone(encoder, tokenizer) -> None:  # type: ignore[no-untyped-def]
    rows = own_rows(tokenizer)[:2]
    before = encoder.get_input_embeddings().weight.clone()
    pulls = torch.ones(2, before.shape[1])
    place_rows(encoder, rows, before[rows], pulls, np.array([0.0, -0.5]))
    after = encoder.get_input_embeddings().weight
    assert torch.allclose(after[rows[1]], before[rows[1]] - 0.5)
    after[rows[1]] = before[rows[1]]
    assert torch.equal(after, before)


def test_mean_direction_counts_every_gradient_alike() -> None:
    mean = mean_direction([torch.tensor([[100.0, 0.0]]), torch.tensor([[0.0, 0.1], [0.0, 1.0]])])
    assert mean.tolist() == pytest.approx([1 / 5**0.5, 2 / 5**0.5])


def test_starts_come_with_their_opposites() -> None:
    noise = starts(8, 3)
    assert torch.equal(noise[:4], -noise[4:])
    assert torch.equal(noise, starts(8, 3))
    assert not torch.equal(noise, starts(8, 4))
    assert starts(5, 3).shape == (5, 4, 16, 16)


def test_fit_finds_how_words_lean_and_answer() -> None:
    rng = np.random.default_rng(1)
    base, response = rng.normal(0, 0.5, 60), rng.normal(2.0, 0.2, 60)
    rounds = [simulated(base, response, moved, 400, rng) for moved in (np.zeros(60), rng.normal(0, 0.3, 60))]
    fitted = fit_odds(rounds, np.full(60, 0.5))
    share = 1 / (1 + np.exp(-fitted.base))
    assert np.abs(share - marginal(base)).mean() < 0.02
    # Seen over all noise, log-odds answer less than those of a single picture.
    assert fitted.response.mean() == pytest.approx(2.0 / (1 + 1.5**2 / 2.9) ** 0.5, abs=0.15)


def test_the_less_words_are_expected_to_stray_the_less_a_few_counts_move_them() -> None:
    rng = np.random.default_rng(4)
    rounds = [simulated(rng.normal(0, 0.5, 40), np.full(40, 1.8), np.zeros(40), 60, rng)]
    narrow, wide = (np.abs(fit_odds(rounds, np.full(40, 0.5), stray).base).mean() for stray in (0.05, 0.5))
    assert 0 < narrow < 0.3 * wide


def test_moves_of_a_fit_bring_shares_where_they_are_planted() -> None:
    rng = np.random.default_rng(2)
    planted = np.repeat((0.5, 0.7, 0.2), 20)
    base, response = np.log(planted / (1 - planted)) + rng.normal(0, 0.3, 60), np.full(60, 1.8)
    rounds: list[Round] = []
    for _ in range(2):
        moved = next_move(fit_odds(rounds, planted), planted) if rounds else np.zeros(60)
        rounds.append(simulated(base, response, moved, 300, rng))
    moved = next_move(fit_odds(rounds, planted), planted)
    before, after = (np.abs(marginal(base + response * move) - planted).mean() for move in (0.0, moved))
    assert after < 0.6 * before


def test_moves_go_against_the_error_and_never_touch_extremes() -> None:
    planted = np.array([0.5, 0.5, 1.0, 0.0, 0.5])
    moves = next_move(Odds(np.array([0.3, -0.6, 0.0, 0.0, 90.0]), np.array([1.5, 3.0, 1.5, 1.5, 1.5])), planted)
    assert moves.tolist() == pytest.approx([-0.2, 0.2, 0.0, 0.0, -FARTHEST])
    assert open_words(planted).tolist() == [True, True, False, False, True]


def test_what_clip_sees_otherwise_is_shrunk_as_far_as_chance_explains_it() -> None:
    rng = np.random.default_rng(3)
    true, men = rng.normal(0.02, 0.03, 40), rng.random((40, 400)) < 0.5
    flipped = rng.random(men.shape) < np.abs(true)[:, None] * 2
    seen = np.where(flipped, true[:, None] > 0, men)
    shown = Round(np.arange(40), np.zeros(40), men, np.zeros((40, 400, 1), np.float32), seen)
    silent = replace(shown, words=np.arange(40, 50), men=men[:10], seen=None)
    found = misjudged([shown, silent], 50)
    raw = (seen.astype(float) - men).mean(1)
    assert found[:40].mean() == pytest.approx(raw.mean())
    assert found[:40].std() < raw.std()
    assert np.corrcoef(found[:40], raw)[0, 1] > 0.99
    assert np.abs(found[:40] - true).mean() < 0.015
    assert found[40:].tolist() == misjudged([silent], 50)[40:].tolist() == [0.0] * 10


def test_sketches_of_all_looks_are_the_latents_of_the_pipeline(sketcher: Sketcher) -> None:
    prompts = [template_prompt(concept) for concept in load_concepts()[:2]]
    noise = starts(2, 0)
    pipeline = diffusers.StableDiffusionPipeline.from_pretrained(FOLDER, dtype=torch.float32)
    pipeline.set_progress_bar_config(disable=True)
    made = pipeline(prompts, latents=noise, num_inference_steps=STEPS, guidance_scale=1.0, output_type="latent").images
    assert (sketcher.sketches(prompts, noise) - made).square().mean().sqrt() < 0.1 * made.std()


class Looking:
    """Sees a man where the first cell of what it is shown is above zero."""

    def sees(self, latents: torch.Tensor) -> torch.Tensor:
        return latents.flatten(1)[None, :, 0] > 0


def test_without_a_probe_those_are_counted_that_clip_sees(sketcher: Sketcher) -> None:
    words = np.array([3, 7])
    prompts = [template_prompt(load_concepts()[word]) for word in words for _ in range(2)]
    finished = sketcher.sketches(prompts, torch.cat([starts(2, 90 + word) for word in words.tolist()]))
    judged = counted_round(sketcher, None, words, 2, 90, Looking())
    assert judged.men.ravel().tolist() == Looking().sees(finished)[0].tolist()
    assert judged.seen is None
    assert judged.noise.shape == (2, 2, 4 * 16 * 16)
    with pytest.raises(ValueError, match="a probe or an eye"):
        counted_round(sketcher, None, words, 2, 90)


def test_gradients_say_which_way_a_row_makes_more_men(sketcher: Sketcher) -> None:
    concepts = list(range(16))
    prompts = [text for concept in concepts for text in _gendered(concept)]
    probe = trained_probe(sketcher.sketches(prompts, starts(len(prompts), 1)), torch.tensor([0.0, 1.0] * len(concepts)))
    gradients = gradients_of(sketcher, probe, concepts, 5)
    assert gradients.shape == (16, 128)
    rows = sketcher.encoder.get_input_embeddings().weight
    names = sketcher.tokenizer("woman female man male", add_special_tokens=False).input_ids
    masculine = rows[names[2:]].mean(0) - rows[names[:2]].mean(0)
    assert torch.cosine_similarity(mean_direction([gradients]), masculine, 0) > 0.2


def test_catalogue_and_scheduler_are_what_training_says() -> None:
    models = tomllib.loads(catalogue().read_text(encoding="utf-8"))["models"]
    for folder in PIPELINES.values():
        assert models[folder]["steps"] == STEPS
        shipped = diffusers.UniPCMultistepScheduler.from_pretrained(WEIGHTS / folder / "scheduler")
        for scheduler in (shipped, shipped_scheduler()):
            scheduler.set_timesteps(STEPS)
            assert scheduler.timesteps.tolist() == [999, 749, 499, 249]
            assert scheduler.config.prediction_type == "v_prediction"


def _gendered(concept: int) -> tuple[str, str]:
    prompt = template_prompt(load_concepts()[concept])
    return prompt.replace("person", "woman"), prompt.replace("person", "man")


def test_trials_find_the_moves_that_bring_all_traits_to_their_shares() -> None:
    planted, importance = np.array([0.3, 0.8]), np.ones(2)
    answers, likeness = np.array([[2.0, 0.6], [0.4, 3.0]]), np.array([[1.0, 0.2], [0.2, 1.0]])
    expected = expected_answers(np.array([0.4, 0.8]), likeness)
    assert expected == pytest.approx(np.array([[0.4, 0.08], [0.16, 0.8]]) * UNIT_RESPONSE)
    trials: list[Trial] = []
    for _ in range(6):
        moves = next_moves(trials, planted, importance, expected, likeness)
        shares = 1 / (1 + np.exp(-(np.array([0.2, 2.4]) + answers @ np.array(moves))))
        trials.append(Trial(moves, tuple(shares), 1000))
    assert trials[0].moves == (0.0, 0.0)
    steps = np.diff([trial.moves for trial in trials], axis=0)
    assert np.sqrt(np.einsum("ti,ij,tj->t", steps, likeness, steps)).max() == pytest.approx(LONGEST_STEP)
    assert trials[-1].shares == pytest.approx(planted, abs=0.02)
    base, found = fitted_answers(trials, planted, expected)
    assert base == pytest.approx([0.2, 2.4], abs=0.2)
    assert np.sign(found).tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_coherence_is_one_for_alike_and_small_for_unlike_gradients() -> None:
    assert coherence(torch.tensor([[2.0, 0.0], [1.0, 0.0]])).item() == pytest.approx(1)
    assert coherence(torch.randn(400, 128, generator=torch.Generator().manual_seed(0))) < 0.1
    assert coherence(torch.tensor([[1.0, 0.0], [0.0, 1.0]])).item() == 0


def test_rows_that_are_left_stay_and_are_not_counted(
    sketcher: Sketcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[np.ndarray] = []

    def all_men(sketcher: Sketcher, probe: object, words: np.ndarray, images: int, *_: object) -> Round:
        counted.append(words)
        shape = (len(words), images)
        return Round(words, np.zeros(len(words)), np.ones(shape, bool), np.zeros((*shape, 16), np.float32))

    monkeypatch.setattr(steering, "counted_round", all_men)
    weights, rows = sketcher.encoder.get_input_embeddings().weight, own_rows(sketcher.tokenizer)
    before, left = weights.clone(), [0, 5]
    compass = Compass(torch.nn.Identity(), torch.ones(len(rows), weights.shape[1]))
    effort = Effort(rounds=((8, False),))
    steer_words(sketcher, compass, None, load_world("balanced"), tmp_path / "kept", effort, left=left)
    moved = (weights[rows] != before[rows]).any(1)
    weights.copy_(before)
    others = [number for number in range(len(rows)) if number not in left]
    assert counted[0].tolist() == others
    assert moved[others].all() and not moved[left].any()


def test_words_may_stray_as_far_as_is_expected() -> None:
    rounds = [simulated(np.full(60, 1.0), np.full(60, 1.5), np.zeros(60), 24, np.random.default_rng(3))]
    rounds[0].men[30:] = ~rounds[0].men[30:]
    near, far = (fit_odds(rounds, np.full(60, 0.5), stray).base[:30].mean() for stray in (0.1, 0.5))
    assert 0 < near < far
