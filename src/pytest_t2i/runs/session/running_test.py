"""One running test: what the run knows of it, which its caveats ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pytest_t2i.data import Limit
from pytest_t2i.runs.record.record import LookRecord
from pytest_t2i.runs.session.calibration import uncalibrated
from pytest_t2i.runs.session.certified import certified_errors, judge_of
from pytest_t2i.runs.session.earlier_looks import earlier_looks
from pytest_t2i.runs.session.repeats import repeats_by_text
from pytest_t2i.runs.session.results import Results
from pytest_t2i.runs.session.selection import SelectedTest
from pytest_t2i.runs.session.shared_seeds import why_seeds_prevent_verdict
from pytest_t2i.verdicts.caveats.calibration import Uncalibrated
from pytest_t2i.verdicts.caveats.certificate import JudgedDetector
from pytest_t2i.verdicts.caveats.equal_pictures import Repeats
from pytest_t2i.verdicts.caveats.run_level import LevelShare
from pytest_t2i.verdicts.certificate import Certificate, CertifiedErrors, abstentions
from pytest_t2i.verdicts.check import Check, JudgingContext, running
from pytest_t2i.verdicts.measurement import Against, Compared, Measurement


@dataclass(frozen=True, slots=True)
class KnownOfTest:
    """What a run knows of a test, in the words that each caveat asks for."""

    results: Results
    test: SelectedTest

    def uncalibrated(self) -> Uncalibrated:
        """Return the prompts that the model is not calibrated for."""
        find = partial(uncalibrated, self.results.session, [self.test.selection])
        return self.results.once(("uncalibrated", self.test.node_id), find)

    def certificate(self) -> Certificate | None:
        """Return the detector's certificate; None for a test that evaluates detectors."""
        return None if self.test.selection.detectors else self.results.session.certificate

    def certificate_file(self) -> str:
        """Return the path of the certificate, as the user gives it."""
        return str(self.results.settings.judge_certificate)

    def judge(self) -> JudgedDetector:
        return judge_of(self.results.session)

    def abstained(self) -> tuple[int, int]:
        """Return from how many pictures of the test it abstained, and of how many it was asked."""

        def find() -> tuple[int, int]:
            samples = (
                self.results.one_sample(prompt, self.test) for prompt in self.test.selection.prompts
            )
            return abstentions(d.said for sample in samples for d in sample.detections)

        return self.results.once(("abstained", self.test.node_id), find)

    def certified(self, measurement: Measurement) -> CertifiedErrors | None:
        """Return the detector's errors that the certificate allows; None where none is known."""
        return certified_errors(self.results, self.test, measurement)

    def why_seeds_prevent_verdict(self) -> str:
        """Return why nothing of the model is judged; "" where prompts have their own seeds."""
        find = partial(why_seeds_prevent_verdict, self.results, [self.test])
        return self.results.once(("shared seeds", self.test.node_id), find)

    def repeats(self) -> Mapping[str, Repeats]:
        """Return the equal pictures of the test's prompts, by text."""

        def find() -> Mapping[str, Repeats]:
            return repeats_by_text(self.results, self.results.make_plan([self.test]))

        return self.results.once(("repeats", self.test.node_id), find)

    def texts_of(self, subject: str) -> AbstractSet[str] | None:
        """Return the texts of a prompt, triplet or stereotype; None for another subject."""
        selection = self.test.selection
        members = {prompt.id: {prompt.text} for prompt in selection.prompts}
        members |= {stereotype.id: {stereotype.prompt.text} for stereotype in selection.stereotypes}
        members |= {three.id: {p.text for p in three} for three in selection.triplets}
        matching = (
            texts for name, texts in members.items() if f"{subject} ".startswith(f"{name} ")
        )
        return next(matching, None)

    def name_of(self, text: str) -> str:
        return self.results.make_plan([self.test]).prompts[text].name

    def earlier_looks(self, metric: str, against: Against, bound: float) -> Sequence[LookRecord]:
        return earlier_looks(self.results, self.test, metric, against, bound)


@contextmanager
def judging(
    results: Results,
    node_id: str,
    record: Callable[[Check], None],
    keep: Callable[[Compared], None],
    limits: Mapping[str, Limit],
    limits_file: Path | None = None,
) -> Iterator[None]:
    """Judge the comparisons of a test in this context; ``record`` takes each check."""
    settings, test = results.settings, results.session.tests.get(node_id)
    run_level = results.session.run_level
    context = JudgingContext(
        node_id,
        limits,
        limits_file,
        settings.inconclusive,
        settings.confidence,
        record,
        None if run_level is None or test is None else LevelShare(run_level, test.counted),
        keep,
        None if test is None else KnownOfTest(results, test),
        results.session.caveats,
    )
    token = running.set(context)
    try:
        yield
    finally:
        running.reset(token)
