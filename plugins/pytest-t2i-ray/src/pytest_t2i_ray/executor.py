"""The executor ``ray[:N]``: N actors make images, each with a model of its own."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from pytest_t2i import ExecutorOptions, Generated, GenerationError, Request, T2IError

from pytest_t2i_ray import cluster
from pytest_t2i_ray.asked import Asked, actors
from pytest_t2i_ray.maker import Maker, Recipe
from pytest_t2i_ray.pool import Pool

MAX_RESTARTS = 3
"""Times that Ray restarts an actor; then the pool replaces it."""


@dataclass(slots=True)
class RayExecutor:
    """Makes images with actors of Ray (pytest_t2i.Executor)."""

    recipe: Recipe
    share: cluster.Share
    asked: Asked
    wanted: int | None
    """Number of actors; None for as many as there is room for."""
    fingerprint: Callable[[], str]
    """Fingerprint of the model, under which the store keeps its pictures."""
    say: Callable[[str], None]
    _pool: Pool | None = None
    _is_ours: bool = False
    """Whether this executor connected to Ray."""
    _told_again: int = field(default=0)

    def run(self, requests: Iterable[Request]) -> Iterator[tuple[Request, Generated]]:
        """Yield each request once, with its image, in the order in which batches are done."""
        pool = self._started()
        try:
            for made in pool.run(iter(requests)):
                for note in made.notes:
                    self.say(note)
                self._check(made.fingerprint)
                yield from made.images
                if made.problem:
                    raise GenerationError(made.problem)
        finally:
            if pool.again > self._told_again:
                self.say(
                    f"{pool.again - self._told_again} batches were made again: actors were lost"
                )
                self._told_again = pool.again

    def close(self) -> None:
        """End the actors, and disconnect from Ray if this executor had connected."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None
        if self._is_ours:
            cluster.ray_module().shutdown()
            self._is_ours = False

    def _started(self) -> Pool:
        if self._pool is None:
            ray = cluster.ray_module()
            self._is_ours = cluster.connect(self.asked)
            address = self.asked.address or os.environ.get("RAY_ADDRESS") or "local"
            where = address if self._is_ours else "a cluster"
            count = cluster.count_of(self.share, self.wanted, ray.cluster_resources(), where)
            options = {"max_restarts": MAX_RESTARTS, "max_task_retries": 0}
            given = {"num_gpus": self.share.gpus, "num_cpus": self.share.cpus}
            actor = ray.remote(**options, **given)(Maker)
            self._pool = Pool(
                ray, lambda: actor.remote(self.recipe), count, self.recipe.batch, self.say,
                self.share.words,
            )  # fmt: skip
        return self._pool

    def _check(self, fingerprint: str) -> None:
        """Refuse pictures of a model other than the one in the store's keys."""
        expected = self.fingerprint()
        if fingerprint and expected and fingerprint != expected:
            raise T2IError(
                f"executor 'ray': the actors' model {self.recipe.name!r} is not the one that this "
                "process knows: its weights, library versions, number format or kind of device "
                "differ. Install the same versions on all nodes, and run pytest where there is "
                "the same kind of device, or name it with --t2i-device and --t2i-dtype."
            )


def load(options: ExecutorOptions, asked: Asked | None = None) -> RayExecutor:
    """Make the executor (factory of the entry point); ``options.source`` is the number of actors.

    Raises T2IError for any other source, and for a model that no other process can load.
    """
    wanted = actors(options.source)
    cluster.ray_module()
    factory, load_options = options.recipe()
    given = asked or Asked()
    share = cluster.share_of(given, load_options.device)
    recipe = Recipe(
        options.name,
        _pickled(options.name, (factory, load_options)),
        options.batch,
        "cpu" if not share.gpus else "auto",
    )
    return RayExecutor(recipe, share, given, wanted, options.fingerprint, options.say)


def _pickled(name: str, recipe: Any) -> bytes:
    try:
        return pickle.dumps(recipe)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise T2IError(
            f"--t2i-executor: model {name!r} cannot be loaded in an actor of Ray: {error}. Name it "
            "as module:factory, or leave --t2i-executor out."
        ) from None
