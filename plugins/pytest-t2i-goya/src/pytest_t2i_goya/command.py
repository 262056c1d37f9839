"""``t2i goya``: train heads for content and style (GOYA), or evaluate them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pytest_t2i import T2IError

from pytest_t2i_goya.losses import PAIR_LOSSES, READINGS, THRESHOLD
from pytest_t2i_goya.pairs import DISTANCES

ENCODER = "clip:vit-b-32"
"""The encoder of the thesis (section 2.5.4)."""
OF_RUNS: dict[str, tuple[type, str]] = {
    "steps": (int, "denoising steps (default: the model's)"),
    "guidance": (float, "guidance scale (default: the model's)"),
    "size": (int, "width and height in pixels (default: the model's)"),
    "dtype": (str, "number format of the model: float32, float16 or bfloat16 (default: auto)"),
    "batch": (int, "pictures made per batch (default: auto)"),
    "store": (Path, "folder of images (default: .t2i)"),
}
"""The options of a run that are passed on to the making of pictures."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="what", required=True, metavar="train|evaluate")
    words = "train heads on pictures of contents in styles"
    train = commands.add_parser("train", help=words, description=f"{words.capitalize()}.")
    _of_pictures(train)
    train.add_argument(
        "--encoder",
        default=ENCODER,
        metavar="NAME",
        help=f"encoder whose features the heads take (default: {ENCODER})",
    )
    train.add_argument(
        "--out", type=Path, default=Path("goya.safetensors"), metavar="FILE",
        help="file of the heads to write (default: goya.safetensors)",
    )  # fmt: skip
    train.add_argument(
        "--content-distance", choices=DISTANCES, default="text",
        help="which contents count as the same. text: those whose texts are near; same: only equal "
        "texts (default: text)",
    )  # fmt: skip
    train.add_argument(
        "--threshold", type=float, default=THRESHOLD, metavar="X",
        help=f"largest distance of texts that count as the same (default: {THRESHOLD:g})",
    )  # fmt: skip
    train.add_argument(
        "--reading", choices=READINGS, default="means",
        help="loss of thesis eq. 2.8. sums: over all pairs, as printed; means: of positive and of "
        "negative pairs, as in the authors' program (default: means)",
    )  # fmt: skip
    train.add_argument(
        "--loss", choices=PAIR_LOSSES, default="contrastive",
        help="loss of pairs: GOYA's contrastive one, or ntxent or triplet, which the thesis "
        "compares with it in Figure 2.9 (default: contrastive)",
    )  # fmt: skip
    train.add_argument(
        "--no-classifier", action="store_true",
        help="leave the classifier of styles out of the loss, as in Figure 2.9",
    )  # fmt: skip
    train.add_argument(
        "--epochs", type=int, default=100, metavar="N", help="epochs of training (default: 100)"
    )
    train.add_argument(
        "--pairs-of", type=int, default=512, metavar="N",
        help="pictures per training step, which are compared in pairs (default: 512)",
    )  # fmt: skip
    train.add_argument(
        "--rate", type=float, default=5e-4, metavar="X",
        help="learning rate at the beginning (default: 0.0005)",
    )  # fmt: skip
    train.add_argument(
        "--width", type=int, default=2048, metavar="N",
        help="dimensions of both spaces (default: 2048)",
    )  # fmt: skip
    train.add_argument("--half", action="store_true", help="write 16-bit numbers instead of 32-bit")
    words = "evaluate heads on pictures"
    evaluate = commands.add_parser("evaluate", help=words, description=f"{words.capitalize()}.")
    _of_pictures(evaluate)
    evaluate.add_argument(
        "--heads", default="reference", metavar="NAME",
        help="heads: a file of t2i goya train, the folder of the public release, or reference, "
        "which is installed with this companion (default: reference)",
    )  # fmt: skip
    evaluate.add_argument(
        "--report", type=Path, default=Path("reports/t2i-goya"), metavar="DIR",
        help="folder to write the page to (default: reports/t2i-goya)",
    )  # fmt: skip
    evaluate.add_argument(
        "--neighbours", type=int, default=5, metavar="K",
        help="number of nearest pictures for the precision (default: 5)",
    )  # fmt: skip
    evaluate.add_argument(
        "--permutations", type=int, default=999, metavar="N",
        help="permutations of the test of independence, at least 99 (default: 999)",
    )  # fmt: skip
    evaluate.add_argument(
        "--level", type=float, default=0.95, metavar="LEVEL",
        help="confidence level of the intervals (default: 0.95)",
    )  # fmt: skip
    evaluate.add_argument(
        "--most", type=int, default=2000, metavar="N",
        help="number of pictures to compare; of more, whole contents are drawn (default: 2000)",
    )  # fmt: skip


def _of_pictures(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--model",
        required=True,
        metavar="NAME",
        help="model: alias, hub id, folder, images:DIR or module:factory, as in --t2i-model",
    )
    parser.add_argument(
        "--contents", metavar="LIST",
        help="contents: a list with commas, or a file with one on each line (default: 100 texts of "
        "people; for images:DIR, those of its prompts)",
    )  # fmt: skip
    parser.add_argument(
        "--styles", metavar="LIST",
        help="styles, given as contents are (default: 27 art movements; for images:DIR, those of "
        "its prompts)",
    )  # fmt: skip
    parser.add_argument(
        "--styles-per-content", type=int, default=5, metavar="N",
        help="number of styles drawn for each content (default: 5)",
    )  # fmt: skip
    parser.add_argument(
        "--images",
        type=int,
        metavar="N",
        help="images per prompt (default: 5; for images:DIR, all)",
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N",
        help="seed of the pictures, the styles and the computations (default: 0)",
    )  # fmt: skip
    parser.add_argument(
        "--device", default="auto",
        help="device of model and encoder: auto, cpu, cuda or mps (default: auto)",
    )  # fmt: skip
    for name, (kind, told) in OF_RUNS.items():
        parser.add_argument(f"--{name}", type=kind, help=told)


def run(what: str, **given: Any) -> int:
    """Run a subcommand; return 0."""
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
        pairs=given["loss"], classifies=not given["no_classifier"],
    )  # fmt: skip
    train(
        asked, schedule, encoder=given["encoder"], distance=given["content_distance"],
        threshold=given["threshold"], out=given["out"], device=given["device"], half=given["half"],
    )  # fmt: skip
    return 0


def _evaluate(asked: Any, given: dict[str, Any]) -> int:
    from pytest_t2i_goya.evaluate import evaluate
    from pytest_t2i_goya.evaluation import How

    if not 0 < given["level"] < 1 or given["permutations"] < 99:  # noqa: PLR2004 - as the statistics require
        raise T2IError(
            "expected --level between 0 and 1 and --permutations of at least 99, got "
            f"{given['level']} and {given['permutations']}"
        )
    how = How(given["level"], given["seed"], given["neighbours"], given["permutations"])
    evaluate(
        asked, given["heads"], how, given["report"], most=given["most"], device=given["device"]
    )
    return 0
