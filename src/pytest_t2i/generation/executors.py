"""Executors: how requests become images; this one makes them here, batch by batch."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from pytest_t2i.data import Generated, Request
from pytest_t2i.errors import ConfigurationError, GenerationError, OutOfDeviceMemoryError, blamed
from pytest_t2i.generation.named_component import NamedComponent
from pytest_t2i.protocols import TextToImage

GPU_FILES = ("nvidia[0-9]*", "dxg")
"""What /dev holds on a machine with an NVIDIA GPU, natively and under WSL."""


@dataclass(slots=True)
class InProcess:
    """Makes images with the model of this process (protocols.Executor)."""

    model: NamedComponent[TextToImage]
    batch: int
    """Images per batch; halved when a batch does not fit into the device's memory."""
    say: Callable[[str], None]
    """Tells the user something."""

    def run(self, requests: Iterable[Request]) -> Iterator[tuple[Request, Generated]]:
        """Each request once, with its image; a batch is made when its first image is asked for."""
        waiting = iter(requests)
        while part := list(islice(waiting, self.batch)):
            yield from zip(part, self._generate(part), strict=True)

    def _generate(self, part: list[Request]) -> list[Generated]:
        try:
            return self._batch(part)
        except OutOfDeviceMemoryError:
            if len(part) == 1:
                raise
            while self.batch >= len(part):
                self.batch //= 2
            self.say(f"out of device memory: going on with {self.batch} images per batch")
            return self._in_smaller(part)

    def _in_smaller(self, waiting: list[Request]) -> list[Generated]:
        """A batch that did not fit, in batches that do; they may get smaller on the way."""
        made: list[Generated] = []
        while waiting:
            part, waiting = waiting[: self.batch], waiting[self.batch :]
            made += self._generate(part)
        return made

    def _batch(self, part: list[Request]) -> list[Generated]:
        with blamed(GenerationError, "model", self.model.name):
            generated = list(self.model.get().generate(part))
        if len(generated) != len(part):
            raise ConfigurationError(
                f"model {self.model.name!r}: expected {len(part)} images for "
                f"{len(part)} requests, got {len(generated)}"
            )
        return generated


def devices(asked: str) -> list[str]:
    """The devices that several processes may share out among them."""
    if asked not in ("auto", "cuda"):
        return [asked]
    if sys.platform == "linux" and not any(
        list(Path("/dev").glob(pattern)) for pattern in GPU_FILES
    ):
        return [asked]  # spares a process that only waits the import of torch
    try:
        import torch
    except ModuleNotFoundError:
        return [asked]
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    return [f"cuda:{k}" for k in range(count)] or [asked]
