"""Progress of making images: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TextIO

from pytest_t2i.files import write_whole

PLAIN_EVERY = 10.0
"""Seconds between plain lines."""


class Progress(Protocol):
    """Where a runner tells how far it is."""

    def start(self, title: str, total: int) -> None:
        """Begin a stretch of work with that many images."""

    def advance(self, count: int) -> None:
        """So many more images are done."""

    def say(self, note: str) -> None:
        """Tell the user something."""

    def stop(self) -> None:
        """The stretch is over."""


class Silent:
    """Tells nobody."""

    def start(self, title: str, total: int) -> None:
        """Nothing."""

    def advance(self, count: int) -> None:
        """Nothing."""

    def say(self, note: str) -> None:
        """Nothing."""

    def stop(self) -> None:
        """Nothing."""


class Shared:
    """Tells another process, through a file."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._now: dict[str, Any] = {"title": "", "total": 0, "done": 0, "notes": []}

    def start(self, title: str, total: int) -> None:
        """See Progress."""
        self._tell(title=title, total=total, done=0)

    def advance(self, count: int) -> None:
        """See Progress."""
        self._tell(done=self._now["done"] + count)

    def say(self, note: str) -> None:
        """See Progress."""
        self._tell(notes=[*self._now["notes"], note])

    def stop(self) -> None:
        """See Progress."""
        self._tell(title="")

    def _tell(self, **changed: Any) -> None:
        self._now.update(changed)
        write_whole(self._file, json.dumps(self._now).encode())


class Follower:
    """Shows the progress that another process shares."""

    def __init__(self, file: Path, shown: Progress) -> None:
        self._file, self._shown = file, shown
        self._last: dict[str, Any] = {"title": "", "done": 0, "notes": []}

    def look(self) -> None:
        """Show what is new since the last look."""
        try:
            now = json.loads(self._file.read_bytes())
        except (OSError, ValueError):
            return
        last, self._last = self._last, now
        for note in now["notes"][len(last["notes"]) :]:
            self._shown.say(note)
        same = now["title"] == last["title"]
        if last["title"] and not same:
            self._shown.stop()
        if now["title"] and not same:
            self._shown.start(now["title"], now["total"])
        done = now["done"] - (last["done"] if same else 0)
        if now["title"] and done > 0:
            self._shown.advance(done)


class Lines:
    """Plain lines for logs, one every ten seconds and one at the end."""

    def __init__(
        self, write: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._write, self._clock = write, clock
        self._title, self._total, self._done = "", 0, 0
        self._started = self._last = 0.0

    def start(self, title: str, total: int) -> None:
        """See Progress."""
        self._title, self._total, self._done = title, total, 0
        self._started = self._last = self._clock()
        self._write(f"t2i: {title}: {total} images")

    def advance(self, count: int) -> None:
        """See Progress."""
        self._done += count
        now = self._clock()
        if now - self._last >= PLAIN_EVERY and self._done < self._total:
            self._last = now
            self._write(f"t2i: {self._title}: {self._status(now)}")

    def say(self, note: str) -> None:
        """See Progress."""
        self._write(f"t2i: {note}")

    def stop(self) -> None:
        """See Progress."""
        self._write(f"t2i: {self._title}: {self._status(self._clock())}")

    def _status(self, now: float) -> str:
        elapsed = max(now - self._started, 1e-9)
        rate = self._done / elapsed
        left = (self._total - self._done) / rate if rate else 0.0
        tail = f", {clock_time(left)} left" if self._done < self._total else ""
        return f"{self._done}/{self._total}, {rate:.1f} images/s{tail}"


class Bar:
    """A bar that shows done/total, images per second and time left."""

    def __init__(self, file: TextIO) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        self._bar = RichProgress(
            TextColumn("[bold]t2i[/bold] {task.description}"),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]:.1f} images/s"),
            TimeRemainingColumn(),
            console=Console(file=file),
        )
        self._started, self._done, self._task = 0.0, 0, None

    def start(self, title: str, total: int) -> None:
        """See Progress."""
        self._started, self._done = time.monotonic(), 0
        self._bar.start()
        self._task = self._bar.add_task(title, total=total, rate=0.0)  # type: ignore[assignment]

    def advance(self, count: int) -> None:
        """See Progress."""
        self._done += count
        rate = self._done / max(time.monotonic() - self._started, 1e-9)
        self._bar.update(self._task, advance=count, rate=rate)  # type: ignore[arg-type]

    def say(self, note: str) -> None:
        """See Progress."""
        self._bar.console.print(f"t2i: {note}", highlight=False, markup=False)

    def stop(self) -> None:
        """See Progress."""
        self._bar.stop()


def clock_time(seconds: float) -> str:
    """Seconds as m:ss or h:mm:ss.

    >>> clock_time(75), clock_time(3700)
    ('1:15', '1:01:40')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def shown() -> Progress:
    """A bar on a terminal and in a notebook, plain lines elsewhere."""
    if sys.stdout.isatty() or "ipykernel" in sys.modules:
        return Bar(sys.stdout)
    return Lines(lambda line: print(line, flush=True))  # noqa: T201 - a script's own output
