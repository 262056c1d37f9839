"""A Ray that does what a test says: calls are answered, lost or left open, in a known order."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


class RayActorError(Exception):
    pass


class ActorDiedError(RayActorError):
    pass


class ActorUnavailableError(RayActorError):
    pass


class ObjectLostError(Exception):
    pass


class OtherError(Exception):
    pass


class Ref:
    def __init__(self, actor: Handle, said: Any) -> None:
        self.actor, self.said, self.number = actor, said, len(actor.ray.asked)


class Call:
    def __init__(self, actor: Handle, name: str) -> None:
        self.actor, self.name = actor, name

    def remote(self, *arguments: Any) -> Ref:
        ref = Ref(self.actor, self.actor.ray.answer(self.actor, self.name, *arguments))
        self.actor.ray.asked.append((self.actor.number, self.name, *arguments))
        return ref


class Handle:
    def __init__(self, ray: PretendedRay, number: int) -> None:
        self.ray, self.number = ray, number
        self.ready, self.make = Call(self, "ready"), Call(self, "make")


class PretendedRay:
    """``answer(actor, name, *arguments)`` gives what a call says; an exception is raised."""

    exceptions = SimpleNamespace(
        RayActorError=RayActorError,
        ActorUnavailableError=ActorUnavailableError,
        ObjectLostError=ObjectLostError,
        OutOfMemoryError=OtherError,
        WorkerCrashedError=OtherError,
        NodeDiedError=OtherError,
        RaySystemError=OtherError,
    )

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.actors: list[Handle] = []
        self.killed: list[int] = []
        self.asked: list[tuple[Any, ...]] = []

    def start(self) -> Handle:
        self.actors.append(Handle(self, len(self.actors)))
        return self.actors[-1]

    def wait(
        self, refs: list[Ref], num_returns: int, timeout: float
    ) -> tuple[list[Ref], list[Ref]]:
        open_ = [ref for ref in refs if ref.said is None]
        # What was asked first is answered first.
        done = sorted((ref for ref in refs if ref.said is not None), key=lambda ref: ref.number)
        done = done[:num_returns]
        return done, open_

    def get(self, ref: Ref) -> Any:
        if isinstance(ref.said, Exception):
            raise ref.said
        return ref.said

    def kill(self, actor: Handle) -> None:
        self.killed.append(actor.number)
