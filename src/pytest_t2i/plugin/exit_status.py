"""The exit status of a run: success is said only of what succeeded."""

from __future__ import annotations

import pytest

from pytest_t2i.data import Outcome
from pytest_t2i.runs.record import RunRecord

INCONCLUSIVE_STATUS = 6
"""Exit status of a run that decided too little: not 0, and no failure either."""


def exit_status(record: RunRecord) -> int:
    """The exit status of a run in which no test failed."""
    if record.outcome is Outcome.INTERRUPTED:
        return int(pytest.ExitCode.INTERRUPTED)
    return INCONCLUSIVE_STATUS if record.sets_status else int(pytest.ExitCode.OK)
