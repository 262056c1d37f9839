"""Devices, number formats and memory of torch, for every adapter that uses it."""

from __future__ import annotations

import gc
import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pytest_t2i.adapters.loading import load_failure, needs
from pytest_t2i.errors import ConfigurationError, ModelLoadError, OutOfDeviceMemoryError

# MKL's matrix products depend on the number of rows, so that a picture would change with its batch.
# Strict reproducibility has no measurable cost here. MKL reads this variable once, at its first
# call; a value set by the user is kept.
os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")

with needs("running a neural network", "diffusers"):
    import torch

DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
OUT_OF_MEMORY = (
    "out of memory",  # CUDA, MPS and ROCm
    "CUBLAS_STATUS_ALLOC_FAILED",
    "can't allocate memory",  # the CPU allocator
    "not enough memory",  # the CPU allocator on Windows
)


def available_devices() -> list[str]:
    """Names of the devices of this machine, e.g. ["cpu", "cuda:0"]."""
    names = ["cpu"]
    if torch.cuda.is_available():
        names += [f"cuda:{index}" for index in range(torch.cuda.device_count())]
    if torch.backends.mps.is_available():
        names.append("mps")
    return names


def pick_device(name: str = "auto") -> torch.device:
    """The torch device of this name; "auto" chooses CUDA, else MPS, else the CPU."""
    have = available_devices()
    if name == "auto":
        kinds = [kind for kind in ("cuda", "mps") if any(kind in device for device in have)]
        return torch.device(kinds[0] if kinds else "cpu")
    device_kinds = {"cpu", "cuda", "mps"}
    kind, _, index = name.partition(":")
    if kind not in device_kinds or (index and not (kind == "cuda" and index.isdigit())):
        raise ConfigurationError(f"device={name!r}: expected auto, cpu, cuda, cuda:N or mps.")
    device_name = name if index or kind != "cuda" else "cuda:0"
    if device_name not in have:
        raise ConfigurationError(_no_device(name, kind, have))
    return torch.device(name)


def _no_device(name: str, kind: str, have: list[str]) -> str:
    remedies = {
        "cuda": f"Leave the device out, or install a CUDA build of torch (this is {_build()}) "
        "and check `nvidia-smi`.",
        "mps": "MPS needs an Apple silicon Mac. Leave the device out, or use --t2i-device cpu.",
    }
    return (
        f"device={name!r} was asked for, but this machine has only: {', '.join(have)}. "
        f"{remedies.get(kind, '')}"
    ).strip()


def _build() -> str:
    return f"torch {torch.__version__}, CUDA {torch.version.cuda or 'none'}"


def pick_dtype(name: str, device: torch.device, half: torch.dtype = torch.float16) -> torch.dtype:
    """The number format of this name; "auto" chooses ``half`` on CUDA and float32 elsewhere.

    MPS uses float32: several models make black pictures there in half precision.
    """
    if name == "auto":
        return half if device.type == "cuda" else torch.float32
    if name not in DTYPES:
        raise ConfigurationError(
            f"dtype={name!r}: expected a number format: auto, {', '.join(DTYPES)}."
        )
    return DTYPES[name]


def dtype_name(dtype: torch.dtype) -> str:
    """Name of a number format in the options: torch.float32 becomes float32."""
    return str(dtype).removeprefix("torch.")


class _Quiet:
    """Suppresses warnings while any thread is inside: all threads share Python's filters."""

    def __init__(self) -> None:
        self._turn, self._inside = threading.Lock(), 0
        self._kept = warnings.catch_warnings()

    def __enter__(self) -> None:
        with self._turn:
            self._inside += 1
            if self._inside == 1:
                self._kept = warnings.catch_warnings()
                self._kept.__enter__()
                warnings.simplefilter("ignore")

    def __exit__(self, *_: object) -> None:
        with self._turn:
            self._inside -= 1
            if not self._inside:
                self._kept.__exit__(None, None, None)


_QUIET = _Quiet()


@contextmanager
def memory_guard(doing: str) -> Iterator[None]:
    """Run a library's code: suppress its warnings, and make OutOfDeviceMemoryError of no memory.

    Args:
        doing: what is done, for the message, such as "encoding pictures".

    >>> with memory_guard("adding"):
    ...     print(1 + 1)
    2
    """
    try:
        # Libraries warn of each other's deprecations; under pytest -W error a user's run would
        # fail for faults that the user cannot correct.
        with _QUIET:
            yield
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        text = str(error).strip().partition("\n")[0]
    else:
        return
    # Raised outside the handler, as the traceback of the first error keeps every tensor alive.
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    if torch.backends.mps.is_available():
        torch.mps.empty_cache()
    raise OutOfDeviceMemoryError(f"out of device memory while {doing}: {text}")


@contextmanager
def loading_weights(source: str, revision: str | None = None) -> Iterator[None]:
    """Run a library that loads weights; any error becomes a ModelLoadError with a clear message."""
    with memory_guard(f"loading {source!r}"):
        try:
            yield
        except ModelLoadError:
            raise
        except Exception as error:
            if is_out_of_memory(error):
                raise
            raise load_failure(error, source, revision) from None


@dataclass(slots=True)
class DeviceMemory:
    """Bytes of a device's memory that a piece of work needed, and that are free beside a batch."""

    needed: int = 0
    free: int = 0

    @property
    def has_room(self) -> bool:
        """Whether the work fits beside a batch of pictures, with as much again to spare."""
        return self.free > SPARE * self.needed


SPARE = 2
"""The device's free memory must be larger than what work needs by this factor, as further pictures
may need more."""


@contextmanager
def device_memory(device: torch.device) -> Iterator[DeviceMemory]:
    """Measure the memory that work inside of the context needs on a CUDA device.

    What torch holds for the model's batches does not count as free.
    """
    memory = DeviceMemory()
    if device.type != "cuda":
        yield memory
        return
    before = torch.cuda.memory_allocated(device)
    torch.cuda.reset_peak_memory_stats(device)
    yield memory
    memory.needed = max(torch.cuda.max_memory_allocated(device) - before, 0)
    memory.free = torch.cuda.mem_get_info(device)[0]


@contextmanager
def own_stream(device: torch.device) -> Iterator[None]:
    """Run work on a stream of its own: on the model's it would wait for all steps of a batch.

    Pictures come from the processor's memory, and the weights are there since an earlier picture,
    so that the stream has nothing to wait for.
    """
    if device.type != "cuda":
        yield
        return
    stream = torch.cuda.Stream(device)
    with torch.cuda.stream(stream):
        yield
    stream.synchronize()


@contextmanager
def one_thread() -> Iterator[None]:
    """Run torch on one thread of the CPU.

    Threads of a small network wait for one another more than they share work: dlib's face network
    took 1.5 s of processor time for a picture on one thread, and 6 s on two of a busy machine.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def is_out_of_memory(error: BaseException) -> bool:
    if isinstance(error, MemoryError | torch.cuda.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(text in str(error) for text in OUT_OF_MEMORY)
