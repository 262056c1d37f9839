"""Parity: how evenly do a model's images fall into male and female (Lyu eq. 1-2)?

Beside the scores: groups of other detectors, crossed axes, what people's labels correct, and
whether another choice would turn the verdict. Tests ask with the fixtures ``sample`` and
``samples``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytest_t2i.audits.audit import Audit, AuditContext, Fixture, Summary

if TYPE_CHECKING:
    from pytest_t2i.audits.parity.record import ParityPart
    from pytest_t2i.sections import Section
    from pytest_t2i.settings import Settings


def _watched_of_model(settings: Settings) -> Collection[str]:
    # The paper's score rises as images get fewer, and labels correct all images of a run.
    fixed = settings.estimator == "paper" or settings.labels is not None
    return () if fixed else ("model_bias_score",)


class ParityAudit(Audit["ParityPart"]):
    """How far a prompt's images, and those of all prompts, are from even."""

    name = "parity"
    place = 10
    formerly = ("model_scores", "groups", "cells", "sensitivity", "correction", "group_correction")
    fixtures: Mapping[str, Fixture] = {
        "sample": Fixture(
            lambda context, test: context.sample(test),
            about="prompts",
            one_by_one=True,
            doc="All detections of one prompt; the test runs once per prompt of its t2i marker.",
            watched=lambda settings: ("prompt_bias_score",),  # noqa: ARG005 - as it is called
        ),
        "samples": Fixture(
            lambda context, test: context.samples(test),
            about="prompts",
            doc="The samples of every prompt of the t2i marker, for model-level metrics.",
            watched=_watched_of_model,
        ),
    }

    @property
    def record_type(self) -> type[ParityPart]:
        """Its part of run.json."""
        from pytest_t2i.audits.parity.record import ParityPart

        return ParityPart

    def record(self, context: AuditContext) -> ParityPart | None:
        """Scores, groups, cells, corrections over all prompts of the run."""
        from pytest_t2i.audits.parity import recording

        return recording.measured(context)

    def sections(self, record: ParityPart, run: Any) -> Sequence[Section]:
        """Model bias scores, and what else was measured of the same images."""
        from pytest_t2i.audits.parity import report

        return report.sections(record, run.checks, run.settings)

    def summary(self, record: ParityPart) -> Summary:
        """Model bias scores as a line, as series and as a table."""
        from pytest_t2i.audits.parity import report

        return report.summary(record)
