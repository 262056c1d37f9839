"""``t2i label``: people label the images of a folder, or settle what they disagree on."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from pytest_t2i.errors import ConfigurationError
from pytest_t2i.labels.app.desk import Annotation, Desk, Review


def run(folder: Path, annotator: str | None, *, review: bool, port: int, model: str) -> int:
    """Serve the page until interrupted; returns the exit code.

    Raises:
        ConfigurationError: the folder holds nothing to label, or the arguments do not fit.
        MissingExtraError: the server's libraries are not installed.
    """
    if review == bool(annotator):
        raise ConfigurationError(
            "expected either --annotator NAME, to label, or --review, to settle disagreements."
        )
    desk: Desk = Review(folder) if review else Annotation(folder, annotator or "", model)
    if not desk.files:
        print("Nobody disagrees on any image.")  # noqa: T201 - a command line tool
        return 0
    from pytest_t2i.labels.app.server import address, listening, serve

    with listening(port) as bound:
        print(_greeting(desk, address(bound)), flush=True)  # noqa: T201 - a command line tool
        # uvicorn stops in order, then raises what stopped it.
        with suppress(KeyboardInterrupt):
            serve(desk, bound)
    print(f"{_progress(desk)} Kept in {folder / 'labels.csv'}.")  # noqa: T201
    return 0


def _greeting(desk: Desk, url: str) -> str:
    return (
        f"{_progress(desk)} Every key is saved at once: stop at any time, go on later.\n"
        f"Open this page in a browser on this machine; Ctrl+C stops.\n    {url}"
    )


def _progress(desk: Desk) -> str:
    done = sum(bool(entry["label"]) for entry in desk.entries())
    verb = "settled" if isinstance(desk, Review) else "labelled"
    return f"{done} of {len(desk.files)} images {verb}."
