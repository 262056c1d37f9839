"""The probe whether a pipeline honours seeds, batches and guidance, which its class may not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import msgspec

from pytest_t2i.data import Count, FactKind, Generated, GenerationSettings, Request
from pytest_t2i.errors import T2IError
from pytest_t2i.files import FileLock
from pytest_t2i.generation.check_pictures import as_generated
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.seeds import OTHER_SEED, PROMPT, SEED, difference
from pytest_t2i.protocols import MayIgnoreSettings

IN_PROCESS = frozenset({"auto", "in-process"})
"""Executors that make the pictures with the model of this process."""
ROUNDING = 2
"""Difference of a pixel's colour, of 255, that a batch makes by rounding alone."""


@dataclass(frozen=True, slots=True)
class ModelProbe:
    """What seeds, the batch and guidance change: largest differences of a pixel's colour.

    >>> ModelProbe(seeds=90, batch=0, guidance=0).faults
    ('guidance has no effect: pictures with another guidance are equal',)
    """

    seeds: Count
    """Between the pictures of two seeds, 0 to 255."""
    batch: Count
    """Between a picture made alone and the same one made in a batch."""
    guidance: Count | None = None
    """Between two guidance scales; None where the model takes none."""

    @property
    def faults(self) -> tuple[str, ...]:
        """What does not hold, a sentence each."""
        faults = []
        if not self.seeds:
            faults.append("the seed is ignored: pictures of two seeds are equal")
        if self.batch > ROUNDING:
            faults.append(
                f"a picture depends on its batch, by up to {self.batch} of 255 (--t2i-batch 1 "
                "makes one at a time)"
            )
        if self.guidance == 0:
            faults.append("guidance has no effect: pictures with another guidance are equal")
        return tuple(faults)


def probe_model(
    components: Components, settings: GenerationSettings, say: Callable[[str], None]
) -> tuple[str, ...]:
    """Probe a pipeline of an unfamiliar class once, with four pictures; return what to note.

    The result is kept in the store under the model's fingerprint. Pictures that are made in other
    processes are not probed, as that would load the model here.
    """
    handle, store, how = components.model(), components.store, components.settings.probe
    if handle.lists_images or components.settings.executor not in IN_PROCESS:
        return ()
    model: Any = handle.get()
    if not isinstance(model, MayIgnoreSettings):
        return ()
    notes = model.notes(settings)
    if how == "never" or not (model.may_ignore_settings or how == "again"):
        return notes
    name = FactKind.PROBE.of(handle.fingerprint)
    with FileLock(store.folder / "locks" / "probe"):
        probe = None if how == "again" else _read(store.fact(name))
        if probe is None:
            say(f"probing {handle.name} with four pictures (--t2i-probe never skips this)")
            try:
                probe = probed(model, settings)
            except T2IError:
                return notes  # the run's own pictures will say it
            if probe is not None:
                store.remember(name, asdict(probe))
    return (*notes, *(probe.faults if probe is not None else ()))


def _read(fact: object) -> ModelProbe | None:
    try:
        return None if fact is None else msgspec.convert(fact, ModelProbe)
    except msgspec.ValidationError:
        return None


def probed(model: Any, settings: GenerationSettings) -> ModelProbe | None:
    """Make four pictures: seeds 1 and 2 in a batch, seed 1 alone, and with another guidance."""
    first = Request(PROMPT, SEED, settings)
    second = Request(PROMPT, OTHER_SEED, settings)
    first_picture, second_picture = as_generated(model.generate([first, second]))
    (alone,) = as_generated(model.generate([first]))
    guided = None
    changed = model.other_guidance(settings)
    if changed is not None:
        (guided,) = as_generated(model.generate([Request(PROMPT, SEED, changed)]))
    pictures: Sequence[Generated] = [
        first_picture,
        second_picture,
        alone,
        *([guided] if guided else []),
    ]
    if any(picture.image is None for picture in pictures):
        return None
    images: list[Any] = [picture.image for picture in pictures]
    return ModelProbe(
        difference(images[0], images[1]),
        difference(images[0], images[2]),
        difference(images[2], images[3]) if guided else None,
    )
