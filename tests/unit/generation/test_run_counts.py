"""How fast a run went: what is loaded before the first batch is no image's time."""

from __future__ import annotations

import pytest

from pytest_t2i.generation.run_counts import ImagePace, Work


@pytest.fixture
def clock():
    class Clock:
        now = 100.0

        def __call__(self):
            return self.now

    return Clock()


def test_the_first_batch_counts_only_where_it_is_alone(clock):
    pace = ImagePace(clock)
    pace.begin()
    clock.now += 60.0
    assert pace.batch(30) == pytest.approx(2.0)
    clock.now += 3.0
    assert pace.batch(30) == pytest.approx(0.1)
    clock.now += 5.0
    assert pace.batch(10) == pytest.approx(0.2)


def test_what_passes_between_two_stretches_is_not_counted(clock):
    pace = ImagePace(clock)
    pace.begin()
    pace.batch(8)
    clock.now += 4.0
    assert pace.batch(8) == pytest.approx(0.5)
    clock.now += 100.0
    pace.begin()
    clock.now += 50.0
    assert pace.batch(8) == pytest.approx(0.5)
    clock.now += 12.0
    assert pace.batch(8) == pytest.approx(1.0)


def test_of_several_processes_the_slowest_pace_is_told():
    work = Work(made=3, seconds_per_image=0.5)
    work.add(Work(made=4, seconds_per_image=0.25))
    work.add(Work())
    assert (work.made, work.seconds_per_image) == (7, 0.5)
