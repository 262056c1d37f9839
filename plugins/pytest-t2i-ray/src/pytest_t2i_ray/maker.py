"""The actor, which loads the model once and makes batches with it."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.metadata import entry_points
from typing import Any, NamedTuple

from pytest_t2i import ExecutorOptions, Generated, Request, T2IError


class Recipe(NamedTuple):
    """Everything that an actor needs to make images; it can be sent to another process."""

    name: str
    """The model's name, as the user gave it."""
    model: bytes
    """The model's factory and its LoadOptions, pickled."""
    batch: int
    device: str
    """Device of the actor: "cpu", or "auto" for the GPU that Ray assigns to it."""


class Made(NamedTuple):
    """An actor's answer to a batch."""

    images: list[tuple[Request, Generated]]
    notes: list[str]
    fingerprint: str = ""
    """Fingerprint of the actor's model."""
    problem: str = ""
    """The error because of which the rest of the batch was not made."""


class Maker:
    """The actor, as a plain class.

    >>> Maker(Recipe("painter", b"", 4, "cpu")).ready()
    True
    """

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._notes: list[str] = []
        self._model: Any = None
        self._executor: Any = None

    def ready(self) -> bool:
        """Return True; Ray answers this call once the actor has started."""
        return True

    def make(self, part: Sequence[Request]) -> Made:
        """Make the images of a batch; images made before an error are returned with it."""
        images: list[tuple[Request, Generated]] = []
        problem = ""
        try:
            images.extend(self._started().run(part))
        except T2IError as error:
            problem = str(error)
        notes, self._notes[:] = list(self._notes), []
        return Made(images, notes, str(getattr(self._model, "fingerprint", "")), problem)

    def _started(self) -> Any:
        """Return the executor ``in-process`` of this process; its model is loaded once."""
        if self._executor is None:
            (point,) = entry_points(group="pytest_t2i.executors", name="in-process")
            factory, options = self._unpacked()
            self._executor = point.load()(
                ExecutorOptions(
                    self._recipe.name,
                    lambda: self._loaded(factory, options),
                    lambda: (factory, options),
                    self._recipe.batch,
                    self._notes.append,
                )
            )
        return self._executor

    def _unpacked(self) -> tuple[Callable[..., Any], Any]:
        try:
            factory, options = pickle.loads(self._recipe.model)  # noqa: S301 - our own driver's
        except Exception as error:
            raise T2IError(
                f"--t2i-executor: model {self._recipe.name!r} cannot be loaded in an actor of Ray: "
                f"{type(error).__name__}: {error}. Name it as module:factory of a module that "
                "every node can import."
            ) from error
        return factory, replace(options, device=self._recipe.device)

    def _loaded(self, factory: Callable[..., Any], options: Any) -> Any:
        if self._model is None:
            self._model = factory(options)
        return self._model
