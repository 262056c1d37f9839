"""``t2i label agreement``: compute how far annotators agree, and list where they differ."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from pytest_t2i.cli.support.arguments import add_confidence, path, say
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.labels import ADJUDICATED, Label, read_labels
from pytest_t2i.labels.agreement import Agreement, agreement
from pytest_t2i.reporting.formatting import several

SHOWN = 20
"""The number of disagreements that are listed without ``--all``."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: labels, confidence level, and whether every disagreement is listed."""
    parser.add_argument(
        "source",
        metavar="FOLDER",
        type=path,
        help="folder that holds labels.csv, or a Label Studio export (.json)",
    )
    add_confidence(parser, "confidence level of the intervals")
    parser.add_argument(
        "--all",
        dest="everything",
        action="store_true",
        help=f"list every disagreement, not only the first {SHOWN}",
    )


def run(source: Path, *, level: float, everything: bool) -> int:
    """Print how far the annotators of a folder or a file agree; return 0."""
    labels = read_labels(source)
    if not labels:
        raise ConfigurationError(
            f"{source} holds no label. Make some with: t2i label page {source} --annotator NAME"
        )
    for note in labels.notes:
        say(note)
    for line in _agreement_lines(agreement(labels, level=level), everything=everything):
        say(line)
    return 0


def _agreement_lines(result: Agreement, *, everything: bool = False) -> Iterator[str]:
    if len(result.annotators) == 1:
        yield f"one annotator only ({result.annotators[0]}): agreement needs a second one"
        return
    yield from map(str, result.pairs)
    if result.fleiss is not None:
        yield (
            f"all {len(result.annotators)} annotators: Fleiss' kappa {result.fleiss} "
            f"on {several(result.common, 'image')}"
        )
    # How many images each rule leaves without a label, where the rules can differ.
    if len(result.annotators) > 2:  # noqa: PLR2004 - a majority of two is both
        counts = ", ".join(f"{count} by {rule}" for rule, count in result.unlabelled.items())
        yield f"unsettled of {result.images} images: {counts} (labels.toml sets the rule)"
    yield f"{several(len(result.differing), 'image')} with different labels{_settled(result)}"
    rows = list(result.differing.items())[: None if everything else SHOWN]
    yield from (f"  {file}: {_words(labels)}" for file, labels in rows)
    if len(rows) < len(result.differing):
        yield f"  and {len(result.differing) - len(rows)} more (--all lists them)"


def _settled(result: Agreement) -> str:
    total = len(result.differing)
    count = sum(
        any(x.annotator == ADJUDICATED for x in labels) for labels in result.differing.values()
    )
    if not total:
        return ""
    if count == total:
        return ", settled" if total == 1 else ", all settled"
    if count:
        return f", {count} of them settled (settle the rest with t2i label page FOLDER --review)"
    return f" (settle {'it' if total == 1 else 'them'} with t2i label page FOLDER --review)"


def _words(labels: Sequence[Label]) -> str:
    votes = ", ".join(f"{x.annotator} {x.label}" for x in labels if x.annotator != ADJUDICATED)
    settled = [label.label for label in labels if label.annotator == ADJUDICATED]
    return f"{votes} -> {settled[0]}" if settled else f"{votes} (open)"
