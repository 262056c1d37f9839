"""What a picture depends on beside its request: in single values on threads, and on some processors on its batch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from pytest_t2i.adapters.catalogue import read_catalogues
from pytest_t2i.adapters.models import diffusers
from pytest_t2i.adapters.registry import Registries
from pytest_t2i.data import Request

pytestmark = pytest.mark.slow
WORDS = ("nurse", "pilot", "cook", "judge", "tailor", "baker")


@pytest.fixture(scope="module")
def entry() -> object:
    return read_catalogues(Registries().catalogues, None).models["reference"]


@pytest.fixture
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def made(entry: object, batch: int, threads: int) -> np.ndarray:
    torch.set_num_threads(threads)
    model = diffusers.load(entry.options)
    asked = [Request(f"a photo of a {word}", 0, entry.options.defaults) for word in WORDS]
    batches = [asked[start : start + batch] for start in range(0, len(asked), batch)]
    pictures = [each.image for several in batches for each in model.generate(several)]
    return np.array([np.asarray(picture) for picture in pictures], dtype=int)


@pytest.mark.parametrize(("batch", "count"), [(4, 1), (6, 2)], ids=["batch", "threads"])
def test_batches_and_threads_change_single_values_at_most(entry: object, threads: None, batch: int, count: int) -> None:
    # The same batch on as many threads changes no bit.
    pictures = made(entry, 6, 1)
    assert np.array_equal(pictures, made(entry, 6, 1))
    difference = np.abs(pictures - made(entry, batch, count))
    assert difference.max() <= 1
    assert (difference > 0).mean() < 0.001
