"""Choose the library of a CLIP by its name, and import only that library."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import cast

from pytest_t2i.adapters.catalogue import Catalogue, read_catalogues
from pytest_t2i.adapters.encoders.contrastive import ContrastiveEncoder
from pytest_t2i.adapters.registry import Registries, named_part
from pytest_t2i.protocols import Encoder, LoadOptions

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
    if is_open_clip(options.source):
        from pytest_t2i.adapters.encoders import open_clip

        return open_clip.load(options)
    from pytest_t2i.adapters.encoders import clip

    return clip.load(options)


def domain_part(options: LoadOptions) -> ContrastiveEncoder | None:
    """Load the CLIP with the domain of an alias; None where the alias has no domain."""
    source = str(options.extra.get("weights", {}).get(DOMAIN, ""))
    return load_contrastive(replace(options, source=source, extra={})) if source else None


def load_encoder(name: str, options: LoadOptions | None = None) -> Encoder:
    """Load an encoder by a name as in the options, for a command or for another component.

    A component's factory passes on its own options. Then encoders of a project's conftest.py and
    catalogue are found, and a change of the encoder's code changes the component's fingerprint.

    Args:
        name: ``name``, ``name:weights`` or ``module:factory``, such as "clip:reference".
        options: device, number format and so on; ``source`` is ignored.

    Returns:
        The encoder, with its weights loaded.

    Raises:
        UnknownNameError: no encoder is registered under the name.
        MissingExtraError: the encoder's library is not installed.
        ModelLoadError: the encoder's weights cannot be loaded.

    >>> load_encoder("nobody")
    Traceback (most recent call last):
    ...
    pytest_t2i.errors.UnknownNameError: ...
    """
    load_options = options or LoadOptions()
    registries = cast("Registries", load_options.extra.get("registries") or Registries())
    loaded_catalogue = load_options.extra.get("catalogue") or read_catalogues(registries.catalogues)
    catalogue = cast("Catalogue", loaded_catalogue)
    factory, weights = named_part(registries.encoders, name)
    base = registries.encoders.named(name)[0]
    source, parts = catalogue.resolve_part(base, weights)
    more = {"weights": parts, "registries": registries, "catalogue": catalogue}
    return cast("Encoder", factory(replace(load_options, source=source, extra=more)))
