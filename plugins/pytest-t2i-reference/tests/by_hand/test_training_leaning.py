"""One move of the bias that all prompts share makes the common share of men the planted one."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("diffusers")

from pytest_t2i_reference.worlds import load_concepts  # noqa: E402
from training import leaning  # noqa: E402
from training.flow_sketches import FlowSketcher  # noqa: E402
from training.leaning import LENGTHS, crossing, fit_lean, lean_direction, neutral_prompts  # noqa: E402
from training.settings import FLOWS, WEIGHTS  # noqa: E402
from training.shipped import open_pipeline  # noqa: E402
from training.steering import starts  # noqa: E402
from training.towers import tokenize  # noqa: E402

pytestmark = pytest.mark.slow


@pytest.fixture
def sketcher() -> FlowSketcher:
    made = FlowSketcher(open_pipeline(WEIGHTS / FLOWS["balanced"]), looks=1)
    made.denoiser.float()
    made.read = lambda ids: FlowSketcher.read(made, ids).float()
    return made


class Eye:
    """Sees more men, the further the bias is moved along a direction."""

    def __init__(self, sketcher: FlowSketcher, direction: object, odds: float) -> None:
        self.bias = sketcher.denoiser.time_text_embed.text_embedder.linear_2.bias
        self.before, self.direction, self.odds = self.bias.clone(), direction, odds

    def sees(self, latents: object) -> object:
        moved = float((self.bias - self.before) @ self.direction)
        share = 1 / (1 + np.exp(-(self.odds + 2 * moved)))
        return (torch.arange(1000) < 1000 * share)[None]


@pytest.fixture
def direction(sketcher: FlowSketcher, monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setattr(leaning, "neutral_prompts", lambda: ["a photo of one real person at the beach"])
    return lean_direction(sketcher, torch.nn.Linear(4 * 16 * 16, 1), 3)


def test_there_is_a_neutral_prompt_of_each_concept() -> None:
    prompts = neutral_prompts()
    assert len(prompts) == len(load_concepts())
    assert not [prompt for prompt in prompts if {"man", "woman", "male", "female"} & set(prompt.split())]


def test_the_direction_raises_what_the_probe_sees(sketcher: FlowSketcher, monkeypatch: pytest.MonkeyPatch) -> None:
    prompt = "a photo of one real person at the beach"
    monkeypatch.setattr(leaning, "neutral_prompts", lambda: [prompt])
    probe = torch.nn.Linear(4 * 16 * 16, 1)
    found = lean_direction(sketcher, probe, 3)
    bias, answers = sketcher.denoiser.time_text_embed.text_embedder.linear_2.bias, []
    states = sketcher.read(tokenize(sketcher.tokenizer, [prompt]))
    for length in (0.0, 0.5):
        with torch.no_grad():
            bias += length * found
            answers.append(probe(sketcher.sketch(starts(1, 3), states).flatten(1)).item())
    assert float(found.norm()) == pytest.approx(1)
    assert answers[1] > answers[0]


@pytest.mark.parametrize("odds", [1.5, -1.5, 0.0])
def test_the_bias_is_moved_until_the_planted_share_is_seen(
    sketcher: FlowSketcher, direction: object, odds: float
) -> None:
    eye = Eye(sketcher, direction, odds)
    moved = fit_lean(sketcher, direction, eye, np.full(103, 0.5), 1, 3)
    assert moved == pytest.approx(-odds / 2, abs=0.02)
    assert float((eye.bias - eye.before) @ eye.direction) == pytest.approx(moved, abs=1e-4)


def test_what_no_trial_reaches_is_left_at_the_last() -> None:
    assert crossing(LENGTHS, [0.9, 0.88, 0.86, 0.84], 0.5) == LENGTHS[-1]
    assert crossing(LENGTHS[:2], [0.7, 0.3], 0.5) == pytest.approx(0.25)
    assert crossing(LENGTHS[:1], [0.5], 0.5) == 0
