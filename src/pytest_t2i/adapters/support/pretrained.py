"""Weights loaded through transformers: quietly, from safetensors alone."""

from __future__ import annotations

from typing import Any

import torch
import transformers


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
