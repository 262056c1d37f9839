"""What teaches a denoiser where to look: nouns lie where the finder sees them, and pictures stay what they are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from pytest_t2i.adapters.models.attention import observed, token_places
from pytest_t2i.adapters.models.prompt_embeddings import FAMILIES

from training.denoiser import new_denoiser
from training.grounding import Sums, astray, laid_out, train_grounding, watched
from training.grounding_pictures import SIDE, Pictures, nouns_of, places_of, region_of
from training.settings import STEPS, TOKENS, WEIGHTS, Settings
from training.sketches import Sketcher

pytestmark = pytest.mark.slow

PERSON = np.zeros((128, 128), bool)
PERSON[32:, 32:96] = True
HAT = np.zeros((128, 128), bool)
HAT[16:32, 48:80] = True
COUNT = 8


@pytest.fixture(scope="module", autouse=True)
def _in_float32() -> Iterator[None]:
    """Whatever numbers the machine computes fast: the test mixes sketches with a model in float32."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("training.settings.fast_bfloat16", lambda: False)
        yield


@pytest.fixture(scope="module")
def sketcher() -> Sketcher:
    return Sketcher(WEIGHTS / "reference", looks=STEPS)


def test_a_noun_lies_where_the_finder_sees_it() -> None:
    region = region_of("hat", {"person": PERSON, "hat": HAT})
    assert region is not None and region.sum() == pytest.approx(1)
    assert region[1, 3:5].sum() == pytest.approx(1)


@pytest.mark.parametrize("noun", ["person", "woman", "man", "nurse", "driver", "developer"])
def test_people_lie_where_the_person_is(noun: str) -> None:
    region = region_of(noun, {"person": PERSON})
    assert region is not None and region[2:, 2:6].sum() == pytest.approx(1)


def test_places_lie_around_the_person() -> None:
    region = region_of("beach", {"person": PERSON})
    assert region is not None and region[2:, 2:6].sum() == 0
    assert region.sum() == pytest.approx(1)


@pytest.mark.parametrize("noun", ["hat", "photo", "beach", "person"])
def test_what_is_not_seen_lies_nowhere(noun: str) -> None:
    assert region_of(noun, {}) is None
    assert region_of(noun, {noun: np.zeros((128, 128), bool)}) is None


def test_nouns_come_with_their_tokens(sketcher: Sketcher) -> None:
    prompt = "a photo of one real person wearing a hat"
    words = sketcher.tokenizer.convert_ids_to_tokens(sketcher.tokenizer(prompt).input_ids)
    (person, _), (hat, _) = nouns_of(sketcher, prompt, {"person": PERSON, "hat": HAT})
    for tokens, word in ((person, "person</w>"), (hat, "hat</w>")):
        assert tokens.shape == (TOKENS,) and tokens.sum() == pytest.approx(1)
        assert [words[place] for place in tokens.nonzero().flatten()] == [word]


@pytest.mark.parametrize("word", ["person", "hat", "Hat", "stethoscope", "lemur"])
def test_tokens_of_a_word_are_those_of_the_trace(sketcher: Sketcher, word: str) -> None:
    prompt = "A hat, a stethoscope and one real person wearing a hat"
    traced = token_places(sketcher, FAMILIES["StableDiffusionPipeline"], prompt, word)
    assert places_of(sketcher, prompt, word) == traced
    assert bool(traced) == (word != "lemur")


def test_attention_that_is_trained_is_what_the_trace_has(sketcher: Sketcher) -> None:
    model, noisy = sketcher.denoiser.float(), torch.randn(2, 4, 16, 16)
    given = noisy, sketcher.scheduler.timesteps[0], sketcher.states(["a nurse", "a hat"]).float()
    with torch.no_grad(), observed(SimpleNamespace(unet=model), 2) as traced:
        as_traced = model(*given).sample
    with torch.no_grad(), watched(model) as sums:
        as_trained = model(*given).sample
    assert traced is not None and set(sums) == {SIDE**2, 16}
    by_size: dict[int, torch.Tensor] = {}
    for (places, _, _), part in traced.by_map.items():
        by_size[places] = by_size.get(places, torch.zeros(())) + part
    torch.testing.assert_close(sums, by_size)
    torch.testing.assert_close(as_trained, as_traced)


def looked(region: torch.Tensor) -> Sums:
    """Attention of one picture to one token that is like ``region``, in maps of two sizes."""
    fine = torch.full((1, TOKENS, SIDE**2), 0.01)
    fine[0, 3] = region.flatten()
    return {SIDE**2: fine, 16: torch.full((1, TOKENS, 16), 1e-6)}


def pictures_of(region: torch.Tensor) -> Pictures:
    tokens = torch.zeros(1, TOKENS)
    tokens[0, 3] = 1
    return Pictures(["a hat"], torch.zeros(1, STEPS, 4, 16, 16), tokens, region[None], torch.tensor([0]))


def test_attention_is_astray_by_how_far_it_is_from_its_region() -> None:
    region = region_of("hat", {"hat": HAT})
    assert region is not None
    other = torch.roll(region, 4, 0)
    assert astray(looked(region), [(0, 0)], pictures_of(region)) == pytest.approx(0, abs=0.01)
    near, far = (astray(looked(spread), [(0, 0)], pictures_of(region)) for spread in (region + 0.02, other + 1e-4))
    assert 0 < near < far
    assert laid_out(looked(region)).shape == (1, TOKENS, SIDE, SIDE)


def pictures_with_hats(sketcher: Sketcher) -> Pictures:
    """All looks at some pictures, in which the hat is said to be in one place."""
    prompts = ["a photo of a person wearing a hat"] * COUNT
    (tokens, region), *_ = nouns_of(sketcher, prompts[0], {"hat": HAT})
    with torch.no_grad():
        looks = [noisy for noisy, _ in sketcher.way(torch.randn(COUNT, 4, 16, 16), sketcher.states(prompts))]
    repeated = tokens.repeat(COUNT, 1), region.repeat(COUNT, 1, 1)
    return Pictures(prompts, torch.stack(looks, 1), *repeated, torch.arange(COUNT))


def test_training_moves_attention_to_the_object_and_keeps_the_pictures(
    tmp_path: Path, sketcher: Sketcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    monkeypatch.setattr("training.grounding.BATCH", COUNT)
    monkeypatch.setattr("training.grounding.Loop.steps", lambda loop: iter(range(6)))
    distances: list[float] = []

    def noted(*given: Any) -> torch.Tensor:
        distance = astray(*given)
        distances.append(distance.item())
        return distance

    monkeypatch.setattr("training.grounding.astray", noted)
    pictures, model = pictures_with_hats(sketcher), new_denoiser()
    before = {name: weight.float() for name, weight in sketcher.denoiser.state_dict().items()}
    model.load_state_dict(before)
    train_grounding(Settings(tmp_path, threads=1), "ground-balanced", model, sketcher, pictures, rate=2e-3)
    assert len(distances) == 6
    assert distances[-1] < 0.9 * distances[0]
    moved = {name for name, weight in model.state_dict().items() if not torch.equal(weight, before[name])}
    assert moved and all("attn2" in name for name in moved)
    given = pictures.noisy[:, 1], sketcher.scheduler.timesteps[1], sketcher.states(pictures.prompts)
    with torch.no_grad():
        now = model(*given[:2], given[2].float()).sample
        then = sketcher.denoiser(given[0].to(sketcher.denoiser.dtype), *given[1:]).sample.float()
    assert (now - then).pow(2).mean() < 0.05 * then.pow(2).mean()
