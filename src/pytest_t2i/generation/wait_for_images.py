"""Wait, with a time limit, for images that another process makes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pytest_t2i.errors import StoreError
from pytest_t2i.generation.store import Store

WAIT_FOR_OTHERS = 0.2
"""Seconds between two looks into the store."""
TELL_AFTER = 10.0
"""Seconds without progress after which a note names the other process."""
GIVE_UP_AFTER = 900.0
"""Seconds without progress after which the run ends with an error."""


@dataclass
class Waiting:
    """Waits for images that other processes make, names those processes, and has a time limit."""

    store: Store
    say: Callable[[str], None]
    _missing: int = -1
    _since: float = 0.0
    _told: bool = False

    def wait(self, missing: Sequence[str]) -> None:
        """Wait briefly; StoreError after a quarter of an hour without progress."""
        now = time.monotonic()
        if len(missing) != self._missing:
            self._missing, self._since, self._told = len(missing), now, False
        idle = now - self._since
        if idle > TELL_AFTER and not self._told:
            self._told = True
            owners = ", ".join(self.store.owners(missing)) or "another process"
            self.say(f"waiting for {len(missing)} images that are being made by {owners}")
        if idle > GIVE_UP_AFTER:
            owners = ", ".join(self.store.owners(missing)) or "another process"
            raise StoreError(
                f"{len(missing)} images are claimed by {owners}, and none was finished for "
                f"{GIVE_UP_AFTER / 60:.0f} minutes. End that process, and run again."
            )
        time.sleep(WAIT_FOR_OTHERS)
