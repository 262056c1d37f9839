"""Whether the seeds of a model behind HTTP hold: tried out once, before its first picture.

A server may ignore a seed without saying so, and one that makes several pictures at a time may make
each of them a little otherwise. The same picture is asked for twice by itself, and where both are
alike eight times at the same time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

import msgspec
from filelock import FileLock

from pytest_t2i.data import Count, Generated, GenerationSettings, Request
from pytest_t2i.errors import BudgetSpentError, GenerationError
from pytest_t2i.generation.bill import Bill
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.store import Store
from pytest_t2i.protocols import MayIgnoreSeeds, TextToImage

if TYPE_CHECKING:
    from PIL.Image import Image

PROMPT, SEED = "a red apple on a wooden table", 20261
"""What is asked for: nothing that a policy forbids, and no picture of a test."""
ALONE, TOGETHER = 2, 8
"""Pictures that are made one after the other, and then at the same time."""
LEAST = 2
"""Difference of a pixel's colour, of 255, from which on two pictures are not the same."""
LARGEST = 255
"""Difference of pictures of different sizes."""
Kind = Literal["seeded", "batch", "draws"]
WORDS = {
    "seeded": "seeded: the same seed gives the same picture",
    "batch": "seeded, dependent on the batch: where several pictures are made at the same time, "
    "one differs by up to {difference} of 255 (--t2i-concurrency 1 makes one at a time)",
    "draws": "draws: every picture is drawn anew, whatever its seed, and none are compared as "
    "pairs",
}


@dataclass(frozen=True, slots=True)
class Seeding:
    """What seeds determine.

    >>> Seeding("batch", 12).words.partition(", one ")[2]
    'differs by up to 12 of 255 (--t2i-concurrency 1 makes one at a time)'
    """

    kind: Kind
    difference: Count = 0
    """Of the two pictures that differ most, at the pixel where they do: 0 to 255."""

    @property
    def words(self) -> str:
        """In one sentence."""
        return WORDS[self.kind].format(difference=self.difference)


class ToTry(TextToImage, MayIgnoreSeeds, Protocol):
    """A model whose seeds are not known to hold."""


def seeding_of(store: Store, fingerprint: str) -> Seeding | None:
    """What was found out of a model; None where it was not tried."""
    known = store.fact(_fact(fingerprint))
    try:
        return None if known is None else msgspec.convert(known, Seeding)
    except msgspec.ValidationError:
        return None


def _fact(fingerprint: str) -> str:
    return f"seeding:{fingerprint}"


def try_seeds(
    components: Components,
    settings: GenerationSettings,
    bill: Bill | None,
    say: Callable[[str], None],
) -> int:
    """Try out the model under test, unless it is known or need not be; how many requests it took.

    Args:
        components: of the run; its store keeps the result.
        settings: with which pictures are made.
        bill: what is paid for images; None where no price is known.
        say: tells the user something.
    """
    handle, store = components.model(), components.store
    model: Any = handle.get() if handle.lists_images else None
    how = components.settings.probe
    if how == "never" or not (isinstance(model, MayIgnoreSeeds) and model.may_ignore_seeds):
        return 0
    # Several processes may connect at the same time.
    with FileLock(store.folder / "locks" / "seeding"):
        if how == "once" and seeding_of(store, handle.fingerprint) is not None:
            return 0
        left_out = "the seeds are not tried"
        if bill is not None and (reason := bill.cannot_pay(ALONE + TOGETHER, left_out)):
            say(reason)
            return 0
        cost = "" if bill is None else f" for {bill.of(ALONE + TOGETHER)}"
        say(
            f"trying whether {handle.name} takes seeds, by up to {ALONE + TOGETHER} "
            f"requests{cost} (--t2i-no-probe leaves that out)"
        )
        found, requests = probe(cast("ToTry", model), settings)
        if found is not None:
            store.remember(_fact(handle.fingerprint), asdict(found))
    say(f"{handle.name}: {UNKNOWN if found is None else found.words}")
    return requests


UNKNOWN = "not known whether it takes seeds: it gave no picture to compare"


def probe(model: ToTry, settings: GenerationSettings) -> tuple[Seeding | None, int]:
    """What the seeds of a model determine, and how many pictures were asked for.

    None where it gives no picture.
    """
    request = Request(PROMPT, SEED, settings)
    alone = [generated for _ in range(ALONE) for generated in model.generate([request])]
    apart = _difference(alone)
    if apart is None or apart >= LEAST:
        return (None if apart is None else Seeding("draws", apart)), ALONE
    try:
        beside = list(model.at_once([request] * TOGETHER))
    except GenerationError as error:  # such as a rate limit: each by itself may well be made
        if isinstance(error, BudgetSpentError):
            raise
        return None, ALONE + TOGETHER
    together = _difference([alone[0], *beside])
    if together is None:
        return None, ALONE + TOGETHER
    kind: Kind = "seeded" if together < LEAST else "batch"
    return Seeding(kind, together), ALONE + TOGETHER


def _difference(pictures: list[Generated]) -> int | None:
    """The largest between the first and any other; None where one is none."""
    images = [generated.image for generated in pictures if generated.image is not None]
    if len(images) < len(pictures):
        return None
    return max(difference(images[0], other) for other in images[1:])


def difference(one: Image, other: Image) -> int:
    """The largest difference of a colour of a pixel, 0 to 255."""
    import numpy as np

    if one.size != other.size:
        return LARGEST
    first, second = (np.asarray(image.convert("RGB"), dtype=np.int16) for image in (one, other))
    return int(np.abs(first - second).max())
