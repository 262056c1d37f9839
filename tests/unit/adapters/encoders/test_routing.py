"""An encoder by its name, with what a project registered and its catalogue says."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_t2i import LoadOptions, T2IError, load_encoder
from pytest_t2i.adapters.catalogue import Catalogue
from pytest_t2i.adapters.registry import Registries


class Told:
    def __init__(self, options):
        self.options, self.fingerprint = options, f"told {options.source}"

    def encode(self, images):
        return np.zeros((len(images), 2), np.float32)


def registered():
    registries = Registries()
    registries.encoders.update({"mine": Told})
    return registries


def test_it_knows_what_a_project_registered_and_its_aliases():
    catalogue = Catalogue({}, {"mine": {"small": "weights/small"}})
    extra = {"registries": registered(), "catalogue": catalogue}
    given = LoadOptions(source="another's", device="cpu", extra=extra)
    assert load_encoder("mine:small", given).options.source == "weights/small"
    assert load_encoder("mine:owner/name", given).options.source == "owner/name"
    assert load_encoder("mine", given).options.device == "cpu"


def test_it_is_part_of_what_asks_for_it():
    used = set()
    load_encoder("mine", LoadOptions(extra={"registries": registered().watched(used)}))
    assert ("encoder", "mine") in used


def test_a_factory_is_taken():
    assert load_encoder(f"{__name__}:Told:here").fingerprint == "told here"


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(T2IError, match=r"module 'nobody' not found.* registered one: clip"):
        load_encoder("nobody:at-all")
