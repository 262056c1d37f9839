"""``t2i hunt``: search for the most biased combinations of words."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pytest_t2i.cli.support.arguments import add_run_options, path, run_settings, value
from pytest_t2i.cli.support.costs import COST_OPTIONS, paid, validate
from pytest_t2i.cli.support.hunt_output import show
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
from pytest_t2i.search.counts import GroupCounts
from pytest_t2i.search.hunt import HuntResult, hunt
from pytest_t2i.search.hunt_images import Maker, groups_of
from pytest_t2i.search.hunt_json import as_json
from pytest_t2i.search.plan import GENDER, LOOKS, Plan
from pytest_t2i.settings import names as word_list
from pytest_t2i.settings import share, whole
from pytest_t2i.statistics import bias_p_value

KEPT = "Images that were finished are kept: the same command goes on from there."
"""What an interrupted command leaves."""
RUN_OPTIONS = (
    *("model", "detector", "seed", "steps", "guidance", "size", "dtype", "device", "batch"),
    *("catalogue", "store", "confidence", "undetected-alike", "trust-remote-code"),
    *COST_OPTIONS,
)
"""What a hunt has in common with a run of pytest."""
MOST_HELD_OUT = 2000
"""Held-out images beyond which none are suggested."""
BATCH = 32
"""Images that a model with no batch size of its own is given together."""
TELLS_PROGRESS = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Where to search, for what, and with how many images."""
    add_run_options(parser, RUN_OPTIONS, required=("model",))
    parser.add_argument(
        "--axes", type=value(word_list), default=(), metavar="A,B,C", help="axes to take words from"
    )
    parser.add_argument("--axes-file", type=path, metavar="FILE", help="TOML file of own axes")
    parser.add_argument(
        "--template",
        action="append",
        default=[],
        metavar="TEXT",
        help='a beginning to try, such as "a portrait of a person"; may be repeated',
    )
    for name, default, words in (
        ("words", 3, "most words of a combination (3)"),
        ("images", 2000, "images in all (2000)"),
        ("held-out", 30, "images that confirm each finding (30)"),
    ):
        parser.add_argument(
            f"--{name}", type=value(whole(1)), default=default, metavar="N", help=words
        )
    parser.add_argument(
        "--beyond",
        type=value(share),
        default=0.5,
        metavar="X",
        help="bias to look for (0.5); of other groups the excess of a share over an even one",
    )
    parser.add_argument(
        "--out", type=path, default=Path("hunt.json"), metavar="FILE", help="result (hunt.json)"
    )
    parser.add_argument(
        "--fail", action="store_true", help="exit status 1 where a finding was confirmed"
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
    **of_run: Any,
) -> int:
    """Hunt, print the findings and write them; returns the exit status."""
    chosen = _chosen_axes(axes, axes_file, template)
    _check_out(out)
    settings = run_settings(of_run)
    components = Components(settings, Store(settings.store))
    session = Session(settings, components)
    validate(session)
    check_model(components)
    batch = settings.batch or components.model_batch() or BATCH
    plan = Plan(
        chosen,
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
        _tell(f"t2i: {note}")
    result = _hunt(session, plan)
    write_whole(out, (json.dumps(as_json(result, _facts(session)), indent=1) + "\n").encode())
    show(result, settings.model or "", session.detectors[0])
    print(f"written: {out}")  # noqa: T201 - a command line tool
    return int(fail and any(finding.confirmed for finding in result.findings))


def cannot_confirm(plan: Plan) -> str:
    """A warning where not even held-out images of one gender confirm a finding; "" else."""
    error = 1.0 - plan.confidence

    def p_value(n: int) -> float:
        if plan.groups == GENDER:
            return bias_p_value(n, 0, plan.beyond)
        rest = (0,) * (len(plan.groups) - 1)
        return GroupCounts((n, *rest), n).p_value(1, plan.beyond, 0.0)

    enough = (n for n in range(1, MOST_HELD_OUT) if p_value(n) <= error)
    fewest = next(enough, MOST_HELD_OUT)
    if plan.confirm >= fewest:
        return ""
    one = "gender" if plan.groups == GENDER else "group"
    return (
        f"warning: {plan.confirm} held-out images cannot confirm a bias beyond {plan.beyond:g}, "
        f"even if all show one {one}: give --held-out {fewest} or more"
    )


def _labels(session: Session) -> tuple[str, ...]:
    """All that the deciding detector may give."""
    return session.components.detector(DetectorRef(session.detectors[0])).labels


def _hunt(session: Session, plan: Plan) -> HuntResult:
    progress: Progress = Bar(sys.stderr) if sys.stderr.isatty() else Lines(_tell)
    runner = Runner(session.components, session.store, Silent(), session.settings.batch)
    detector = DetectorRef(session.detectors[0])
    maker = Maker(runner, detector, session.generation, plan.seed, plan.groups, progress)
    progress.start(f"hunting with {session.settings.model}", plan.budget)
    try:
        with paid(runner, plan.budget, _tell):
            return hunt(maker, plan, progress.say)
    finally:
        runner.close()
        progress.stop()
        for note in runner.work.notes:
            if not note.startswith(STOPPED):
                progress.say(note)


def _tell(text: str) -> None:
    """Progress and warnings; findings alone go to the standard output."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - a command line tool


def _chosen_axes(
    names_of: Sequence[str], file: Path | None, beginnings: Sequence[str]
) -> tuple[Axis, ...]:
    """The axes by name: of the file first, then those that come with the tool.

    Raises ConfigurationError for a name that neither knows, and for axes that cannot be crossed.
    """
    own = read_axes(file) if file else []
    known = Axes([*builtin_axes(), *own])
    chosen = [known[name] for name in names_of] if names_of else own
    if not chosen:
        raise ConfigurationError("--axes: expected names of axes, such as object,place")
    if beginnings:
        chosen.append(templates(*beginnings))
    if len(chosen) > 1:
        combination([Part(axis, axis.concepts[0]) for axis in chosen])
    return tuple(chosen)


def check_model(components: Components) -> None:
    """Refuse pictures made elsewhere: a hunt has images made as it goes."""
    handle = components.model()
    if handle.lists_images and isinstance(handle.get(), ReadyMade):
        raise ConfigurationError(
            f"{handle.name} is a folder of pictures made elsewhere: a hunt chooses its prompts as "
            "it goes, and needs a model that makes them"
        )


def _check_out(out: Path) -> None:
    """Find out now, before an image is made, that the result cannot be written."""
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
