"""Progress as plain lines: what, how far, how long."""

from __future__ import annotations

import sys
import time


class Progress:
    """Prints a line every ten seconds and at the end."""

    def __init__(self, stage: str, total: float, unit: str = "") -> None:
        self.stage, self.total, self.unit = stage, total, unit
        self.start = self.last = time.monotonic()

    def at(self, done: float, **numbers: float) -> None:
        """Report that ``done`` of ``total`` is finished, with some numbers to watch."""
        now = time.monotonic()
        if now - self.last < 10 and done < self.total:
            return
        self.last = now
        shown = "  ".join(f"{name} {value:.4g}" for name, value in numbers.items())
        print(
            f"{self.stage:<12} {done:g}/{self.total:g}{self.unit}  {now - self.start:.0f} s  {shown}",
            file=sys.stderr,
            flush=True,
        )

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.monotonic() - self.start
