"""``t2i label page`` where it serves nothing."""

from __future__ import annotations

import pytest
from pytest_t2i import labels
from pytest_t2i.cli.main import main
from pytest_t2i.labels import Label


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--annotator", " "], "--annotator"),
        (["--annotator", "adjudicated"], "--annotator"),
        (["--annotator", "ada", "--port", "70000"], "--port"),
        (["--review"], "nothing to review"),
    ],
)
def test_what_does_not_fit_is_told(folder, capsys, arguments, problem):
    assert main(["label", "page", str(folder), *arguments]) == 2
    assert problem in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["--annotator", "ada", "--review"]])
def test_one_of_the_two_has_to_be_asked_for(folder, capsys, arguments):
    with pytest.raises(SystemExit):
        main(["label", "page", str(folder), *arguments])
    assert "--review" in capsys.readouterr().err


def test_an_absent_folder_is_told(tmp_path, capsys):
    assert main(["label", "page", str(tmp_path / "absent"), "--annotator", "ada"]) == 2
    assert "does not exist" in capsys.readouterr().err


def test_a_review_where_nobody_disagrees_serves_nothing(folder, capsys):
    for who in ("ada", "bo"):
        labels.record(folder, Label("a.png", "male", who))
    assert main(["label", "page", str(folder), "--review"]) == 0
    assert "Nobody disagrees" in capsys.readouterr().out
