"""``t2i label agreement`` as a user sees it."""

from __future__ import annotations

import pytest

from pytest_t2i import labels
from pytest_t2i.cli.main import main
from pytest_t2i.labels import Label


def labelled(folder, **words):
    result = [
        Label(f"{k}.png", {"m": "male", "f": "female", "l": "low_quality"}[letter], name)
        for name, letters in words.items()
        for k, letter in enumerate(letters)
        if letter != "-"
    ]
    labels.write_labels(folder, result)
    return folder


def test_pairs_all_and_disagreements(tmp_path, capsys):
    labelled(tmp_path, ada="mmff", bo="mmfl", cy="mfff")
    labels.record(tmp_path, Label("3.png", "female", labels.ADJUDICATED))
    assert main(["label", "agreement", str(tmp_path)]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("ada and bo: 3 of 4 images alike, Cohen's kappa 0.600 [")
    assert out[0].endswith("(95 %)")
    assert "all 3 annotators: Fleiss' kappa" in out[3]
    assert out[4:] == [
        "unsettled of 4 images: 1 by unanimous, 0 by majority, 0 by plurality "
        "(labels.toml sets the rule)",
        "2 images with different labels, 1 of them settled (settle the rest with t2i label page "
        "FOLDER --review)",
        "  1.png: ada male, bo male, cy female (open)",
        "  3.png: ada female, bo low_quality, cy female -> female",
    ]


@pytest.mark.parametrize(
    ("labels_of", "settled", "told"),
    [
        (
            {"ada": "mm", "bo": "mf"},
            [],
            "1 image with different labels (settle it with t2i label page ",
        ),
        ({"ada": "mm", "bo": "mf"}, ["1.png"], "1 image with different labels, settled"),
        (
            {"ada": "mm", "bo": "ff"},
            ["0.png", "1.png"],
            "2 images with different labels, all settled",
        ),
    ],
)
def test_what_is_settled_is_not_asked_for_again(tmp_path, capsys, labels_of, settled, told):
    labelled(tmp_path, **labels_of)
    for file in settled:
        labels.record(tmp_path, Label(file, "female", labels.ADJUDICATED))
    assert main(["label", "agreement", str(tmp_path)]) == 0
    (line,) = [x for x in capsys.readouterr().out.splitlines() if "different labels" in x]
    assert line.startswith(told)
    assert ("--review" in line) == (not settled)


def test_where_there_is_no_kappa(tmp_path, capsys):
    labelled(tmp_path, ada="mm--", bo="mm--", cy="--ff")
    assert main(["label", "agreement", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "ada and bo: 2 of 2 images alike, no kappa: both said male of every image (0/0)" in out
    assert "ada and cy: 0 of 0 images alike, no kappa: no image was labelled by both" in out
    assert "0 images with different labels" in out


def test_one_annotator(tmp_path, capsys):
    labelled(tmp_path, ada="mf")
    assert main(["label", "agreement", str(tmp_path)]) == 0
    assert "needs a second one" in capsys.readouterr().out


def test_no_label_and_a_bad_level(tmp_path, capsys):
    assert main(["label", "agreement", str(tmp_path)]) == 2
    assert "t2i label page" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["label", "agreement", str(tmp_path), "--confidence", "1"])
    assert "above 0.5 and below 1" in capsys.readouterr().err


def test_long_lists_are_cut(tmp_path, capsys):
    labelled(tmp_path, ada="m" * 30, bo="f" * 29 + "m")
    main(["label", "agreement", str(tmp_path)])
    assert "and 9 more (--all lists them)" in capsys.readouterr().out
    main(["label", "agreement", str(tmp_path), "--all"])
    assert "more" not in capsys.readouterr().out


def test_controls_in_names_do_not_reach_the_terminal(tmp_path, capsys):
    rows = ("file,label,annotator", "\x1b[2Ja.png,male,ada", "\x1b[2Ja.png,female,b\x1b[31mo")
    (tmp_path / "labels.csv").write_text("\n".join(rows))
    assert main(["label", "agreement", str(tmp_path), "--all"]) == 0
    told = capsys.readouterr().out
    assert "\x1b" not in told
    assert r"\x1b[2Ja.png: ada male, b\x1b[31mo female" in told
