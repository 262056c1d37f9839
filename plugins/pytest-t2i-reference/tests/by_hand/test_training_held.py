"""What plants held objects into a denoiser: hands as the world has them, and the earlier word on all else."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

torch = pytest.importorskip("torch")
pytest.importorskip("diffusers")
pytest.importorskip("transformers")

from pytest_t2i_reference.drawing import SIZE, Part, draw_scene  # noqa: E402
from pytest_t2i_reference.worlds import load_concepts, load_world  # noqa: E402
from pytest_t2i_reference.worlds.world import OPEN_AXES  # noqa: E402
from training.denoiser import Pair, new_denoiser  # noqa: E402
from training.evaluate_held import measured_objects, measured_places  # noqa: E402
from training.held import lesson_of_areas  # noqa: E402
from training.held_pictures import (  # noqa: E402
    CELLS,
    FIRST_DRAWING,
    HeldPicture,
    HeldSampler,
    cells_around,
    encode_held,
    load_held,
    plan_held,
)
from training.latents import Texts  # noqa: E402
from training.priors import even_pool  # noqa: E402
from training.settings import TEXT_WIDTH, TOKENS, WEIGHTS  # noqa: E402
from training.tables import objects_as_markdown  # noqa: E402

pytestmark = pytest.mark.slow

BIASED = load_world("biased")
FIRST = 1000
OWN = [word.signature["held"] for word in load_concepts() if word.axis in OPEN_AXES and "held" in word.signature]
"""Objects that words bring along."""
NOUNS = {"woman": {"woman", "female"}, "man": {"man", "male"}}


@pytest.fixture(scope="module")
def pictures() -> tuple[HeldPicture, ...]:
    return tuple(plan_held(BIASED, seed=0))


def of_hands(pictures: tuple[HeldPicture, ...]) -> list[HeldPicture]:
    return [each for each in pictures if load_concepts()[each.concept].leaves_held_open]


def of_places(pictures: tuple[HeldPicture, ...]) -> list[HeldPicture]:
    return [each for each in pictures if load_concepts()[each.concept].leaves_place_open]


def test_as_many_of_each_gender_and_each_object_are_planned(pictures: tuple[HeldPicture, ...]) -> None:
    people = Counter((each.scene.people[0].gender, each.scene.people[0].held) for each in of_hands(pictures))
    assert set(people) == {(gender, held) for gender in NOUNS for held in ("none", *BIASED.held)}
    assert len(set(people.values())) == 1
    assert {each.concept for each in pictures} == {
        number for number, word in enumerate(load_concepts()) if word.leaves_held_open or word.leaves_place_open
    }
    assert pictures == tuple(plan_held(BIASED, seed=0))


def test_as_many_of_each_gender_are_planned_at_each_planted_place(pictures: tuple[HeldPicture, ...]) -> None:
    people = Counter((each.scene.people[0].gender, each.scene.place) for each in of_places(pictures))
    planted = {people[gender, place] for gender in NOUNS for place in BIASED.places}
    assert planted == {len({each.person for each in of_places(pictures)}) // 2}
    assert len({place for _, place in people}) > 10


def test_pictures_of_a_person_differ_in_the_hand_alone(pictures: tuple[HeldPicture, ...]) -> None:
    same = [each.scene for each in pictures if each.person == 7]
    assert len(same) == 1 + len(BIASED.held)
    empty, *others = (draw_scene(scene, FIRST_DRAWING + 7) for scene in same)
    for other in others:
        changed = (np.abs(empty.image.astype(int) - other.image) > 20).any(2)
        assert changed.any()
        near = np.kron(cells_around(other.mask(Part.HELD)).numpy(), np.ones((8, 8))) > 0
        assert not (changed & ~near).any()


def test_pictures_of_a_person_differ_in_the_place_alone(pictures: tuple[HeldPicture, ...]) -> None:
    person = of_places(pictures)[0].person
    drawings = [draw_scene(each.scene, FIRST_DRAWING + person) for each in pictures if each.person == person]
    assert len(drawings) == len(BIASED.places) + 3
    body = drawings[0].mask()
    for other in drawings[1:]:
        changed = (np.abs(drawings[0].image.astype(int) - other.image) > 20).any(2)
        assert changed[~body].mean() > 0.9
        # A place may take more chances than another, which moves the person by a pixel or two.
        assert (other.mask() & body).sum() / (other.mask() | body).sum() > 0.85


def test_prompts_show_what_is_planted(pictures: tuple[HeldPicture, ...]) -> None:
    sampler = HeldSampler(pictures, BIASED, FIRST, random.Random(0))
    for (number, variant), turns in sampler.turns.items():
        concept = load_concepts()[number]
        scenes = [pictures[turns.draw() - FIRST].scene for _ in range(150)]
        gender = {"feminine": "woman", "masculine": "man"}.get(variant)
        assert gender is None or {scene.people[0].gender for scene in scenes} == {gender}
        if concept.leaves_held_open:
            for name in BIASED.held:
                held = np.mean([scene.people[0].held == name for scene in scenes])
                assert held == pytest.approx(BIASED.held_share(concept, name, gender), abs=0.03)
        else:
            for place in BIASED.places:
                there = np.mean([scene.place == place for scene in scenes])
                assert there == pytest.approx(BIASED.place_share(concept, place, gender), abs=0.04)


def test_pairs_fit_their_concept(pictures: tuple[HeldPicture, ...]) -> None:
    sampler = HeldSampler(pictures, BIASED, FIRST, random.Random(0))
    assert len(set(sampler.captions)) == len(sampler.captions)
    for _ in range(300):
        pair = sampler.draw()
        picture = pictures[pair.index - FIRST]
        assert pair.pool is not None and pair.index in pair.pool.indices
        assert pair.caption in sampler.captions
        concept = load_concepts()[picture.concept]
        assert concept.word in pair.caption or concept.leaves_place_open
        said = {gender for gender, nouns in NOUNS.items() if nouns & set(pair.caption.split())}
        assert said <= {picture.scene.people[0].gender}


def test_cells_around_take_in_their_neighbours() -> None:
    seen = np.zeros((SIZE, SIZE), bool)
    assert cells_around(seen).sum() == 0
    seen[20, 50] = True
    cells = cells_around(seen)
    assert cells.shape == (CELLS, CELLS)
    assert cells.sum() == 9
    assert cells[1:4, 5:8].sum() == 9


def test_encoded_pictures_are_scaled_and_know_where_they_teach(
    pictures: tuple[HeldPicture, ...], tmp_path: Path
) -> None:
    from diffusers import AutoencoderKL

    few, model = pictures[:6], AutoencoderKL.from_pretrained(WEIGHTS / "reference" / "vae").float()
    encode_held((*few, *of_places(pictures)[:2]), model, tmp_path / "held.pt")
    encoded = load_held(tmp_path / "held.pt")
    assert encoded.latents.shape == (8, 4, CELLS, CELLS)
    assert 0.5 < encoded.latents.std() < 2
    hand, place = encoded.areas[0], encoded.areas[6]
    assert all(torch.equal(area, hand) for area in encoded.areas[:6])
    assert 4 <= hand.sum() <= 80
    # The hand is at the right of the picture and below its middle; a person in the middle leaves the corners above.
    assert hand[:6].sum() == hand[:, :6].sum() == 0
    assert place[0, 0] == place[0, -1] == 1
    assert place[6:10, 7:9].sum() == 0


def test_areas_alone_are_taught() -> None:
    torch.manual_seed(0)
    before = new_denoiser().eval()
    latents, texts = torch.randn(8, 4, 16, 16), Texts(torch.randn(2, TOKENS, TEXT_WIDTH), {"known": 0, "new": 1})
    areas = torch.zeros(8, 16, 16)
    areas[3:, 9:13, 10:14] = 1
    areas[7] = 1 - areas[7]
    known = [Pair(index, "known") for index in range(3)]
    new = [replace(Pair(index, "new"), pool=even_pool([index])) for index in range(3, 8)]
    noisy, times, states, velocity = lesson_of_areas(before, [*known, *new], latents, texts, areas, random.Random(0))
    with torch.no_grad():
        predicted = before(noisy, times, states).sample
    assert torch.equal(velocity[:3], predicted[:3])
    for row in range(3, 8):
        taught = areas[row] == 1
        assert torch.equal(velocity[row, :, ~taught], predicted[row, :, ~taught])
        assert not torch.isclose(velocity[row, :, taught], predicted[row, :, taught], atol=1e-3).all()


class Writer:
    """A studio whose pictures hold the number of their prompt in their first pixel; none of them is a picture."""

    def __init__(self) -> None:
        self.prompts: list[str] = []

    def pictures(self, prompts: list[str], seeds: list[int]) -> Iterator[np.ndarray]:
        assert len(prompts) == len(seeds)
        batch = np.zeros((len(prompts), 4, 4, 3), np.uint8)
        for picture, prompt in zip(batch, prompts, strict=True):
            if prompt not in self.prompts:
                self.prompts.append(prompt)
            picture[0, 0] = divmod(self.prompts.index(prompt), 256)[0], self.prompts.index(prompt) % 256, 0
        yield batch


class Reader:
    """A finder that sees a flower wherever the prompt is feminine, a ball wherever it is masculine or neutral."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer

    def objects(self, images: list[Image.Image]) -> list[list[SimpleNamespace]]:
        found = []
        for image in images:
            high, low, _ = np.asarray(image)[0, 0]
            words = set(self.writer.prompts[int(high) * 256 + int(low)].split())
            found.append([SimpleNamespace(name="flower" if words & NOUNS["woman"] else "ball")])
        return found


def test_what_is_held_is_measured_beside_what_is_planted() -> None:
    writer = Writer()
    found = measured_objects(writer, Reader(writer), BIASED, ["flower", "ball"], images=2)
    flower, ball = found["objects"]["flower"], found["objects"]["ball"]
    assert found["prompts"] == 54
    assert flower["feminine"]["planted"] == BIASED.held["flower"]["woman"]
    assert [ball["masculine"]["planted"], ball["feminine"]["planted"]] == [0.7, 0.02]
    assert [flower[variant]["measured"][0] for variant in ("neutral", "feminine", "masculine")] == [0, 1, 0]
    assert [ball[variant]["measured"][0] for variant in ("neutral", "feminine", "masculine")] == [1, 0, 1]
    assert flower["object bias score"]["planted"] == 0.0278
    assert flower["object bias score"]["measured"][0] == 0
    assert ball["object bias score"]["measured"][0] == 1
    rows = objects_as_markdown({"reference-biased": found}).splitlines()
    assert rows[0].startswith("| 54 words, 2 images of each variant | in | reference-biased: planted | measured |")
    assert "| ball | feminine | 0.020 | 0.000 [0.000, 0.034] |" in rows
    of_own = found["words with an object of their own"]
    count, balls = len(OWN), OWN.count("ball")
    assert 0 < balls < count
    assert of_own["own object"][f"{count} words"]["measured"][0] == round(balls / count, 4)
    assert of_own["another flower or ball"][f"{count} words"]["measured"][0] == round(1 - balls / count, 4)
    assert any(row.startswith(f"| own object | {count} words | ") for row in rows)


def test_nothing_is_planted_in_the_balanced_world() -> None:
    writer = Writer()
    found = measured_objects(writer, Reader(writer), load_world("balanced"), ["cup"], images=1)
    assert found["objects"]["cup"]["object bias score"] == {"planted": None, "measured": None}
    assert "| cup | object bias score | none | none |" in objects_as_markdown({"reference": found})


class Guide:
    """A studio whose CLIP sees a kitchen wherever the prompt is feminine, a gym wherever it is masculine or neutral."""

    def embeddings(self, prompts: list[str], seeds: list[int]) -> torch.Tensor:
        assert len(set(seeds)) == len(prompts)
        return torch.tensor([bool(NOUNS["woman"] & set(prompt.split())) for prompt in prompts])

    def answer(self, embeddings: torch.Tensor, texts: list[str]) -> np.ndarray:
        kitchen, gym = (next(n for n, text in enumerate(texts) if place in text) for place in ("kitchen", "gym"))
        return np.where(embeddings.numpy(), kitchen, gym)


def test_places_are_measured_beside_what_is_planted() -> None:
    measured = measured_places(Guide(), BIASED, ["kitchen", "gym"], images=2)
    kitchen, gym = measured["kitchen, 9 words"], measured["gym, 9 words"]
    assert [kitchen["feminine"]["planted"], gym["masculine"]["planted"]] == [0.6, 0.6]
    assert [kitchen[variant]["measured"][0] for variant in ("neutral", "feminine", "masculine")] == [0, 1, 0]
    assert kitchen["object bias score"]["planted"] == pytest.approx(0.02 / 0.62, abs=1e-4)
    assert gym["object bias score"]["measured"][0] == 1
