"""Where the time of making and looking at images goes, part by part."""

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
from pytest_t2i.generation.lanes import cores, use_cores
from pytest_t2i.generation.plan import DetectorRef, Need, Plan
from pytest_t2i.generation.seeds import seeds_of
from pytest_t2i.generation.store import Store
from pytest_t2i.generation.store import store as store_module

TEXT, DENOISER, DECODER, OTHER = "text encoder", "denoiser", "decoder", "rest of the pipeline"
PNG, DETECTION, STORE, REST = "PNG", "detection", "store", "rest"
OF_PIPELINE = {
    TEXT: (("", "encode_prompt"),),
    DENOISER: (("unet", "forward"), ("transformer", "forward")),
    DECODER: (("vae", "decode"),),
}
"""Part -> the functions of a pipeline that make it up: of which component, and its name."""
OF_STORE = (
    *("images", "add_images", "arrays", "add_arrays", "detections", "add_detections"),
    *("claim", "release", "name_model", "fact", "remember"),
)


@dataclass(slots=True)
class Spent:
    """Seconds that went into one part, without those of the parts within it."""

    wall: float = 0.0
    processor: float = 0.0


@dataclass(slots=True)
class Stopwatch:
    """Times functions of one thread; a function within another counts for itself alone.

    >>> watch = Stopwatch()
    >>> inner = watch.timed("inner", lambda: 1)
    >>> watch.timed("outer", lambda: inner() + 1)(), sorted(watch.parts)
    (2, ['inner', 'outer'])
    """

    parts: dict[str, Spent] = field(default_factory=dict)
    _within: list[Spent] = field(default_factory=list)
    _undo: list[tuple[Any, str, Any]] = field(default_factory=list)

    def timed(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, its time added to a part."""

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
        """Time a function of an object or module, where it has one and takes another."""
        function = getattr(owner, name, None)
        if function is None:
            return
        before = getattr(owner, "__dict__", {}).get(name, _ABSENT)
        with suppress(AttributeError):  # of slots
            setattr(owner, name, self.timed(part, function))
            self._undo.append((owner, name, before))

    def undo(self) -> None:
        """Leave all functions as they were."""
        for owner, name, before in reversed(self._undo):
            if before is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, before)
        self._undo.clear()


_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Profile:
    """What one image costs, in seconds."""

    images: int
    parts: dict[str, Spent]
    """Made by one thread, one part after the other; ``rest`` is all that no part names."""
    seconds: float
    """Made as a run makes them: wall time."""
    processor: float
    """The same in processor time, all threads of this process together."""

    @property
    def cores_busy(self) -> float:
        """Of the run."""
        return self.processor / self.seconds if self.seconds else 0.0


def profile(components: Components, prompts: Sequence[Prompt], images: int) -> Profile:
    """Make and look at images twice: part by part in one thread, then as a run does.

    Nothing of it is kept, and what is loaded is loaded before.

    Args:
        components: model and detectors.
        prompts: of the images.
        images: of each prompt.
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
    """Cores that this process may use."""
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
        # No size is tried out meanwhile: each image is to cost the same.
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
