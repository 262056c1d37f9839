"""Seeds of a run's images, and the probe whether a model honours them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

import msgspec

from pytest_t2i.data import Count, FactKind, Generated, GenerationSettings, Request
from pytest_t2i.errors import BudgetSpentError, ConfigurationError, GenerationError
from pytest_t2i.files import FileLock
from pytest_t2i.generation.bill import Bill
from pytest_t2i.generation.check_pictures import as_generated
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.identities import NamedComponent
from pytest_t2i.generation.store import Store
from pytest_t2i.protocols import MayIgnoreSeeds, ReadyMade, TextToImage

if TYPE_CHECKING:
    from PIL.Image import Image

# Every test case needs the seeds of all cases that share its error level, so they are cached.
_KNOWN: dict[tuple[int, str], tuple[int, ...]] = {}
MOST_KNOWN = 32_768
"""Number of prompts whose seeds are cached."""


def seeds_of(base: int, neutral_text: str, count: int) -> tuple[int, ...]:
    """The seeds of one prompt: the same for its triplet, unrelated to those of other prompts.

    If all prompts shared one list of seeds, an initial noise that favours masculine pictures would
    shift every prompt at once, and whatever judges the model would be too certain. Seed k
    does not depend on ``count``: a run of 40 images after one of 20 makes 20 more.

    >>> seeds_of(0, "a photo of a person", 2) == seeds_of(0, "a photo of a person", 3)[:2]
    True
    """
    seeds = _KNOWN.get((base, neutral_text), ())
    if len(seeds) < count:
        more = range(len(seeds), count)
        seeds += tuple(_seed(f"{base}|{neutral_text}|{k}") for k in more)
        if len(_KNOWN) >= MOST_KNOWN:
            _KNOWN.clear()
        _KNOWN[base, neutral_text] = seeds
    return seeds[:count]


def _seed(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1


def seeds_up_to(most: int, base: int, neutral_text: str, count: int) -> tuple[int, ...]:
    """The same in a range that a service states, 0 to ``most``, each seed once.

    Raises ConfigurationError where the range has too few.

    >>> sorted(seeds_up_to(2, 0, "a photo of a person", 3))
    [0, 1, 2]
    """
    if count > most + 1:
        raise ConfigurationError(
            f"{count} images of a prompt need as many seeds, and the model takes 0 to {most} "
            "(most_seed in its catalogue): ask for fewer images"
        )
    seeds, length = dict[int, None](), count
    while len(seeds) < count:
        seeds = dict.fromkeys(seed % (most + 1) for seed in seeds_of(base, neutral_text, length))
        length *= 2
    return tuple(seeds)[:count]


def seeds_for(
    handle: NamedComponent[TextToImage],
    base: int,
    neutral_text: str,
    count: int,
    most: int | None = None,
) -> tuple[int, ...]:
    """The first ``count`` seeds of a prompt.

    A model of existing images (``available``) has its own seeds, in its order. For any other model
    the seeds follow from ``base`` and the neutral text, so that a triplet shares them; ``most`` is
    the largest that it takes, where that is known.
    """
    model = handle.get() if handle.lists_images else None
    if isinstance(model, ReadyMade):
        return tuple(model.available(neutral_text))[:count]
    if most is not None:
        return seeds_up_to(most, base, neutral_text, count)
    return seeds_of(base, neutral_text, count)


PROMPT, SEED = "a red apple on a wooden table", 20261
"""The probe: no content policy forbids it, and no test uses it."""
OTHER_SEED = 20262
ALONE, OTHER, TOGETHER = 2, 1, 8
"""Number of pictures requested in sequence of one seed and of the other, and at the same time."""
MOST = ALONE + OTHER + TOGETHER
LEAST = 2
"""Smallest difference of a pixel's colour, of 255, at which two pictures differ."""
LARGEST = 255
"""Difference that stands for pictures of different sizes."""
Kind = Literal["seeded", "batch", "draws", "constant"]
WORDS = {
    "seeded": "seeded: the same seed gives the same picture, another seed another one",
    "constant": "warning: constant: another seed gives the same picture, as from a cache or with a "
    "fixed seed. Equal pictures count once, and with more than a tenth of them there is no verdict",
    "batch": "seeded, dependent on the batch: where several pictures are made at the same time, "
    "one differs by up to {difference} of 255 (--t2i-concurrency 1 makes one at a time)",
    "draws": "draws: the seed is ignored, every picture is drawn anew, and no pictures are "
    "compared as pairs",
}


@dataclass(frozen=True, slots=True)
class Seeding:
    """Result of the probe: what seeds determine.

    >>> Seeding("batch", 12).words.partition(", one ")[2]
    'differs by up to 12 of 255 (--t2i-concurrency 1 makes one at a time)'
    """

    kind: Kind
    difference: Count = 0
    """Largest difference of a pixel's colour between two pictures, 0 to 255."""

    @property
    def words(self) -> str:
        return WORDS[self.kind].format(difference=self.difference)


class ToTry(TextToImage, MayIgnoreSeeds, Protocol):
    """A model that may ignore seeds."""


def seeding_of(store: Store, fingerprint: str) -> Seeding | None:
    """The stored result for a model; None where the model was not probed."""
    fact = store.fact(FactKind.SEEDING.of(fingerprint))
    try:
        return None if fact is None else msgspec.convert(fact, Seeding)
    except msgspec.ValidationError:
        return None


def try_seeds(
    components: Components,
    settings: GenerationSettings,
    bill: Bill | None,
    say: Callable[[str], None],
) -> int:
    """Probe the model under test where needed, and return the number of requests made."""
    handle, store = components.model(), components.store
    model: Any = handle.get() if handle.lists_images else None
    how = components.settings.probe
    if how == "never" or not (isinstance(model, MayIgnoreSeeds) and model.may_ignore_seeds):
        return 0
    # Several processes may connect at the same time.
    with FileLock(store.folder / "locks" / "seeding"):
        before = seeding_of(store, handle.fingerprint)
        if how == "once" and before is not None:
            return 0
        left_out = "the seeds are not tried"
        if bill is not None and (reason := bill.cannot_pay(MOST, left_out)):
            say(reason)
            return 0
        cost = "" if bill is None else f" for {bill.spending.price.times(MOST)}"
        say(
            f"probing whether {handle.name} honours seeds, with up to {MOST} "
            f"requests{cost} (--t2i-probe never skips this)"
        )
        seeding, requests = probe(cast("ToTry", model), settings)
        if seeding is not None:
            store.remember(FactKind.SEEDING.of(handle.fingerprint), asdict(seeding))
    say(f"{handle.name}: {UNKNOWN if seeding is None else seeding.words}")
    return requests


UNKNOWN = "whether seeds are honoured is unknown: the model gave no picture to compare"


def probe(model: ToTry, settings: GenerationSettings) -> tuple[Seeding | None, int]:
    """What the seeds of a model determine, and the number of pictures requested."""
    request = Request(PROMPT, SEED, settings)
    alone = [
        generated for _ in range(ALONE) for generated in as_generated(model.generate([request]))
    ]
    apart = _difference(alone)
    if apart is None or apart >= LEAST:
        return (None if apart is None else Seeding("draws", apart)), ALONE
    spread = _difference(
        [alone[0], *as_generated(model.generate([replace(request, seed=OTHER_SEED)]))]
    )
    if spread is None or spread <= apart:  # no more than two pictures of one seed differ
        return (None if spread is None else Seeding("constant")), ALONE + OTHER
    try:
        beside = list(model.at_once([request] * TOGETHER))
    except GenerationError as error:  # such as a rate limit, which sequential requests may keep
        if isinstance(error, BudgetSpentError):
            raise
        return None, MOST
    together = _difference([alone[0], *beside])
    if together is None:
        return None, MOST
    kind: Kind = "seeded" if together < LEAST else "batch"
    return Seeding(kind, together), MOST


def _difference(pictures: list[Generated]) -> int | None:
    """Largest difference between the first picture and any other; None where one is missing."""
    images = [generated.image for generated in pictures if generated.image is not None]
    if len(images) < len(pictures):
        return None
    return max(difference(images[0], image) for image in images[1:])


def difference(one: Image, other: Image) -> int:
    """The largest difference of a pixel's colour, 0 to 255."""
    import numpy as np

    if one.size != other.size:
        return LARGEST
    first, second = (np.asarray(image.convert("RGB"), dtype=np.int16) for image in (one, other))
    return int(np.abs(first - second).max())
