"""Load weights through transformers: without output, and only from safetensors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
import transformers

from pytest_t2i.adapters.devices import dtype_name
from pytest_t2i.adapters.identity import folder_digest
from pytest_t2i.data import digest


def from_pretrained(kind: Any, place: str, dtype: torch.dtype, **named: Any) -> Any:
    """Load a model of this class in this number format; ``named`` is passed on."""
    logging: Any = transformers.utils.logging
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    # transformers 4 names the argument torch_dtype; remove this with support for version 4.
    argument = "dtype" if int(transformers.__version__.partition(".")[0]) >= 5 else "torch_dtype"  # noqa: PLR2004
    how: dict[str, Any] = {argument: dtype, "use_safetensors": True}
    return kind.from_pretrained(place, **how, **named)


def of_revision(revision: str | None) -> dict[str, str]:
    """The argument for a revision; empty without one."""
    return {"revision": revision} if revision else {}


def facts_of(model: Any, source: str, place: str, dtype: torch.dtype) -> dict[str, str]:
    """All that changes a loaded model's results: weights, number format, libraries."""
    folder = Path(place)
    commit = getattr(model.config, "_commit_hash", None)
    return {
        "weights": f"sha256:{folder_digest(folder)}" if folder.is_dir() else f"{source}@{commit}",
        "model": type(model).__name__,
        "dtype": dtype_name(dtype),
        "device": model.device.type,
        "torch": torch.__version__.partition("+")[0],
        "transformers": transformers.__version__,
    }


def processor_digest(settings: Mapping[str, Any]) -> str:
    return digest(repr(sorted(settings.items(), key=str)))
