"""``t2i label page``: label the images of a folder by hand, or settle what people disagree on."""

from __future__ import annotations

import argparse
from contextlib import suppress
from pathlib import Path

from pytest_t2i import T2IError, arguments, say
from pytest_t2i.labels import choose_vocabulary, compact, named

from pytest_t2i_labelling.desk import Annotation, Desk, Review

TELLS_PROGRESS = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: the images, who labels or reviews, and the labels."""
    parser.add_argument(
        "folder", metavar="FOLDER", type=arguments.path, help="folder of images to label"
    )
    who = parser.add_mutually_exclusive_group(required=True)
    who.add_argument(
        "--annotator",
        metavar="NAME",
        help="name of the person who labels; nobody sees the labels of others",
    )
    who.add_argument(
        "--review",
        action="store_true",
        help="settle the labels of images on which annotators disagree",
    )
    parser.add_argument(
        "--labels",
        metavar="SET",
        help="set of labels to choose from: gender, age, monk (ten skin tones), yes-no, a TOML "
        "file, or a list such as child,adult; kept in FOLDER/labels.toml (default: what is kept "
        "there, else gender)",
    )
    parser.add_argument(
        "--port", type=int, default=0, metavar="N", help="port of the page (default: a free one)"
    )
    parser.add_argument(
        "--model",
        default="",
        metavar="NAME",
        help="model that made the images; kept with the labels",
    )


def run(
    folder: Path,
    annotator: str | None,
    *,
    review: bool,
    labels: str | None,
    port: int,
    model: str,
) -> int:
    """Serve the page until interrupted; return 0.

    Raises:
        T2IError: the folder holds nothing to label, or the arguments do not fit.
    """
    if review == bool(annotator):
        raise T2IError(
            "expected either --annotator NAME, to label, or --review, to settle disagreements."
        )
    if labels is not None:
        choose_vocabulary(folder, named(labels))
    compact(folder)
    desk: Desk = Review(folder) if review else Annotation(folder, annotator or "", model)
    if not desk.files:
        say("Nobody disagrees on any image.")
        return 0
    from pytest_t2i_labelling.server import address, listening, serve

    with listening(port) as bound:
        for line in _greeting(desk, address(bound)):
            say(line)
        # uvicorn shuts down first, then raises the KeyboardInterrupt again.
        with suppress(KeyboardInterrupt):
            serve(desk, bound)
    compact(folder)
    say(f"{_progress(desk)} The labels are in {folder / 'labels.csv'}.")
    return 0


def _greeting(desk: Desk, url: str) -> list[str]:
    return [
        f"{_progress(desk)} Each label is saved at once: stop at any time, and continue later.",
        "Open this page in a browser on this machine; Ctrl+C stops.",
        f"    {url}",
    ]


def _progress(desk: Desk) -> str:
    done = sum(bool(entry["label"]) for entry in desk.entries())
    verb = "settled" if isinstance(desk, Review) else "labelled"
    return f"{done} of {len(desk.files)} images {verb}."
