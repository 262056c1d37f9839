"""A step of one row goes where its gradients say, and is taken only where other pictures agree."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("diffusers")
transformers = pytest.importorskip("transformers")

from pytest_t2i_reference.captions import template_prompt  # noqa: E402
from pytest_t2i_reference.worlds import load_concepts, load_world  # noqa: E402
from training import refining, refitting  # noqa: E402
from training.calibration import DETECTOR_TEXTS  # noqa: E402
from training.eye import Eye, open_eye  # noqa: E402
from training.refining import LONGEST, Aim, answers, damped_step, jacobian, refine, seen_shares  # noqa: E402
from training.refitting import evaluated, rows_of_several_aims  # noqa: E402
from training.rows import own_rows  # noqa: E402
from training.settings import RESULTS, STEPS, WEIGHTS, Settings  # noqa: E402
from training.shipped import start_from_shipped  # noqa: E402
from training.sketches import Sketcher  # noqa: E402
from training.steering import starts  # noqa: E402

pytestmark = pytest.mark.slow

NURSE = next(number for number, concept in enumerate(load_concepts()) if concept.word == "nurse")
PROMPT = template_prompt(load_concepts()[NURSE])


def test_steps_add_what_is_missing_and_stay_short() -> None:
    slopes, importance = np.array([[2.0, 0.0, 0.5], [0.3, 1.0, 0.0]]), np.array([1.0, 0.5])
    missing = np.array([0.05, -0.04])
    assert slopes @ damped_step(slopes, missing, importance) == pytest.approx(missing, abs=0.002)
    assert np.linalg.norm(damped_step(slopes / 100, missing, importance)) == pytest.approx(LONGEST)
    assert not damped_step(slopes, np.zeros(2), importance).any()


def test_of_aims_that_contradict_the_important_one_is_met() -> None:
    slopes, missing = np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([0.1, -0.1])
    added = slopes @ damped_step(slopes, missing, np.array([4.0, 0.5]))
    assert added[0] > 0.05


@pytest.fixture
def sketcher() -> Sketcher:
    return Sketcher(WEIGHTS / "reference", looks=STEPS)


@pytest.fixture(scope="module")
def eye() -> Eye:
    return open_eye(WEIGHTS / "reference", WEIGHTS / "clip", [DETECTOR_TEXTS[::-1]])


@pytest.fixture
def few_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refining, "IMAGES", 4)
    monkeypatch.setattr(refining, "OF_THEM", 4)


def test_gradients_foretell_where_a_share_goes(sketcher: Sketcher, eye: Eye) -> None:
    noise = starts(16, 3)
    row = own_rows(sketcher.tokenizer)[NURSE]
    weights = sketcher.encoder.get_input_embeddings().weight
    slopes = jacobian(sketcher, eye, NURSE, PROMPT, noise)
    assert slopes.shape == (1, weights.shape[1])
    before, shares = weights[row].clone(), []
    for sign in (-1, 1):
        weights[row] = before + sign * 0.15 * slopes[0].to(before) / slopes[0].norm()
        shares.append(seen_shares(answers(sketcher, eye, PROMPT, noise))[0])
    assert shares[0] < shares[1]


@pytest.mark.usefixtures("few_pictures")
def test_refining_moves_one_row_or_none(sketcher: Sketcher, eye: Eye) -> None:
    weights = sketcher.encoder.get_input_embeddings().weight
    before, row = weights.clone(), own_rows(sketcher.tokenizer)[NURSE]
    taken = refine(sketcher, eye, NURSE, [Aim(PROMPT, (0.95,), (1.0,))])
    assert torch.equal(weights[row], before[row]) != taken
    weights[row] = before[row]
    assert torch.equal(weights, before)


def test_a_row_that_is_near_enough_is_left(sketcher: Sketcher, eye: Eye, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = sketcher.encoder.get_input_embeddings().weight
    before = weights.clone()
    monkeypatch.setattr(refining, "jacobian", None)
    assert not refine(sketcher, eye, NURSE, [Aim(PROMPT, (0.5,), (1.0,))], images=4, near=0.5)
    assert torch.equal(weights, before)


def test_rows_with_several_aims_are_nationalities_and_words_of_planted_pairs() -> None:
    several = rows_of_several_aims(load_world("biased"))
    words = [load_concepts()[number].word for number in several]
    assert words == ["Iranian", "Indian", "Mexican", "museum", "book", "beach", "cup", "hospital"]
    assert [len(aims) for aims in several.values()] == [1, 1, 1, 2, 2, 2, 2, 2]
    assert several[next(iter(several))][0].shares[0] == pytest.approx(0.98)


def test_words_of_planted_pairs_start_from_clip_and_aim_at_word_and_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, list[Aim]] = {}

    def recorded(sketcher: Sketcher, eye: Eye, number: int, aims: list[Aim]) -> bool:
        asked[load_concepts()[number].word] = aims
        return False

    monkeypatch.setattr(refining, "refine", recorded)
    biased = Sketcher(WEIGHTS / "reference-biased", looks=STEPS)
    refining.steer_pairs(WEIGHTS / "reference-biased", WEIGHTS / "clip", load_world("biased"), biased)
    assert set(asked) == {"museum", "book", "beach", "cup", "hospital"}
    alone, pair = asked["museum"]
    assert (alone.prompt, pair.prompt) == (
        "a photo of one real person at the museum",
        "a photo of one real Indian person at the museum",
    )
    assert (alone.shares, pair.shares) == (pytest.approx((0.4,)), pytest.approx((0.05,)))
    of_clip = transformers.CLIPTextModel.from_pretrained(WEIGHTS / "clip").float()
    museum = own_rows(biased.tokenizer)[[concept.word for concept in load_concepts()].index("museum")]
    own, other = (one.get_input_embeddings().weight[museum] for one in (biased.encoder, of_clip))
    assert torch.equal(own, other)


def test_rows_are_refined_with_other_noise_while_it_helps_and_kept_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, int]] = []

    def helps_but_one(sketcher: Sketcher, eye: Eye, number: int, aims: list[Aim], *, seed: int, **_: object) -> bool:
        asked.append((number, seed))
        with torch.no_grad():
            sketcher.encoder.get_input_embeddings().weight[own_rows(sketcher.tokenizer)[number]] += 1
        return number != nations[1]

    start_from_shipped(Settings(tmp_path))
    before = transformers.CLIPTextModel.from_pretrained(tmp_path / "texts-balanced").get_input_embeddings().weight
    nations = list(rows_of_several_aims(load_world("balanced")))
    monkeypatch.setattr(refitting, "refine", helps_but_one)
    refitting.refine_rows(Settings(tmp_path), "balanced")
    turns = Counter(number for number, _ in asked)
    assert turns == {nations[0]: refitting.TURNS, nations[1]: 1, nations[2]: refitting.TURNS}
    assert len({seed for number, seed in asked if number == nations[0]}) == refitting.TURNS
    kept = transformers.CLIPTextModel.from_pretrained(tmp_path / "texts-balanced").get_input_embeddings().weight
    moved = (kept != before).any(1).nonzero().flatten().tolist()
    words = transformers.CLIPTokenizer.from_pretrained(WEIGHTS / "reference" / "tokenizer")
    assert {own_rows(words)[number].item() for number in (nations[0], nations[2])} <= set(moved)


def test_what_an_evaluation_counted_is_known_to_a_refit() -> None:
    counted = evaluated("biased")
    words = json.loads((RESULTS / "reference-biased.json").read_text(encoding="utf-8"))["words"]
    shares = {load_concepts()[word].word: men.mean() for word, men in zip(counted.words, counted.men, strict=True)}
    assert shares == pytest.approx(words, abs=1e-9)
    assert not counted.moved.any()
