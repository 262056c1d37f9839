"""Choose the library of a CLIP by its name, and import only that library."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from pytest_t2i.adapters.encoders.contrastive import ContrastiveEncoder
from pytest_t2i.protocols import LoadOptions

ARCHITECTURE = re.compile(
    r"(ViT|RN\d+|EVA\d*|convnext|coca|MobileCLIP|PE-Core|roberta|xlm-roberta|nllb|mt5|swin)"
    r"[\w.+-]*(/[\w.-]+)?$"
)
"""Names such as ViT-B-32/laion2b_s34b_b79k; a hub id has an owner before the slash."""
DOMAIN = "domain"
"""Family of weights with a CLIP that has a domain, for detectors that have no CLIP of their own."""


def is_open_clip(source: str) -> bool:
    """Whether a name is that of an open_clip model.

    >>> [is_open_clip(s) for s in ("ViT-B-32/laion2b_s34b_b79k", "hf-hub:a/b", "openai/clip-vit")]
    [True, True, False]
    """
    if source.startswith(("hf-hub:", "local-dir:")):
        return True
    folder = Path(source).expanduser()
    if source and folder.is_dir():
        return (folder / "open_clip_config.json").is_file()
    return ARCHITECTURE.match(source) is not None


def load_contrastive(options: LoadOptions) -> ContrastiveEncoder:
    """Load the CLIP of this name through its library.

    Raises:
        MissingExtraError: the library is not installed.
        ModelLoadError: the weights cannot be loaded.
    """
    if is_open_clip(options.source):
        from pytest_t2i.adapters.encoders import open_clip

        return open_clip.load(options)
    from pytest_t2i.adapters.encoders import clip

    return clip.load(options)


def domain_part(options: LoadOptions) -> ContrastiveEncoder | None:
    """Load the CLIP with the domain of an alias; None where the alias has no domain.

    Raises:
        ModelLoadError: the weights cannot be loaded.
    """
    source = str(options.extra.get("weights", {}).get(DOMAIN, ""))
    return load_contrastive(replace(options, source=source, extra={})) if source else None
