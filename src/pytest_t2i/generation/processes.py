"""The executor ``processes:N``: N processes of this machine make images, each with its own model.

Detectors look at what is there while the next images are made. Memory is needed N times, and each
process loads the model for itself: it pays for long runs.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from pytest_t2i.data import Generated, Request
from pytest_t2i.errors import ConfigurationError, GenerationError, T2IError
from pytest_t2i.generation.executors import InProcess
from pytest_t2i.protocols import ExecutorOptions

AHEAD = 2
"""Batches that each process is given at a time: it never waits for its next one."""


class Made(NamedTuple):
    """What a process hands back."""

    images: list[tuple[Request, Generated]]
    notes: list[str]
    problem: str = ""
    """Why the rest of the batch was not made."""


@dataclass(slots=True)
class Processes:
    """Makes images in several processes (protocols.Executor)."""

    recipe: bytes
    """Pickled: name, factory and LoadOptions of the model."""
    count: int
    batch: int
    say: Callable[[str], None]
    _pool: ProcessPoolExecutor | None = None
    _running: set[Future[Made]] = field(default_factory=set)

    def run(self, requests: Iterable[Request]) -> Iterator[tuple[Request, Generated]]:
        """Each request once, with its image, in the order in which batches are done."""
        waiting = iter(requests)
        try:
            self._give(waiting, AHEAD * self.count)
            while self._running:
                done, self._running = wait(self._running, return_when=FIRST_COMPLETED)
                self._give(waiting, len(done))
                for future in done:
                    yield from self._taken(future)
        finally:
            for future in self._running:
                future.cancel()
            self._running = set()

    def close(self) -> None:
        """End the processes."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None

    def _give(self, waiting: Iterator[Request], batches: int) -> None:
        for _ in range(batches):
            if part := list(islice(waiting, self.batch)):
                self._running.add(self._started().submit(_make, part))

    def _taken(self, future: Future[Made]) -> Iterator[tuple[Request, Generated]]:
        try:
            made = future.result()
        except BrokenProcessPool:
            raise GenerationError(
                f"one of the {self.count} processes that make images ended unexpectedly (killed, "
                "or out of memory). What was made before is kept; fewer processes need less memory."
            ) from None
        for note in made.notes:
            self.say(note)
        yield from made.images
        if made.problem:
            raise GenerationError(made.problem)

    def _started(self) -> ProcessPoolExecutor:
        if self._pool is None:
            # A forked process could not use a GPU, and would inherit every lock as it is.
            self._pool = ProcessPoolExecutor(
                self.count,
                mp_context=multiprocessing.get_context("spawn"),
                initializer=_begin,
                initargs=(self.recipe, self.batch, max(1, (os.cpu_count() or 1) // self.count)),
            )
        return self._pool


def load(options: ExecutorOptions) -> Processes:
    """The factory of the entry point; its source is the number of processes, one a core if empty.

    Raises ConfigurationError for another source, and for a model whose factory no other process
    can import.
    """
    source = options.source or str(os.cpu_count() or 1)
    if not (source.isascii() and source.isdigit() and 0 < int(source) <= MOST):
        raise ConfigurationError(
            f"--t2i-executor: expected processes:N with N from 1 to {MOST}, got {source!r}"
        )
    try:
        recipe = pickle.dumps((options.name, *options.recipe()))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ConfigurationError(
            f"--t2i-executor: model {options.name!r} cannot be loaded in another process: {error}. "
            "Name it as module:factory, or leave --t2i-executor out."
        ) from None
    return Processes(recipe, int(source), options.batch, options.say)


MOST = 64
"""More processes than this on one machine are a slip of the finger."""


class _Maker:
    """What a process that makes images knows."""

    executor: InProcess
    notes: list[str]


def _begin(recipe: bytes, batch: int, threads: int) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    name, factory, load_options = pickle.loads(recipe)  # noqa: S301 - our own parent's
    _Maker.notes = []
    models: list[object] = []

    def model() -> object:
        if not models:
            models.append(factory(load_options))
            _use_threads(threads)
        return models[0]

    _Maker.executor = InProcess(name, model, batch, _Maker.notes.append)  # type: ignore[arg-type]


def _end_with_parent() -> None:
    """A parent that was killed cannot end its processes."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _use_threads(count: int) -> None:
    try:
        import torch
    except ModuleNotFoundError:
        return
    torch.set_num_threads(count)


def _make(part: list[Request]) -> Made:
    images: list[tuple[Request, Generated]] = []
    problem = ""
    try:
        images.extend(_Maker.executor.run(part))
    except T2IError as error:
        problem = str(error)
    notes, _Maker.notes[:] = list(_Maker.notes), []
    return Made(images, notes, problem)
