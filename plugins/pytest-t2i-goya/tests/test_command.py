"""``t2i goya``: from pictures to heads to figures; going on after a stop; one line for mistakes."""

from __future__ import annotations

import numpy as np
import pytest
import toy
from pytest_t2i import Prompt, Triplet, audit
from pytest_t2i.cli.main import main

from pytest_t2i_goya import features
from pytest_t2i_goya.heads import read_heads

pytestmark = pytest.mark.slow

FAST = ("--encoder", toy.ENCODER, "--content-distance", "same", "--width", "16", "--epochs", "25",
        "--rate", "0.002", "--pairs-of", "32")  # fmt: skip


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def goya(*words, told="", status=0, capsys=None):
    assert main(["goya", *map(str, words)]) == status
    return capsys.readouterr()


@pytest.fixture
def trained(tmp_path, capsys):
    model = toy.folder(tmp_path / "made")
    said = goya("train", "--model", model, *FAST, "--out", "mine.safetensors", capsys=capsys).out
    assert "60 pictures of 5 contents in 3 styles" in said
    assert "epoch 25 of 25: loss" in said
    assert said.endswith("heads: mine.safetensors\n")
    return model


def test_what_is_trained_is_evaluated(trained, tmp_path, capsys):
    said = goya("evaluate", "--model", trained, "--heads", "mine.safetensors", "--report", "out",
                "--neighbours", "3", "--permutations", "99", capsys=capsys).out  # fmt: skip
    rows = {row.split()[0]: row for row in said.splitlines() if row.startswith("  ")}
    assert "distance correlation" in said
    assert "U-centred, squared" in said
    assert {"content", "style", "projected-content", "projected-style", "features"} <= set(rows)
    page = (tmp_path / "out" / "index.html").read_text()
    assert "Nearest pictures" in page
    assert "nearest by style" in page
    assert list((tmp_path / "out" / "pictures").glob("*.png"))
    assert page.count("http") == 0 or "<script src" not in page


def test_it_goes_on_without_encoding_or_training_again(trained, capsys, monkeypatch):
    monkeypatch.setattr(toy.Halves, "encode", lambda self, images: 1 / 0)
    said = goya("train", "--model", trained, *FAST, "--out", "mine.safetensors", capsys=capsys).out
    assert "resuming after epoch 25" in said
    assert "epoch 1 " not in said


@pytest.mark.parametrize(
    ("words", "facts"),
    [
        (("--loss", "ntxent"), ("ntxent", "yes")),
        (("--loss", "triplet", "--no-classifier"), ("triplet", "no")),
        (("--no-classifier",), ("contrastive", "no")),
    ],
)
def test_the_losses_of_figure_2_9(tmp_path, capsys, words, facts):
    model = toy.folder(tmp_path / "made")
    short = ("--epochs", "2", "--out", "other.safetensors")
    goya("train", "--model", model, *FAST, *short, *words, capsys=capsys)
    heads = read_heads("other.safetensors")
    assert (heads.facts["loss"], heads.facts["classifier in the loss"]) == facts


def test_an_unknown_loss_is_one_message(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["goya", "train", "--model", "images:x", "--loss", "hinge"])
    assert stop.value.code == 2
    assert "choose from contrastive, ntxent, triplet" in capsys.readouterr().err.replace("'", "")


def test_features_of_another_encoder_are_not_taken(tmp_path):
    kept = tmp_path / "features.npz"
    images = [toy.picture("a nurse", "night", k) for k in range(2)]
    first, other = toy.Halves(), toy.Halves()
    memory = features.Memory(first, kept)
    memory.features(images)
    memory.keep()
    same = features.Memory(first, kept)
    assert np.allclose(same.features(images), first.encode(images))
    other.fingerprint = "halves-2"
    features.Memory(other, kept).features(images)
    assert other.asked == 2
    kept.write_bytes(b"damaged")
    features.Memory(other, kept).features(images)
    assert other.asked == 4


def test_the_spaces_are_encoders_of_a_run(trained, tmp_path):
    neutral, feminine, masculine = (
        Prompt(text, "job", text) for text in ("a nurse, night", "a judge, night", "a nurse, sepia")
    )
    three = Triplet(neutral, feminine, masculine)
    spaces = ("goya:mine.safetensors+projected-content", "goya:mine.safetensors+projected-style")
    audited = audit(
        trained, three, audits=("neutrality",), images=4, spaces=spaces, progress=False,
        detector=Nobody(), store=tmp_path / "store",
    )  # fmt: skip
    content, style = (audited.triplets.similarity_gap(space).interval for space in spaces)
    # Masculine differs in style alone, feminine in content alone.
    assert content.low > 0.05
    assert style.high < -0.05


class Nobody:
    fingerprint, labels = "nobody-1", ("male", "female")

    def detect(self, images):
        from pytest_t2i import Detection, Undetected

        return [Detection(None, Undetected.NO_PERSON) for _ in images]


def test_pictures_of_a_model_are_made_from_contents_and_styles(tmp_path, capsys):
    (tmp_path / "contents.txt").write_text("a nurse\na judge\na baker\n")
    (tmp_path / "conftest.py").write_text("")
    said = goya("train", "--model", "test_command:Painter", "--contents", "contents.txt",
                "--styles", "night,sepia,line", "--styles-per-content", "2", "--images", "3", *FAST,
                "--out", "mine.safetensors", capsys=capsys).out  # fmt: skip
    assert "18 pictures of 3 contents in" in said


class Painter:
    fingerprint = "painter-1"

    def __init__(self, options=None):
        pass

    def generate(self, requests):
        from pytest_t2i import Generated

        return [Generated(toy.picture(*r.prompt.split(", "), r.seed % 1000)) for r in requests]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--styles", "oil"), "do not end in a comma and a style of oil"),
        (("--styles", "night,sepia,line,oil"), "unknown style 'oil': no prompt has it; there are"),
        (("--encoder", "nobody"), "unknown encoder 'nobody'"),
        (("--encoder", toy.ENCODER), "--content-distance text needs an encoder that reads texts"),
        (("--epochs", "0", "--content-distance", "same"), "--epochs: expected at least 1"),
        (
            ("--pairs-of", "2", "--content-distance", "same"),
            "--pairs-of: expected at least 4, got 2",
        ),
        (("--images", "0"), "expected --images of 1 or more, got 0"),
        (("--styles", ","), "expected styles as a list with commas or a file"),
    ],
)
def test_mistakes_in_training_are_told_in_one_line(tmp_path, capsys, words, told):
    model = toy.folder(tmp_path / "made", images=2)
    given = ("--encoder", toy.ENCODER) if "--encoder" not in words else ()
    said = goya("train", "--model", model, *given, *words, status=2, capsys=capsys).err
    assert told in said
    assert len(said.splitlines()) == 1


def test_one_picture_of_a_style_is_too_few(tmp_path, capsys):
    at = tmp_path / "made"
    model = toy.folder(at, images=2)
    manifest = at / "manifest.csv"
    kept = [row for row in manifest.read_text().splitlines() if "line" not in row]
    toy.picture("a nurse", "line", 0).save(at / "lone.png")
    manifest.write_text("\n".join([*kept, 'lone.png,"a nurse, line",0']) + "\n")
    said = goya("train", "--model", model, *FAST, status=2, capsys=capsys).err
    assert "at least two pictures of each style, got one of 'line'" in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--heads", "nowhere"), "heads 'nowhere': expected 'reference'"),
        (("--level", "1"), "expected --level between 0 and 1"),
        (("--permutations", "5"), "--permutations of at least 99"),
        (("--neighbours", "0"), "--neighbours of 1 or more"),
    ],
)
def test_mistakes_in_evaluating_are_told_in_one_line(tmp_path, capsys, words, told):
    model = toy.folder(tmp_path / "made", images=2)
    said = goya("evaluate", "--model", model, *words, status=2, capsys=capsys).err
    assert told in said
    assert len(said.splitlines()) == 1


def test_a_model_that_is_none_is_told(capsys):
    said = goya("train", "--model", "images:nowhere", *FAST, status=2, capsys=capsys).err
    assert "nowhere does not exist" in said


def test_nothing_unfinished_is_left_behind(trained, tmp_path):
    assert {p.name for p in tmp_path.iterdir()} >= {"mine.safetensors", "mine.work", "made"}
    assert list(tmp_path.rglob("*.part")) == []
