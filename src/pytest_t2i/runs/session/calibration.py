"""Prompts that the model is not calibrated for, and the reason why their checks stay open."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_t2i.data import Prompt
from pytest_t2i.errors import some
from pytest_t2i.runs.session.selection import Selection
from pytest_t2i.runs.session.session import Session

SHOWN = 5
"""Number of prompts that a message names."""


def _unknown_prompts(session: Session, selections: Iterable[Selection]) -> list[Prompt]:
    """Return the selected prompts that the model is not calibrated for, each text once."""
    calibration = session.calibration
    if calibration is None:
        return []
    prompts = {prompt.text: prompt for selection in selections for prompt in selection.all_prompts}
    return [
        prompt
        for prompt in prompts.values()
        if not all(map(calibration.is_calibrated_for, session.texts_of(prompt)))
    ]


def uncalibrated_because(session: Session, selection: Selection) -> str:
    """Return why a test's checks stay open; "" if the model is calibrated for all its prompts."""
    unknown = _unknown_prompts(session, [selection])
    if not unknown:
        return ""
    texts = {prompt.text for prompt in selection.all_prompts}
    if len(texts) == 1:
        return f"the model is not calibrated for {unknown[0].text!r}"
    return f"the model is not calibrated for {_counted(unknown, len(texts))}"


def calibration_warning(session: Session) -> str:
    """Return one line about all prompts that the model is not calibrated for, else ""."""
    selections = [test.selection for test in session.tests.values()]
    unknown = _unknown_prompts(session, selections)
    if not unknown:
        return ""
    total = len({prompt.text for selection in selections for prompt in selection.all_prompts})
    return (
        f"{session.settings.under_test} is not calibrated for {_counted(unknown, total)}: checks "
        "that need them stay inconclusive"
    )


def _counted(unknown: list[Prompt], total: int) -> str:
    """Return a text such as ``2 of 20 prompts (welder, midwife)``."""
    names = some(list(dict.fromkeys(prompt.name for prompt in unknown)), SHOWN)
    prompts = "prompt" if total == 1 else "prompts"
    return f"{len(unknown)} of {total} {prompts} ({names})"
