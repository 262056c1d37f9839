"""Whether seeds hold: the three kinds of endpoints, each recognised, asked for once."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from image_server import serving
from PIL import Image

from pytest_t2i.adapters.endpoints.services import hugging_face, openai_images
from pytest_t2i.data import Generated, GenerationSettings
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.generation.seeds import (
    Seeding,
    difference,
    probe,
    seeding_of,
    seeds_for,
    seeds_up_to,
)
from pytest_t2i.generation.store import Store
from pytest_t2i.protocols import LoadOptions, MayIgnoreSeeds

pytest.importorskip("openai")
pytest.importorskip("huggingface_hub")


@pytest.fixture(params=["openai", "hf"])
def connect(request, monkeypatch):
    """Loads the model of a server by either protocol."""
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)

    def loaded(server):
        if request.param == "openai":
            return openai_images.load(LoadOptions(source=f"m@{server.url}"))
        return hugging_face.load(LoadOptions(source=f"{server.origin}/hf"))

    return loaded


@pytest.mark.parametrize(
    ("server_is", "expected", "requests"),
    [
        (None, "seeded", 11),
        ("batch", "batch", 11),
        ("random", "draws", 2),
        ("cached", "constant", 3),
    ],
)
def test_each_kind_is_recognised(connect, server_is, expected, requests):
    with serving(always=server_is) as server:
        found, asked = probe(connect(server), GenerationSettings(steps=3))
        assert found.kind == expected
        assert len(server.asked) == asked == requests
        assert len({str(body) for body in server.bodies}) == min(2, requests - 1)
    assert (found.difference >= 2) == (expected in {"batch", "draws"})
    if expected == "batch":
        assert found.difference == 2


def test_the_eight_are_asked_at_the_same_time(connect):
    with serving(None, None, always="batch") as server:
        assert probe(connect(server), GenerationSettings())[0] == Seeding("batch", 2)
        assert server.crowds == 7


def test_a_server_that_refuses_leaves_it_unknown(connect):
    with serving(always="policy") as server:
        assert probe(connect(server), GenerationSettings()) == (None, 2)


class Faint:
    """Every picture is one step of 255 away from the one before."""

    fingerprint, may_ignore_seeds = "faint", True
    steps = (0, 1)

    def __init__(self):
        self.made = 0

    def generate(self, requests):
        for _ in requests:
            grey = 100 + self.steps[self.made % len(self.steps)]
            self.made += 1
            yield Generated(Image.new("RGB", (8, 8), (grey, 100, 100)))

    def at_once(self, requests):
        return list(self.generate(requests))


class FaintlySeeded(Faint):
    """Pictures of different seeds are one step of 255 apart, those of one seed equal."""

    def generate(self, requests):
        for request in requests:
            yield Generated(Image.new("RGB", (8, 8), (100 + request.seed % 2, 100, 100)))


def test_another_seed_may_differ_by_as_little_as_one_step():
    assert probe(FaintlySeeded(), GenerationSettings()) == (Seeding("seeded"), 11)


def test_a_difference_below_two_of_255_is_none():
    model = Faint()
    assert isinstance(model, MayIgnoreSeeds)
    assert probe(model, GenerationSettings()) == (Seeding("constant"), 3)
    model.steps = (0, 1, 9)
    model.made = 0
    assert probe(model, GenerationSettings())[0].kind == "batch"
    model.steps = (0, 2)
    model.made = 0
    assert probe(model, GenerationSettings()) == (Seeding("draws", 2), 2)


def test_pictures_of_different_sizes_differ_most():
    assert difference(Image.new("RGB", (8, 8)), Image.new("RGB", (8, 9))) == 255
    assert difference(Image.new("L", (8, 8), 7), Image.new("RGB", (8, 8), (7, 7, 9))) == 2


def test_a_fact_of_another_shape_is_not_known(tmp_path):
    store = Store(tmp_path)
    store.remember("seeding:a", {"kind": "seeded", "difference": 1})
    store.remember("seeding:b", {"kind": "sometimes"})
    assert seeding_of(store, "a") == Seeding("seeded", 1)
    assert seeding_of(store, "b") is seeding_of(store, "c") is None
    store.close()


def test_seeds_of_a_range_stand_once_each_and_grow_with_the_count():
    few, all_of_them = (seeds_up_to(999, 0, "a nurse", count) for count in (20, 1000))
    assert all_of_them[:20] == few
    assert sorted(all_of_them) == list(range(1000))
    with pytest.raises(ConfigurationError, match="takes 0 to 999"):
        seeds_up_to(999, 0, "a nurse", 1001)


def test_ready_made_pictures_are_taken_in_their_order():
    """The first images of a longer manifest are those of a shorter one."""
    listed = SimpleNamespace(available=lambda prompt: [7, 3, 9])
    handle = SimpleNamespace(lists_images=True, get=lambda: listed)
    assert seeds_for(handle, 0, "a nurse", 2) == (7, 3)


def test_a_catalogue_states_the_largest_seed(tmp_path):
    from pytest_t2i.adapters.catalogue import read_catalogues
    from pytest_t2i.adapters.registry import Registries

    file = tmp_path / "own.toml"
    file.write_text('[models.ours]\nadapter = "openai"\npath = "m"\nmost_seed = 999\n', "utf-8")
    catalogue = read_catalogues(Registries().catalogues, file)
    assert catalogue.models["ours"].options.extra["most_seed"] == 999
