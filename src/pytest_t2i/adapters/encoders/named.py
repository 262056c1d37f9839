"""An encoder by its name, for what is built on one."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from pytest_t2i.adapters.catalogue import Catalogue, read_catalogues
from pytest_t2i.adapters.registry import Registries, named_part
from pytest_t2i.protocols import Encoder, LoadOptions


def load_encoder(name: str, options: LoadOptions | None = None) -> Encoder:
    """Load an encoder by the name that an option takes: for a command, or a part built on one.

    A factory hands on the options that it was given. Then what a project's conftest.py and its
    catalogue say holds here, too, and a change of this encoder's code is a change of what is built
    on it.

    Args:
        name: ``name``, ``name:weights`` or ``module:factory``, such as "clip:reference".
        options: device, number format and what else holds for it; its source is not looked at.

    Returns:
        The encoder; weights are loaded now.

    Raises:
        UnknownNameError: no encoder is registered under the name.
        MissingExtraError: its library is not installed.
        ModelLoadError: its weights cannot be loaded.

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
