"""Models whose process dies, or cannot be loaded, for executors that have images made elsewhere."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from fakes import FakeModel

from pytest_t2i.errors import GenerationError
from pytest_t2i.protocols import LoadOptions


class Dying(FakeModel):
    """Ends its process at a seed below zero, as often as the file of tokens still has letters."""

    def __init__(self, tokens: Path) -> None:
        super().__init__(0.5, "dying")
        self.tokens = tokens

    def generate(self, requests):
        if any(request.prompt == "deadly" for request in requests) and self._is_due():
            os._exit(1)
        return super().generate(requests)

    def _is_due(self) -> bool:
        left = self.tokens.read_text()
        self.tokens.write_text(left[1:])
        return bool(left)


def dying(options: LoadOptions) -> Dying:
    """``source`` is the file of tokens."""
    return Dying(Path(options.source))


class NamingLibraries(FakeModel):
    """Makes nothing, and says whether its process has loaded torch."""

    def generate(self, requests):
        threads = os.environ.get("OMP_NUM_THREADS", "as many as cores")
        raise GenerationError(f"torch: {'torch' in sys.modules}, threads: {threads}")


def naming_libraries(options: LoadOptions) -> NamingLibraries:
    return NamingLibraries(0.5, "naming")


class Gone:
    """A factory that can be pickled, and not be read anywhere else."""

    def __call__(self, options: LoadOptions) -> FakeModel:
        return FakeModel(0.5, "gone")

    def __reduce__(self):
        return (_refuse, ())


def _refuse():
    raise ModuleNotFoundError("No module named 'conftest'")


class OnDevice(FakeModel):
    """Says on which device it was loaded, in words of a refusal."""

    def generate(self, requests):
        from pytest_t2i.data import Generated

        return [Generated(None, refusal=self.provenance["kind"]) for _ in requests]


def on_device(options: LoadOptions) -> OnDevice:
    return OnDevice(0.5, options.device)
