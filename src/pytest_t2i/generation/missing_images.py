"""The images of a plan that the store lacks: claimed by this process, or waited for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from pytest_t2i.data import Request
from pytest_t2i.errors import StoreError
from pytest_t2i.generation import traces
from pytest_t2i.generation.plan import Plan
from pytest_t2i.generation.store import Store
from pytest_t2i.sections.words import several

WAIT_FOR_OTHERS = 0.2
"""Seconds between two looks into the store."""
TELL_AFTER = 10.0
"""Seconds without progress after which a note names the other process."""
GIVE_UP_AFTER = 900.0
"""Seconds without progress after which the run ends with an error."""
AT_ONCE = 4096
"""Number of images that are looked up in the store at a time, so that few rows are held."""
CLAIMED = 256
"""Number of images that one process claims at a time; the rest is left for other processes."""


@dataclass
class MissingImages:
    """The images of a plan that the store lacks."""

    store: Store
    plan: Plan
    say: Callable[[str], None]
    requests: list[Request] = field(init=False)
    """Those that were missing at the last look."""
    _claimed: list[str] = field(default_factory=list)
    _since: float = 0.0
    _told: bool = False

    def __post_init__(self) -> None:
        self.requests, self._since = self._among(list(self.plan)), time.monotonic()

    def claim(self, is_over: Callable[[], bool]) -> Iterator[Request]:
        """Claim requests as the executor takes them; the rest is left for other processes."""
        for start in range(0, len(self.requests), CLAIMED):
            if is_over():
                return
            keys = {self.plan.keys[r]: r for r in self.requests[start : start + CLAIMED]}
            mine = set(self.store.claim(list(keys)))
            self._claimed += mine
            # Another process may have made some of them just before this one claimed them.
            for request in self._among([r for key, r in keys.items() if key in mine]):
                if is_over():
                    return
                yield request

    def release(self) -> None:
        """Let other processes make what is claimed, and not made."""
        self.store.release(self._claimed)
        self._claimed.clear()

    def look_again(self, made: int) -> None:
        """Look which images are missing; where this process made none, wait for others briefly.

        StoreError where pictures vanish, and after a quarter of an hour without progress.
        """
        before, self.requests = len(self.requests), self._among(self.requests)
        if len(self.requests) < before:
            self._since, self._told = time.monotonic(), False
        elif made:
            raise StoreError(
                f"{several(made, 'image')} were made and written to the store, and none "
                f"is found there. Check the disk of {self.store.folder} with t2i store "
                "verify, and run again."
            )
        if made or not self.requests:
            return
        idle, images = time.monotonic() - self._since, several(len(self.requests), "image")
        if idle > TELL_AFTER and not self._told:
            self._told = True
            self.say(f"waiting for {images} that other processes make: {self._owners()}")
        if idle > GIVE_UP_AFTER:
            raise StoreError(
                f"{self._owners()} claimed {images}, and finished none for "
                f"{GIVE_UP_AFTER / 60:.0f} minutes. End that process, and run again."
            )
        time.sleep(WAIT_FOR_OTHERS)

    def _owners(self) -> str:
        owners = self.store.owners([self.plan.keys[request] for request in self.requests])
        return ", ".join(owners) or "another process"

    def _among(self, requests: Sequence[Request]) -> list[Request]:
        missing = []
        for start in range(0, len(requests), AT_ONCE):
            keys = {r: self.plan.keys[r] for r in requests[start : start + AT_ONCE]}
            images = self.store.images(list(keys.values()))
            names = {request: traces.wanted(self.plan.needs[request]) for request in keys}
            arrays = {
                name: self.store.arrays([keys[r] for r in keys if name in names[r]], name)
                for name in sorted(set().union(*names.values()))
            }
            for request, key in keys.items():
                lacks_trace = any(key not in arrays[name] for name in names[request])
                if key not in images or (lacks_trace and images[key].file is not None):
                    missing.append(request)
        return missing
