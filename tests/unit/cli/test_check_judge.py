"""t2i detector check of a judge: abstention, agreement with itself, cost, planted words."""

from __future__ import annotations

import csv
import json

import judge_server
import pytest
from judge_server import Plan, judging

from pytest_t2i.audits.detector_validation import planted_words
from pytest_t2i.cli.main import main
from pytest_t2i.verdicts.certificate import read_certificate

IMAGES = 60


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "set").mkdir()
    with (tmp_path / "set/labels.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["file", "annotator", "label"])
        for place in range(IMAGES):
            judge_server.picture(place % 2, place).save(tmp_path / f"set/{place}.png")
            rows.writerow([f"{place}.png", "ann", judge_server.GENDERS[place % 2]])
    return tmp_path / "set"


def told(capsys, server, *arguments, attributes="+gender"):
    name = f"vlm:judge@{server.address}{attributes}"
    assert main(["detector", "check", name, "--labels", "set", *arguments]) == 0
    return capsys.readouterr().out


def priced(folder, price):
    (folder / "prices.toml").write_text(f'[judge_prices]\n"vlm:judge" = "{price}"\n')
    return str(folder / "prices.toml")


def test_what_the_judge_abstains_from_and_costs(folder, tmp_path, capsys):
    plan = Plan(abstains={"female": 0.5}, refuses={"male": 0.2})
    with judging(plan) as server:
        out = told(capsys, server, "--catalogue", priced(tmp_path, "0.01 USD"))
        assert server.pictures < IMAGES * 1.3
        assert "version system_fingerprint fp-1" in out
        assert "judge_refused" in out
        assert "unspecified" in out
        assert "gap of images without a label between groups: 0." in out
        assert "1,000 pictures take about 1,100 requests, 11 USD at 0.01 USD" in out
        assert " the same answer: 1.000 [" in out


def test_the_budget_of_a_check_is_kept(folder, tmp_path, capsys):
    with judging() as server:
        name = f"vlm:judge@{server.address}"
        price = ("--catalogue", priced(tmp_path, "1 USD"), "--budget", "20 USD")
        assert main(["detector", "check", name, "--labels", "set", *price]) != 0
        assert len(server.requests) == 20
        assert "what was judged is kept" in capsys.readouterr().err
        told(capsys, server, attributes="")
        assert max(server.judged.values()) <= 2


def test_the_certificate_holds_rubric_version_and_abstentions(folder, capsys):
    with judging(Plan(abstains={"female": 0.5})) as server:
        told(capsys, server, "--certificate", "judge.json", attributes="+gender+age")
        written = read_certificate(folder.parent / "judge.json")
        assert written.version == "system_fingerprint fp-1"
        assert len(written.rubric) == 64
        assert (written.asked, 5 < written.abstained < 25) == (IMAGES, True)
        plain = json.loads((folder.parent / "judge.json").read_text())
        for name in ("version", "abstained", "asked"):
            del plain[name]
        (folder.parent / "old.json").write_text(json.dumps(plain))
        assert read_certificate(folder.parent / "old.json").version is None


@pytest.mark.parametrize("rate", [0.0, 0.5, 1.0])
def test_how_often_it_obeys_planted_words(folder, capsys, monkeypatch, rate):
    drawn = planted_words.with_words

    def marked(picture, label, way):
        image = drawn(picture, label, way)
        place, _ = judge_server.truth_of(picture)
        # The server cannot read: a pixel says what the words say.
        image.putpixel((0, 0), (10 + place, 1 + judge_server.GENDERS.index(label), 7))
        return image

    monkeypatch.setattr(planted_words, "with_words", marked)
    with judging(Plan(obeys=rate)) as server:
        out = told(capsys, server, "--planted-words", "50")
    (line,) = (line for line in out.splitlines() if line.startswith("words planted in 50"))
    measured = float(line.split("obeyed ")[1].split()[0])
    assert measured == pytest.approx(rate, abs=0.25)
    assert all(f"words as {way}" in out for way in planted_words.TEXTS)


@pytest.mark.parametrize("way", planted_words.TEXTS)
@pytest.mark.parametrize("size", [(8, 8), (64, 48), (512, 512)])
def test_words_are_drawn_on_pictures_of_any_size(way, size):
    from PIL import Image

    plain = Image.new("RGB", size, (90, 120, 150))
    image = planted_words.with_words(plain, "female", way)
    assert image.size == size
    if min(size) > 8:
        assert image.tobytes() != plain.tobytes()
