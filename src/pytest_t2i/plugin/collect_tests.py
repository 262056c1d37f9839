"""Select collected tests for a run, and refuse those that could not be judged."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_t2i.audits.context import AuditContext
from pytest_t2i.errors import T2IError
from pytest_t2i.plugin.fixtures import NO_MODEL
from pytest_t2i.plugin.marker import read_marker, selection_of
from pytest_t2i.plugin.static_checks import bounds_given_in, foreseen, limits_named_in
from pytest_t2i.runs.selection import SelectedTest, Selection
from pytest_t2i.runs.session import NO_FINDER, NO_LABELS, Session
from pytest_t2i.verdicts.baseline_file import Baseline, check_prompts
from pytest_t2i.verdicts.limits_file import LimitFiles, check_bounds_agree


@dataclass(frozen=True)
class Selecting:
    """Selects tests for a run, before an image is made."""

    session: Session
    context: AuditContext
    limits: LimitFiles
    recorded: Baseline | None
    """The recorded run of --t2i-baseline."""

    def select(self, item: pytest.Function) -> None:
        """Add a marked item to the run, or mark it as skipped with the reason.

        Raises pytest.UsageError if the test could not be judged.
        """
        selection = selection_of(item)
        reason = self._reason_to_skip(selection)
        if reason:
            item.add_marker(pytest.mark.skip(reason=reason))
            return
        self.session.learn(read_marker(item))
        images = selection.images(self.session.settings.images)
        test = SelectedTest(item.nodeid, Path(item.path), selection, images, images, foreseen(item))
        try:
            self._check(item, test)
        except T2IError as error:
            raise pytest.UsageError(f"{item.nodeid}: {error}") from None
        self.session.tests[item.nodeid] = test

    def _reason_to_skip(self, selection: Selection) -> str:
        if selection.detectors and self.session.labels is None:
            return NO_LABELS
        if selection.finds and self.session.settings.objects is None:
            return NO_FINDER
        if selection.needs_model and not self.session.has_model:
            return NO_MODEL
        return self._unmet(selection)

    def _unmet(self, selection: Selection) -> str:
        """Return why a fixture of a test cannot be provided, before images are made."""
        settings = self.session.settings
        reasons = (
            fixture.unmet(settings)
            for audit in self.session.audits
            for name, fixture in audit.fixtures.items()
            if name in selection.fixtures
        )
        return next(filter(None, reasons), "")

    def _check(self, item: pytest.Function, test: SelectedTest) -> None:
        """Check that the limits, reference shares and recorded prompts of a test exist."""
        for name in limits_named_in(item.function):
            self.limits.look_up(name, test.file)
        for name, bound in bounds_given_in(item.function):
            check_bounds_agree(name, bound, *self.limits.of(test.file))
        for audit in self.session.audits:
            audit.check(self.context, test)
        self._check_counterparts(test)
        prompts = test.selection.prompts
        if self.recorded is not None and "baseline" in item.fixturenames:
            check_prompts(self.recorded, prompts, test.images)

    def _check_counterparts(self, test: SelectedTest) -> None:
        """Check that the run's mitigation can treat each prompt of the test."""
        mitigating = self.session.components.mitigating()
        if mitigating is not None:
            for prompt in test.selection.all_prompts:
                mitigating.variation(prompt)
