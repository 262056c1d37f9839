"""How long a device stands still while processors look for faces: a device and a finder that wait.

A stand-in for a GPU takes a fixed time for each picture of a batch, and a face finder holds one
core for 300 ms a picture; both sleep, so that any machine can stand for one with four cores. The
rest is the product: the lane, the store, and the detector clip-prob with a stand-in of CLIP that
needs the device for a moment.

    python tests/benchmarks/idle_device.py --cores 4
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from PIL import Image

from pytest_t2i.adapters.detectors.clip_prob import ClipProb
from pytest_t2i.adapters.finders.face_finder import FaceFinder
from pytest_t2i.adapters.finders.scaling import Fitted
from pytest_t2i.data import Box, Detection, Generated, GenerationSettings, Prompt, Request
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.generate import Runner
from pytest_t2i.generation.plan import DetectorRef, Need, Plan, RequestSettings
from pytest_t2i.generation.store import Store
from pytest_t2i.settings import Settings

PIXELS = 256


@dataclass
class Device:
    """A model in one lane, whose device takes so long for each picture."""

    seconds: float
    fingerprint: str = "a device"
    batches: list[tuple[float, float]] = field(default_factory=list)
    """When each batch began and ended."""

    def lanes(self, most: int) -> list[Device]:
        """One lane, as on a GPU."""
        del most
        return [self]

    def needs_all(self, request: Request) -> bool:
        """No request needs the model alone."""
        return bool(request.observe)

    def stop(self) -> None:
        """Nothing to stop."""

    @contextmanager
    def measured(self) -> Any:
        """There is room."""
        yield mock.Mock(has_room=True)

    @contextmanager
    def beside(self) -> Any:
        """Nothing to prepare."""
        yield

    def generate(self, requests: list[Request]) -> list[Generated]:
        """Wait, and return noise."""
        begun = time.perf_counter()
        time.sleep(self.seconds * len(requests))
        self.batches.append((begun, time.perf_counter()))
        return [Generated(noise(request.seed)) for request in requests]

    @property
    def idle(self) -> float:
        """Share of the time from the second batch on in which no batch was made."""
        later = self.batches[1:]
        span = later[-1][1] - later[0][0]
        return 1 - sum(end - begun for begun, end in later) / span


def noise(seed: int) -> Image.Image:
    """A picture like no other."""
    pixels = np.random.default_rng(seed).integers(1, 256, (PIXELS, PIXELS, 3), np.uint8)
    return Image.fromarray(pixels)


class Slow(FaceFinder):
    """A face finder that holds one core for a while."""

    def __init__(self, seconds: float) -> None:
        super().__init__({"faces": "slow"}, None)
        self.seconds = seconds

    def _faces_in(self, picture: Fitted) -> list[Box]:
        time.sleep(self.seconds)
        return [picture.box((10.0, 10.0, 90.0, 90.0), 1.0)]


class Clip:
    """Looks at a batch for a moment."""

    fingerprint, labels, made_for = "clip", ("male", "female"), ""
    provenance: dict[str, str] = {}  # noqa: RUF012

    def detect(self, images: list[Image.Image]) -> list[Detection]:
        """Take 50 ms."""
        time.sleep(0.05)
        return [Detection("male", scores={"p(male)": 1.0}) for _ in images]

    def in_domain(self, images: list[Image.Image]) -> list[bool]:
        """Return that all are."""
        return [True] * len(images)


def main() -> None:
    """Print the share."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cores", type=int, default=4)
    parser.add_argument("--images", type=int, default=96)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--device", type=float, default=0.37, help="seconds a picture")
    parser.add_argument("--finder", type=float, default=0.3, help="seconds a picture, on one core")
    options = parser.parse_args()
    device, clip = Device(options.device), Clip()
    detector = ClipProb(Slow(options.finder), clip)  # type: ignore[arg-type]
    with (
        mock.patch.object(os, "cpu_count", return_value=options.cores),
        tempfile.TemporaryDirectory() as folder,
        closing(Store(Path(folder))) as store,
    ):
        registries = Components(Settings(model="none:"), store).registries
        registries.models.local["device"] = lambda _: device
        registries.detectors.local["slow"] = lambda _: detector
        components = Components(Settings(model="device:"), store, registries)
        runner = Runner(components, store, batch=options.batch)
        plan = Plan(RequestSettings(GenerationSettings()))
        prompt = Prompt("a photo of a nurse", "job", "nurse")
        plan.add(Need(prompt, tuple(range(options.images)), detectors=(DetectorRef("slow"),)))
        started = time.perf_counter()
        runner.run(plan)
        seconds = time.perf_counter() - started
        runner.close()
    print(
        f"{options.cores} cores, {options.finder:g} s of a core and {options.device:g} s of the "
        f"device a picture: the device stood still for {device.idle:.1%} of the time; "
        f"{options.images} images in {seconds:.0f} s"
    )


if __name__ == "__main__":
    main()
