"""The executor ``in-process``, and checks on the images that any executor returns."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any

from pytest_t2i.data import Generated, Request
from pytest_t2i.errors import ConfigurationError, GenerationError, OutOfDeviceMemoryError, blamed
from pytest_t2i.generation.batch_size import BatchSize, device_of
from pytest_t2i.generation.check_pictures import as_generated
from pytest_t2i.generation.threads import InLanes, Lanes
from pytest_t2i.protocols import Executor, ExecutorOptions, MakesEach, TextToImage
from pytest_t2i.sections.words import several

GPU_FILES = ("nvidia[0-9]*", "dxg")
"""Files in /dev on a machine with an NVIDIA GPU, natively and under WSL."""


@dataclass(slots=True)
class InProcess:
    """Makes images with the model of this process (protocols.Executor)."""

    name: str
    """The model's name, as the user gave it."""
    model: Callable[[], TextToImage]
    """Loads the model on its first call."""
    size: BatchSize
    """Images per batch; halved when a batch does not fit into the device's memory."""
    say: Callable[[str], None]
    """Shows a note to the user."""
    clock: Callable[[], float] = time.monotonic
    meanwhile: Callable[[], None] = lambda: None
    """Called once in this thread while other threads make the first images."""
    is_lane: bool = False
    """Whether this executor is one of several threads that share the processor's cores."""
    _ended: float | None = None
    """When the last batch of this run ended."""
    _lanes: list[Lanes] = field(default_factory=list)
    """The model's lanes (see ``threads.py``), once they are known; empty before."""

    def run(self, requests: Iterable[Request]) -> Iterator[tuple[Request, Generated]]:
        """Each request once, with its image. A batch is made when its first image is requested."""
        waiting = iter(requests)
        if not self.is_lane:  # a lane's executor is made for one run, and gets each batch apart
            self._ended = None
        for first in waiting:
            with blamed(GenerationError, "model", self.name):
                model = self.model()
            yield from self._all(model, first, chain([first], waiting))

    def find_batch_size(self, size: BatchSize) -> None:
        self.size = size
        self._lanes.clear()

    def _all(
        self, model: TextToImage, first: Request, requests: Iterator[Request]
    ) -> Iterator[tuple[Request, Generated]]:
        if isinstance(model, MakesEach):
            yield from self._each(model, requests)
            return
        self.size.begin(device_of(model), first.settings)
        if (lanes := self._lanes_of(model)) is not None:
            yield from lanes.run(requests)
            return
        while part := list(islice(requests, self.size.now)):
            yield from self._made(part)

    def turn(self) -> AbstractContextManager[Any]:
        """A context for what detectors do on a device that they share with the model."""
        return self._lanes[0].turn() if self._lanes else nullcontext()

    def _lanes_of(self, model: TextToImage) -> Lanes | None:
        """Threads that make images in parallel; None where one thread is as fast."""
        if self.is_lane or not isinstance(model, InLanes):
            return None
        if not self._lanes:
            self._lanes.append(Lanes(model, self.size, self._alone, self.say, self.meanwhile))
        return self._lanes[0] if self._lanes[0].models else None

    def _alone(self, model: TextToImage, size: BatchSize, say: Callable[[str], None]) -> InProcess:
        return InProcess(self.name, lambda: model, size, say, self.clock, is_lane=True)

    def _each(
        self, model: MakesEach, requests: Iterable[Request]
    ) -> Iterator[tuple[Request, Generated]]:
        """The images of a model that returns each as soon as it is made."""
        pairs = model.each(requests)
        while True:
            with blamed(GenerationError, "model", self.name):
                pair = next(pairs, None)
            if pair is None:
                return
            yield pair

    def _made(self, part: list[Request]) -> Iterator[tuple[Request, Generated]]:
        """Make a batch, in smaller ones where it does not fit into the device's memory."""
        rest = list(part)
        try:
            # The batch comes first in zip, which then takes its error even after the last image.
            for generated, request in zip(self._batch(part), part, strict=False):
                yield request, generated
                del rest[0]
        except OutOfDeviceMemoryError:
            if len(part) == 1:
                raise
            self.size.too_many(len(part))
            self.say(
                f"out of device memory: going on with {several(self.size.now, 'image')} per batch"
            )
        while rest:
            smaller, rest = rest[: self.size.now], rest[self.size.now :]
            yield from self._made(smaller)

    def _batch(self, part: list[Request]) -> Iterator[Generated]:
        """The images of a batch: all, or those made before an error, and then the error.

        No image is returned before the batch ends: in a batch that is too short, nobody can tell
        which images are missing.
        """
        images: list[Generated] = []
        started = self.clock()
        try:
            with blamed(GenerationError, "model", self.name):
                images.extend(
                    as_generated(self.model().generate(part))
                )  # keeps what came before an error
        except (Exception, KeyboardInterrupt):
            yield from images
            raise
        if len(images) != len(part):
            raise ConfigurationError(
                f"model {self.name!r}: expected {several(len(part), 'image')} for "
                f"{len(part)} requests, got {len(images)}"
            )
        before, self._ended = started if self._ended is None else self._ended, self.clock()
        self.size.made(len(part), self._ended - before)
        yield from images


def in_process(options: ExecutorOptions) -> InProcess:
    """The factory of the entry point ``in-process``."""
    if options.source:
        raise ConfigurationError(
            "--t2i-executor: expected in-process, without anything behind it, got "
            f"'in-process:{options.source}'"
        )
    return InProcess(options.name, options.model, BatchSize(options.batch), options.say)


def devices(asked: str) -> list[str]:
    """The devices that several processes may use: each GPU, or the one named."""
    if asked not in ("auto", "cuda"):
        return [asked]
    if sys.platform == "linux" and not any(
        list(Path("/dev").glob(pattern)) for pattern in GPU_FILES
    ):
        return [asked]  # saves the import of torch in a process that only waits
    try:
        import torch
    except ModuleNotFoundError:
        return [asked]
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    return [f"cuda:{k}" for k in range(count)] or [asked]


def each_once(
    executor: Executor, requests: Iterable[Request], name: str
) -> Iterator[tuple[Request, Generated]]:
    """An executor's images; GenerationError where it does not return each request once."""
    waiting: set[Request] = set()
    count = 0

    def each() -> Iterator[Request]:
        nonlocal count
        for request in requests:
            waiting.add(request)
            count += 1
            yield request

    incoming = each()
    with blamed(GenerationError, "executor", name):
        pairs = iter(executor.run(incoming))
    while True:
        with blamed(GenerationError, "executor", name):
            pair = next(pairs, None)
            if pair is None:
                break
            request, generated = pair
        if request not in waiting:
            raise GenerationError(
                f"executor {name!r}: expected each request once, got one twice, or one that was "
                f"not requested: {request!r}"
            )
        waiting.remove(request)
        yield request, generated
    waiting.update(incoming)  # requests that the executor did not take
    if waiting:
        raise GenerationError(
            f"executor {name!r}: expected {several(count, 'image')}, {len(waiting)} are missing"
        )


def batches_to_store(
    pairs: Iterator[tuple[Request, Generated]], size: Callable[[], int]
) -> Iterator[list[tuple[Request, Generated]]]:
    """An executor's images in batches to be stored, also those made before an error."""
    part: list[tuple[Request, Generated]] = []
    try:
        for pair in pairs:
            part.append(pair)
            if len(part) >= size():
                yield part
                part = []
    except (Exception, KeyboardInterrupt):
        if part:
            yield part
        raise
    if part:
        yield part
