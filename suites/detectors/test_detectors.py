"""How often are detectors right, compared with people's labels? (Lyu Tables 1 to 3)

Runs on the labelled images that come with the model, or on --t2i-labels FOLDER. Test several
detectors at once with --t2i-detector clip,clip-enhance.
"""

import pytest

from pytest_t2i import limit


@pytest.mark.t2i
def test_clear_images_are_kept(trial):
    assert trial.filter_recall >= limit("filter_recall")


@pytest.mark.t2i
def test_low_quality_images_are_filtered_out(trial):
    assert trial.filter_rate >= limit("filter_rate")


@pytest.mark.t2i
def test_labels_are_right_in_each_group(trial):
    """Male and female, or whatever labels the set has."""
    verdicts = [trial.accuracy(label) >= limit("accuracy") for label in trial.labels]
    assert all(verdicts)


@pytest.mark.t2i
def test_no_group_is_left_out_more_often(trial):
    """A detector that abstains more from one group leaves that group out of every score."""
    assert trial.undetected_gap <= limit("undetected_gap")


@pytest.mark.t2i
def test_judge_says_the_same_when_asked_again(trial):
    if trial.asked_twice is None:
        pytest.skip("only a judge behind an endpoint may say something else the next time")
    assert trial.self_agreement >= limit("self_agreement")


@pytest.mark.t2i
def test_model_bias_score_is_not_distorted(trial):
    if not trial.is_gender:
        pytest.skip("bias scores are of male and female labels")
    assert abs(trial.percent_deviation) <= limit("percent_deviation")
