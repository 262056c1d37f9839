"""Is a detector worse than the recorded one or version? Runs with --t2i-baseline FILE."""

import pytest


@pytest.mark.t2i
def test_accuracy_did_not_drop_in_any_group(trial, baseline):
    verdicts = [trial.accuracy(label) >= baseline("accuracy") for label in trial.labels]
    assert all(verdicts)


@pytest.mark.t2i
def test_filter_did_not_get_worse(trial, baseline):
    assert trial.filter_recall >= baseline("filter_recall")
    assert trial.filter_rate >= baseline("filter_rate")
