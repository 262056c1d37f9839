"""A pool of actors, each with its next batch queued; batches of a lost actor are made by others.

Ray places the actors and restarts them. The pool knows which actor has which batch, and how often
the batch was lost, because Ray reports the failed call of a lost actor and does not repeat it. An
image may therefore be made twice, but it is yielded once.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from pytest_t2i import GenerationError, Request

from pytest_t2i_ray.maker import Made

AHEAD = 2
"""Batches that each actor has at a time, so that it never waits for its next one."""
TRIES = 3
"""Times that a batch is begun: once, and twice more after its actor was lost."""
PAUSE = 1.0
"""Seconds before a lost batch or a restarted actor is used again: if a node is lost, several actors
are lost with it, and Ray reports them one by one."""
LOOK = 1.0
"""Seconds between checks of whether the pool has waited too long."""
TELL_AFTER = 10.0
"""Seconds without any actor after which a note says what the pool waits for."""
GIVE_UP_AFTER = 900.0
"""Seconds without any actor after which the run ends: a cluster may first have to grow."""


@dataclass(slots=True)
class Batch:
    """Requests of one call of an actor."""

    requests: list[Request]
    lost: int = 0
    """Times that an actor was lost while it made this batch."""
    rests_until: float = 0.0


@dataclass(slots=True, eq=False)
class Actor:
    """One actor with its batches, which it makes in this order."""

    handle: Any
    called: Any = None
    """Reference to the answer of ``ready``; None while it is not called."""
    is_there: bool = False
    """Whether the actor has started and takes batches."""
    rests_until: float = 0.0
    given: dict[Any, Batch] = field(default_factory=dict)
    """Reference to an answer -> its batch."""

    def awaited(self) -> list[Any]:
        """Return the references to the answers that are due."""
        return [*self.given] if self.called is None else [self.called]


@dataclass(slots=True)
class Pool:
    """The actors of a run; they stay alive between its plans."""

    ray: Any
    start: Callable[[], Any]
    """Starts one more actor."""
    count: int
    batch: int
    say: Callable[[str], None]
    waits_for: str
    """Resources of an actor, in words."""
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    again: int = 0
    """Number of batches that were begun again."""
    _actors: list[Actor] = field(default_factory=list)
    _returned: deque[Batch] = field(default_factory=deque)
    """Lost batches, which are given out first."""
    _failed_starts: int = 0
    _idle_since: float | None = None
    _told: bool = False

    def run(self, requests: Iterator[Request]) -> Iterator[Made]:
        """Yield the actors' answers, in the order in which batches are done."""
        self._returned.clear()
        while len(self._actors) < self.count:
            self._actors.append(Actor(self.start()))
        while True:
            self._give(requests)
            if not self._is_busy and self._none_left(requests):
                return
            yield from self._done()

    def close(self) -> None:
        for actor in self._actors:
            self.ray.kill(actor.handle)
        self._actors.clear()

    @property
    def _is_busy(self) -> bool:
        return bool(self._returned) or any(actor.given for actor in self._actors)

    def _none_left(self, requests: Iterator[Request]) -> bool:
        """Return whether no request is left; a batch taken to find out is given out next."""
        if part := list(islice(requests, self.batch)):
            self._returned.append(Batch(part))
        return not part

    def _give(self, requests: Iterator[Request]) -> None:
        """Give out batches in rounds, so that a few batches are spread over all actors."""
        there = [actor for actor in self._actors if actor.is_there]
        for depth in range(1, AHEAD + 1):
            for actor in there:
                if len(actor.given) < depth and (batch := self._next(requests)):
                    actor.given[actor.handle.make.remote(batch.requests)] = batch

    def _next(self, requests: Iterator[Request]) -> Batch | None:
        now = self.clock()
        for batch in self._returned:
            if batch.rests_until <= now:
                self._returned.remove(batch)
                return batch
        part = list(islice(requests, self.batch))
        return Batch(part) if part else None

    def _done(self) -> Iterator[Made]:
        """Wait for the next answers of actors, and yield those to batches."""
        self._call()
        awaited = {ref: actor for actor in self._actors for ref in actor.awaited()}
        ready: list[Any] = []
        if awaited:
            ready, _ = self.ray.wait(list(awaited), num_returns=1, timeout=LOOK)
        else:
            self.sleep(LOOK / 10)
        self._mind_the_time()
        for ref in ready:
            yield from self._heard(awaited[ref], ref)

    def _call(self) -> None:
        """Call ``ready`` on the actors that have not started yet."""
        now = self.clock()
        for actor in self._actors:
            if not actor.is_there and actor.called is None and actor.rests_until <= now:
                actor.called = actor.handle.ready.remote()

    def _heard(self, actor: Actor, ref: Any) -> Iterator[Made]:
        try:
            answer = self.ray.get(ref)
        except self.ray.exceptions.ObjectLostError as error:
            # The answer was lost with a node; the actor itself is alive.
            self._ask_again(actor, ref, error)
        except self._losses as error:
            yield from self._lose(actor, error)
        else:
            if actor.called is ref:
                actor.called, actor.is_there = None, True
            else:
                yield self._taken(actor, ref, answer)

    def _taken(self, actor: Actor, ref: Any, answer: Made) -> Made:
        del actor.given[ref]
        self._failed_starts = 0
        return answer

    @property
    def _losses(self) -> tuple[type[Exception], ...]:
        """Ray's exceptions for a lost actor, node or answer."""
        known = self.ray.exceptions
        return (
            known.RayActorError,  # ActorDiedError and ActorUnavailableError
            known.ObjectLostError,
            known.OutOfMemoryError,
            known.WorkerCrashedError,
            known.NodeDiedError,
            known.RaySystemError,
        )

    def _ask_again(self, actor: Actor, ref: Any, error: Exception) -> None:
        if actor.called is ref:
            actor.called = None
            return
        batch = actor.given.pop(ref)
        self._take_back([batch])
        self._count(batch, error)

    def _lose(self, actor: Actor, error: Exception) -> Iterator[Made]:
        """Yield a lost actor's finished answers; count the first unfinished batch as lost."""
        for ref in [*actor.given]:
            if (answer := self._answer(ref)) is not None:
                yield self._taken(actor, ref, answer)
        lost, actor.given = [*actor.given.values()], {}
        self._take_back(lost)
        if isinstance(error, self.ray.exceptions.ActorUnavailableError):
            # Ray restarts this actor.
            actor.called, actor.is_there = None, False
            actor.rests_until = self.clock() + PAUSE
        else:
            self._replace(actor, error)
        if lost:
            self._count(lost[0], error)

    def _take_back(self, lost: list[Batch]) -> None:
        for batch in lost:
            batch.rests_until = self.clock() + PAUSE
        self._returned.extendleft(reversed(lost))

    def _replace(self, actor: Actor, error: Exception) -> None:
        if not actor.is_there:
            self._failed_starts += 1
            if self._failed_starts >= TRIES * self.count:
                raise GenerationError(
                    f"executor 'ray': actors end before they make an image: {_short(error)}"
                )
        self.ray.kill(actor.handle)
        self._actors[self._actors.index(actor)] = Actor(self.start())

    def _answer(self, ref: Any) -> Made | None:
        """Return the answer that an actor gave before it was lost; None without one."""
        ready, _ = self.ray.wait([ref], num_returns=1, timeout=0)
        try:
            return self.ray.get(ref) if ready else None
        except self._losses:
            return None

    def _count(self, batch: Batch, error: Exception) -> None:
        self.again += 1
        batch.lost += 1
        if batch.lost < TRIES:
            return
        first, last = batch.requests[0], batch.requests[-1]
        raise GenerationError(
            f"executor 'ray': {len(batch.requests)} images, from {first.prompt!r} with seed "
            f"{first.seed} to {last.prompt!r} with seed {last.seed}, were begun {TRIES} times, and "
            f"each time their actor was lost: {_short(error)}. What was made before is kept; "
            "a smaller --t2i-batch needs less memory."
        )

    def _mind_the_time(self) -> None:
        """Note what the pool waits for, and raise GenerationError after the time limit."""
        now = self.clock()
        if any(actor.is_there for actor in self._actors):
            self._idle_since, self._told = None, False
            return
        if self._idle_since is None:
            self._idle_since = now
        waited = now - self._idle_since
        wanted = f"{self.count} actors with {self.waits_for} each"
        if waited > TELL_AFTER and not self._told:
            self._told = True
            self.say(f"waiting for Ray to start {wanted}")
        if waited > GIVE_UP_AFTER:
            raise GenerationError(
                f"executor 'ray': Ray started none of {wanted} within {GIVE_UP_AFTER / 60:.0f} "
                "minutes. `ray status` says what the cluster has and who uses it."
            )


def _short(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[-1][:300] if lines else ''}"
