"""Check that this machine's processor supports a number format."""

from __future__ import annotations

import subprocess
import sys
from functools import cache

from pytest_t2i.adapters.support.loading import needs
from pytest_t2i.errors import ConfigurationError

with needs("running a neural network", "diffusers"):
    import torch

TRIAL = "import torch; torch.nn.Linear(64, 64).bfloat16()(torch.ones(64, 64).bfloat16())"
"""A program that uses the same instructions as the matrix products of pipelines."""


def check_processor(device: torch.device, dtype: torch.dtype) -> None:
    """Raise ConfigurationError where the processor fails in this number format.

    Some virtual machines announce AMX, the matrix unit of newer CPUs, but do not support its
    instructions: the process is killed at the first product in bfloat16, without a message. A
    separate process tests this.

    Raises:
        ConfigurationError: that process was killed.
    """
    if device.type != "cpu" or dtype is not torch.bfloat16 or not _announces_amx():
        return
    if not _survives():
        raise ConfigurationError(
            "dtype='bfloat16' fails on this processor, which announces matrix instructions (AMX) "
            "that it does not support. Leave the number format out (float32 on a CPU), or set the "
            "environment variable DNNL_MAX_CPU_ISA=AVX512_CORE_FP16 to avoid them."
        )


def _announces_amx() -> bool:
    return bool(getattr(torch.cpu, "_is_amx_tile_supported", bool)())


@cache
def _survives() -> bool:
    """Whether the test program ends normally: a signal gives a negative status."""
    trial = subprocess.run([sys.executable, "-c", TRIAL], check=False, capture_output=True)  # noqa: S603 - our own line
    return trial.returncode >= 0
