"""The detector of a run and its certificate: how often it abstains, the errors it may make.

Errors are those of the worst group of one attribute. Where a second detector of the run tells the
groups of the pictures, such as their age, errors are weighted by these groups.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from pytest_t2i.audits.engine.samples import Sample
from pytest_t2i.data import Detection, Prompt
from pytest_t2i.generation.plan import DetectorRef
from pytest_t2i.labels.attributes import Grouping
from pytest_t2i.runs.session.results import Results
from pytest_t2i.runs.session.selection import SelectedTest
from pytest_t2i.runs.session.session import Session
from pytest_t2i.runs.session.vlm_judges import judges_of
from pytest_t2i.verdicts.caveats.certificate import JudgedDetector
from pytest_t2i.verdicts.certificate import (
    FEMALE,
    MALE,
    Certificate,
    CertifiedErrors,
    Split,
    error_rates,
)
from pytest_t2i.verdicts.measurement import Measurement

UNKNOWN = ""
"""Group of a picture of which no detector tells the group."""


def judge_of(session: Session) -> JudgedDetector:
    """Return the detector whose labels are judged; of a judge that reads a rubric, also this."""
    name = session.detectors[0]
    fingerprint = session.components.detector(DetectorRef(name)).fingerprint
    judge = judges_of(session).get(name)
    if judge is None:
        return JudgedDetector(name, fingerprint)
    facts = judge.provenance
    return JudgedDetector(name, fingerprint, facts["rubric"], facts.get("version"))


def certified_errors(
    results: Results, test: SelectedTest, measurement: Measurement
) -> CertifiedErrors | None:
    """Return the errors that the certificate allows in a measurement; None where none is known."""
    certificate = results.session.certificate
    if certificate is None or not certificate.knows_genders:
        return None
    # People's labels stand in for the detector's, and correct its errors.
    method = "" if measurement.interval is None else measurement.interval.method
    metrics = {metric for audit in results.audits for metric in audit.certified}
    if measurement.name not in metrics or "ppi++" in method:
        return None
    subject = "" if measurement.is_of_model else measurement.subject
    prompts = [prompt for prompt in test.selection.prompts if prompt.id == subject]
    key = ("certified errors", test.node_id, subject if prompts else "")
    return results.once(
        key, partial(_errors, certificate, results, test, prompts or test.selection.prompts)
    )


def _errors(
    certificate: Certificate, results: Results, test: SelectedTest, prompts: Sequence[Prompt]
) -> CertifiedErrors:
    level = results.settings.confidence
    samples = [results.one_sample(prompt, test) for prompt in prompts]
    splits = [split for split in certificate.splits if len(split.attributes) == 1]
    for split in splits:
        for name in results.detectors[1:]:
            if weights := list(_weights(results, samples, split, name)):
                rates = error_rates(split, level, weights)
                (attribute,) = split.attributes
                return rates, f"by {attribute}, which {name} tells"
    candidates = splits or list(certificate.splits)
    ranges = [(error_rates(split, level), split) for split in candidates]
    rates, split = max(ranges, key=lambda pair: pair[0].male[1] + pair[0].female[1])
    basis = f"worst group by {split.attributes[0]}" if split.attributes else "of all groups"
    return rates, basis


def _weights(
    results: Results, samples: list[Sample], split: Split, detector: str
) -> Iterator[Mapping[str, float]]:
    """Yield shares of the groups among pictures, as a second detector tells them.

    One mixture is of each prompt, and one each of all pictures said to show men and women, because
    these may differ in age. Nothing is yielded where the detector tells no group.
    """
    by_label: dict[str, Counter[str]] = {MALE: Counter(), FEMALE: Counter()}
    mixtures = []
    for sample in samples:
        detections = results.observations.detections(
            sample.prompt, sample.seeds, DetectorRef(detector)
        )
        groups = [_group(detection, split) for detection in detections]
        counts: Counter[str] = Counter()
        for own, group in zip(sample.detections, groups, strict=True):
            if own.label in by_label:
                by_label[own.label][group] += 1
                counts[group] += 1
        mixtures.append(counts)
    if any(group != UNKNOWN for counts in mixtures for group in counts):
        yield from _shares([*mixtures, *by_label.values()])


def _shares(counts: Iterable[Counter[str]]) -> Iterator[Mapping[str, float]]:
    for of in counts:
        if total := of.total():
            yield {group: number / total for group, number in of.items()}


def _group(detection: Detection, split: Split) -> str:
    """Return the group of a picture; UNKNOWN where it is undetected or no group of the split."""
    (attribute,) = split.attributes
    if split.edges:
        number = detection.scores.get(attribute)
        group = "" if number is None else Grouping(attribute, split.edges).band_of(number)
    else:
        group = detection.label or ""
    return group if group in split.groups else UNKNOWN
