"""Profile the making and detecting of images, part by part (``t2i profile``)."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any

from pytest_t2i.data import Prompt
from pytest_t2i.generation import detect
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.generate import Runner
from pytest_t2i.generation.plan import DetectorRef, Need, Plan
from pytest_t2i.generation.seeds import seeds_of
from pytest_t2i.generation.store import Store
from pytest_t2i.generation.store import store as store_module
from pytest_t2i.generation.threads import cores, use_cores

TEXT, DENOISER, DECODER, OTHER = "text encoder", "denoiser", "decoder", "rest of the pipeline"
PNG, DETECTION, STORE, REST = "PNG", "detection", "store", "rest"
OF_PIPELINE = {
    TEXT: (("", "encode_prompt"),),
    DENOISER: (("unet", "forward"), ("transformer", "forward")),
    DECODER: (("vae", "decode"),),
}
"""Part -> functions of a pipeline that belong to it: component, and name of the function."""
OF_STORE = (
    *("images", "add_images", "arrays", "add_arrays", "detections", "add_detections"),
    *("claim", "release", "name_model", "fact", "remember"),
)


@dataclass(slots=True)
class Spent:
    """Seconds spent in one part, without those of the parts within it."""

    wall: float = 0.0
    processor: float = 0.0


@dataclass(slots=True)
class Stopwatch:
    """Times functions of one thread; a nested function's time counts for its own part alone.

    >>> watch = Stopwatch()
    >>> inner = watch.timed("inner", lambda: 1)
    >>> watch.timed("outer", lambda: inner() + 1)(), sorted(watch.parts)
    (2, ['inner', 'outer'])
    """

    parts: dict[str, Spent] = field(default_factory=dict)
    _within: list[Spent] = field(default_factory=list)
    _undo: list[tuple[Any, str, Any]] = field(default_factory=list)

    def timed(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a function so that its time is added to a part."""

        @wraps(function)
        def clocked(*arguments: Any, **named: Any) -> Any:
            inner = Spent()
            self._within.append(inner)
            wall, processor = _now()
            try:
                return function(*arguments, **named)
            finally:
                ended = _now()
                self._within.pop()
                took = Spent(ended[0] - wall, ended[1] - processor)
                spent = self.parts.setdefault(part, Spent())
                spent.wall += took.wall - inner.wall
                spent.processor += took.processor - inner.processor
                if self._within:
                    self._within[-1].wall += took.wall
                    self._within[-1].processor += took.processor

        return clocked

    def watch(self, owner: Any, name: str, part: str) -> None:
        """Time a function of an object or module, where it exists and can be replaced."""
        function = getattr(owner, name, None)
        if function is None:
            return
        before = getattr(owner, "__dict__", {}).get(name, _ABSENT)
        with suppress(AttributeError):  # of slots
            setattr(owner, name, self.timed(part, function))
            self._undo.append((owner, name, before))

    def undo(self) -> None:
        """Restore all functions."""
        for owner, name, before in reversed(self._undo):
            if before is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, before)
        self._undo.clear()


_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Profile:
    """Seconds spent on making and detecting images."""

    images: int
    parts: dict[str, Spent]
    """Seconds of each part with one thread; ``rest`` is everything else."""
    seconds: float
    """Wall time as a run makes images."""
    processor: float
    """Processor time as a run makes images, of all threads of this process."""

    @property
    def cores_busy(self) -> float:
        """Mean number of busy cores as a run makes images."""
        return self.processor / self.seconds if self.seconds else 0.0


def profile(components: Components, prompts: Sequence[Prompt], images: int) -> Profile:
    """Make and detect images twice: part by part in one thread, then as a run does.

    Models are loaded before, and nothing is stored.

    Args:
        components: model and detectors of the run.
        prompts: prompts of the images.
        images: number of images of each prompt.
    """
    count = images * len(prompts)
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        _make(components, prompts[:1], 2, folder / "warm")
        watch = Stopwatch()
        before = cores()
        try:
            use_cores(1)
            with _watched(watch, components):
                make = watch.timed(REST, lambda: _make(components, prompts, images, folder / "a"))
                make()
        finally:
            use_cores(before)
        _make(components, prompts[:1], 2, folder / "warm again")
        wall, processor = _now()
        _make(components, prompts, images, folder / "b")
        ended = _now()
    return Profile(count, watch.parts, ended[0] - wall, ended[1] - processor)


def cores_here() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _watched(watch: Stopwatch, components: Components) -> Iterator[None]:
    model = components.model().get()
    pipeline = getattr(model, "pipeline", None)
    watch.watch(model, "generate", OTHER)
    for part, functions in OF_PIPELINE.items():
        for component, name in functions:
            watch.watch(getattr(pipeline, component, None) if component else pipeline, name, part)
    watch.watch(detect, "detections_of", DETECTION)
    watch.watch(store_module, "encode", PNG)
    for name in OF_STORE:
        watch.watch(Store, name, STORE)
    try:
        yield
    finally:
        watch.undo()


def _make(components: Components, prompts: Sequence[Prompt], images: int, folder: Path) -> None:
    before, components.store = components.store, Store(folder)
    try:
        plan = Plan(components.defaults().defaults)
        refs = frozenset(map(DetectorRef, components.detector_names))
        for prompt in prompts:
            plan.add(Need(prompt, seeds_of(components.settings.seed, prompt.text, images), refs))
        # The batch size is fixed, so that each image costs the same.
        size = components.settings.batch or components.model_batch() or detect.DEFAULT_BATCH
        runner = Runner(components, components.store, batch=size)
        try:
            runner.run(plan)
        finally:
            runner.close()
    finally:
        components.store.close()
        components.store = before


def _now() -> tuple[float, float]:
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.synchronize()  # a GPU works on while Python goes on
    return time.perf_counter(), time.process_time()
