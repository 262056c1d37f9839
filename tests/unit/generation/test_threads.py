"""Several threads make images with one model: nothing is lost, mixed up or held without bound."""

from __future__ import annotations

import threading
import time
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from PIL import Image

from pytest_t2i.data import Generated, Request
from pytest_t2i.errors import GenerationError, OutOfDeviceMemoryError
from pytest_t2i.generation import threads
from pytest_t2i.generation.batch_size import BatchSize
from pytest_t2i.generation.executors import InProcess

REQUESTS = [Request("a photo of a nurse", seed) for seed in range(40)]
WATCHED = frozenset({"attention"})


@dataclass
class Model:
    """Counts what is made at the same time, of this and its twins."""

    most: int = 2
    fails: object = None
    takes: float = 0.002
    fingerprint: str = "1"
    batches: list[int] = field(default_factory=list)
    threads: set[str] = field(default_factory=set)
    busy: list[int] = field(default_factory=lambda: [0, 0])
    turn: threading.Lock = field(default_factory=threading.Lock)
    stopped: list[bool] = field(default_factory=list)
    cores: list[int] = field(default_factory=list)

    def lanes(self, most):
        return [self] * min(self.most, most)

    def needs_all(self, request):
        return bool(request.observe)

    def stop(self):
        self.stopped.append(True)

    def generate(self, requests):
        with self.turn:
            self.busy[0] += 1
            self.busy[1] = max(self.busy)
            self.batches.append(len(requests))
            self.threads.add(threading.current_thread().name)
            self.cores.append(threads.cores())
            if any(request.observe for request in requests):
                assert self.busy[0] == 1
        try:
            time.sleep(self.takes * len(requests))
            for request in requests:
                if self.fails is not None and self.fails(request, len(requests)):
                    raise self.fails(request, len(requests))
                yield Generated(Image.new("RGB", (2, 2), (request.seed, 0, 0)))
        finally:
            with self.turn:
                self.busy[0] -= 1


@pytest.fixture(autouse=True)
def four_cores(monkeypatch):
    count = threading.local()
    monkeypatch.setattr(threads, "cores", lambda: getattr(count, "is", 4))
    monkeypatch.setattr(threads, "use_cores", lambda cores: setattr(count, "is", cores))


def executor(model, batch=8, notes=None):
    return InProcess(
        "m", lambda: model, BatchSize(batch), (notes if notes is not None else []).append
    )


def seeds(pairs):
    return [request.seed for request, _ in pairs]


def test_each_is_made_once_side_by_side_in_batches_that_share_the_batch():
    model = Model()
    pairs = list(executor(model).run(iter(REQUESTS)))
    assert sorted(seeds(pairs)) == list(range(40))
    assert all(made.image.getpixel((0, 0))[0] == request.seed for request, made in pairs)
    assert set(model.batches) == {4}
    assert model.busy == [0, 2]
    assert all(name.startswith("t2i-lane") for name in model.threads)
    # Each of the two has half of the cores, and the thread that asked has its own back.
    assert set(model.cores) == {2}
    assert threads.cores() == 4


def test_few_images_are_shared_out_too():
    model = Model(most=4)
    assert sorted(seeds(executor(model, batch=32).run(iter(REQUESTS[:6])))) == list(range(6))
    assert model.batches == [2, 2, 2]


def test_no_more_is_taken_than_two_batches_ahead():
    taken = []

    def asked():
        for request in REQUESTS:
            taken.append(request)
            yield request

    made = executor(Model(takes=0.0)).run(asked())
    first = next(made)
    time.sleep(0.1)
    assert first
    assert len(taken) <= 2 * 8 + 4
    made.close()


def test_a_model_that_does_not_gain_is_used_by_the_thread_that_asks():
    model = Model(most=0)
    assert seeds(executor(model).run(iter(REQUESTS))) == list(range(40))
    assert model.threads == {threading.current_thread().name}
    assert set(model.batches) == {8}


def test_without_lanes_detectors_never_wait():
    """As on a machine with one core, where one thread makes and looks."""
    running = executor(Model(most=0))
    for _ in running.run(iter(REQUESTS)):
        with running.turn():
            pass


def test_on_a_gpu_one_lane_takes_turns_with_the_detectors():
    """A GPU's model has one lane."""
    model, asked = Model(most=1), []
    running = executor(model, batch=8)
    for request, _ in running.run(iter(REQUESTS)):
        with running.turn():
            before = model.busy[0]
            time.sleep(0.001)
            assert (before, model.busy[0]) == (0, 0)
        asked.append(request.seed)
    assert sorted(asked) == list(range(40))
    assert set(model.batches) == {8}
    assert all(name.startswith("t2i-lane") for name in model.threads)


def test_lanes_of_a_processor_wait_for_no_detector():
    model = Model(takes=0.02)
    running = executor(model)
    pairs = running.run(iter(REQUESTS))
    next(pairs)
    with running.turn():
        time.sleep(0.05)
        assert model.busy[0] > 0
    pairs.close()


def test_what_watches_the_network_is_made_alone_and_all_is_made():
    watched = [Request("a photo of a nurse", 100 + k, observe=WATCHED) for k in range(6)]
    asked = [*REQUESTS[:10], *watched, *REQUESTS[10:20]]
    model = Model()
    assert sorted(seeds(executor(model).run(iter(asked)))) == sorted(r.seed for r in asked)


def test_an_error_loses_nothing_that_was_made_and_nothing_new_is_begun():
    def fails(request, size):
        return GenerationError("no picture of it") if request.seed == 9 else None

    model, given = Model(fails=fails), []
    with pytest.raises(GenerationError, match="no picture of it"):
        given.extend(request.seed for request, _ in executor(model).run(iter(REQUESTS)))
    assert 8 in given  # of the batch that failed
    assert 9 not in given
    assert len(model.batches) < 10
    assert threads.cores() == 4


def test_a_batch_that_does_not_fit_is_made_in_smaller_ones():
    def fails(request, size):
        return OutOfDeviceMemoryError("full") if size > 2 else None

    notes: list[str] = []
    assert sorted(seeds(executor(Model(fails=fails), notes=notes).run(iter(REQUESTS)))) == list(
        range(40)
    )
    assert notes
    assert "going on with 2 images per batch" in notes[0]


def test_who_stops_asking_waits_for_no_more_than_is_begun():
    model = Model(takes=0.01)
    made = executor(model).run(iter(REQUESTS))
    next(made)
    made.close()
    assert model.stopped
    assert model.busy[0] == 0
    assert len(model.batches) < 10


def test_warnings_are_as_before_once_no_thread_is_inside():
    devices = pytest.importorskip("pytest_t2i.adapters.devices")
    before = list(warnings.filters)
    inside = threading.Barrier(2)

    def first():
        with devices.memory_guard("a"):
            inside.wait()
            inside.wait()

    def second():
        inside.wait()
        with devices.memory_guard("b"):
            inside.wait()  # the first one leaves before this one does
            time.sleep(0.05)
            warnings.warn("not told", stacklevel=1)

    threads = [threading.Thread(target=target) for target in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(warnings.filters) == before


@dataclass
class Use:
    has_room: bool


@dataclass
class OnSharedDevice(Model):
    """A model whose device tells whether other work fits beside a batch."""

    has_room: bool = True
    contexts: list[str] = field(default_factory=list)

    @contextmanager
    def measured(self):
        self.contexts.append("measured")
        yield Use(self.has_room)

    @contextmanager
    def beside(self):
        self.contexts.append("beside")
        yield


def turns(model, batch=8, size=None):
    """How often the model was busy while a detector was at work, by context."""
    running = InProcess("m", lambda: model, size or BatchSize(batch), print)
    busy = []
    for place, _ in enumerate(running.run(iter(REQUESTS))):
        if place % 8 == 0 and place < 24:
            with running.turn():
                time.sleep(0.01)
                busy.append((model.contexts[-1], model.busy[0] > 0))
    return busy


def test_detectors_work_beside_the_lane_once_they_are_measured_to_fit():
    model = OnSharedDevice(most=1, takes=0.01)
    first, *others = turns(model)
    assert first == ("measured", False)
    assert {context for context, _ in others} == {"beside"}
    assert any(was_busy for _, was_busy in others)


def test_detectors_that_do_not_fit_wait_for_the_lane():
    assert set(turns(OnSharedDevice(most=1, takes=0.01, has_room=False))) == {("measured", False)}


def test_while_a_batch_size_is_searched_for_nothing_is_settled():
    model = OnSharedDevice(most=1)
    model.provenance = {"device_name": "a GPU"}
    assert set(turns(model, size=BatchSize(8, {}))) == {("measured", False)}


def test_after_a_batch_did_not_fit_detectors_wait():
    size = BatchSize(8)
    size.too_many(16)
    assert set(turns(OnSharedDevice(most=1), size=size)) == {("measured", False)}


def test_detectors_are_loaded_while_the_first_batch_is_made():
    model, busy = Model(most=1, takes=0.02), []

    def load():
        time.sleep(0.02)
        busy.append(model.busy[0])

    running = executor(model)
    running.meanwhile = load
    assert len(seeds(running.run(iter(REQUESTS)))) == 40
    assert busy == [1]
