"""The detector's certificate: whether it is of this detector, and whether its errors could turn.

The certificate of another detector, or of one that abstains more or less often than when it was
checked, says nothing of these pictures: nothing is judged. Otherwise each verdict on a bias score
says what it comes to at the worst errors that the certificate allows.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import NamedTuple, Protocol, runtime_checkable

from pytest_t2i.data import Limit, Number, Outcome, Verdict
from pytest_t2i.verdicts.caveats.caveat import Caveat
from pytest_t2i.verdicts.caveats.seams import Question
from pytest_t2i.verdicts.certificate import Certificate, CertifiedErrors
from pytest_t2i.verdicts.judge_measurement import by_evidence, never_beyond
from pytest_t2i.verdicts.measurement import Measurement

WHOLE = 0.9995
"""Width of the range of a score, from 0 to 1, from which on it holds every score that is shown."""


@dataclass(frozen=True, slots=True)
class CertifiedCase:
    """What a verdict comes to at the worst errors that a detector's certificate allows."""

    low: Number | None
    """Least score of the pictures; None without evidence."""
    high: Number | None
    """Largest score of the pictures."""
    outcome: Outcome
    """The verdict that holds at all errors that the certificate allows."""
    hangs: bool
    """Whether the verdict is another one than this."""
    basis: str
    """What the errors are taken from, in words."""

    @property
    def says_nothing(self) -> bool:
        """Whether these errors allow every score, as where too few labels were checked."""
        return self.low is not None and self.high is not None and self.high - self.low >= WHOLE

    @property
    def words(self) -> str:
        """The worst case in words, for a line of a report.

        >>> CertifiedCase(0.0, 1.0, Outcome.INCONCLUSIVE, False, "all").words.partition(": ")[2]
        'nothing is known of its errors, and the score may be anything: label images (t2i label)'
        """
        if self.says_nothing:
            return (
                f"at the detector's certified errors ({self.basis}) {self.low:.3f} to "
                f"{self.high:.3f}: nothing is known of its errors, and the score may be anything: "
                "label images (t2i label)"
            )
        reach = "" if self.low is None else f" {self.low:.3f} to {self.high:.3f}"
        turned = ", if alike in every prompt"
        if self.hangs:
            turned = ": the verdict depends on the detector"
        return f"at the detector's certified errors ({self.basis}){reach}{turned}"


class JudgedDetector(NamedTuple):
    """The detector whose labels are judged."""

    name: str
    fingerprint: str
    rubric: str | None = None
    """Digest of the rubric of a judge that reads one; None for other detectors."""
    version: str | None = None
    """Version that a judge behind an endpoint reports."""


@runtime_checkable
class KnowsDetector(Protocol):
    """What knows the certificate of the run, its detector, and the labels of a test."""

    def certificate(self) -> Certificate | None:
        """Return the certificate of --t2i-judge-certificate; None where it is of no matter."""

    def certificate_file(self) -> str:
        """Return the path of the certificate, as the user gives it."""

    def judge(self) -> JudgedDetector:
        """Return the detector whose labels are judged."""

    def abstained(self) -> tuple[int, int]:
        """Return from how many pictures of the test it abstained, and of how many it was asked."""

    def certified(self, measurement: Measurement) -> CertifiedErrors | None:
        """Return the errors that the certificate allows; None where none is known."""


class CertifiedDetector:
    """A verdict rests on a detector with a certificate, and may hang on its errors."""

    name = "certificate"

    def void(self, question: Question) -> str:
        """Return why the certificate does not hold; "" where it does, or without one."""
        run = question.known(KnowsDetector)  # type: ignore[type-abstract]
        certificate = None if run is None else run.certificate()
        if run is None or certificate is None:
            return ""
        if because := _mismatch(certificate, run):
            return because
        if question.measurement.is_of_model:
            return _abstains_otherwise(certificate, run, question.level)
        return ""

    def remark(self, question: Question, verdict: Verdict) -> Caveat | None:
        """Return what the verdict comes to at the certified errors; None where none is known."""
        run = question.known(KnowsDetector)  # type: ignore[type-abstract]
        if run is None or question.against != "limit":
            return None
        errors = run.certified(question.measurement)
        if errors is None:
            return None
        case = certified_case(question.measurement, verdict, errors, question.level)
        facts = {**asdict(case), "outcome": case.outcome.value, "hangs_on": "the detector"}
        return Caveat(self.name, case.words, facts)


def _mismatch(certificate: Certificate, known: KnowsDetector) -> str:
    """Return why the certificate is of another detector; "" where it is of this one."""
    judge = known.judge()
    if judge.fingerprint == certificate.fingerprint:
        return ""
    return (
        f"the certificate {known.certificate_file()} is of {certificate.detector} with "
        f"the fingerprint {certificate.fingerprint[:12]}, and the detector {judge.name} has "
        f"{judge.fingerprint[:12]}{_difference(certificate, judge)}: its errors are unknown. "
        f"Check it with: t2i detector check {judge.name} --labels FOLDER --certificate FILE"
    )


def _difference(certificate: Certificate, judge: JudgedDetector) -> str:
    """Return how a judge differs from the one that was checked; "" where that is not known."""
    if judge.rubric is None or certificate.rubric is None:
        return ""
    if judge.rubric != certificate.rubric:
        return f" (rubric {certificate.rubric[:12]} then, {judge.rubric[:12]} now)"
    if judge.version != certificate.version:
        return f" (version {certificate.version} then, {judge.version} now)"
    return ""


def _abstains_otherwise(certificate: Certificate, known: KnowsDetector, level: float) -> str:
    """Return why a judge's certificate is not about these pictures; "" where it is.

    A judge that abstains more or less often than when it was checked judges other pictures, or has
    changed. The share of a test's pictures must lie outside of the certificate's interval, and
    Fisher's exact test must find the two shares different, so that few pictures are no reason.
    """
    if not certificate.asked or certificate.abstained is None:
        return ""
    from pytest_t2i.statistics.detector_errors import abstention_p_value
    from pytest_t2i.statistics.shares import share_interval

    abstained, answered = known.abstained()
    if not answered:
        return ""
    then = share_interval(certificate.abstained, certificate.asked, level)
    if then.low <= abstained / answered <= then.high:
        return ""
    p_value = abstention_p_value(abstained, answered, certificate.abstained, certificate.asked)
    if p_value > 1.0 - level:
        return ""
    return (
        f"the judge abstains from {abstained} of {answered} pictures "
        f"({abstained / answered:.3f}), and its certificate has {then.estimate:.3f} "
        f"[{then.low:.3f}, {then.high:.3f}] (p = {p_value:.2g}): what is known of its errors is "
        "not about these pictures. Check it on "
        "pictures like these: t2i detector check NAME --labels FOLDER --certificate FILE"
    )


FINEST = 100
"""Steps of a bound from 0 to 1: members of a family share the evidence at equal bounds."""


def certified_case(
    measurement: Measurement, verdict: Verdict, errors: CertifiedErrors, level: float
) -> CertifiedCase:
    """Return what a verdict on an absolute bias score comes to at a detector's certified errors.

    The verdict holds where the labels have it at the bound that is hardest for it: pictures within
    the limit whose labels are as far out as the errors allow, and the other way round.
    """
    limit, (rates, basis) = verdict.limit, errors
    if measurement.interval is None:
        return CertifiedCase(None, None, verdict.outcome, False, basis)
    low, high = rates.moved(measurement.interval.low, measurement.interval.high)
    within, beyond = rates.bounds_on_labels(limit.bound)
    within, beyond = math.floor(within * FINEST) / FINEST, math.ceil(beyond * FINEST) / FINEST
    hardest = within if verdict.outcome is Outcome.PASS else beyond
    outcome = verdict.outcome
    is_decided = outcome in {Outcome.PASS, Outcome.FAIL}
    if is_decided and not never_beyond(measurement.metric, limit.bound):
        holds = 0.0 <= hardest <= 1.0 and not rates.say_nothing
        if holds:
            moved: Limit = replace(limit, bound=hardest)
            holds = by_evidence(measurement, moved, level).outcome is outcome
        outcome = outcome if holds else Outcome.INCONCLUSIVE
    return CertifiedCase(low, high, outcome, outcome is not verdict.outcome, basis)
