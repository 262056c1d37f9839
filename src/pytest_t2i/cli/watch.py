"""``t2i report watch``: show how far the run that uses a store is, until its report is there."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from pytest_t2i.cli.support.arguments import number, path, say, value
from pytest_t2i.errors import ConfigurationError, StoreError
from pytest_t2i.files import from_here
from pytest_t2i.generation.heartbeat import clock_time
from pytest_t2i.generation.progress import pace, terminal_progress
from pytest_t2i.reporting.live import report_of, state_sentence, write_live_page
from pytest_t2i.runs.live import LiveView, Watching
from pytest_t2i.settings import Settings

TELLS_PROGRESS = True
KEPT = "The run goes on, and what it makes is kept."
EVERY = 5.0
"""Seconds between two looks."""
LEAST, MOST = 1.0, 3600.0
PATIENCE = 60.0
"""Seconds to wait for a run to start."""
UNFINISHED = 1
"""Exit status where the run ended before it was over."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: the store of the run, and how often to look."""
    parser.add_argument(
        "--store", type=path, default=Settings().store, metavar="DIR",
        help="store of the run (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--every", type=value(number), default=EVERY, metavar="SECONDS",
        help="seconds between two looks (default: %(default)g)",
    )  # fmt: skip


def run(store: Path, every: float) -> int:
    """Write and refresh the live page until the run is over; return 0, or 1 for a killed run."""
    if not LEAST <= every <= MOST:
        raise ConfigurationError(f"--every: expected {LEAST:g} to {MOST:g} seconds, got {every:g}")
    watching, view = _started(store)
    page = write_live_page(view, store, every)
    say(f"{from_here(page)} shows the run; a browser reads it again every {every:g} s")
    progress, began, before = terminal_progress(), time.monotonic(), view
    progress.start(f"judged images of {view.note.model}", view.needed - view.judged)
    try:
        while view.is_alive:
            time.sleep(every)
            last, view = view, watching.look() or view
            if view.needed != last.needed:  # early stopping asks for more
                progress.stop()
                progress.say(state_sentence(view))
                progress.start(f"judged images of {view.note.model}", view.needed - last.judged)
            progress.advance(view.judged - last.judged)
            speed = _speed(view, view.judged - before.judged, time.monotonic() - began)
            write_live_page(view, store, every, speed)
    finally:
        progress.stop()
    say(state_sentence(view))
    if (report := report_of(view, store)) is not None:
        say(str(from_here(report)))
    return 0 if view.note.is_over else UNFINISHED


def _started(store: Path) -> tuple[Watching, LiveView]:
    """Return the first look at a run that goes on; wait a minute for one to start."""
    end, is_told = time.monotonic() + PATIENCE, False
    while True:
        try:
            watching = Watching(store)
            view = watching.look()
        except StoreError:
            if store.exists() and time.monotonic() >= end:
                raise
            view = None
        if view is not None and view.is_alive:
            return watching, view
        if time.monotonic() >= end:
            raise ConfigurationError(
                f"no run uses the store {store}: start one with pytest --t2i-model, and watch it "
                "meanwhile from another terminal; --store DIR names its --t2i-store"
            )
        if not is_told:
            is_told = True
            say(f"no run uses the store {store} yet: waiting {PATIENCE:.0f} s for one")
        time.sleep(LEAST)


def _speed(view: LiveView, judged: int, seconds: float) -> str:
    """Return speed and time left in words; "" before the first new image."""
    if judged <= 0 or view.judged >= view.needed:
        return ""
    left = (view.needed - view.judged) * seconds / judged
    return f"{pace(judged, seconds)}, {clock_time(left)} left."
