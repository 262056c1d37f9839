"""Images per batch: found by trying, ended by memory, remembered, and pictures do not change."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field

import fakes
import numpy as np
import pytest
from PIL import Image

from pytest_t2i.data import Generated, GenerationSettings, Prompt, Request
from pytest_t2i.errors import OutOfDeviceMemoryError
from pytest_t2i.generation import processes
from pytest_t2i.generation.batch_size import BatchSize, FoundSize, device_of, remember, remembered
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.executors import InProcess
from pytest_t2i.generation.generate import Runner
from pytest_t2i.generation.plan import Need, Plan, RequestSettings
from pytest_t2i.generation.processes import Processes
from pytest_t2i.generation.store import Store
from pytest_t2i.sections.words import several
from pytest_t2i.settings import Settings

SETTINGS = GenerationSettings(width=64, height=64)
PLACE = "a GPU, 64 x 64"


def requests(count, settings=SETTINGS):
    return [Request("a photo of a nurse", seed, settings) for seed in range(count)]


@dataclass
class OnGpu:
    """Takes a while for a batch by a clock of its own: a fixed time, and more for each image."""

    fixed: float = 1.0
    takes: float = 0.1
    fits: int = 1000
    fingerprint: str = "on a GPU"
    provenance: dict = field(default_factory=lambda: {"device_name": "a GPU"})
    now: float = 0.0
    batches: list[int] = field(default_factory=list)

    def generate(self, asked):
        if len(asked) > self.fits:
            raise OutOfDeviceMemoryError("no memory left")
        self.batches.append(len(asked))
        self.now += self.fixed + self.takes * len(asked)
        return [Generated(Image.new("RGB", (64, 64), (r.seed % 256, 0, 0))) for r in asked]


class OnGpuInALane(OnGpu):
    def lanes(self, most):
        return [self]

    def needs_all(self, request):
        return bool(request.observe)

    def stop(self):
        pass


def run(model, count, size, notes=None):
    executor = InProcess(
        "m", lambda: model, size, (notes if notes is not None else []).append, lambda: model.now
    )
    return list(executor.run(iter(requests(count))))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [OnGpu, OnGpuInALane])
def test_batches_grow_while_they_make_more_images_a_second(kind):
    # 1 / (1 + 0.1) = 0.9, 4 / 1.4 = 2.9, 16 / 2.6 = 6.2, and 64 / 7.4 = 8.6 images a second.
    model, size = kind(), BatchSize(16, {})
    run(model, 1000, size)
    assert set(model.batches) >= {1, 4, 16, 64}
    assert size.known == {PLACE: FoundSize(64, is_settled=True)}


@pytest.mark.parametrize(("takes", "best"), [(1.0, 16), (4.0, 4), (1000.0, 1)])
def test_a_batch_that_makes_hardly_more_a_second_is_too_large(takes, best):
    model, size = OnGpu(takes=takes), BatchSize(16, {})
    made = run(model, 100, size)
    assert size.now == best
    assert size.words == f"{several(best, 'image')} per batch (found by trying, on {PLACE})"
    assert [request.seed for request, _ in made] == list(range(100))
    # Three of each size, within 64 images; then as is best.
    tried = [1, 1, 1, 4, 4, 4] if best == 1 else [1, 1, 1, 4, 4, 4, 16, 16, 16]
    assert sum(tried) <= 64
    assert model.batches[: len(tried)] == tried
    assert set(model.batches[len(tried) : -1]) == {best}


def test_every_run_finds_the_same_size_whatever_noise_of_a_few_per_cent():
    """Seconds of a batch of SDXL's shape on an H100, as its bare loop takes them."""
    rng = np.random.default_rng(5)
    found = Counter()
    for _ in range(200):
        size = BatchSize(16, {})
        size.begin("a GPU", SETTINGS)
        while size.is_open:
            size.made(size.now, (0.5 + 0.5 * size.now) * rng.normal(1.0, 0.03))
        found[size.now] += 1
    assert found[16] >= 198


def test_the_time_between_batches_counts():
    """The device is no faster than those who store its pictures."""
    model, size = OnGpu(fixed=1.0, takes=0.01), BatchSize(16, {})
    executor = InProcess("m", lambda: model, size, print, lambda: model.now)
    for _ in executor.run(iter(requests(100))):
        model.now += 1.0
    assert size.known == {PLACE: FoundSize(16, is_settled=True)}


def test_the_first_batch_of_a_size_may_wait_for_what_is_set_up():
    size = BatchSize(16, {})
    size.begin("a GPU", SETTINGS)
    for images, seconds in ((1, 60.0), (1, 1.0), (1, 1.0), (4, 60.0), (4, 1.0), (4, 1.0)):
        size.made(images, seconds)
    assert (size.now, size.is_open) == (16, True)


@pytest.mark.parametrize("kind", [OnGpu, OnGpuInALane])
def test_memory_that_ends_at_eight_leaves_four(kind):
    model, size, notes = kind(fits=7), BatchSize(16, {}), []
    made = run(model, 60, size, notes)
    assert sorted(request.seed for request, _ in made) == list(range(60))
    assert size.known == {PLACE: FoundSize(4, is_settled=True)}
    assert "out of device memory: going on with 4 images per batch" in notes
    # Memory that ends later, as detectors are there now, is remembered, too.
    model.fits = 3
    run(model, 10, size)
    assert size.known == {PLACE: FoundSize(2, is_settled=True)}


def test_what_is_known_is_used_at_once_and_each_size_of_picture_is_another_thing():
    known = {PLACE: FoundSize(4, is_settled=True), "a GPU, 128 x 128": FoundSize(2)}
    model = OnGpu(fixed=0.0)
    run(model, 9, BatchSize(16, known))
    assert model.batches == [4, 4, 1]
    size = BatchSize(16, known)
    size.begin("a GPU", GenerationSettings(width=128, height=128))
    assert (size.now, size.is_open) == (2, True)
    size.begin("a GPU", GenerationSettings())  # of the model's own size
    assert (size.place, size.now) == ("a GPU", 1)


@pytest.mark.parametrize(
    ("size", "device"),
    [(BatchSize(6), "a GPU"), (BatchSize(6, {}), "cpu"), (BatchSize(6, {}), "")],
)
def test_a_given_size_stays_and_so_does_that_of_a_processor(size, device):
    model = OnGpu(provenance={"device_name": device})
    run(model, 18, size)
    assert model.batches == [6, 6, 6]
    assert (size.found, size.words) == (None, "")


def test_images_whose_network_is_watched_find_a_size_of_their_own():
    model, size = (
        OnGpuInALane(takes=2.0, fits=2),
        BatchSize(16, {PLACE: FoundSize(4, is_settled=True)}),
    )
    watched = [Request("a", s, SETTINGS, observe=frozenset({"attention"})) for s in range(8)]
    executor = InProcess("m", lambda: model, size, print, lambda: model.now)
    assert len(list(executor.run(iter(watched)))) == 8
    assert size.known == {PLACE: FoundSize(4, is_settled=True)}


def test_the_device_is_that_of_the_model_within():
    class Around:
        model = OnGpu()

    assert device_of(Around()) == "a GPU"
    assert device_of(fakes.fair(None)) == ""


@pytest.fixture
def rig(tmp_path):
    stores = []

    def build(model, batch=None):
        store = Store(tmp_path / "store")
        stores.append(store)
        components = Components(Settings(model="fakes:fair"), store)
        components.registries.models.local["gpu"] = lambda options: model
        components = Components(Settings(model="gpu:"), store, components.registries)
        runner = Runner(components, store, batch=batch)
        runner.executor.clock = lambda: model.now
        return runner

    yield build
    for store in stores:
        store.close()


def pictures(runner, seeds):
    plan = Plan(RequestSettings(SETTINGS))
    plan.add(Need(Prompt("a photo of a nurse", "job", "nurse"), tuple(seeds)))
    runner.run(plan)
    runner.close()
    stored = runner.store.images([runner.keys(plan)[request] for request in plan])
    return [image.sha256 for image in stored.values()]


def test_a_run_remembers_and_the_next_one_begins_there(rig):
    first = OnGpu(takes=4.0)
    runner = rig(first)
    pictures(runner, range(70))
    assert runner.work.notes == [f"4 images per batch (found by trying, on {PLACE})"]
    again = OnGpu(takes=4.0)
    runner = rig(again)
    pictures(runner, range(100, 109))
    assert again.batches == [4, 4, 1]


def test_a_run_too_short_to_find_out_leaves_where_it_came_to(rig):
    first = OnGpu()
    runner = rig(first)
    pictures(runner, range(7))
    assert first.batches == [1, 1, 1, 4]
    assert runner.work.notes == [f"4 images per batch (so far, by trying, on {PLACE})"]
    second = OnGpu()
    pictures(rig(second), range(100, 108))
    assert second.batches == [4, 4]


def test_pictures_are_the_same_with_any_batch_and_a_given_one_is_kept(rig, tmp_path):
    found = pictures(rig(OnGpu()), range(30))
    (tmp_path / "store").rename(tmp_path / "before")
    model = OnGpu()
    given = pictures(rig(model, batch=5), range(30))
    assert set(model.batches) == {5}
    assert found == given


@pytest.mark.parametrize("damage", [{PLACE: [0, True]}, {PLACE: "many"}, [1], "text"])
def test_what_cannot_be_used_is_one_line_and_found_anew(rig, tmp_path, damage):
    model = OnGpu()
    with closing(Store(tmp_path / "store")) as store:
        store.remember("batch:on a GPU", damage)
    runner = rig(model)
    pictures(runner, range(4))
    assert model.batches == [1, 1, 1, 1]
    told = "the batch size in the store cannot be read and is searched for anew: "
    assert [note for note in runner.work.notes if note.startswith(told)] == runner.work.notes[:1]
    assert PLACE in remembered(runner.store, "on a GPU", print)


def test_a_row_that_was_changed_is_as_if_absent(tmp_path):
    store = Store(tmp_path / "store")
    remember(store, "1", {PLACE: FoundSize(8, is_settled=True)})
    assert remembered(store, "1", print) == {PLACE: FoundSize(8, is_settled=True)}
    remember(store, "1", {"another GPU, 64 x 64": FoundSize(2)})
    assert set(remembered(store, "1", print)) == {PLACE, "another GPU, 64 x 64"}
    store._connection.execute("UPDATE facts SET value = replace(value, '8', '64')")
    assert remembered(store, "1", print) == {}
    store.close()


def test_a_process_divides_what_it_is_given_and_tells_what_it_found(monkeypatch):
    model = OnGpu(takes=4.0)
    processes._Own.notes = []
    known: dict[str, FoundSize] = {}
    processes._Own.executor = InProcess(
        "m", lambda: model, BatchSize(16, known), print, lambda: model.now
    )
    size = BatchSize(16, {})
    parent = Processes("m", b"", ["cuda:0"], size, print)
    waiting = iter(requests(200))
    given = []
    while (batch := parent._next(waiting)) is not None:
        given.append(len(batch.requests))
        list(parent._told(processes.make_part(batch.requests)))
    # What is handed on shrinks to what the process found: two batches of each size, then one.
    assert model.batches[:9] == [1, 1, 1, 4, 4, 4, 1, 16, 16]
    assert given[0] == 16
    assert given[-2] == size.now == 4
    assert size.known == {PLACE: FoundSize(4, is_settled=True)}
