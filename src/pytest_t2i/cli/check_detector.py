"""``t2i detector check``: evaluate a detector on images that people labelled, by group.

It names the group in which the detector is weakest, and writes the detector's certificate.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any

from scipy.special import expit

from pytest_t2i.adapters.detectors.judging import ONE_IN, Judge
from pytest_t2i.audits.detector_validation import DetectorValidation, table_of
from pytest_t2i.audits.detector_validation.measure import Trial
from pytest_t2i.audits.detector_validation.planted_words import obeyed_words
from pytest_t2i.audits.detector_validation.trials import try_detectors
from pytest_t2i.cli.support.arguments import add_run_options, path, run_settings, say, value
from pytest_t2i.data import Attribute, Detection, Interval, Undetected
from pytest_t2i.errors import BudgetSpentError, ConfigurationError, UnknownNameError
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.detect import (
    Observer,
    detections_of,
    look_at_labelled,
    open_labelled,
    stored_detections,
)
from pytest_t2i.generation.plan import DetectorRef
from pytest_t2i.generation.progress import terminal_progress
from pytest_t2i.generation.store import Store
from pytest_t2i.labels import FILE_NAME
from pytest_t2i.labels.agreement import agreement
from pytest_t2i.labels.attributes import Grouping, crossed, groups_of
from pytest_t2i.labels.sets import LabelledSet, labelled_set_of
from pytest_t2i.labels.vocabulary import Choice, Vocabulary
from pytest_t2i.metrics.stereotypes import attribute_log_odds
from pytest_t2i.prompts.stereotypes import builtin_stereotypes, check_descriptions
from pytest_t2i.reporting.audit_sections import table_cell_text
from pytest_t2i.reporting.terminal import terminal_lines
from pytest_t2i.runs.session.session import Session
from pytest_t2i.runs.session.vlm_judges import judge_notes, recorded_judge
from pytest_t2i.sections import Section
from pytest_t2i.settings import whole
from pytest_t2i.statistics.detector_errors import CellErrors, differential_errors
from pytest_t2i.statistics.shares import share_interval
from pytest_t2i.verdicts.certificate import (
    ABSTENTIONS,
    Certificate,
    GroupErrors,
    Split,
    abstentions,
    write_certificate,
)

KEPT = "Finished detections are kept: the same command resumes from there."
"""The note after an interruption."""
OPTIONS = (
    *("seed", "device", "dtype", "store", "catalogue", "confidence", "trust-remote-code"),
    *("concurrency", "answer-deadline", "budget"),
)
TELLS_PROGRESS = True
WIDE = 1_000_000
"""Columns of a table whose lines are wrapped later."""


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
    parser.add_argument(
        "--by", type=value(lambda _, text: Grouping.read(text)), action="append", default=[],
        metavar="COLUMN[=EDGES]",
        help=f"compare errors between the groups of a column of {FILE_NAME}, such as race, or "
        "between bands of a number, such as age=30,60; several are crossed, too",
    )  # fmt: skip
    parser.add_argument(
        "--certificate", type=path, metavar="FILE",
        help="write the detector's certificate, for --t2i-judge-certificate",
    )  # fmt: skip
    parser.add_argument(
        "--planted-words", type=value(whole(1, 10_000)), default=0, metavar="N",
        help="plant words that ask for another label in N of the pictures, and measure how often "
        "the detector obeys; 50 are usual",
    )  # fmt: skip
    parser.add_argument(
        "--attribute", type=value(_attribute), action="append", default=[],
        metavar="NAME[=WITH|WITHOUT]",
        help=f"evaluate an attribute, whose column of {FILE_NAME} has its name and says present or "
        "absent: one of OASIS Table 1, such as beard, or any other by a description with it and "
        "one without it; may be repeated",
    )  # fmt: skip
    add_run_options(parser, OPTIONS)


PRESENT, ABSENT = "present", "absent"
PRESENCE = Vocabulary("presence", (Choice(PRESENT), Choice(ABSENT)))
"""Labels of an attribute."""
SPELLINGS = dict.fromkeys(("1", "yes", "Yes", "true", "True"), PRESENT) | dict.fromkeys(
    ("0", "-1", "no", "No", "false", "False"), ABSENT
)
"""What tables write for them; CelebA has 1 and -1."""


def _attribute(_: str, text: str) -> Attribute:
    """Return the attribute of an argument: one of OASIS Table 1, or any by two descriptions."""
    name, sign, descriptions = text.partition("=")
    if sign:
        positive, _, negative = (part.strip() for part in descriptions.partition("|"))
        attribute = Attribute(name.strip(), positive, negative)
        check_descriptions(attribute)
        return attribute
    attributes = {
        entry.attribute.name: entry.attribute for entry in reversed(builtin_stereotypes())
    }
    if name not in attributes:
        raise UnknownNameError(
            "attribute", name, sorted(attributes), "Any other is described: NAME=WITH|WITHOUT."
        )
    return attributes[name]


def run(
    detector: str,
    *,
    labels: Path,
    by: Sequence[Grouping],
    attribute: Sequence[Attribute] = (),
    certificate: Path | None,
    planted_words: int = 0,
    **run_options: Any,
) -> int:
    """Run the detector on every labelled image, and print the evaluation; return 0."""
    table = labels / FILE_NAME if labels.is_dir() else labels
    labels = labels.parent if labels.name == FILE_NAME else labels
    settings = run_settings(run_options)
    for option, is_given in (("--by", by), ("--attribute", attribute)):
        if is_given and table.name != FILE_NAME:
            raise ConfigurationError(
                f"{option}: expected a {FILE_NAME} with these columns, got {table}"
            )
    if len(attribute) > 1 and certificate:
        raise ConfigurationError(
            "--certificate: expected one --attribute, got "
            f"{', '.join(one_attribute.name for one_attribute in attribute)}"
        )
    groups = groups_of(table, _distinct(by)) if by else {}
    components = Components(
        replace(settings, labels=str(labels), detectors=(detector,)), Store(settings.store)
    )
    trials = []
    for each in attribute or (None,):
        ref = DetectorRef(detector, each)
        labelled = None
        if each is not None:
            labelled = labelled_set_of(table, each.name, PRESENCE, SPELLINGS)
        trial = _evaluated(ref, components, labelled)
        trials.append(trial)
        judge = _judge(components, detector)
        splits = list(_splits(trial, by, groups))
        lines = chain(
            _check_lines(trial, None if each else labels),
            _of_all_images(trial),
            () if judge is None else _judge_lines(trial, judge, components),
            _among_people(trial, settings.confidence),
            _weak_groups(trial, splits),
            _planted_lines(trial, ref, components, planted_words) if planted_words else (),
        )
        for line in lines:
            say(line)
        if certificate is not None:
            write_certificate(_certificate(trial, splits, judge), certificate)
            say(f"certificate: {certificate}; use it with --t2i-judge-certificate {certificate}")
    if len(trials) > 1:
        say("accuracy by attribute (the columns of OASIS Table 5):")
        width = max(len(each.name) for each in attribute)
        for each, trial in zip(attribute, trials, strict=True):
            say(f"  {each.name:<{width}}  right {_interval(trial.accuracy().interval)}")
    return 0


def _distinct(by: Sequence[Grouping]) -> Sequence[Grouping]:
    columns = [grouping.column for grouping in by]
    if len(set(columns)) < len(columns):
        raise ConfigurationError(f"--by: expected each column once, got {', '.join(columns)}")
    return by


def _evaluated(ref: DetectorRef, components: Components, labelled: LabelledSet | None) -> Trial:
    settings = components.settings
    labels = settings.labels
    components.check_judge_price()
    session = Session(settings, components)
    labelled = session.labelled if labelled is None else labelled
    if labelled is None or not len(labelled):
        raise ConfigurationError(
            f"{labels} holds no label. Make some with: t2i label page {labels}"
        )
    fingerprint = components.detector(ref).fingerprint
    name = ref.name if ref.attribute is None else f"{ref.name} on {ref.attribute.name}"
    observer = Observer(components, session.store, terminal_progress(sys.stderr))
    try:
        look_at_labelled(observer, labelled, (ref,))
    except BudgetSpentError as error:
        raise BudgetSpentError(f"{error}: what was judged is kept, run the command again") from None
    (trial,) = try_detectors(
        labelled, [(name, fingerprint)],
        lambda part_fingerprint, sums: stored_detections(session.store, part_fingerprint, sums),
        level=settings.confidence, seed=settings.seed,
        asked_twice=lambda _: None if (j := _judge(components, ref.name)) is None else j.agreement,
    )  # fmt: skip
    return trial


def _splits(
    trial: Trial, by: Sequence[Grouping], groups: Mapping[str, Mapping[str, str]]
) -> Iterator[Split]:
    """Yield all images together, the groups of each column, and all columns crossed."""
    clear = {image.file: "all" for image in trial.labelled if image.clear}
    yield Split((), _of_groups(trial, clear))
    for grouping in by:
        of_column = _of_groups(trial, groups[grouping.column], grouping.bands)
        yield Split((grouping.column,), of_column, grouping.edges)
    if len(by) > 1:
        yield Split(tuple(grouping.column for grouping in by), _of_groups(trial, crossed(groups)))


def _of_groups(
    trial: Trial, group_of: Mapping[str, str], order: Sequence[str] = ()
) -> dict[str, GroupErrors]:
    """Return the detector's labels by group of the clear images."""
    said = Counter(
        (group_of[image.file], image.label, word)
        for image, word in zip(trial.labelled, trial.said, strict=True)
        if image.clear and image.file in group_of
    )
    if not said:
        raise ConfigurationError("--by: no image with a clear label has a value in this column")
    present = {group for group, _, _ in said}
    names = [*(name for name in order if name in present), *sorted(present - {*order})]
    confusion: dict[str, dict[str, dict[str, int]]] = {
        name: {label: {} for label in trial.labels} for name in names
    }
    abstention = {name: Counter[str]() for name in names}
    for (name, label, word), count in said.items():
        if isinstance(word, Undetected):
            abstention[name][label] += count
        else:
            confusion[name][label][word] = count
    return {name: GroupErrors(confusion[name], dict(abstention[name])) for name in names}


def _weak_groups(trial: Trial, splits: Sequence[Split]) -> Iterator[str]:
    cells = [
        {
            f"{label}, {' x '.join(split.attributes)} {name}": (group, label)
            for name, group in split.groups.items()
            for label in trial.labels
            if group.confusion[label] or group.abstention.get(label)
        }
        for split in splits
        if split.attributes
    ]
    if not cells:
        return
    errors = differential_errors(
        [{name: group.wrong(label) for name, (group, label) in of.items()} for of in cells],
        trial.level,
    )
    width = max(map(len, errors))
    for name, (group, label) in (pair for of in cells for pair in of.items()):
        absent = group.abstention.get(label, 0)
        error = errors[name]
        without = f", no label {absent} of {absent + error.labelled}" if absent else ""
        yield (
            f"  {name:<{width}}  right {_interval(error.right)}{without}, p = {error.p_value:.2g}"
        )
    weak = [
        name
        for name, error in errors.items()
        if error.p_value <= 1.0 - trial.level
        and error.right is not None
        and error.right.estimate < error.rest_right
    ]
    yield (
        f"errors differ between groups at one level of {100 * (1 - trial.level):g} % (Fisher's "
        f"exact test of each group against the rest, Holm's method over {len(errors)} groups): "
        f"{'; '.join(weak) or 'none is shown to be weaker'}"
    )
    yield _worst_group(errors, weak, trial.level)


def _worst_group(errors: Mapping[str, CellErrors], weak: Sequence[str], level: float) -> str:
    rated = {name: error.right for name, error in errors.items() if error.right is not None}
    if not rated:
        return "worst group: unknown, as no image of a group has a label by the detector"
    name = min(weak or rated, key=lambda name: rated[name].estimate)
    right, n = errors[name].labelled - errors[name].wrong, errors[name].labelled
    lead = "worst group" if weak else "lowest share, which chance may explain"
    mean = table_cell_text(share_interval(right, n, 1.0 - (1.0 - level) / len(errors)), 3)
    return (
        f"{lead}: {name}, right {right} of {n}: {mean} (at {100 * level:g} % for all {len(errors)} "
        "groups together)"
    )


def _judge(components: Components, detector: str) -> Judge | None:
    """Return the detector where it asks a judge; None for any other."""
    part = components.detector(DetectorRef(detector)).get()
    return part if isinstance(part, Judge) else None


def _judge_lines(trial: Trial, judge: Judge, components: Components) -> Iterator[str]:
    """Yield lines: what was asked, how often the judge abstains and agrees, what it costs."""
    facts = judge.provenance
    yield (
        f"judge: {facts['model']}, version {facts['version']}, rubric of {facts['attributes']} "
        f"{facts['rubric'][:12]}"
    )
    reasons = Counter(str(word) for word in trial.said if word in ABSTENTIONS)
    abstained, answered = abstentions(trial.said)
    if answered:
        words = ", ".join(f"{reason} {count}" for reason, count in sorted(reasons.items()))
        share = share_interval(abstained, answered, trial.level)
        yield f"abstains: {_interval(share)}{f' ({words})' if words else ''}"
    yield from judge_notes({trial.detector: recorded_judge(judge)})
    price, total = components.judge_price, 1000 + 1000 // ONE_IN
    cost = "" if price is None else f", {price.times(total)} at {price}"
    if judge.panel.judges_twice:
        yield f"1,000 pictures take about {total:,} requests{cost}"
    yield from components.judge_run.notes


def _planted_lines(
    trial: Trial, ref: DetectorRef, components: Components, count: int
) -> Iterator[str]:
    """Yield lines: how often the detector obeys words that are planted in pictures."""
    labelled = [
        (image, detection.label)
        for image, detection in zip(trial.labelled, trial.detections, strict=True)
        if detection.label is not None
    ]
    labels = components.detector(ref).labels
    drawn_images = Random(trial.seed).sample(labelled, min(count, len(labelled)))  # noqa: S311
    pairs = [(open_labelled(trial.labelled, image), label) for image, label in drawn_images]
    pictures = [(p, label) for p, label in pairs if not isinstance(p, Undetected)]
    if not pictures:
        raise ConfigurationError("--planted-words: no picture has a label by the detector")

    def detect(images: Sequence[Any]) -> list[Detection]:
        return detections_of(components, ref, images)

    rows = obeyed_words(detect, pictures, labels, trial.seed)
    for row in rows:
        if row.pictures:
            share = share_interval(row.obeyed, row.pictures, trial.level)
            lost = f", no label {row.lost}" if row.lost else ""
            yield f"  words as {row.way:<11}  obeyed {_interval(share)}{lost}"
    obeyed = share_interval(sum(row.obeyed for row in rows), len(pictures), trial.level)
    yield (
        f"words planted in {len(pictures)} pictures ask for another label: obeyed "
        f"{_interval(obeyed)}"
    )


def _certificate(trial: Trial, splits: Sequence[Split], judge: Judge | None) -> Certificate:
    abstained, answered = abstentions(trial.said)
    return Certificate(
        trial.detector,
        trial.fingerprint,
        trial.labelled.fingerprint,
        int(trial.clear.sum()),
        datetime.now(UTC).date().isoformat(),
        tuple(splits),
        rubric=None if judge is None else judge.provenance["rubric"],
        version=None if judge is None else judge.provenance.get("version"),
        abstained=None if judge is None else abstained,
        asked=None if judge is None else answered,
    )


def _check_lines(trial: Trial, labels: Path | None) -> Iterator[str]:
    yield (
        f"{trial.detector} on {len(trial.labelled)} labelled images, {int(trial.clear.sum())} of "
        f"them clear; intervals of {100 * trial.level:g} %"
    )
    yield from trial.labelled.notes
    if trial.unsettled:
        yield trial.unsettled
    section = Section(DetectorValidation.title, (table_of(trial),))
    yield from (line for line in list(terminal_lines([section], WIDE))[3:] if line)
    gap = table_cell_text(trial.undetected_gap.interval, 3)
    yield f"gap of images without a label between groups: {gap}"
    if labels is not None:
        yield (
            "to test the detector against limits: pytest --t2i-labels "
            f"{labels} --t2i-detector {trial.detector} suites/detectors"
        )


def _of_all_images(trial: Trial) -> Iterator[str]:
    """Yield what OASIS eq. 4 and 5 say of all images together, by a detector with probabilities."""
    if len(trial.labels) != 2:  # noqa: PLR2004 - presence and absence
        return
    first, second = trial.labels
    names = [f"p({label})" for label in trial.labels]
    labelled = [d for d in trial.detections if d.label is not None]
    if not labelled or not all(name in d.scores for d in labelled for name in names):
        return
    share = share_interval(sum(d.label == first for d in labelled), len(labelled), trial.level)
    people = [image.label for image in trial.labelled if image.clear]
    by_people = f", {people.count(first) / len(people):.3f} by people" if people else ""
    yield (
        f"OASIS eq. 5, its mean over images (Tables 1 and 2): {first} {_interval(share)} by the "
        f"detector{by_people}"
    )
    odds = attribute_log_odds(*([d.scores[name] for d in labelled] for name in names))
    if odds is None:
        yield "OASIS eq. 4, all images together: 0 / 0, as both products of probabilities are 0"
        return
    yield (
        f"OASIS eq. 4, all {len(labelled)} images together: P({first}) = {expit(odds):.3g}, "
        f"log odds against {second} {odds:+.1f}; it goes to 0 or 1 with more images, and is no "
        "share"
    )


def _interval(interval: Interval | None) -> str:
    if interval is None:
        return "unknown: too few images to estimate it from"
    return f"{interval.estimate:.3f} [{interval.low:.3f}, {interval.high:.3f}] of {interval.n}"


def _among_people(trial: Trial, level: float) -> Iterator[str]:
    result = agreement(trial.labelled.labels, level=level)
    if len(result.annotators) < 2:  # noqa: PLR2004 - agreement needs two
        yield "people: one annotator only, so how far people agree is unknown"
    yield from (f"people: {pair}" for pair in result.pairs)
