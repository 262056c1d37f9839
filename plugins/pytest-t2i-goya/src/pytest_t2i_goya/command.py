"""``t2i goya``: train heads for content and style (GOYA), or evaluate them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pytest_t2i import T2IError

from pytest_t2i_goya.losses import READINGS, THRESHOLD
from pytest_t2i_goya.pairs import DISTANCES

ENCODER = "clip:vit-b-32"
"""That of the thesis (section 2.5.4)."""
OF_RUNS: dict[str, tuple[type, str]] = {
    "steps": (int, "denoising steps"),
    "guidance": (float, "guidance scale"),
    "size": (int, "width and height in pixels"),
    "dtype": (str, "precision of the model"),
    "batch": (int, "pictures per batch"),
    "store": (Path, "where pictures are kept"),
}
"""Options of a run that are passed on to the making of pictures."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of both subcommands."""
    commands = parser.add_subparsers(dest="what", required=True, metavar="train|evaluate")
    train = commands.add_parser("train", help="train heads on pictures of contents in styles")
    _of_pictures(train)
    train.add_argument("--encoder", default=ENCODER, metavar="NAME", help=f"below ({ENCODER})")
    train.add_argument("--out", type=Path, default=Path("goya.safetensors"), metavar="FILE")
    train.add_argument(
        "--content-distance", choices=DISTANCES, default="text",
        help="which contents are the same: by their texts' distance, or the same words alone",
    )  # fmt: skip
    train.add_argument("--threshold", type=float, default=THRESHOLD, help="of that distance (0.25)")
    train.add_argument("--reading", choices=READINGS, default="means", help="of eq. 2.8")
    train.add_argument("--epochs", type=int, default=100)
    train.add_argument("--pairs-of", type=int, default=512, metavar="N", help="pictures per step")
    train.add_argument("--rate", type=float, default=5e-4, help="learning rate at the beginning")
    train.add_argument("--width", type=int, default=2048, help="dimensions of both spaces")
    train.add_argument("--half", action="store_true", help="write numbers of 16 bits")
    evaluate = commands.add_parser("evaluate", help="say what heads are worth on pictures")
    _of_pictures(evaluate)
    evaluate.add_argument(
        "--heads", default="reference", metavar="NAME",
        help="reference, a file of t2i goya train, or the folder of the public release",
    )  # fmt: skip
    evaluate.add_argument("--report", type=Path, default=Path("reports/t2i-goya"), metavar="DIR")
    evaluate.add_argument("--neighbours", type=int, default=5, metavar="K", help="nearest pictures")
    evaluate.add_argument("--permutations", type=int, default=999, metavar="N")
    evaluate.add_argument("--level", type=float, default=0.95, help="of intervals")
    evaluate.add_argument("--most", type=int, default=2000, metavar="N", help="pictures compared")


def _of_pictures(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", required=True, metavar="NAME", help="as --t2i-model takes it")
    parser.add_argument("--contents", metavar="LIST", help="by commas, or a file, one on each line")
    parser.add_argument("--styles", metavar="LIST", help="the same; without it the 27 movements")
    parser.add_argument("--styles-per-content", type=int, default=5, metavar="N")
    parser.add_argument(
        "--images", type=int, metavar="N", help="of each prompt (5; of a folder all)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    parser.add_argument("--device", default="auto", help="where model and encoder run")
    for name, (kind, told) in OF_RUNS.items():
        parser.add_argument(f"--{name}", type=kind, help=told)


def run(what: str, **given: Any) -> int:
    """Run a subcommand; 0."""
    from pytest_t2i_goya.features import Asked
    from pytest_t2i_goya.prompts import listed, usual_contents, usual_styles

    for name in ("images", "styles_per_content", "neighbours", "most"):
        if given.get(name) is not None and given[name] < 1:
            raise T2IError(f"expected --{name.replace('_', '-')} of 1 or more, got {given[name]}")
    folder = given["model"].startswith("images:") and given["contents"] is None
    contents = [] if folder else listed(given["contents"], "contents", usual_contents())
    styles = listed(given["styles"], "styles", () if folder else usual_styles())
    options = {name: given[name] for name in OF_RUNS if given[name] is not None}
    asked = Asked(
        given["model"], contents, styles, min(given["styles_per_content"], len(styles) or 1),
        given["images"] or (None if folder else 5), given["seed"],
        {**options, "device": given["device"]},
    )  # fmt: skip
    return _train(asked, given) if what == "train" else _evaluate(asked, given)


def _train(asked: Any, given: dict[str, Any]) -> int:
    from pytest_t2i_goya.train import train
    from pytest_t2i_goya.training import Schedule

    schedule = Schedule(
        given["epochs"], given["pairs_of"], given["rate"], given["reading"],
        width=given["width"], hidden=given["width"], seed=given["seed"],
    )  # fmt: skip
    train(
        asked, schedule, encoder=given["encoder"], distance=given["content_distance"],
        threshold=given["threshold"], out=given["out"], device=given["device"], half=given["half"],
    )  # fmt: skip
    return 0


def _evaluate(asked: Any, given: dict[str, Any]) -> int:
    from pytest_t2i_goya.evaluate import evaluate
    from pytest_t2i_goya.evaluation import How

    if not 0 < given["level"] < 1 or given["permutations"] < 99:  # noqa: PLR2004 - of the statistics
        raise T2IError(
            f"expected a --level in (0, 1) and --permutations of at least 99, got {given['level']} "
            f"and {given['permutations']}"
        )
    how = How(given["level"], given["seed"], given["neighbours"], given["permutations"])
    evaluate(
        asked, given["heads"], how, given["report"], most=given["most"], device=given["device"]
    )
    return 0
