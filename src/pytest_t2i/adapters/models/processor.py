"""Whether this machine's processor can compute in a number format that was asked for."""

from __future__ import annotations

import subprocess
import sys
from functools import cache

from pytest_t2i.adapters.support.loading import needs
from pytest_t2i.errors import ConfigurationError

with needs("running a neural network", "diffusers"):
    import torch

TRIAL = "import torch; torch.nn.Linear(64, 64).bfloat16()(torch.ones(64, 64).bfloat16())"
"""Takes the instructions that matrix products of pipelines take."""


def check_processor(device: torch.device, dtype: torch.dtype) -> None:
    """Nothing, where pictures can be made in this number format.

    Some virtual machines announce AMX, the matrix unit of newer CPUs, and stop at its
    instructions: the process ends at the first product in bfloat16, without a word. That is tried
    out in a process of its own.

    Raises:
        ConfigurationError: it stops there; says what to do.
    """
    if device.type != "cpu" or dtype is not torch.bfloat16 or not _announces_amx():
        return
    if not _survives():
        raise ConfigurationError(
            "dtype='bfloat16' stops this processor, which announces matrix instructions (AMX) that "
            "it does not carry out. Leave the number format out (float32 on a CPU), or set the "
            "environment variable DNNL_MAX_CPU_ISA=AVX512_CORE_FP16, which does without them."
        )


def _announces_amx() -> bool:
    return bool(getattr(torch.cpu, "_is_amx_tile_supported", bool)())


@cache
def _survives() -> bool:
    """A signal ends a process with a negative status."""
    trial = subprocess.run([sys.executable, "-c", TRIAL], check=False, capture_output=True)  # noqa: S603 - our own line
    return trial.returncode >= 0
