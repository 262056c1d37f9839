"""Load an encoder by its name, for commands and for detectors that use an encoder."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from pytest_t2i.adapters.catalogue import Catalogue, read_catalogues
from pytest_t2i.adapters.registry import Registries, named_part
from pytest_t2i.protocols import Encoder, LoadOptions


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
    given = options or LoadOptions()
    registries = cast("Registries", given.extra.get("registries") or Registries())
    known = given.extra.get("catalogue") or read_catalogues(registries.catalogues)
    catalogue = cast("Catalogue", known)
    factory, weights = named_part(registries.encoders, name)
    base = registries.encoders.named(name)[0]
    source, parts = catalogue.resolve_part(base, weights)
    more = {"weights": parts, "registries": registries, "catalogue": catalogue}
    return cast("Encoder", factory(replace(given, source=source, extra=more)))
