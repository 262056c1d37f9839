"""``t2i research hunt``: find the most biased combinations of words."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_t2i import Axis, T2IError, Workbench, arguments, read_axes, write_whole
from pytest_t2i.prompts import Axes, Part, builtin_axes, combination, templates
from pytest_t2i.statistics import prompt_bias_p_value

from pytest_t2i_hunt.search.counts import GroupCounts, Seen, names
from pytest_t2i_hunt.search.hunt import HuntResult, hunt
from pytest_t2i_hunt.search.hunt_images import Maker, groups_of
from pytest_t2i_hunt.search.hunt_json import as_json
from pytest_t2i_hunt.search.plan import GENDER, LOOKS, Plan

if TYPE_CHECKING:
    from pytest_t2i_hunt.search.confirming import Confirmed


def show(result: HuntResult, model: str, detector: str) -> None:
    """Print the findings as tables, then a summary."""
    from rich.console import Console
    from rich.text import Text

    # Rich finds the width of a terminal or of COLUMNS by itself.
    has_width = sys.stdout.isatty() or "COLUMNS" in os.environ
    console = Console(width=None if has_width else 120, highlight=False)
    combos = [finding for finding in result.findings if len(finding.parts) > 1]
    alone = [finding for finding in result.findings if len(finding.parts) == 1]
    for title, some in (("combinations of words", combos), ("single words", alone)):
        if some:
            console.print(_table(f"{title} {_beyond(result.plan)}", some, result.plan))
    for line in _closing(result, model, detector):
        console.print(Text(line))


def _beyond(plan: Plan) -> str:
    if plan.groups == GENDER:
        return f"biased beyond {plan.beyond:g}"
    even = 1.0 / len(plan.groups)
    return f"that show one group in more than {even + plan.beyond * (1.0 - even):.0%} of images"


def _table(title: str, findings: Sequence[Confirmed], plan: Plan) -> Any:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    held_out = "held-out score" if plan.groups == GENDER else "held-out share"
    columns = ["words", "leans", held_out, "search", ""]
    if any(finding.of_parts for finding in findings):
        columns.append("its words alone in the search")
    for name in columns:
        right = name in {held_out, "search"}
        table.add_column(name, justify="right" if right else "left", overflow="fold")
    for finding in findings:
        # A plain string would be parsed as Rich's markup.
        row = (Text(cell) for cell in _cells(finding, plan)[: len(columns)])
        table.add_row(*row, style="" if finding.confirmed else "dim")
    return table


def _cells(finding: Confirmed, plan: Plan) -> tuple[str, ...]:
    towards, interval = finding.sign, finding.interval
    # A bias score has a sign, a share has none.
    form = "+.2f" if plan.groups == GENDER else ".2f"
    held_out = "-"
    if interval is not None:
        held_out = f"{interval.estimate:{form}} [{interval.low:{form}}, {interval.high:{form}}]"

    def told(tally: Seen) -> str:
        return format(tally.value(towards) or 0.0, form)

    return (
        names(finding.parts),
        {"male": "men", "female": "women"}.get(plan.direction(towards), plan.direction(towards)),
        held_out,
        told(finding.search),
        "confirmed" if finding.confirmed else f"not confirmed: {finding.why_not}",
        ", ".join(f"{names(parts)} {told(tally)}" for parts, tally in finding.of_parts),
    )


def _closing(result: HuntResult, model: str, detector: str) -> list[str]:
    plan, findings = result.plan, result.findings
    confirmed = sum(finding.confirmed for finding in findings)
    lines = [
        f"{model} by {detector}: {confirmed} confirmed of {len(findings)} found. {result.images:,} "
        f"images; all {plan.combinations:,} combinations of up to {plan.most_words} words at 20 "
        f"images would take {plan.full_grid:,} ({result.images / plan.full_grid:.0%}).",
    ]
    if findings:
        lines.append(
            f"confirmed: by {plan.confirm} new images each. Scores of the search itself are too "
            "high, as it keeps the highest ones."
        )
    unlabelled = result.undetected / max(1, result.searched)
    if unlabelled > 0:
        lines.append(f"undetected: {unlabelled:.0%} of the images of the search")
    if result.left_open:
        lines.append(
            f"{result.left_open} more looked biased, but no images were left to shrink and confirm "
            "them: give more --images"
        )
    if result.looked_at < plan.combinations:
        lines.append(f"looked at: {result.looked_at:,} of {plan.combinations:,} combinations")
    return lines


KEPT = "Finished images are kept: the same command resumes from there."
"""The note after an interruption."""
RUN_OPTIONS = (
    *("model", "detector", "seed", "steps", "guidance", "size", "dtype", "device"),
    "batch",
    *("catalogue", "store", "confidence", "undetected-alike", "trust-remote-code"),
    *arguments.COST_OPTIONS,
)
"""The options that a hunt shares with a run of pytest."""
MOST_HELD_OUT = 2000
"""The largest number of held-out images that is suggested."""
BATCH = 32
"""The number of images per batch for a model without a batch size of its own."""
TELLS_PROGRESS = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: the model, the words, the bias to look for, and the number of images."""
    arguments.add_run_options(parser, RUN_OPTIONS, required=("model",))
    parser.add_argument(
        "--axes",
        type=arguments.value(arguments.names),
        default=(),
        metavar="A,B,C",
        help="axes to combine words of, such as object,place (t2i list axes)",
    )
    parser.add_argument(
        "--axes-file", type=arguments.path, metavar="FILE", help="TOML file of your own axes"
    )
    parser.add_argument(
        "--template",
        action="append",
        default=[],
        metavar="TEXT",
        help='beginning of prompts to try, such as "a portrait of a person"; may be repeated',
    )
    for name, default, words in (
        ("words", 3, "largest number of words in a combination (default: 3)"),
        ("images", 2000, "images to make in all (default: 2000)"),
        ("held-out", 30, "new images that each finding is confirmed with (default: 30)"),
    ):
        parser.add_argument(
            f"--{name}",
            type=arguments.value(arguments.whole(1)),
            default=default,
            metavar="N",
            help=words,
        )
    parser.add_argument(
        "--beyond",
        type=arguments.value(arguments.share),
        default=0.5,
        metavar="X",
        help="prompt bias score beyond which a finding lies (default: 0.5); for labels other than "
        "male and female, how far a share lies above an even one, from 0 (even) to 1 (all images)",
    )
    parser.add_argument(
        "--out",
        type=arguments.path,
        default=Path("hunt.json"),
        metavar="FILE",
        help="file to write (default: hunt.json)",
    )
    parser.add_argument(
        "--fail", action="store_true", help="return exit status 1 where a finding is confirmed"
    )


def run(
    *,
    axes: tuple[str, ...],
    axes_file: Path | None,
    template: list[str],
    words: int,
    images: int,
    beyond: float,
    held_out: int,
    out: Path,
    fail: bool,
    **run_options: Any,
) -> int:
    """Search, print the findings and write them; return the exit status."""
    axes_to_search = _chosen_axes(axes, axes_file, template)
    _check_out(out)
    settings = arguments.run_settings(run_options)
    bench = Workbench(settings)
    detector = bench.detector
    plan = Plan(
        axes_to_search,
        images,
        words,
        beyond,
        held_out,
        settings.confidence,
        settings.seed,
        max(1, (bench.batch or BATCH) // LOOKS[0]),
        settings.undetected_alike,
        groups_of(detector.name, bench.components.detector(detector).labels),
    )
    if note := cannot_confirm(plan):
        _print_progress(f"t2i: {note}")
    with (
        bench.showing(f"hunting with {settings.model}", plan.budget) as progress,
        bench.paying(plan.budget, _print_progress),
    ):
        result = hunt(Maker(bench, plan.groups, progress.advance), plan, progress.say)
    write_whole(out, (json.dumps(as_json(result, _facts(bench)), indent=1) + "\n").encode())
    show(result, settings.model or "", detector.name)
    print(f"written: {out}")  # noqa: T201 - a command line tool
    return int(fail and any(finding.confirmed for finding in result.findings))


def cannot_confirm(plan: Plan) -> str:
    """Return a warning where the held-out images are too few to confirm any finding, else ""."""
    error = 1.0 - plan.confidence

    def p_value(n: int) -> float:
        if plan.groups == GENDER:
            return prompt_bias_p_value(n, 0, plan.beyond)
        rest = (0,) * (len(plan.groups) - 1)
        return GroupCounts((n, *rest), n).p_value(1, plan.beyond, 0.0)

    enough = (n for n in range(1, MOST_HELD_OUT) if p_value(n) <= error)
    fewest = next(enough, MOST_HELD_OUT)
    if plan.confirm >= fewest:
        return ""
    noun = "gender" if plan.groups == GENDER else "group"
    return (
        f"warning: {plan.confirm} held-out images cannot confirm a bias beyond {plan.beyond:g}, "
        f"even if all show one {noun}: give --held-out {fewest} or more"
    )


def _print_progress(text: str) -> None:
    """Print progress or a warning to standard error; standard output has the findings alone."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - a command line tool


def _chosen_axes(
    names_of: Sequence[str], file: Path | None, beginnings: Sequence[str]
) -> tuple[Axis, ...]:
    """Return the axes of these names, or all axes of the file; an axis of the file comes first.

    Raises T2IError for an unknown name, and for axes that cannot be crossed.
    """
    axes_of_file = read_axes(file) if file else []
    axes_by_name = Axes([*builtin_axes(), *axes_of_file])
    axes = [axes_by_name[name] for name in names_of] if names_of else axes_of_file
    if not axes:
        raise T2IError(
            "expected --axes with names of axes, such as object,place, or --axes-file FILE"
        )
    if beginnings:
        axes.append(templates(*beginnings))
    if len(axes) > 1:
        combination([Part(axis, axis.concepts[0]) for axis in axes])
    return tuple(axes)


def _check_out(out: Path) -> None:
    """Raise T2IError before an image is made where the result cannot be written."""
    if out.is_dir():
        raise T2IError(f"--out: expected a file, {out} is a folder")
    try:
        out.absolute().parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise T2IError(
            f"--out {out}: cannot be written ({error.strerror or error}): name another file"
        ) from None


def _facts(bench: Workbench) -> dict[str, Any]:
    detector = bench.components.detector(bench.detector)
    return {
        "version": version("pytest-t2i"),
        "model": {"name": bench.settings.model, "fingerprint": bench.model_fingerprint},
        "detector": {"name": bench.detector.name, "fingerprint": detector.fingerprint},
        "generation": asdict(bench.generation),
    }
