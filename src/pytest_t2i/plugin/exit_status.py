"""The exit status of a run: 0 only if the run decided enough and nothing failed."""

from __future__ import annotations

import pytest

from pytest_t2i.data import Outcome
from pytest_t2i.runs.record import RunRecord

INCONCLUSIVE_STATUS = 6
"""Exit status of an inconclusive run, which is neither a success nor a failure."""


def exit_status(record: RunRecord) -> int:
    """Return the exit status of a run in which no test failed."""
    if record.outcome is Outcome.INTERRUPTED:
        return int(pytest.ExitCode.INTERRUPTED)
    return INCONCLUSIVE_STATUS if record.sets_status else int(pytest.ExitCode.OK)
