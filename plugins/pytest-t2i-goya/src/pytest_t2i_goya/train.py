"""``t2i goya train``: train heads on pictures whose prompts name content and style."""

from __future__ import annotations

from pathlib import Path

import torch
from pytest_t2i import LoadOptions, load_encoder

from pytest_t2i_goya.features import Asked, Seen, seen
from pytest_t2i_goya.heads import Heads, save_heads
from pytest_t2i_goya.pairs import Distance, same_contents
from pytest_t2i_goya.prompts import check_counts
from pytest_t2i_goya.training import Examples, Schedule, Training


def train(
    asked: Asked,
    schedule: Schedule,
    *,
    encoder: str,
    distance: Distance,
    threshold: float,
    out: Path,
    device: str = "auto",
    half: bool = False,
) -> Heads:
    """Make the pictures, encode them, train, and write the heads.

    Finished work is kept beside ``out``. The same call resumes from there, and gives the result of
    a call without interruption.
    """
    below = load_encoder(encoder, LoadOptions(device=device))
    work = out.with_name(f"{out.stem}.work")
    pictures = seen(asked, below, work / "features.npz", say)
    check_counts(pictures.styles, "style")
    check_counts(pictures.contents, "content")
    contents, styles = (sorted(set(of)) for of in (pictures.contents, pictures.styles))
    say(f"{len(pictures)} pictures of {len(contents)} contents in {len(styles)} styles")
    same = same_contents(contents, distance, threshold, below)
    examples = examples_of(pictures, contents, styles, same)
    training = Training(examples, schedule, work / "checkpoint.pt")
    if training.epoch:
        say(f"resuming after epoch {training.epoch}")
    training.run(say)
    facts = {
        "reading": schedule.reading, "loss": schedule.pairs,
        "classifier in the loss": "yes" if schedule.classifies else "no",
        "content distance": distance, "seed": str(schedule.seed),
    }  # fmt: skip
    heads = training.heads(encoder, tuple(styles), facts)
    save_heads(heads, out, half=half)
    say(f"heads: {out}")
    return heads


def examples_of(
    pictures: Seen, contents: list[str], styles: list[str], same: torch.Tensor
) -> Examples:
    return Examples(
        torch.from_numpy(pictures.features),
        torch.tensor([contents.index(one) for one in pictures.contents]),
        torch.tensor([styles.index(one) for one in pictures.styles]),
        same,
    )


def say(line: str) -> None:
    """Print a line."""
    print(line, flush=True)  # noqa: T201 - a command line tool
