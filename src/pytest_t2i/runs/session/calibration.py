"""The prompts of a test, or of a run, that the model is not calibrated for."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_t2i.runs.session.selection import Selection
from pytest_t2i.runs.session.session import Session
from pytest_t2i.verdicts.caveats.calibration import Uncalibrated


def uncalibrated(session: Session, selections: Iterable[Selection]) -> Uncalibrated:
    """Return the selected prompts that the model is not calibrated for, each text once."""
    calibration = session.calibration
    if calibration is None:
        return Uncalibrated((), (), 0)
    prompts = {prompt.text: prompt for selection in selections for prompt in selection.all_prompts}
    unknown = {
        text: prompt.name
        for text, prompt in prompts.items()
        if not all(map(calibration.is_calibrated_for, session.texts_of(prompt)))
    }
    return Uncalibrated(tuple(unknown), tuple(unknown.values()), len(prompts))


def calibration_warning(session: Session) -> str:
    """Return one line about all prompts that the model is not calibrated for, else ""."""
    unknown = uncalibrated(session, [test.selection for test in session.tests.values()])
    if not unknown.texts:
        return ""
    return (
        f"{session.settings.under_test} is not calibrated for {unknown.counted}: checks "
        "that need them stay inconclusive"
    )
