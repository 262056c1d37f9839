"""The pace of a model, and what a run says about compiling it."""

from __future__ import annotations

import threading

import pytest

from pytest_t2i.data import FactKind, GenerationSettings
from pytest_t2i.generation.batch_size import BatchSize
from pytest_t2i.generation.batch_times import BatchTimes, paces, place_of, remember_pace
from pytest_t2i.generation.store import Store


def in_thread(work):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_the_first_batch_of_each_thread_is_apart():
    times = BatchTimes(lanes=2)

    def lane():
        for seconds in (11.0, 2.0, 2.2, 1.8):
            times.add(2, seconds)

    for _ in range(2):
        in_thread(lane)
    assert times.pace == pytest.approx(0.5)


def test_a_few_batches_give_no_pace():
    times = BatchTimes()
    for _ in range(3):
        times.add(1, 1.0)
    assert times.pace is None
    times.add(1, 1.0)
    assert times.pace == 1.0


def test_batches_of_any_size_are_counted():
    size = BatchSize(4)
    for images, seconds in ((4, 9.0), (4, 2.0), (4, 2.0), (2, 1.0)):
        size.made(images, seconds)
    assert size.times.pace == 0.5


def test_paces_of_other_settings_are_kept(tmp_path):
    store = Store(tmp_path)
    few, many = (place_of("cpu", GenerationSettings(steps=steps)) for steps in (4, 50))
    remember_pace(store, "model", {few: 0.5})
    remember_pace(store, "model", {many: 5.0})
    remember_pace(store, "model", {few: 0.25})
    assert paces(store, "model") == {few: 0.25, many: 5.0}
    assert paces(store, "other") == {}


def test_a_pace_that_cannot_be_read_is_none(tmp_path):
    store = Store(tmp_path)
    store.remember(FactKind.PACE.of("model"), {"cpu": [-1.0, "fast"]})
    assert paces(store, "model") == {}
