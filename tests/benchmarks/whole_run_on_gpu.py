"""A whole run on a GPU beside the bare batched loop, on the same machine, with the GPU's use.

Random weights are written in the true shape of SDXL; the pictures are noise, the times are true.
The product makes them with a detector that costs nothing and with clip-enhance on given portraits
in place of the noise, then searches for the batch size twice, and makes pictures of the model
``reference``. From the second batch on it should make at least .90 of what the bare loop makes, and
the GPU should be busy for at least 90 % of the time.

    python tests/benchmarks/whole_run_on_gpu.py --portraits FOLDER    # a GPU with 40 GB, 6 minutes
    python tests/benchmarks/whole_run_on_gpu.py --small               # a processor: whether it runs
"""

from __future__ import annotations

import argparse
import json
import os
import string
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import gpu
import torch
from diffusers import DiffusionPipeline, FluxTransformer2DModel, SD3Transformer2DModel
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTextModelWithProjection, CLIPTokenizer

PROMPT = "a photo of one real person who is a nurse"
CONFTEST = '''
import atexit, json, os, time
from itertools import cycle
from pathlib import Path
from threading import Lock

from PIL import Image

from pytest_t2i import Detection
from pytest_t2i.adapters.models import diffusers

STARTED, TIMES, LOCK = time.time(), [], Lock()
FOLDER = os.environ.get("PORTRAITS")
PORTRAITS = cycle(
    [Image.open(p).convert("RGB") for p in sorted(Path(FOLDER).glob("*.jpg"))] if FOLDER else []
)


class Timed(diffusers.DiffusersModel):
    """Notes when its batches begin and end, and shows portraits in place of noise."""

    def generate(self, requests):
        started = time.time()
        made = super().generate(requests)
        with LOCK:
            TIMES.append((started, time.time(), len(requests)))
        if FOLDER:
            for each in made:
                object.__setattr__(each, "image", next(PORTRAITS).resize(each.image.size))
        return made


def load(options):
    model = diffusers.load(options)
    model.__class__ = Timed
    return model


class Instant:
    """A detector that costs nothing."""

    fingerprint, labels, needs_device = "instant", ("male", "female"), False

    def detect(self, images):
        return [Detection(self.labels[k % 2]) for k in range(len(images))]


def pytest_t2i_models():
    return {"timed": load}


def pytest_t2i_detectors():
    return {"instant": lambda options: Instant()}


@atexit.register
def write():
    Path("times.json").write_text(json.dumps({"started": STARTED, "batches": TIMES}))
'''
SUITE = """
import os

import pytest

from pytest_t2i import Axis, limit

THINGS = Axis("thing", "a photo of a person who likes {word}",
              tuple(f"thing {k}" for k in range(int(os.environ["WORDS"]))))


@pytest.mark.t2i(THINGS)
def test_prompt(sample):
    assert abs(sample.prompt_bias_score) <= limit("prompt_bias_score", 0.9)
"""
WORDS = 8


def tokenizer() -> CLIPTokenizer:
    """A tokenizer of letters."""
    letters = string.ascii_lowercase + string.digits + ",.'-"
    words = [*letters, *(f"{letter}</w>" for letter in letters), "<|startoftext|>", "<|endoftext|>"]
    return CLIPTokenizer(vocab={w: i for i, w in enumerate(words)}, merges=[], model_max_length=77)


def text_encoders(*, small: bool) -> dict[str, Any]:
    """Both text encoders of SDXL, with random weights, and their tokenizers."""
    tokens = tokenizer()
    end = len(tokens) - 1
    ids = {"vocab_size": len(tokens), "bos_token_id": end - 1, "eos_token_id": end,
           "pad_token_id": end}  # fmt: skip
    sizes = [(768, 12, 12, 768), (1280, 32, 20, 1280)]
    configs = [
        CLIPTextConfig(
            hidden_size=width, intermediate_size=4 * width, num_hidden_layers=layers,
            num_attention_heads=heads, projection_dim=projection, **ids,
        )
        for width, layers, heads, projection in ([(16, 2, 2, 16)] * 2 if small else sizes)
    ]  # fmt: skip
    return {
        "text_encoder": CLIPTextModel(configs[0]),
        "text_encoder_2": CLIPTextModelWithProjection(configs[1]),
        "tokenizer": tokens,
        "tokenizer_2": tokens,
    }


def write_sdxl(folder: Path, device: str, *, small: bool) -> None:
    """Write a pipeline in the shape of SDXL, with random weights in half precision on a GPU."""
    torch.manual_seed(0)
    with torch.device(device):
        pipeline = gpu.sdxl(small)
        for name, part in text_encoders(small=small).items():
            pipeline.register_modules(**{name: part})
    if small:
        pipeline.unet.register_to_config(sample_size=16)
    elif device != "cpu":
        pipeline.to(torch.float16)
    pipeline.save_pretrained(folder)


@dataclass
class Use:
    """What a GPU did, by nvidia-smi."""

    busy: list[float] = field(default_factory=list)
    megabytes: list[float] = field(default_factory=list)

    def __str__(self) -> str:
        if not self.busy:
            return "not measured"
        return f"{sum(self.busy) / len(self.busy):.0f} %, at most {max(self.megabytes):.0f} MiB"


@contextmanager
def watched() -> Iterator[Use]:
    """Watch the GPU twice a second; nothing where there is none."""
    use = Use()
    command = ["nvidia-smi", "--query-gpu=utilization.gpu,memory.used",
               "--format=csv,noheader,nounits", "-lms", "500"]  # fmt: skip
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    except OSError:
        yield use
        return

    def read() -> None:
        for line in process.stdout or ():
            busy, megabytes = line.split(",")
            use.busy.append(float(busy))
            use.megabytes.append(float(megabytes))

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    try:
        yield use
    finally:
        process.terminate()
        thread.join(timeout=5)


def bare_rate(folder: Path, device: str, batch: int, options: argparse.Namespace) -> float:
    """Images per second of a loop over the pipeline, after one batch that is not counted."""
    dtype = torch.float32 if device == "cpu" else torch.float16
    pipeline = DiffusionPipeline.from_pretrained(folder, torch_dtype=dtype).to(device)
    pipeline.set_progress_bar_config(disable=True)

    def make(first: int) -> None:
        with torch.no_grad():
            pipeline(
                [PROMPT] * batch, num_inference_steps=options.steps, guidance_scale=5.0,
                generator=[torch.Generator("cpu").manual_seed(first + k) for k in range(batch)],
            )  # fmt: skip

    make(0)
    count, started = 0, time.perf_counter()
    while time.perf_counter() - started < options.seconds:
        make(count)
        count += batch
    if device != "cpu":
        torch.cuda.synchronize()
    return count / (time.perf_counter() - started)


NOTHING: Mapping[str, str] = MappingProxyType({})


class Run:
    """One run of the product in a process of its own."""

    def __init__(
        self,
        folder: Path,
        arguments: Sequence[str],
        further: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Make the pictures."""
        folder.mkdir()
        (folder / "conftest.py").write_text(CONFTEST)
        (folder / "test_things.py").write_text(SUITE)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
                   *arguments]  # fmt: skip
        self.started = started = time.time()
        with watched() as self.use:
            done = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, check=False,
                env={**os.environ, "WORDS": str(WORDS), **further},
            )  # fmt: skip
        self.seconds = time.time() - started
        self.output = done.stdout + done.stderr
        if done.returncode not in {0, 1, 6}:
            raise SystemExit(f"the run ended with {done.returncode}:\n{self.output[-3000:]}")
        times = folder / "times.json"
        self.batches = json.loads(times.read_text())["batches"] if times.exists() else []
        self.first = self.batches[0][1] - started if self.batches else 0.0

    @property
    def images(self) -> int:
        """Number of images."""
        return sum(count for *_, count in self.batches)

    @property
    def later(self) -> list[Any]:
        """Batches after the first."""
        return self.batches[1:]

    @property
    def rate(self) -> float:
        """Images per second from the second batch on."""
        span = self.later[-1][1] - self.later[0][0]
        return float(sum(count for *_, count in self.later) / span)

    @property
    def idle(self) -> float:
        """Share of that time in which no batch was made."""
        span = self.later[-1][1] - self.later[0][0]
        busy, until = 0.0, 0.0
        for begin, end, _ in sorted(self.later):
            busy += max(0.0, end - max(begin, until))
            until = max(until, end)
        return float(1 - busy / span)


def product_row(name: str, run: Run, bare: float) -> str:
    """A row of the table."""
    return (
        f"| {name} | {run.rate:.2f} | {run.rate / bare:.2f} | {run.images / run.seconds:.2f} | "
        f"{run.first:.0f} s | {run.idle:.1%} | {run.use} |"
    )


def denoiser_rates(device: str, options: argparse.Namespace) -> Iterator[str]:
    """Denoisers alone of larger families, at a third of their depth."""
    small = options.small
    with torch.device(device):
        parts = {
            "SD3.5 large, 13 of 38 blocks": SD3Transformer2DModel(
                sample_size=128, patch_size=2, in_channels=16, out_channels=16,
                num_layers=1 if small else 13, attention_head_dim=8 if small else 64,
                num_attention_heads=2 if small else 38, joint_attention_dim=32 if small else 4096,
                caption_projection_dim=16 if small else 2432,
                pooled_projection_dim=16 if small else 2048, pos_embed_max_size=192,
            ),
            "FLUX.1, 6 of 19 and 13 of 38 blocks": FluxTransformer2DModel(
                in_channels=64, num_layers=1 if small else 6, num_single_layers=1 if small else 13,
                attention_head_dim=16 if small else 128, num_attention_heads=2 if small else 24,
                joint_attention_dim=32 if small else 4096,
                pooled_projection_dim=16 if small else 768,
                axes_dims_rope=(4, 6, 6) if small else (16, 56, 56),
            ),
        }  # fmt: skip
    dtype = torch.float32 if device == "cpu" else torch.bfloat16
    side = 8 if small else 128
    for name, part in parts.items():
        part.to(dtype).eval()
        is_flux = isinstance(part, FluxTransformer2DModel)
        wide, pooled = part.config.joint_attention_dim, part.config.pooled_projection_dim
        rates = []
        for batch in (1, 2 if small else 8):
            like = {"device": device, "dtype": dtype}
            latents = torch.randn(batch, 16, side, side, **like)
            inputs: dict[str, Any] = {
                "hidden_states": latents,
                "encoder_hidden_states": torch.randn(batch, 77, wide, **like),
                "pooled_projections": torch.randn(batch, pooled, **like),
                "timestep": torch.ones(batch, **like),
            }
            if is_flux:
                inputs["hidden_states"] = torch.randn(batch, side * side // 4, 64, **like)
                inputs["img_ids"] = torch.zeros(side * side // 4, 3, **like)
                inputs["txt_ids"] = torch.zeros(77, 3, **like)
            rates.append(batch * _calls_per_second(part, inputs, device, small=small))
        yield f"| {name} | {rates[0]:.2f} | {rates[1]:.2f} | {rates[1] / rates[0]:.2f} |"


def _calls_per_second(part: Any, inputs: Mapping[str, Any], device: str, *, small: bool) -> float:
    rounds = 2 if small else 8
    with torch.inference_mode():
        part(**inputs)
        if device != "cpu":
            torch.cuda.synchronize()
        started = time.perf_counter()
        for _ in range(rounds):
            part(**inputs)
        if device != "cpu":
            torch.cuda.synchronize()
    return rounds / (time.perf_counter() - started)


def product_rows(
    device: str, work: Path, bare: float, options: argparse.Namespace
) -> Iterator[str]:
    """The product with two detectors, and the batch size that it finds without one given."""
    usual = [
        "--t2i-model", f"timed:{work / 'sdxl'}", "--t2i-steps", str(options.steps),
        "--t2i-device", device, "--t2i-images", str(options.pictures // WORDS),
    ]  # fmt: skip
    batch = ["--t2i-batch", str(options.batch)]
    instant = ["--t2i-detector", "instant"]
    yield (
        "| run | images/s from the second batch on | share of the bare batched loop | images/s "
        "all told | first batch after | no batch is made | GPU busy |"
    )
    yield "|---|---|---|---|---|---|---|"
    run = Run(work / "instant", [*usual, *batch, *instant])
    yield product_row(f"instant detector, batch {options.batch}", run, bare)
    if options.portraits:
        looking = ["--t2i-detector", "clip-enhance:reference"]
        portraits = {"PORTRAITS": str(options.portraits.resolve())}
        run = Run(work / "enhance", [*usual, *batch, *looking], portraits)
        yield product_row("clip-enhance on portraits", run, bare)
    for attempt in range(1 if options.small else 2):
        run = Run(work / f"search{attempt}", [*usual, *instant])
        words = [line for line in run.output.splitlines() if "images per batch" in line]
        yield words[-1].strip() if words else "no batch size is searched for on this device"


def reference_row(device: str, work: Path, options: argparse.Namespace) -> str:
    """The small model that is shipped, looked at by its clip-enhance."""
    images = "2" if options.small else "120"
    arguments = [
        "--t2i-model", "reference", "--t2i-images", images, "--t2i-device", device,
        "--t2i-detector", "clip-enhance:reference",
    ]  # fmt: skip
    run = Run(work / "reference", arguments)
    count = int(images) * WORDS
    return f"with clip-enhance: {count / run.seconds:.1f} images/s all told, GPU {run.use}"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="tiny pipelines, on a processor")
    parser.add_argument("--portraits", type=Path, help="folder of portraits (.jpg)")
    parser.add_argument("--pictures", type=int, default=96, help="pictures of a loop")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=20.0, help="seconds of each bare loop")
    options = parser.parse_args()
    if options.small:
        options.pictures, options.steps, options.batch, options.seconds = 16, 1, 4, 0.1
    elif not torch.cuda.is_available():
        raise SystemExit("whole_run_on_gpu.py: there is no CUDA device: give --small")
    device = "cpu" if options.small else "cuda"
    named = "a processor, tiny pipelines" if options.small else torch.cuda.get_device_name()
    print(f"{named}, {os.cpu_count()} cores, torch {torch.__version__}, {options.steps} steps")
    started = time.perf_counter()

    def say(title: str) -> None:
        print(f"\n{title} (at {time.perf_counter() - started:.0f} s)", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        say("SDXL's shape is written")
        write_sdxl(work / "sdxl", device, small=options.small)
        say("bare loops")
        alone = bare_rate(work / "sdxl", device, 1, options)
        bare = bare_rate(work / "sdxl", device, options.batch, options)
        print(f"batch 1: {alone:.2f} images/s; batch {options.batch}: {bare:.2f} images/s")
        say("the product")
        for row in product_rows(device, work, bare, options):
            print(row, flush=True)
        say("the model reference")
        print(reference_row(device, work, options))
        say("denoisers alone, calls x batch per second")
        print("| denoiser | batch 1 | larger batch | ratio |\n|---|---|---|---|")
        for row in denoiser_rates(device, options):
            print(row, flush=True)
    print(f"\n{time.perf_counter() - started:.0f} s in all")


if __name__ == "__main__":
    main()
