"""The executor ``processes:N``: N processes of this machine make images, each with its own model.

Detectors run on finished images while the next ones are made. Each process loads the model, so that
memory is needed N times: the executor pays where each process has its own GPU. A process that dies
is replaced, and its batch is made again, twice at most.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, NamedTuple

from pytest_t2i.data import Generated, Request
from pytest_t2i.errors import ConfigurationError, GenerationError, T2IError
from pytest_t2i.generation.batch_size import BATCHES, BatchSize, FoundSize, PlacedSize
from pytest_t2i.generation.executors import InProcess, devices, in_process
from pytest_t2i.protocols import Executor, ExecutorOptions, LoadOptions


class Made(NamedTuple):
    """Result of one batch."""

    images: list[tuple[Request, Generated]]
    notes: list[str]
    problem: str = ""
    """Error message where the rest of the batch was not made; else ""."""
    found: PlacedSize | None = None
    """Batch size that the process found."""


class _Own:
    """State of a process that makes images."""

    executor: InProcess
    notes: list[str]


def begin(
    name: str,
    recipe: bytes,
    batch: int,
    known: dict[str, FoundSize] | None,
    threads: int,
    device: str,
) -> None:
    """Initialise a new process; the model is loaded when its first image is requested."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _Own.notes = []
    models: list[Any] = []

    def model() -> Any:
        if not models:
            factory, options = _unpacked(name, recipe)
            models.append(factory(replace(options, device=device)))
            # Let torch use so many threads, without loading it for a model that needs none of it.
            os.environ["OMP_NUM_THREADS"] = str(threads)  # read by a torch that is loaded later
            if "torch" in sys.modules:
                sys.modules["torch"].set_num_threads(threads)
        return models[0]

    _Own.executor = InProcess(name, model, BatchSize(batch, known), _Own.notes.append)


def _unpacked(name: str, recipe: bytes) -> tuple[Callable[[LoadOptions], Any], LoadOptions]:
    try:
        factory, options = pickle.loads(recipe)  # noqa: S301 - our own parent's
    except Exception as error:
        raise ConfigurationError(_not_elsewhere(name, error)) from error
    return factory, options


def _end_with_parent() -> None:
    """End this process with its parent: a parent that was killed cannot end it."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def make_part(part: list[Request]) -> Made:
    """Make the images of a part, or those before an error."""
    images: list[tuple[Request, Generated]] = []
    problem = ""
    try:
        images.extend(_Own.executor.run(part))
    except T2IError as error:
        problem = str(error)
    notes, _Own.notes[:] = list(_Own.notes), []
    return Made(images, notes, problem, _Own.executor.size.found)


def _not_elsewhere(name: str, error: Exception) -> str:
    """Message for a model that cannot be loaded in another process."""
    return (
        f"--t2i-executor: model {name!r} cannot be loaded in another process: {error}. "
        "Name it as module:factory, or leave --t2i-executor out."
    )


AHEAD = 2
"""Number of batches queued for each process, so that no process waits for its next batch."""
TRIES = 3
"""Number of attempts at a batch whose process dies."""
MOST = 64
"""Largest number of processes; a larger one is a typing error."""
OURS = "pytest_t2i.adapters."
"""Package whose models several processes can load at the same time."""


@dataclass(slots=True)
class Batch:
    """Requests that a process carries out in one call."""

    requests: list[Request]
    lost: int = 0
    """Number of processes that died while they made this batch."""


@dataclass(slots=True, eq=False)
class Worker:
    """One process and the batches queued for it, in order."""

    device: str
    pool: ProcessPoolExecutor
    given: dict[Future[Made], Batch] = field(default_factory=dict)


@dataclass(slots=True)
class Processes:
    """Makes images in several processes (protocols.Executor)."""

    name: str
    """The model's name, as the user gave it."""
    recipe: bytes
    """Pickled factory and LoadOptions of the model."""
    devices: Sequence[str]
    """One device for each process."""
    size: BatchSize
    """Images per batch."""
    say: Callable[[str], None]
    _workers: list[Worker] = field(default_factory=list)
    _returned: deque[Batch] = field(default_factory=deque)
    """Batches whose process died; they are made first."""

    def run(self, requests: Iterable[Request]) -> Iterator[tuple[Request, Generated]]:
        """Each request once, with its image, in the order in which batches are finished."""
        waiting = iter(requests)
        if not self._workers:
            self._workers += [self._started(device) for device in self.devices]
        try:
            while self._give(waiting):
                futures = {future: w for w in self._workers for future in w.given}
                finished, _ = wait(futures, return_when=FIRST_COMPLETED)
                for future in finished:
                    yield from self._taken(futures[future], future)
        finally:
            self._forget()

    def find_batch_size(self, size: BatchSize) -> None:
        self.size = size

    def close(self) -> None:
        for worker in self._workers:
            worker.pool.shutdown(cancel_futures=True)
        self._workers.clear()

    def _give(self, waiting: Iterator[Request]) -> bool:
        """Queue batches in rounds, to spread few of them evenly; return whether any is queued."""
        for depth in range(1, AHEAD + 1):
            for worker in self._workers:
                if len(worker.given) < depth and (batch := self._next(waiting)):
                    self._hand(worker, batch)
        return any(worker.given for worker in self._workers)

    def _hand(self, worker: Worker, batch: Batch) -> None:
        try:
            future = worker.pool.submit(make_part, batch.requests)
        except BrokenProcessPool:  # the process died while it was idle
            worker = self._replaced(worker)
            future = worker.pool.submit(make_part, batch.requests)
        worker.given[future] = batch

    def _next(self, waiting: Iterator[Request]) -> Batch | None:
        if self._returned:
            return self._returned.popleft()
        # A process that searches for a batch size divides its requests itself.
        count = BATCHES * self.size.now if self.size.is_open else self.size.now
        part = list(islice(waiting, count))
        return Batch(part) if part else None

    def _taken(self, worker: Worker, future: Future[Made]) -> Iterator[tuple[Request, Generated]]:
        if future not in worker.given:  # its process died, as another future showed
            return
        try:
            result = future.result()
        except BrokenProcessPool:
            yield from self._lose(worker)
            return
        del worker.given[future]
        yield from self._told(result)

    def _told(self, result: Made) -> Iterator[tuple[Request, Generated]]:
        for note in result.notes:
            self.say(note)
        self.size.hear(result.found)
        yield from result.images
        if result.problem:
            raise GenerationError(result.problem)

    def _lose(self, worker: Worker) -> Iterator[tuple[Request, Generated]]:
        """Images that a dead process had finished; its first unfinished batch counts as lost."""
        batches, worker.given = worker.given, {}
        there = [future for future in batches if future.done() and future.exception() is None]
        lost = [batch for future, batch in batches.items() if future not in there]
        self._returned.extendleft(reversed(lost))
        self._replaced(worker)
        for future in there:
            yield from self._told(future.result())
        if lost:
            self._count(lost[0])

    def _replaced(self, worker: Worker) -> Worker:
        worker.pool.shutdown(wait=False)
        place = self._workers.index(worker)
        self._workers[place] = self._started(worker.device)
        return self._workers[place]

    def _count(self, batch: Batch) -> None:
        batch.lost += 1
        if batch.lost == 1:
            self.say("a process ended unexpectedly: another process makes its batch again")
        if batch.lost < TRIES:
            return
        names = [f"{request.prompt!r} with seed {request.seed}" for request in batch.requests]
        if len(names) == 1:
            images = f"The image of {names[0]} was"
        else:
            images = f"{len(names)} images, from {names[0]} to {names[-1]}, were"
        raise GenerationError(
            f"{images} begun {TRIES} times, and each time the process ended "
            "unexpectedly (killed, or out of memory). What was made before is kept; "
            "fewer processes, or a smaller --t2i-batch, need less memory."
        )

    def _forget(self) -> None:
        for worker in self._workers:
            for future in worker.given:
                future.cancel()
            worker.given = {}
        self._returned.clear()

    def _started(self, device: str) -> Worker:
        threads = max(1, (os.cpu_count() or 1) // len(self.devices))
        # A forked process could not use a GPU, and would inherit locks that are held.
        pool = ProcessPoolExecutor(
            1,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=begin,
            initargs=(self.name, self.recipe, self.size.now, self.size.known, threads, device),
        )
        return Worker(device, pool)


def load(options: ExecutorOptions) -> Processes:
    """The factory of the entry point ``processes``; the source is the number of processes.

    Without a number there is one process for each GPU, or for each core where there is no GPU. The
    GPUs are assigned in turn.

    Raises ConfigurationError for another source, and for a model whose factory no other process
    can import.
    """
    factory, load_options = options.recipe()
    shared = devices(load_options.device)
    usual = len(shared) if len(shared) > 1 else os.cpu_count() or 1
    source = options.source or str(min(usual, MOST))
    if not (source.isascii() and source.isdigit() and 0 < int(source) <= MOST):
        raise ConfigurationError(
            f"--t2i-executor: expected processes:N with N from 1 to {MOST}, got {source!r}"
        )
    try:
        recipe = pickle.dumps((factory, load_options))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ConfigurationError(_not_elsewhere(options.name, error)) from None
    assigned = [shared[k % len(shared)] for k in range(int(source))]
    return Processes(options.name, recipe, assigned, BatchSize(options.batch), options.say)


def auto(options: ExecutorOptions) -> Executor:
    """The factory of the entry point ``auto``: the fastest executor on this machine.

    With several GPUs there is one process for each, where the model is one of this package, which
    other processes can load. Else this process makes the images: on a processor it uses all cores
    as well as several processes would, with less memory (tests/benchmarks/plain_loop.py).
    """
    if options.source:
        raise ConfigurationError(f"--t2i-executor: expected auto, got 'auto:{options.source}'")
    factory, load_options = options.recipe()
    has_gpus = len(devices(load_options.device)) > 1
    if has_gpus and getattr(factory, "__module__", type(factory).__module__).startswith(OURS):
        try:
            return load(options)
        except ConfigurationError as error:  # such as a mitigation in a conftest.py
            options.say(f"only one GPU makes the images: {error}")
    return in_process(options)
