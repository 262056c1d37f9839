"""Work on several cores: in order, with its errors, and with an object for each thread."""

from __future__ import annotations

import threading
import time

import pytest

from pytest_t2i.adapters import cores


@pytest.fixture
def eight_cores(monkeypatch):
    monkeypatch.setattr(cores.os, "cpu_count", lambda: 8)
    cores._threads.cache_clear()
    yield
    cores._threads.cache_clear()


@pytest.mark.usefixtures("eight_cores")
def test_results_are_in_order_and_come_from_several_threads():
    names = set()

    def work(item):
        names.add(threading.current_thread().name)
        time.sleep(0.02 if item % 2 else 0.0)
        return item * 2

    assert cores.on_cores(work, range(20)) == [item * 2 for item in range(20)]
    assert len(names) > 1
    assert all(name.startswith("t2i-finder") for name in names)


@pytest.mark.usefixtures("eight_cores")
def test_the_first_error_is_raised():
    with pytest.raises(ZeroDivisionError):
        cores.on_cores(lambda item: 1 / item, [1, 0, 2])


@pytest.mark.parametrize("count", [None, 1, 2, 3])
def test_few_cores_are_left_to_others(monkeypatch, count):
    monkeypatch.setattr(cores.os, "cpu_count", lambda: count)
    cores._threads.cache_clear()
    names = cores.on_cores(lambda _: threading.current_thread().name, range(3))
    cores._threads.cache_clear()
    assert set(names) == {threading.current_thread().name}


@pytest.mark.usefixtures("eight_cores")
def test_each_thread_has_an_object_of_its_own():
    held = cores.EachThreads(object)
    here = held.get()
    assert held.get() is here

    def work(_):
        time.sleep(0.01)
        return threading.current_thread().name, id(held.get())

    pairs = set(cores.on_cores(work, range(30)))
    names = {name for name, _ in pairs}
    assert len(pairs) == len(names)
    assert id(here) not in {held_id for _, held_id in pairs}


def test_an_object_that_cannot_be_made_is_told_at_once():
    with pytest.raises(ZeroDivisionError):
        cores.EachThreads(lambda: 1 / 0)
