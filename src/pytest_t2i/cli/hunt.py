"""``t2i hunt``: search for the most biased combinations of words."""

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

from pytest_t2i.cli.support.arguments import add_run_options, path, run_settings, value
from pytest_t2i.cli.support.costs import COST_OPTIONS, paid, validate
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.files import explain, write_whole
from pytest_t2i.generation.bill import STOPPED
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.generate import Runner
from pytest_t2i.generation.plan import DetectorRef
from pytest_t2i.generation.progress import Bar, Lines, Progress, Silent
from pytest_t2i.generation.store import Store
from pytest_t2i.prompts import Axes, Axis, builtin_axes, combination, read_axes, templates
from pytest_t2i.prompts.intersections import Part
from pytest_t2i.protocols import ReadyMade
from pytest_t2i.runs.session import Session
from pytest_t2i.search.counts import GroupCounts, Seen, names
from pytest_t2i.search.hunt import HuntResult, hunt
from pytest_t2i.search.hunt_images import Maker, groups_of
from pytest_t2i.search.hunt_json import as_json
from pytest_t2i.search.plan import GENDER, LOOKS, Plan
from pytest_t2i.settings import names as word_list
from pytest_t2i.settings import share, whole
from pytest_t2i.statistics import prompt_bias_p_value

if TYPE_CHECKING:
    from pytest_t2i.search.confirming import Confirmed


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
    *("model", "detector", "seed", "steps", "guidance", "size", "other-size", "dtype", "device"),
    "batch",
    *("catalogue", "store", "confidence", "undetected-alike", "trust-remote-code"),
    *COST_OPTIONS,
)
"""The options that a hunt shares with a run of pytest."""
MOST_HELD_OUT = 2000
"""The largest number of held-out images that is suggested."""
BATCH = 32
"""The number of images per batch for a model without a batch size of its own."""
TELLS_PROGRESS = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: the model, the words, the bias to look for, and the number of images."""
    add_run_options(parser, RUN_OPTIONS, required=("model",))
    parser.add_argument(
        "--axes",
        type=value(word_list),
        default=(),
        metavar="A,B,C",
        help="axes to combine words of, such as object,place (t2i list axes)",
    )
    parser.add_argument("--axes-file", type=path, metavar="FILE", help="TOML file of your own axes")
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
            f"--{name}", type=value(whole(1)), default=default, metavar="N", help=words
        )
    parser.add_argument(
        "--beyond",
        type=value(share),
        default=0.5,
        metavar="X",
        help="prompt bias score beyond which a finding lies (default: 0.5); for labels other than "
        "male and female, how far a share lies above an even one, from 0 (even) to 1 (all images)",
    )
    parser.add_argument(
        "--out",
        type=path,
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
    settings = run_settings(run_options)
    components = Components(settings, Store(settings.store))
    session = Session(settings, components)
    validate(session)
    check_model(components)
    batch = settings.batch or components.model_batch() or BATCH
    plan = Plan(
        axes_to_search,
        images,
        words,
        beyond,
        held_out,
        settings.confidence,
        settings.seed,
        max(1, batch // LOOKS[0]),
        settings.undetected_alike,
        groups_of(session.detectors[0], _labels(session)),
    )
    if note := cannot_confirm(plan):
        _print_progress(f"t2i: {note}")
    result = _hunt(session, plan)
    write_whole(out, (json.dumps(as_json(result, _facts(session)), indent=1) + "\n").encode())
    show(result, settings.model or "", session.detectors[0])
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


def _labels(session: Session) -> tuple[str, ...]:
    """Return all labels of the deciding detector."""
    return session.components.detector(DetectorRef(session.detectors[0])).labels


def _hunt(session: Session, plan: Plan) -> HuntResult:
    progress: Progress = Bar(sys.stderr) if sys.stderr.isatty() else Lines(_print_progress)
    runner = Runner(session.components, session.store, Silent(), session.settings.batch)
    detector = DetectorRef(session.detectors[0])
    maker = Maker(runner, detector, session.generation, plan.seed, plan.groups, progress)
    progress.start(f"hunting with {session.settings.model}", plan.budget)
    try:
        with paid(runner, plan.budget, _print_progress):
            return hunt(maker, plan, progress.say)
    finally:
        runner.close()
        progress.stop()
        for note in runner.work.notes:
            if not note.startswith(STOPPED):
                progress.say(note)


def _print_progress(text: str) -> None:
    """Print progress or a warning to standard error; standard output has the findings alone."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - a command line tool


def _chosen_axes(
    names_of: Sequence[str], file: Path | None, beginnings: Sequence[str]
) -> tuple[Axis, ...]:
    """Return the axes of these names, or all axes of the file; an axis of the file comes first.

    Raises ConfigurationError for an unknown name, and for axes that cannot be crossed.
    """
    axes_of_file = read_axes(file) if file else []
    axes_by_name = Axes([*builtin_axes(), *axes_of_file])
    axes = [axes_by_name[name] for name in names_of] if names_of else axes_of_file
    if not axes:
        raise ConfigurationError(
            "expected --axes with names of axes, such as object,place, or --axes-file FILE"
        )
    if beginnings:
        axes.append(templates(*beginnings))
    if len(axes) > 1:
        combination([Part(axis, axis.concepts[0]) for axis in axes])
    return tuple(axes)


def check_model(components: Components) -> None:
    """Raise ConfigurationError for a folder of pictures: a search needs a model."""
    handle = components.model()
    if handle.lists_images and isinstance(handle.get(), ReadyMade):
        raise ConfigurationError(
            f"{handle.name} is a folder of pictures made elsewhere, but this command chooses its "
            "prompts as it goes: name a model that makes images"
        )


def _check_out(out: Path) -> None:
    """Raise ConfigurationError before an image is made where the result cannot be written."""
    if out.is_dir():
        raise ConfigurationError(f"--out: expected a file, {out} is a folder")
    try:
        out.absolute().parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(explain(out, error)) from None


def _facts(session: Session) -> dict[str, Any]:
    model, detector = session.components.model(), DetectorRef(session.detectors[0])
    return {
        "version": version("pytest-t2i"),
        "model": {"name": session.settings.model, "fingerprint": model.fingerprint},
        "detector": {
            "name": detector.name,
            "fingerprint": session.components.detector(detector).fingerprint,
        },
        "generation": asdict(session.generation),
    }
