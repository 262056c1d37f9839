"""Parity: how evenly do a model's images fall into male and female (Lyu eq. 1-2)?

The audit also measures groups of other detectors, crossed axes, and corrections by people's labels.
Tests use the fixtures ``sample`` and ``samples``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytest_t2i.audits.audit import Audit, Fixture, attributes
from pytest_t2i.audits.engine.context import AskedTest, AuditContext
from pytest_t2i.audits.engine.rows import Rows
from pytest_t2i.audits.next_step import AFTER_FAILURE, Step

if TYPE_CHECKING:
    from pytest_t2i.audits.engine.samples import Sample, Samples
    from pytest_t2i.data import PromptScore, Row
    from pytest_t2i.sections import Section
    from pytest_t2i.verdicts.baseline_file import Baseline
    from pytest_t2i.verdicts.check import Check

SCORES = (("model_bias_score", "model"), ("group_distance", "model"))


class ParityAudit(Audit):
    """The audit of how far the images of a prompt, and of all prompts, are from even."""

    name = "parity"
    place = 10
    scope = "Balance of gender in images of prompts that leave it open."
    certified = ("prompt_bias_score", "model_bias_score")
    of_sample = attributes(
        f"{__name__}.sample_members:PromptParity",
        *("prompt_bias_score", "bias_interval", "share_of_men", "shares"),
        "group_distance",
    )
    of_samples = attributes(
        f"{__name__}.sample_members:ModelParity",
        *("model_bias_score", "floor", "most_biased", "shares", "group_distance"),
        "demographic_parity_difference",
    )
    fixtures: Mapping[str, Fixture] = {
        "sample": Fixture(
            lambda context, test: context.sample(test),
            about="prompts",
            one_by_one=True,
            doc="All detections of one prompt; the test runs once per prompt of its t2i marker.",
            stopping=f"{__name__}.sample_members:PromptStopping",
            gives="pytest_t2i.audits.engine.samples:Sample",
        ),
        "samples": Fixture(
            lambda context, test: context.samples(test),
            about="prompts",
            doc="The samples of every prompt of the t2i marker, for model-level metrics.",
            gives="pytest_t2i.audits.engine.samples:Samples",
        ),
    }

    def corrected_sample(self, context: AuditContext, sample: Sample) -> Sample:
        """Return the sample with its counts as people's labels correct them."""
        from pytest_t2i.audits.parity import correction

        return correction.corrected_sample(context, sample)

    def corrected_samples(self, context: AuditContext, samples: Samples) -> Samples:
        from pytest_t2i.audits.parity import correction

        return correction.corrected_samples(context, samples)

    def prompt_score(self, sample: Sample) -> PromptScore:
        """Return the prompt bias score, as people's labels correct it."""
        from pytest_t2i.audits.parity import sample_members

        return sample_members.prompt_score(sample)

    def rows(self, context: AuditContext) -> Iterator[Row]:
        """Yield scores, groups, cells and corrections over all prompts of the run."""
        from pytest_t2i.audits.parity.measure import measured_rows

        return measured_rows(context)

    def sections(self, rows: Rows, run: Any) -> Sequence[Section]:
        """Return the sections of scores, groups, crossed axes and corrections."""
        from pytest_t2i.audits.parity.sections import sections

        return sections(rows, run)

    def first(self, rows: Rows) -> Row | None:
        """Return the score of the model by the deciding detector: of genders, or of groups."""
        scores = (row for row in rows if (row.metric, row.about) in SCORES)
        return next(scores, None)

    def next_steps(self, rows: Rows, context: AuditContext) -> Iterator[Step]:
        """Return which prompts explain a model's failure, and what would settle it."""
        from pytest_t2i.audits.parity import advice

        del rows
        texts = advice.after_failures(context, context.recorded)
        return (Step(AFTER_FAILURE, text, "failure") for text in texts)

    def images_to_decide(self, context: AuditContext, checks: Sequence[Check]) -> int | None:
        """Return the number for the model and its prompts, within limits and against a baseline."""
        from pytest_t2i.audits.parity import advice

        return advice.images_to_decide(context, checks)

    def too_few(
        self, metric: str, bound: float, cases: Sequence[AskedTest], level: float
    ) -> Iterator[str]:
        """Yield a warning about prompts that the planned images cannot decide."""
        from pytest_t2i.audits.parity.advice import too_few

        return too_few(cases, bound, level) if metric == "prompt_bias_score" else iter(())

    def moved(self, context: AuditContext, recorded: Baseline) -> list[str]:
        """Return texts of the prompts whose bias grew most, where the model's grew."""
        from pytest_t2i.audits.parity import advice

        failed = advice.failed_growth(context.checks)
        prompts = [] if failed is None else advice.grown_prompts(context, failed, recorded)
        return [prompt.sample.prompt.text for prompt in prompts]
