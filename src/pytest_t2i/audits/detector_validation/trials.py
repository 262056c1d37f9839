"""Evaluations of several detectors, each on the same labelled images."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from pytest_t2i.audits.detector_validation.measure import Trial
from pytest_t2i.audits.engine.context import AskedTest, AuditContext
from pytest_t2i.audits.engine.peoples_labels import unsettled_words
from pytest_t2i.data import Detection
from pytest_t2i.labels import LabelledSet


@dataclass(frozen=True, slots=True, repr=False)
class Trials:
    """Several detectors on the same labelled set, by name.

    >>> import pytest
    >>> from pytest_t2i import Trials, limit
    >>> @pytest.mark.t2i
    ... def test_it(trials: Trials) -> None:
    ...     assert trials["clip-enhance"].filter_recall >= limit("filter_recall", 0.8)
    """

    members: tuple[Trial, ...]

    def __repr__(self) -> str:
        return f"<Trials of {', '.join(member.detector for member in self.members)}>"

    def __iter__(self) -> Iterator[Trial]:
        return iter(self.members)

    def __len__(self) -> int:
        return len(self.members)

    def __getitem__(self, detector: str) -> Trial:
        """Return the trial of a detector by its name; raises KeyError for an unknown one."""
        for member in self.members:
            if member.detector == detector:
                return member
        names = ", ".join(member.detector for member in self.members)
        raise KeyError(f"no trial of {detector!r}; there are: {names}")


def trials(context: AuditContext, test: AskedTest | None = None) -> Trials:
    """Return the trials of every detector of the run on the labelled images, measured once."""
    del test
    return context.once(("trials",), lambda: _trials(context))


def trial(context: AuditContext, test: AskedTest) -> Trial:
    return trials(context)[test.selection.detectors[0]]


def _trials(context: AuditContext) -> Trials:
    return try_detectors(
        context.labelled_images(),
        [(name, context.fingerprint(name)) for name in context.detectors],
        context.detections,
        level=context.settings.interval_level,
        seed=context.settings.seed,
        asked_twice=context.asked_twice,
    )


def try_detectors(
    labelled: LabelledSet,
    detectors: Sequence[tuple[str, str]],
    detections_of: Callable[[str, Sequence[str]], Sequence[Detection]],
    *,
    level: float,
    seed: int,
    asked_twice: Callable[[str], tuple[int, int] | None] = lambda _: None,
) -> Trials:
    """Evaluate detectors on labelled images.

    ``asked_twice`` gives, by the name of a judge, its equal answers and the images that it was
    asked about twice.
    """
    return Trials(
        tuple(
            replace(
                _try(labelled, detector, detections_of, level=level, seed=seed),
                asked_twice=asked_twice(detector[0]),
            )
            for detector in detectors
        )
    )


def _try(
    labelled: LabelledSet,
    detector: tuple[str, str],
    detections_of: Callable[[str, Sequence[str]], Sequence[Detection]],
    *,
    level: float,
    seed: int,
) -> Trial:
    name, fingerprint = detector
    sums = [labelled.checksums[image.file] for image in labelled]
    detections = detections_of(fingerprint, sums)
    by_file = {image.file: detection for image, detection in zip(labelled, detections, strict=True)}
    settled = labelled.settled
    answers = tuple(by_file[image.file] for image in settled)
    unsettled = unsettled_words(labelled, "no verdict on a detector")
    return Trial(name, fingerprint, settled, answers, level, seed, unsettled)
