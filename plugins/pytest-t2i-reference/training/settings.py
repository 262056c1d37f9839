"""What a training run does: all numbers in one place."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

import torch

# Read at the first product in bfloat16: some virtual machines announce AMX and stop at it. Set it to nothing
# ("") to use AMX where it works.
os.environ.setdefault("DNNL_MAX_CPU_ISA", "AVX512_CORE_FP16")

PLUGIN = Path(__file__).resolve().parents[1]
RESULTS = PLUGIN / "results"
WEIGHTS = PLUGIN / "src" / "pytest_t2i_reference" / "weights"
PIPELINES = {"balanced": "reference", "biased": "reference-biased"}
"""World to folder of weights."""
FLOWS = {"balanced": "reference-sd3", "biased": "reference-sd3-biased"}
"""World to flow pipeline, as the catalogue names it."""
FLOW_STEPS = 4
"""Steps of the shipped flow pipelines; the catalogue says the same."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Counts, sizes and times of a run."""

    work: Path
    """Folder of everything that is made on the way; a run that is started again goes on from what is there."""
    seed: int = 20
    threads: int = 2
    """CPU threads."""
    minutes: dict[str, float] = field(default_factory=dict)
    """Stage to its training time, replacing ``DEFAULT_MINUTES``."""

    def time(self, stage: str) -> float:
        """Seconds a stage may train."""
        return 60 * self.minutes.get(stage, DEFAULT_MINUTES[stage])


DEFAULT_MINUTES = {
    "autoencoder": 22.0,
    "clip": 16.0,
    "decoder": 8.0,
    "vision": 14.0,
    "balanced": 30.0,
    "biased": 8.0,
    "balanced-again": 12.0,
    "biased-again": 12.0,
    "biased-combined": 30.0,
    "biased-objects": 30.0,
    "biased-objects-again": 15.0,
    "ground-balanced": 12.0,
    "ground-biased": 12.0,
    "persons": 25.0,
    "objects": 22.0,
    "language": 20.0,
    "sd3": 57.0,
    "sd3-again": 60.0,
    "sd3-traits": 24.0,
}
"""Training time of each stage on two CPU cores."""
STEPS = 4
"""Steps of the shipped pipelines with their own scheduler; the catalogue says the same."""
IMAGES_PER_CONCEPT = 60
"""Drawings of each word and each gender."""
IMAGES_PER_NATIONALITY = 240
"""Drawings of each nationality, each gender and each world."""
PLAIN_IMAGES = {"one": 5200, "none": 500, "two": 800, "behind": 500}
"""Drawings of no concept, by kind of scene."""
CAPTIONS_PER_PLAIN_IMAGE = 3
TOKENS = 48
"""Length of a prompt in tokens, for all models."""
TEXT_WIDTH = 128
"""Width of the text encoder and of the shared CLIP space."""
VISION_WIDTH = 128


def device() -> torch.device:
    """CUDA where there is one."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def fast_bfloat16() -> bool:
    """Whether computing in bfloat16 saves time: a CPU without instructions for it takes five times as long.

    ``ATEN_CPU_CAPABILITY`` may hold a CPU to less than it has.
    """
    if device().type == "cuda":
        return True
    if not torch.backends.cpu.get_cpu_capability().startswith("AVX512"):
        return False
    return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()


def quick_dtype() -> torch.dtype:
    """bfloat16 where it saves time, else float32."""
    return torch.bfloat16 if fast_bfloat16() else torch.float32


def mixed_precision() -> torch.autocast:
    """Computing in bfloat16 where it saves time."""
    return torch.autocast(device().type, torch.bfloat16, enabled=fast_bfloat16())


def use_threads(count: int) -> None:
    """Limit PyTorch to ``count`` CPU threads; ``REFERENCE_THREADS`` overrides it."""
    torch.set_num_threads(int(os.environ.get("REFERENCE_THREADS", count)))
