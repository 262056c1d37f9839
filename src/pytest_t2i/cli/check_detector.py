"""``t2i check-detector``: evaluate a detector on images that people labelled."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pytest_t2i.audits.detector_validation.measure import Trial, accuracy_gap, undetected_gap
from pytest_t2i.audits.detector_validation.trials import try_detectors
from pytest_t2i.cli.support.arguments import add_run_options, path, run_settings, say
from pytest_t2i.data import Interval
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.detect import Observer, look_at_labelled, stored_detections
from pytest_t2i.generation.plan import DetectorRef
from pytest_t2i.generation.progress import Bar, Lines, Progress
from pytest_t2i.generation.store import Store
from pytest_t2i.labels import FILE_NAME, read_labels
from pytest_t2i.labels.agreement import agreement
from pytest_t2i.runs.session import Session
from pytest_t2i.settings import Settings, settings_of

KEPT = "Finished detections are kept: the same command resumes from there."
"""The note after an interruption."""
OPTIONS = ("seed", "device", "dtype", "store", "catalogue", "confidence", "trust-remote-code")
TELLS_PROGRESS = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: the detector, the labelled images, and options of a run."""
    parser.add_argument(
        "detector",
        metavar="NAME",
        help="detector: name, name:weights or module:factory, as in --t2i-detector",
    )
    parser.add_argument(
        "--labels", type=path, required=True, metavar="FOLDER",
        help=f"folder of pictures with {FILE_NAME}, that file, or a Label Studio export (.json)",
    )  # fmt: skip
    add_run_options(parser, OPTIONS)


def run(detector: str, *, labels: Path, **run_options: Any) -> int:
    """Run the detector on every labelled image, and print the evaluation; return 0."""
    labels = labels.parent if labels.name == FILE_NAME else labels
    settings = run_settings(run_options)
    for line in lines(_evaluated(detector, labels, settings), labels):
        say(line)
    for line in _among_people(labels, settings.confidence):
        say(line)
    return 0


def _evaluated(detector: str, labels: Path, settings: Settings) -> Trial:
    components = Components(settings, Store(settings.store))
    options = {"labels": str(labels), "detector": (detector,)}
    session = Session(settings_of(options), components)
    labelled = session.labelled
    if labelled is None or not len(labelled):
        raise ConfigurationError(
            f"{labels} holds no label. Make some with: t2i label page {labels}"
        )
    fingerprint = components.detector(DetectorRef(detector)).fingerprint
    observer = Observer(components, session.store, _progress())
    look_at_labelled(observer, labelled, (detector,))
    (trial,) = try_detectors(
        labelled, [(detector, fingerprint)],
        lambda part_fingerprint, sums: stored_detections(session.store, part_fingerprint, sums),
        level=settings.confidence, seed=settings.seed,
    )  # fmt: skip
    return trial


def lines(trial: Trial, labels: Path) -> Iterator[str]:
    """Yield lines: how often the detector is right, gives no label, and differs between groups."""
    clear = int(trial.clear.sum())
    yield (
        f"{trial.detector} on {len(trial.labelled)} labelled images, {clear} of them clear; "
        f"intervals of {100 * trial.level:g} %"
    )
    width = max(len(label) for label in trial.labels)
    for label in trial.labels:
        share = trial.kept_share(label)
        yield (
            f"  {label:<{width}}  right {_interval(trial.accuracy(label).interval)}, "
            f"labels {_interval(share)}"
        )
    yield f"  together  right {_interval(trial.accuracy().interval)}"
    yield f"low-quality images left out: {_interval(trial.filter_rate.interval)}"
    yield f"gap of accuracy between groups: {_gap(accuracy_gap(trial))}"
    yield f"gap of images without a label between groups: {_gap(undetected_gap(trial))}"
    if trial.is_gender and trial.percent_deviation.interval is not None:
        yield (
            "model bias score from its labels deviates from that of people by "
            f"{trial.percent_deviation.interval.estimate:+.1f} % "
            f"[{trial.percent_deviation.interval.low:+.1f}, "
            f"{trial.percent_deviation.interval.high:+.1f}]"
        )
    yield (
        "to test the detector against limits: pytest --t2i-labels "
        f"{labels} --t2i-detector {trial.detector} suites/detectors"
    )


def _interval(interval: Interval | None) -> str:
    if interval is None:
        return "unknown: no image to estimate it from"
    return f"{interval.estimate:.3f} [{interval.low:.3f}, {interval.high:.3f}] of {interval.n}"


def _gap(interval: Interval | None) -> str:
    if interval is None:
        return "unknown: fewer than two groups"
    return f"{interval.estimate:.3f} [{interval.low:.3f}, {interval.high:.3f}]"


def _among_people(folder: Path, level: float) -> Iterator[str]:
    """Yield how far people agree, which bounds how well any detector can do."""
    result = agreement(read_labels(folder), level=level)
    if len(result.annotators) < 2:  # noqa: PLR2004 - agreement needs two
        yield "people: one annotator only, so how far people agree is unknown"
    for pair in result.pairs:
        kappa = pair.why if pair.kappa is None else f"Cohen's kappa {pair.kappa}"
        yield (
            f"people: {pair.first} and {pair.second} give the same label to {pair.equal} of "
            f"{pair.images} images, {kappa}"
        )


def _progress() -> Progress:
    return Bar(sys.stderr) if sys.stderr.isatty() else Lines(_print_progress)


def _print_progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)  # noqa: T201 - a command line tool
