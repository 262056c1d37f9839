"""The pool: nothing is lost, nothing waits for ever, and a batch is begun three times at most."""

from __future__ import annotations

from itertools import count
from random import Random

import pytest
from pretended_ray import (
    ActorDiedError,
    ActorUnavailableError,
    ObjectLostError,
    PretendedRay,
)
from pytest_t2i import Generated, GenerationError, Request

from pytest_t2i_ray import pool as pools
from pytest_t2i_ray.maker import Made
from pytest_t2i_ray.pool import Pool


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(pools, "PAUSE", 0.0)


REQUESTS = [Request("a photo of a nurse", seed) for seed in range(24)]


def made(part):
    return Made([(request, Generated(None, refusal=str(request.seed))) for request in part], [])


def answering(actor, name, *arguments):
    return True if name == "ready" else made(*arguments)


def pool(answer, actors=3, batch=2, **more):
    ray, notes = PretendedRay(answer), []
    made = Pool(ray, ray.start, actors, batch, notes.append, "1 GPU", **more)
    return made, ray, notes


def seeds(several):
    return sorted(request.seed for made in several for request, _ in made.images)


def test_every_batch_is_full_and_made_once_by_actors_that_are_started_once():
    working, ray, _ = pool(answering)
    assert seeds(working.run(iter(REQUESTS))) == list(range(24))
    assert seeds(working.run(iter(REQUESTS[:5]))) == list(range(5))
    calls = [part for _, name, *part in ray.asked if name == "make"]
    assert [len(part) for (part,) in calls] == [2] * 12 + [2, 2, 1]
    assert len(ray.actors) == 3
    working.close()
    assert sorted(ray.killed) == [0, 1, 2]


def test_requests_are_taken_as_they_are_needed():
    taken = []

    def asked():
        for request in REQUESTS:
            taken.append(request)
            yield request

    working, _, _ = pool(answering, actors=1, batch=2)
    given = working.run(asked())
    next(given)
    assert len(taken) <= 2 * pools.AHEAD + 2


def test_few_batches_are_spread_over_all_actors():
    working, ray, _ = pool(answering, actors=3, batch=2)
    list(working.run(iter(REQUESTS)))  # all are there now
    ray.asked.clear()
    list(working.run(iter(REQUESTS[:6])))
    assert [actor for actor, *_ in ray.asked] == [0, 1, 2]


@pytest.mark.parametrize("loss", [ActorDiedError, ActorUnavailableError, ObjectLostError])
def test_what_a_lost_actor_had_is_made_again(loss):
    left = [loss("gone")]

    def answer(actor, name, *arguments):
        if name == "make" and actor.number == 1 and left:
            return left.pop()
        return answering(actor, name, *arguments)

    working, ray, _ = pool(answer)
    assert seeds(working.run(iter(REQUESTS))) == list(range(24))
    assert working.again == 1
    # Ray restarts one that is unavailable; one that died is replaced.
    assert (len(ray.actors), ray.killed) == ((4, [1]) if loss is ActorDiedError else (3, []))


def test_a_batch_that_ends_its_actor_three_times_is_named():
    def answer(actor, name, *arguments):
        if name == "make" and REQUESTS[3] in arguments[0]:
            return ActorDiedError("first line\nThe actor died: out of memory")
        return answering(actor, name, *arguments)

    working, ray, _ = pool(answer)
    given = []
    with pytest.raises(GenerationError) as caught:
        given.extend(working.run(iter(REQUESTS)))
    told = str(caught.value)
    assert "2 images, from 'a photo of a nurse' with seed 2" in told
    assert "begun 3 times" in told
    assert "ActorDiedError: The actor died: out of memory" in told
    begun = [part for _, name, *part in ray.asked if name == "make" and REQUESTS[3] in part[0]]
    assert len(begun) == 3
    assert not {2, 3} & set(seeds(given))


def test_a_batch_that_only_stood_behind_another_is_not_blamed():
    """The first of what an actor was given is what it was making."""
    times = count(1)

    def answer(actor, name, *arguments):
        if name == "make" and REQUESTS[0] in arguments[0] and next(times) < 3:
            return ActorDiedError("gone")
        return answering(actor, name, *arguments)

    working, _, _ = pool(answer, actors=1)
    assert seeds(working.run(iter(REQUESTS))) == list(range(24))
    assert working.again == 2


def test_what_was_lost_rests_while_the_rest_is_made(monkeypatch):
    """An actor of the same node may be lost too, and nobody was told yet."""
    monkeypatch.setattr(pools, "PAUSE", 5.0)
    now, left, order = [0.0], [ActorDiedError("gone")], []

    def answer(actor, name, *arguments):
        if name == "make":
            order.append((now[0], arguments[0][0].seed))
            if arguments[0][0].seed == 2 and left:
                return left.pop()
        return answering(actor, name, *arguments)

    def pass_time(seconds):
        now[0] += seconds

    working, _, _ = pool(answer, clock=lambda: now[0], sleep=pass_time)
    assert seeds(working.run(iter(REQUESTS))) == list(range(24))
    begun = [time for time, seed in order if seed == 2]
    assert begun[0] == 0.0
    assert begun[1] >= 5.0
    assert max(time for time, seed in order if seed != 2) < 5.0 or working.again == 1


def test_an_actor_that_ray_restarts_is_asked_again_and_not_blamed():
    times = count(1)

    def answer(actor, name, *arguments):
        if name == "ready" and actor.number == 0 and next(times) < 50:
            return ActorUnavailableError("connection refused")
        return answering(actor, name, *arguments)

    working, ray, _ = pool(answer, actors=1)
    assert seeds(working.run(iter(REQUESTS))) == list(range(24))
    assert len(ray.actors) == 1


def test_an_actor_that_never_starts_is_given_up():
    working, ray, _ = pool(lambda *_: ActorDiedError("no module named painter"), actors=2)
    with pytest.raises(GenerationError, match=r"before they make an image: .*named painter"):
        list(working.run(iter(REQUESTS)))
    assert len(ray.actors) < 2 * pools.TRIES + 2


def test_no_actor_is_waited_for_for_ever_and_it_is_said():
    clock = count(0, 7)
    working, _, notes = pool(lambda *_: None, clock=lambda: next(clock))
    with pytest.raises(GenerationError, match=r"none of 3 actors with 1 GPU each within 15 min"):
        list(working.run(iter(REQUESTS)))
    assert notes == ["waiting for Ray to start 3 actors with 1 GPU each"]


def test_one_that_waits_for_room_does_not_keep_the_others():
    def answer(actor, name, *arguments):
        return None if actor.number == 2 else answering(actor, name, *arguments)

    working, _, notes = pool(answer)
    assert seeds(working.run(iter(REQUESTS))) == list(range(24))
    assert notes == []


@pytest.mark.parametrize("seed", range(40))
def test_losses_at_random_lose_nothing(seed):
    random, losses = Random(seed), [ActorDiedError, ActorUnavailableError, ObjectLostError]
    lost: dict[object, int] = {}

    def answer(actor, name, *arguments):
        if random.random() < 0.25:
            key = arguments[0][0] if arguments else "start"
            lost[key] = lost.get(key, 0) + 1
            if lost[key] < pools.TRIES:
                return random.choice(losses)("gone")
        return answering(actor, name, *arguments)

    working, _, _ = pool(answer, actors=random.randint(1, 4), batch=random.randint(1, 5))
    assert seeds(working.run(iter(REQUESTS))) == list(range(24))
