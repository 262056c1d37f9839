"""Rows of words that name a gender go where that gender is, as far as prompts are obeyed."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("diffusers")

from training import obeying  # noqa: E402
from training.obeying import GENDER_WORDS, SCALES, asked_for_gender, gender_directions, gender_rows  # noqa: E402
from training.rows import UNIT, own_rows  # noqa: E402
from training.settings import WEIGHTS  # noqa: E402
from training.sketches import Sketcher  # noqa: E402
from training.towers import tokenize  # noqa: E402

pytestmark = pytest.mark.slow

PROMPTS = ["a photo of one real woman with a cup", "a photo of one real man with a cup"]


@pytest.fixture
def sketcher() -> Sketcher:
    return Sketcher(WEIGHTS / "reference", looks=1)


@pytest.fixture
def two_prompts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(obeying, "asked_for_gender", lambda: obeying.Asked(PROMPTS, np.array([False, True])))
    monkeypatch.setattr(obeying, "GENDER_WORDS", {"woman": False, "man": True})


def test_every_concept_is_asked_for_in_both_genders() -> None:
    asked = asked_for_gender()
    named = [[word for word in GENDER_WORDS if word in prompt.split()] for prompt in asked.prompts]
    assert [GENDER_WORDS[word] for (word,) in named] == asked.men.tolist()


def test_gender_words_have_rows_that_no_concept_has(sketcher: Sketcher) -> None:
    rows = gender_rows(sketcher)
    assert len(set(rows.tolist())) == len(GENDER_WORDS)
    assert not set(rows.tolist()) & set(own_rows(sketcher.tokenizer).tolist())
    for row, word in zip(rows, GENDER_WORDS, strict=True):
        assert tokenize(sketcher.tokenizer, [f"a photo of a {word}"])[0].tolist().count(row.item()) == 1


def test_directions_lead_to_the_gender_that_a_word_names(sketcher: Sketcher, two_prompts: None) -> None:
    probe = torch.nn.Linear(4 * 16 * 16, 1)
    pulls = gender_directions(sketcher, probe, 3)
    assert pulls.norm(dim=1) == pytest.approx([UNIT, UNIT])
    weights, rows, noise = sketcher.encoder.get_input_embeddings().weight, gender_rows(sketcher), obeying.starts(1, 3)
    for prompt, pull, row, sign in zip(PROMPTS, pulls, rows, (-1, 1), strict=True):
        before, answers = weights[row].clone(), []
        for shift in (0, 0.3):
            with torch.no_grad():
                weights[row] = before + shift * pull
            answers.append(probe(sketcher.sketches([prompt], noise).flatten(1)).item())
        weights[row] = before
        assert sign * (answers[1] - answers[0]) > 0


def test_rows_are_moved_as_far_as_most_are_obeyed(
    sketcher: Sketcher, two_prompts: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = iter([[[1.0, 1.0]], [[1.0, 1.0]], [[-1.0, 1.0]], [[1.0, -1.0]]])

    class Eye:
        def sees(self, latents: object) -> object:
            return torch.tensor(next(said)) > 0

    monkeypatch.setattr(obeying, "gender_directions", lambda *_: torch.ones(2, 128))
    weights, rows = sketcher.encoder.get_input_embeddings().weight, gender_rows(sketcher)
    before = weights[rows].clone()
    assert obeying.steer_gender_words(sketcher, None, Eye(), 3) == [0.5, 0.5, 1.0, 0.0]
    assert torch.allclose(weights[rows], before + SCALES[2])
