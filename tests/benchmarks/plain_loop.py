"""Images per second against the plain loop a user would write, on the same pipeline and detector.

The plain loop is: for each prompt, for each seed, pipe(prompt); then the detector on each image.
The bare batched loop makes full batches and shows them to nobody, keeps nothing. The product
makes, keeps and looks, by each executor that is asked for. All take turns, several times: the
rates are medians, and each round gives the ratios. The plain loop makes a quarter of the images.
Beside them stands how many cores were busy: of this process and all that it started. Executors are
warm: what they load is loaded.

    python tests/benchmarks/plain_loop.py --executors in-process,processes:2,ray:2 --rounds 5
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from diffusers import DiffusionPipeline

from pytest_t2i import axes
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.generate import Runner
from pytest_t2i.generation.plan import DetectorRef, Need, Plan, RequestSettings
from pytest_t2i.generation.progress import Silent
from pytest_t2i.generation.seeds import seeds_of
from pytest_t2i.generation.store import Store
from pytest_t2i.settings import Settings

Loop = Callable[[list, int], None]
"""Makes so many images of each of these prompts."""


def arguments(settings):
    """How the pipeline is called."""
    return {
        "num_inference_steps": settings.steps, "guidance_scale": settings.guidance,
        "height": settings.height, "width": settings.width,
    }  # fmt: skip


def plain(pipe, detector, settings) -> Loop:
    """One picture after the other, each shown to the detector."""

    def go(prompts, images):
        for prompt in prompts:
            for seed in seeds_of(0, prompt.text, images):
                generator = torch.Generator().manual_seed(seed)
                made = pipe(prompt.text, **arguments(settings), generator=generator)
                detector.detect(made.images)

    return go


def batched(pipe, settings, size: int) -> Loop:
    """Full batches, shown to nobody."""

    def go(prompts, images):
        wanted = [(p.text, seed) for p in prompts for seed in seeds_of(0, p.text, images)]
        for start in range(0, len(wanted), size):
            texts, seeds = zip(*wanted[start : start + size], strict=True)
            generators = [torch.Generator().manual_seed(seed) for seed in seeds]
            pipe(list(texts), **arguments(settings), generator=generators)

    return go


class Product:
    """The runner with one executor, into a new store each time."""

    def __init__(self, components: Components, executor: str, work: Path) -> None:
        self.components, self.work = components, work / executor.replace(":", "-")
        self.size = components.model_batch() or 16
        self.executor = components_with(components, executor).executor(self.size, print)
        self.rounds = 0

    def __call__(self, prompts, images) -> None:
        """Make, keep and look."""
        self.rounds += 1
        self.components.store = Store(self.work / str(self.rounds))
        plan = Plan(RequestSettings(self.components.defaults().defaults))
        detectors = frozenset({DetectorRef(self.components.settings.detectors[0])})
        for prompt in prompts:
            plan.add(Need(prompt, seeds_of(0, prompt.text, images), detectors))
        runner = Runner(self.components, self.components.store, Silent())
        runner.__dict__["executor"] = self.executor  # as rounds of one run share it
        runner.run(plan)

    def close(self) -> None:
        """End what it started."""
        getattr(self.executor, "close", lambda: None)()


def components_with(components: Components, executor: str) -> Components:
    """The same parts, asked for another executor."""
    from dataclasses import replace

    if executor.startswith("ray"):
        import pytest_t2i_ray.executor as ray_executor
        from pytest_t2i_ray.asked import Asked

        local = components.registries.executors.local
        local["ray"] = lambda options: ray_executor.load(options, Asked("local", cpus=1))
    settings = replace(components.settings, executor=executor)
    return replace(components, settings=settings)


def busy() -> float:
    """Seconds of processor time so far: of this process and of all below it."""
    import psutil

    total = 0.0
    me = psutil.Process(os.getpid())
    for process in [me, *me.children(recursive=True)]:
        try:
            times = process.cpu_times()
        except psutil.Error:
            continue
        total += times.user + times.system
    return total


def timed(loop: Loop, prompts, images) -> tuple[float, float]:
    """Wall seconds and processor seconds of one image."""
    wall, processor = time.perf_counter(), busy()
    loop(prompts, images)
    count = len(prompts) * images
    return (time.perf_counter() - wall) / count, (busy() - processor) / count


PLAIN, BARE = "plain loop", "bare batched"


def measured(loops: dict[str, Loop], prompts, images: int, rounds: int, first: int):
    """Loop -> its (wall, processor) seconds per image by round; they take turns."""
    for loop in loops.values():
        loop(prompts[:1], first)
    took: dict[str, list[tuple[float, float]]] = {name: [] for name in loops}
    for _ in range(rounds):
        for name, loop in loops.items():
            fewer = max(1, images // 4) if name == PLAIN else images
            took[name].append(timed(loop, prompts, fewer))
    return took


def table(took) -> list[str]:
    """The rows, and the ratios by round."""
    reference = {name: [wall for wall, _ in took[name]] for name in (PLAIN, BARE)}
    lines = [
        "| loop | images/s | against the plain loop | against the bare batched loop | cores busy | "
        "ms of a core per image |",
        "|---|---|---|---|---|---|",
    ]
    for name, rounds in took.items():
        walls = [wall for wall, _ in rounds]
        ratios = [
            statistics.median(a / b for a, b in zip(base, walls, strict=True))
            for base in reference.values()
        ]
        cores = statistics.median(cpu / wall for wall, cpu in rounds)
        core = statistics.median(cpu for _, cpu in rounds) * 1000
        cells = (f"{1 / statistics.median(walls):.1f}", *(f"{ratio:.2f}" for ratio in ratios))
        lines.append(f"| {' | '.join((name, *cells, f'{cores:.2f}', f'{core:.0f}'))} |")
    return lines


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="reference")
    parser.add_argument("--detector", default="clip-enhance:reference")
    parser.add_argument("--executors", default="in-process")
    parser.add_argument("--prompts", type=int, default=4)
    parser.add_argument("--images", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    prompts = axes.profession.prompts()[: asked.prompts]
    with tempfile.TemporaryDirectory() as work:
        settings = Settings(model=asked.model, detectors=(asked.detector,), store=Path(work))
        components = Components(settings, Store(Path(work) / "warm"))
        options = components.defaults()
        pipe = DiffusionPipeline.from_pretrained(options.source, dtype=torch.float32)
        pipe.set_progress_bar_config(disable=True)
        detector = components.detector(DetectorRef(asked.detector)).get()
        size = components.model_batch() or 16
        products = {
            name: Product(components, name, Path(work)) for name in asked.executors.split(",")
        }
        loops: dict[str, Loop] = {
            PLAIN: plain(pipe, detector, options.defaults),
            BARE: batched(pipe, options.defaults, size),
            **products,
        }
        took = measured(loops, prompts, asked.images, asked.rounds, first=4)
        for product in products.values():
            product.close()
    count = asked.prompts * asked.images
    print(f"{count} images a round, {torch.get_num_threads()} threads, {os.cpu_count()} cores")
    print("\n".join(table(took)))


if __name__ == "__main__":
    main()
