"""Show the progress of making images: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, Protocol, TextIO

from pytest_t2i.files import write_whole
from pytest_t2i.generation.heartbeat import Ticker, clock_time
from pytest_t2i.sections.words import several

PLAIN_EVERY = 10.0
"""Seconds between plain lines."""


class Progress(Protocol):
    """Receives the progress of a runner."""

    def start(self, title: str, total: int) -> None:
        """Begin a step with ``total`` images."""

    def advance(self, count: int) -> None:
        """Count ``count`` more images as done."""

    def say(self, note: str) -> None:
        """Show a note to the user."""

    def stop(self) -> None:
        """End the step."""


class Silent:
    """Shows nothing."""

    def start(self, title: str, total: int) -> None:
        """Nothing."""

    def advance(self, count: int) -> None:
        """Nothing."""

    def say(self, note: str) -> None:
        """Nothing."""

    def stop(self) -> None:
        """Nothing."""


class Shared:
    """Writes progress to a file, from which another process shows it."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._now: dict[str, Any] = {"title": "", "total": 0, "done": 0, "notes": []}

    def start(self, title: str, total: int) -> None:
        self._tell(title=title, total=total, done=0)

    def advance(self, count: int) -> None:
        self._tell(done=self._now["done"] + count)

    def say(self, note: str) -> None:
        """See Progress."""
        self._tell(notes=[*self._now["notes"], note])

    def stop(self) -> None:
        self._tell(title="")

    def _tell(self, **changed: Any) -> None:
        self._now.update(changed)
        write_whole(self._file, json.dumps(self._now).encode())


class Follower:
    """Shows the progress that another process writes to a file."""

    def __init__(self, file: Path, shown: Progress) -> None:
        self._file, self._shown = file, shown
        self._last: dict[str, Any] = {"title": "", "done": 0, "notes": []}

    def look(self) -> None:
        """Show what is new since the last call."""
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
        count = now["done"] - (last["done"] if same else 0)
        if now["title"] and count > 0:
            self._shown.advance(count)


class Lines:
    """Plain lines for logs, one every ten seconds and one at the end."""

    def __init__(
        self, write: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._write, self._clock = write, clock
        self._title, self._total, self._done = "", 0, 0
        self._started = self._last = 0.0
        self._each = 0.0
        """Seconds an image of the step before; 0 where none is known."""
        self._lock = Lock()
        self._ticker: Ticker | None = None

    def start(self, title: str, total: int) -> None:
        self._title, self._total, self._done = title, total, 0
        self._started = self._last = self._clock()
        self._write(f"t2i: {title}: {several(total, 'image')}")
        self._ticker = Ticker(self._look, PLAIN_EVERY, PLAIN_EVERY)
        self._ticker.start()

    def advance(self, count: int) -> None:
        self._done += count
        if self._done < self._total:
            self._look()

    def say(self, note: str) -> None:
        """See Progress."""
        self._write(f"t2i: {note}")

    def stop(self) -> None:
        if self._ticker is not None:
            self._ticker.stop()
            self._ticker = None
        seconds = self._clock() - self._started
        self._each = seconds / self._done if self._done else self._each
        speed = pace(self._done, seconds) or f"in {clock_time(seconds)}"
        self._write(f"t2i: {self._title}: {self._done}/{self._total}, {speed}")

    def _look(self) -> None:
        """Write a line if the last one is old enough."""
        with self._lock:
            now = self._clock()
            if now - self._last >= PLAIN_EVERY:
                self._last = now
                self._write(f"t2i: {self._title}: {self._status(now - self._started)}")

    def _status(self, seconds: float) -> str:
        count, total = self._done, self._total
        if not count:
            left = max(0.0, total * self._each - seconds)
            about = f", about {clock_time(left)} left" if left else ""
            return f"0/{total}, {clock_time(seconds)} so far{about}"
        left = (total - count) * seconds / count
        return f"{count}/{total}, {pace(count, seconds)}, {clock_time(left)} left"


class ProgressBar:
    """A bar with done/total, time left and images per second, before the words that may be cut."""

    def __init__(self, file: TextIO) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, ProgressColumn, Task
        from rich.progress import Progress as RichProgress
        from rich.table import Column
        from rich.text import Text

        class Status(ProgressColumn):
            def render(self, task: Task) -> Text:
                seconds, left = task.elapsed or 0.0, task.time_remaining
                words = [
                    f"t2i {task.completed:.0f}/{task.total:.0f}",
                    "" if left is None else f"{clock_time(left)} left",
                    pace(int(task.completed), seconds),
                    f"{clock_time(seconds)} so far",
                ]
                text = f"{', '.join(filter(None, words))}: {task.description}"
                return Text(text, no_wrap=True, overflow="ellipsis")

        console = Console(file=file)
        # A column that may wrap gives way to the others: the text's end is cut, not the bar.
        self._bar = RichProgress(
            BarColumn(bar_width=min(30, console.width // 6)),
            Status(table_column=Column(no_wrap=False)),
            console=console,
        )
        self._task: Any = None

    def start(self, title: str, total: int) -> None:
        self._bar.start()
        self._task = self._bar.add_task(title, total=total)

    def advance(self, count: int) -> None:
        self._bar.advance(self._task, count)

    def say(self, note: str) -> None:
        """See Progress."""
        self._bar.console.print(f"t2i: {note}", highlight=False, markup=False)

    def stop(self) -> None:
        self._bar.stop()


SLOW = 0.1
"""Images per second below which seconds per image are shown."""


def pace(done: int, seconds: float) -> str:
    """Speed in words; "" before the first image.

    >>> pace(30, 10.0), pace(2, 60.0), pace(0, 9.0)
    ('3.0 images/s', '30 s an image', '')
    """
    if not done:
        return ""
    rate = done / max(seconds, 1e-9)
    return f"{1 / rate:.0f} s an image" if rate < SLOW else f"{rate:.1f} images/s"


def terminal_progress(file: TextIO | None = None) -> Progress:
    """A bar on a terminal and in a notebook, plain lines elsewhere; None is the standard output."""
    file = file or sys.stdout
    if file.isatty() or (file is sys.stdout and "ipykernel" in sys.modules):
        return ProgressBar(file)
    return Lines(partial(print, file=file, flush=True))
