"""Batches made side by side by threads of this process, while pictures are kept and looked at.

On a processor each lane has its share of the cores: cores that work on one operation together wait
for one another at its end, those that make pictures of their own do not. On a GPU there is one
lane, which takes turns with the detectors: both need the same memory. The thread that asked keeps
what is there and shows it to detectors meanwhile. Besides what it keeps just now, two batches of
pictures are held at most: what the lanes are making, and as much that is made, or waits to be.
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
"""Parts that each lane is given at a time: it never waits for its next one."""
MOST = 4
"""Lanes; of more cores each has several."""
Pairs = Iterator[tuple[Request, Generated]]


@runtime_checkable
class InLanes(Protocol):
    """A model that several threads can use at a time."""

    def lanes(self, most: int) -> Sequence[TextToImage]:
        """What each thread uses, at most so many; none where one thread alone is as good."""

    def needs_all(self, request: Request) -> bool:
        """Whether nothing else may be made while this is."""

    def stop(self) -> None:
        """Called by another thread: what is being made is not wanted any more."""


class Part(NamedTuple):
    """What became of a part."""

    images: list[tuple[Request, Generated]]
    problem: BaseException | None = None
    """Why the rest was not made."""


@dataclass
class Lanes:
    """Makes images with a model that several threads can use (protocols.Executor)."""

    model: InLanes
    size: BatchSize
    """Images per batch, of all lanes together."""
    alone: Callable[[TextToImage, BatchSize, Callable[[str], None]], Executor]
    """Makes what one thread does: from a model, images per batch, and how it tells something."""
    say: Callable[[str], None]
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _notes: list[str] = field(default_factory=list)
    _lane: threading.local = field(default_factory=threading.local)

    @cached_property
    def models(self) -> Sequence[TextToImage]:
        """One for each lane; none where the thread that asks had better make all."""
        return self.model.lanes(min(cores(), MOST))

    @property
    def turn(self) -> AbstractContextManager[Any]:
        """While it lasts nothing else uses the device; lanes of a processor need no turns."""
        return self._turn if len(self.models) == 1 else nullcontext()

    def run(self, requests: Iterable[Request]) -> Pairs:
        """Each request once, with its image, in the order in which parts are done."""
        for needs_all, group in groupby(requests, self.model.needs_all):
            if needs_all:
                # Obeys TextToImage, too: it is one of its own lanes.
                yield from self._watched.run(group)
            else:
                yield from self._side_by_side(group)

    @cached_property
    def _watched(self) -> Executor:
        """Needs more time and memory for an image, and so a size of its own."""
        return self.alone(self.models[0], self.size.apart(), self.say)

    def _side_by_side(self, requests: Iterator[Request]) -> Pairs:
        first = list(islice(requests, self.size.now))
        size = self._of_each(len(first))
        with self._pool(size) as pool:
            yield from self._taken(pool, chain(first, requests), size)

    def _of_each(self, images: int) -> BatchSize:
        """What each lane makes at a time; a single one makes full batches."""
        lanes = len(self.models)
        return self.size if lanes == 1 else BatchSize(max(1, -(-images // lanes)))

    def _taken(
        self, pool: ThreadPoolExecutor, requests: Iterator[Request], size: BatchSize
    ) -> Pairs:
        """What comes, while more is given; after an error nothing new is begun."""
        given = _Given(lambda part: pool.submit(self._make, part), AHEAD * len(self.models))
        parts = iter(lambda: list(islice(requests, size.now)), [])
        try:
            while given.goes_on(parts):
                for made in given.done():
                    yield from self._told(made)
                    given.problem = given.problem or made.problem
        except KeyboardInterrupt:
            for made in given.there_already():
                yield from made.images
            raise
        finally:
            given.cancel()
        if given.problem is not None:
            raise given.problem

    def _told(self, made: Part) -> Pairs:
        notes, self._notes[:] = list(self._notes), []
        for note in dict.fromkeys(notes):
            self.say(note)
        yield from made.images

    def _make(self, part: list[Request]) -> Part:
        """In a lane's thread: the images of a part; what came before an error is not lost."""
        images: list[tuple[Request, Generated]] = []
        try:
            with self.turn:
                images.extend(self._lane.executor.run(part))
        except BaseException as error:  # noqa: BLE001 - raised again where it is taken
            return Part(images, error)
        return Part(images)

    @contextmanager
    def _pool(self, size: BatchSize) -> Iterator[ThreadPoolExecutor]:
        """Threads that have a model and a share of the cores each; so has this one meanwhile."""
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
            self._stop()
            raise
        finally:
            pool.shutdown(cancel_futures=True)
            use_cores(all_cores)

    def _stop(self) -> None:
        for model in self.models:
            if isinstance(model, InLanes):
                model.stop()


@dataclass
class _Given:
    """Parts that the lanes were given and did not hand back yet."""

    submit: Callable[[list[Request]], Future[Part]]
    most: int
    problem: BaseException | None = None
    """The first error; nothing is given any more."""
    running: set[Future[Part]] = field(default_factory=set)

    def goes_on(self, parts: Iterator[list[Request]]) -> bool:
        """Give more, up to the bound; whether anything is awaited."""
        if self.problem is None:
            for part in islice(parts, self.most - len(self.running)):
                self.running.add(self.submit(part))
        else:
            self.cancel()
        return bool(self.running)

    def done(self) -> Iterator[Part]:
        """What is there, after a wait for at least one."""
        done, self.running = wait(self.running, return_when=FIRST_COMPLETED)
        yield from (future.result() for future in done if not future.cancelled())

    def there_already(self) -> Iterator[Part]:
        """What is there without a wait."""
        there = [future for future in self.running if future.done() and not future.cancelled()]
        yield from (future.result() for future in there)

    def cancel(self) -> None:
        """Begin nothing that was not begun."""
        for future in self.running:
            future.cancel()


def cores() -> int:
    """Cores that torch uses for this thread; 1 without torch."""
    try:
        import torch
    except ModuleNotFoundError:
        return 1
    return int(torch.get_num_threads())


def use_cores(count: int) -> None:
    """Have torch use so many in this thread."""
    try:
        import torch
    except ModuleNotFoundError:
        return
    if torch.get_num_threads() != count:
        torch.set_num_threads(count)
