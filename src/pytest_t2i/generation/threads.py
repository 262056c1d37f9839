"""Lanes: threads that make batches in parallel, while the main thread stores and detects.

On a processor each lane has a share of the cores: cores that share one operation wait for one
another at its end, while cores with pictures of their own do not. On a GPU there is one lane.
Meanwhile the main thread stores finished pictures and runs detectors on them: what they do on the
device waits for the lane's turn, until it is measured that the memory has room for both. Memory
holds at most two batches of pictures, besides those being stored.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, groupby, islice
from typing import Any, NamedTuple, Protocol, runtime_checkable

from pytest_t2i.data import Generated, Request
from pytest_t2i.generation.batch_size import BatchSize
from pytest_t2i.protocols import Executor, TextToImage

AHEAD = 2
"""Number of parts queued for each lane, so that no lane waits for its next part."""
MOST = 4
"""Largest number of lanes; with more cores than that, each lane has several."""
Pairs = Iterator[tuple[Request, Generated]]


@runtime_checkable
class InLanes(Protocol):
    """A model that several threads can use at the same time."""

    def lanes(self, most: int) -> Sequence[TextToImage]:
        """At most ``most`` models, one for each thread; none where one thread is as fast."""

    def needs_all(self, request: Request) -> bool:
        """Whether this request needs the model alone, without parallel requests."""

    def stop(self) -> None:
        """Stop making images; another thread calls this."""


class DeviceUse(Protocol):
    """The device's memory, as measured beside a piece of work."""

    @property
    def has_room(self) -> bool:
        """Whether the work may go on beside a batch of pictures."""


@runtime_checkable
class SharesDevice(Protocol):
    """A model whose device can run other work while the model makes images."""

    def measured(self) -> AbstractContextManager[DeviceUse]:
        """A context that measures the memory that work inside of it needs."""

    def beside(self) -> AbstractContextManager[Any]:
        """A context whose work runs beside the model's."""


class PartResult(NamedTuple):
    """Result of one part: its images, and the error that stopped it, if any."""

    images: list[tuple[Request, Generated]]
    problem: BaseException | None = None
    """Error that left the rest unmade; None where all images were made."""


def _nothing() -> None:
    """Do nothing."""


@dataclass
class Lanes:
    """Makes images with a model that several threads can use (protocols.Executor)."""

    model: InLanes
    size: BatchSize
    """Batch size of all lanes together."""
    alone: Callable[[TextToImage, BatchSize, Callable[[str], None]], Executor]
    """Makes one thread's executor from a model, a batch size and a function that shows notes."""
    say: Callable[[str], None]
    meanwhile: Callable[[], None] = field(default=_nothing)
    """Called once, while the first parts are made."""
    _has_room: bool = False
    """Whether detectors were measured to fit beside a batch of pictures."""
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _notes: list[str] = field(default_factory=list)
    _lane: threading.local = field(default_factory=threading.local)

    @cached_property
    def models(self) -> Sequence[TextToImage]:
        """One model for each lane; none where the calling thread should make all images."""
        return self.model.lanes(min(cores(), MOST))

    @contextmanager
    def turn(self) -> Iterator[None]:
        """A context for work of detectors on the device.

        It has the device alone until it is measured that the work fits beside a batch; lanes of a
        processor, and a single thread without lanes, never wait.
        """
        model = self.models[0] if len(self.models) == 1 else None
        if model is None:
            yield
        elif not isinstance(model, SharesDevice):
            with self._turn:
                yield
        elif self._has_room and not self.size.has_shrunk:
            with model.beside():
                yield
        else:
            with self._turn, model.measured() as use:
                yield
            # A larger batch of pictures needs more.
            self._has_room = use.has_room and not self.size.is_open

    def run(self, requests: Iterable[Request]) -> Pairs:
        """Each request once, with its image, in the order in which parts are finished."""
        for needs_all, group in groupby(requests, self.model.needs_all):
            if needs_all:
                # The first lane's model is the model itself.
                yield from self._watched.run(group)
            else:
                yield from self._side_by_side(group)

    @cached_property
    def _watched(self) -> Executor:
        """Executor of requests that need the model alone, with a batch size of its own."""
        return self.alone(self.models[0], self.size.apart(), self.say)

    def _side_by_side(self, requests: Iterator[Request]) -> Pairs:
        first = list(islice(requests, self.size.now))
        size = self._of_each(len(first))
        with self._pool(size) as pool:
            yield from self._taken(pool, chain(first, requests), size)

    def _of_each(self, images: int) -> BatchSize:
        """Batch size of each lane; a single lane makes full batches."""
        lanes = len(self.models)
        if lanes == 1:
            return self.size
        self.size.times.lanes = lanes
        return BatchSize(max(1, -(-images // lanes)), times=self.size.times)

    def _taken(
        self, pool: ThreadPoolExecutor, requests: Iterator[Request], size: BatchSize
    ) -> Pairs:
        """Yield finished images and queue more parts; after an error no part is begun."""
        queue = _Given(lambda part: pool.submit(self._make, part), AHEAD * len(self.models))
        parts = iter(lambda: list(islice(requests, size.now)), [])
        try:
            while queue.goes_on(parts):
                call, self.meanwhile = self.meanwhile, _nothing
                model = self.models[0]
                # On the model's stream weights would be copied between the steps of a batch.
                with model.beside() if isinstance(model, SharesDevice) else nullcontext():
                    call()
                for finished in queue.done():
                    yield from self._told(finished)
                    queue.problem = queue.problem or finished.problem
        except KeyboardInterrupt:
            for finished in queue.there_already():
                yield from finished.images
            raise
        finally:
            queue.cancel()
        if queue.problem is not None:
            raise queue.problem

    def _told(self, part: PartResult) -> Pairs:
        notes, self._notes[:] = list(self._notes), []
        for note in dict.fromkeys(notes):
            self.say(note)
        yield from part.images

    def _make(self, part: list[Request]) -> PartResult:
        """Make the images of a part in a lane's thread; keep those made before an error."""
        images: list[tuple[Request, Generated]] = []
        try:
            with self._turn if len(self.models) == 1 else nullcontext():
                images.extend(self._lane.executor.run(part))
        except BaseException as error:  # noqa: BLE001 - raised again where it is taken
            return PartResult(images, error)
        return PartResult(images)

    @contextmanager
    def _pool(self, size: BatchSize) -> Iterator[ThreadPoolExecutor]:
        all_cores = cores()
        share = max(1, all_cores // len(self.models))
        models = list(self.models)

        def begin() -> None:
            use_cores(share)
            self._lane.executor = self.alone(models.pop(), size, self._notes.append)

        pool = ThreadPoolExecutor(len(models), "t2i-lane", begin)
        use_cores(share)
        try:
            yield pool
        except BaseException:
            for model in self.models:
                if isinstance(model, InLanes):
                    model.stop()
            raise
        finally:
            pool.shutdown(cancel_futures=True)
            use_cores(all_cores)


@dataclass
class _Given:
    """Parts that are queued or being made."""

    submit: Callable[[list[Request]], Future[PartResult]]
    most: int
    problem: BaseException | None = None
    """The first error, after which no part is queued."""
    running: set[Future[PartResult]] = field(default_factory=set)

    def goes_on(self, parts: Iterator[list[Request]]) -> bool:
        """Queue more parts, up to the bound; return whether any part is unfinished."""
        if self.problem is None:
            for part in islice(parts, self.most - len(self.running)):
                self.running.add(self.submit(part))
        else:
            self.cancel()
        return bool(self.running)

    def done(self) -> Iterator[PartResult]:
        """Finished parts, after waiting for at least one."""
        finished, self.running = wait(self.running, return_when=FIRST_COMPLETED)
        yield from (future.result() for future in finished if not future.cancelled())

    def there_already(self) -> Iterator[PartResult]:
        there = [future for future in self.running if future.done() and not future.cancelled()]
        yield from (future.result() for future in there)

    def cancel(self) -> None:
        for future in self.running:
            future.cancel()


def cores() -> int:
    """Number of cores that torch uses in this thread; 1 without torch."""
    try:
        import torch
    except ModuleNotFoundError:
        return 1
    return int(torch.get_num_threads())


def use_cores(count: int) -> None:
    try:
        import torch
    except ModuleNotFoundError:
        return
    if torch.get_num_threads() != count:
        torch.set_num_threads(count)
