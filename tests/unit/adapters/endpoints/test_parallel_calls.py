"""Turns of requests: more while a service keeps up, half as many where it does not."""

from __future__ import annotations

import threading
import time

import pytest

from pytest_t2i.adapters.endpoints.parallel_calls import Pace, ParallelCalls, StoppedError


def test_it_grows_by_one_and_no_further_than_told():
    pace, seen = Pace(4), []
    for _ in range(4):
        pace.answered()
        seen.append(pace.at_once)
    assert seen == [3, 4, 4, 4]
    assert Pace(1).at_once == 1


def test_those_sent_at_the_same_time_halve_it_once():
    pace = Pace(8, first=8)
    began = time.monotonic()
    for _ in range(5):
        pace.too_many(began)
    assert pace.at_once == 4
    for _ in range(3):
        pace.too_many(time.monotonic() + 1.0)
    assert pace.at_once == 1


def test_after_too_many_it_grows_by_one_for_as_many_answers_as_it_sends():
    pace, seen = Pace(8, first=8), []
    pace.too_many(time.monotonic())
    for _ in range(10):
        pace.answered()
        seen.append(pace.at_once)
    assert seen == [4, 4, 4, 5, 5, 5, 5, 5, 6, 6]


def test_no_more_turns_than_may_be_at_the_same_time():
    pace = Pace(2)
    assert pace.turn()
    assert pace.turn()
    assert not pace.turn(until=time.monotonic() + 0.1)
    pace.done()
    assert pace.turn(until=time.monotonic() + 0.1)


def test_a_turn_waits_until_it_may_be():
    pace = Pace(2)
    begin = time.monotonic()
    pace.too_many(begin, after=0.2)
    assert not pace.turn(until=begin + 0.1)
    assert pace.turn()
    assert 0.2 <= time.monotonic() - begin < 1.0


def test_whoever_waits_is_let_go_when_it_is_over():
    begin = time.monotonic()
    assert not Pace(2).turn(is_over=lambda: True)
    Pace.rest(60.0, lambda: True)
    assert time.monotonic() - begin < 1.0


def test_never_more_calls_than_told_and_each_once():
    lock, flying, most = threading.Lock(), [], []

    def call(number):
        with lock:
            flying.append(number)
            most.append(len(flying))
        time.sleep(0.01)
        with lock:
            flying.remove(number)
        return number * 2

    assert sorted(ParallelCalls(call, 3).run(range(20))) == [(k, 2 * k) for k in range(20)]
    assert max(most) == 3


def test_the_first_error_is_raised_after_what_was_under_way():
    begun = threading.Barrier(5)

    def call(number):
        begun.wait(10)
        if number == 1:
            raise ValueError("first")
        time.sleep(0.1)
        if number == 2:
            raise ValueError("second")
        if number == 3:
            raise StoppedError
        return number

    flight, got = ParallelCalls(call, 5), []
    with pytest.raises(ValueError, match="first"):
        got.extend(flight.run(range(50)))  # keeps what came before
    assert sorted(got) == [(0, 0), (4, 4)]
    assert flight.is_over


def test_calls_know_of_an_error_before_anybody_takes_its_result():
    begun, seen = threading.Barrier(3), []

    def call(number):
        begun.wait(10)
        if number == 0:
            return number
        if number == 1:
            raise ValueError("one")
        for _ in range(1000):
            if calls.is_over:
                break
            time.sleep(0.01)
        seen.append(calls.is_over)
        raise StoppedError

    calls = ParallelCalls(call, most=3)
    results = calls.run([0, 1, 2])
    assert next(results) == (0, 0)  # and then nobody takes a result
    for _ in range(1000):
        if seen:
            break
        time.sleep(0.01)
    assert seen == [True]
    with pytest.raises(ValueError, match="one"):
        next(results)


def test_after_an_error_it_is_not_waited_for_ever(monkeypatch):
    monkeypatch.setattr("pytest_t2i.adapters.endpoints.parallel_calls.PATIENCE", 0.2)
    hanging = threading.Event()

    def call(number):
        if number:
            hanging.wait(20)
        raise ValueError(str(number))

    begin = time.monotonic()
    with pytest.raises(ValueError, match="0"):
        list(ParallelCalls(call, 2).run(range(9)))
    assert time.monotonic() - begin < 5
    hanging.set()


def test_arguments_are_taken_no_sooner_than_they_are_called_with():
    taken = []

    def arguments():
        for number in range(9):
            taken.append(number)
            yield number

    results = ParallelCalls(lambda number: number, 2).run(arguments())
    next(results)
    assert len(taken) <= 3
    results.close()
