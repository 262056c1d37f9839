"""Weights loaded through transformers: quietly, from safetensors alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
import transformers

from pytest_t2i.adapters.support.devices import dtype_name
from pytest_t2i.adapters.support.digests import folder_digest
from pytest_t2i.data import digest


def from_pretrained(kind: Any, place: str, dtype: torch.dtype, **named: Any) -> Any:
    """A model of this class, its weights in this number format; ``named`` goes to the class."""
    logging: Any = transformers.utils.logging
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    # transformers 4 takes the number format as torch_dtype; goes with support for version 4.
    argument = "dtype" if int(transformers.__version__.partition(".")[0]) >= 5 else "torch_dtype"  # noqa: PLR2004
    how: dict[str, Any] = {argument: dtype, "use_safetensors": True}
    return kind.from_pretrained(place, **how, **named)


def of_revision(revision: str | None) -> dict[str, str]:
    """The argument that pins a revision; none where none is asked for."""
    return {"revision": revision} if revision else {}


def facts_of(model: Any, source: str, place: str, dtype: torch.dtype) -> dict[str, str]:
    """What changes the word of a model that was loaded so: weights, number format, libraries."""
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
    """Hash of how pictures are prepared."""
    return digest(repr(sorted(settings.items(), key=str)))
