"""t2i detector check --attribute: attributes described in words, and OASIS eq. 4 and 5."""

from __future__ import annotations

import csv
import math
import re

import numpy as np
import pytest
from PIL import Image

from pytest_t2i import Detection
from pytest_t2i.cli.main import main
from pytest_t2i.metrics.stereotypes import attribute_log_odds

BEARDS = (0.9, 0.8, 0.7, 0.4, 0.2, 0.1)
"""Probability of a beard that the detector gives each picture."""


class Open:
    """Reads the probability of any attribute from the first channel."""

    fingerprint, labels = "open-1", ("male", "female")

    def __init__(self, attribute=None):
        if attribute is not None:
            self.labels = ("present", "absent")
            self.fingerprint = f"open-{attribute.positive}-{attribute.negative}"

    def for_attribute(self, attribute):
        return Open(attribute)

    def detect(self, images):
        return [self._of(image.getpixel((0, 0))[0] / 100) for image in images]

    def _of(self, probability):
        first, second = self.labels
        scores = {f"p({first})": probability, f"p({second})": 1 - probability}
        return Detection(first if probability > 0.5 else second, scores=scores)


def open_set(options):
    return Open()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    (tmp_path / "set").mkdir()
    with (tmp_path / "set/labels.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["file", "beard", "hat", "model", "label", "annotator"])
        for place, probability in enumerate(BEARDS):
            picture = Image.new("RGB", (8, 8), (round(100 * probability), place, 9))
            picture.save(tmp_path / f"set/{place}.png")
            beard = "1" if place < 4 else "-1"
            row = [beard, "present" if place % 2 else "absent", ("sd2", "sd3")[place % 2], "male"]
            rows.writerow([f"{place}.png", *row, "ann"])
    return tmp_path / "set"


def checked(capsys, *arguments, detector=f"{__name__}:open_set"):
    status = main(["detector", "check", detector, "--labels", "set", *arguments])
    out, err = capsys.readouterr()
    return status, out, err


def test_an_attribute_of_oasis_by_its_column(folder, capsys):
    status, out, _ = checked(capsys, "--attribute", "beard")
    assert status == 0
    assert "open_set on beard on 6 labelled images" in out
    assert re.search(r"Accuracy, present +0.750 \[", out)
    assert re.search(r"absent +1.000 \[", out)
    assert "suites/detectors" not in out


def test_equation_5_is_the_share_and_equation_4_the_product(folder, capsys):
    _, out, _ = checked(capsys, "--attribute", "beard")
    share = re.search(r"OASIS eq. 5.*: present (\S+) \[.*by the detector, (\S+) by people", out)
    assert [float(text) for text in share.groups()] == [0.5, 0.667]
    posterior, odds = re.search(
        r"OASIS eq. 4.*P\(present\) = (\S+), log odds against absent (\S+);", out
    ).groups()
    present, absent = math.prod(BEARDS), math.prod(1 - p for p in BEARDS)
    assert float(posterior) == pytest.approx(present / (present + absent), rel=5e-3)
    assert float(odds) == pytest.approx(math.log(present / absent), abs=0.05)


def test_equation_4_of_a_gender(folder, capsys):
    _, out, _ = checked(capsys)
    assert "OASIS eq. 4, all 6 images together: P(male) = " in out


def test_several_attributes_end_with_a_table(folder, capsys):
    _, out, _ = checked(capsys, "--attribute", "beard", "--attribute", "hat")
    *_, head, beard, hat = out.splitlines()
    assert head == "accuracy by attribute (the columns of OASIS Table 5):"
    assert beard.startswith("  beard  right 0.833 [")
    assert hat.startswith("  hat    right 0.333 [")


def test_groups_of_an_attribute_such_as_the_models_of_table_4(folder, capsys):
    _, out, _ = checked(capsys, "--attribute", "beard", "--by", "model")
    assert re.search(r"present, model sd2 +right 1.000 .*of 2", out)
    assert re.search(r"present, model sd3 +right 0.500 .*of 2", out)


def test_an_attribute_in_the_readers_own_words(folder, capsys):
    words = "hat=a cat with a hat|a cat"
    _, out, _ = checked(capsys, "--attribute", words)
    assert "on hat on 6 labelled images" in out


def test_a_certificate_of_an_attribute(folder, capsys):
    status, out, _ = checked(capsys, "--attribute", "beard", "--certificate", "beard.json")
    assert status == 0
    assert "certificate: beard.json" in out
    assert '"present"' in (folder.parent / "beard.json").read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--attribute", "beerd"), "unknown attribute 'beerd'. Did you mean 'beard'"),
        (("--attribute", "beard=a beard"), "needs two different descriptions"),
        (("--attribute", "beard=|"), "needs two different descriptions"),
        (("--attribute", "beard=a Beard | a beard"), "needs two different descriptions"),
        (("--attribute", "moustache"), "moustache"),
        (
            ("--attribute", "model=a photo of a model|a photo"),
            "label must be one of present, absent",
        ),
        (
            ("--attribute", "beard", "--attribute", "hat", "--certificate", "c.json"),
            "--certificate: expected one --attribute, got beard, hat",
        ),
    ],
)
def test_bad_input_is_one_message(folder, capsys, arguments, words):
    try:
        status, out, err = checked(capsys, *arguments)
    except SystemExit as stop:
        status, (out, err) = stop.code, capsys.readouterr()
    assert status == 2
    assert words in err
    assert "Traceback" not in out + err


def careless(options):
    class Fixed:
        fingerprint, labels = "fixed-1", ("male", "female")

        def detect(self, images):
            return [Detection("male") for _ in images]

    return Fixed()


def test_a_detector_of_fixed_labels_says_so(folder, capsys):
    name = f"{__name__}:careless"
    status, _, err = checked(capsys, "--attribute", "beard", detector=name)
    assert status == 2
    assert "cannot detect the attribute 'beard'" in err
    status, out, _ = checked(capsys, detector=name)
    assert status == 0
    assert "OASIS eq. 4" not in out


@pytest.mark.slow
def test_a_tiny_open_clip_of_the_true_class(folder, capsys):
    """The loader of ViT-bigG-14, on random weights in the layout of its repository."""
    import tiny  # brings torch

    tiny.write_open_clip(folder.parent / "bigg")
    _, out, _ = checked(capsys, "--attribute", "beard", "--attribute", "hat", detector="clip:bigg")
    assert "clip:bigg on beard on 6 labelled images" in out
    assert len(re.findall(r"OASIS eq. 4, all 6 images together: P\(present\) = ", out)) == 2


def test_the_papers_clip_has_a_name():
    from pytest_t2i.adapters.catalogue import read_catalogues
    from pytest_t2i.adapters.encoders.routing import is_open_clip
    from pytest_t2i.adapters.registry import Registries

    weights = read_catalogues(Registries().catalogues).weights["clip"]["vit-bigg-14"]
    assert is_open_clip(str(getattr(weights, "source", weights)))


@pytest.mark.parametrize("seed", range(6))
def test_log_odds_are_those_of_the_products(seed):
    present = np.random.default_rng(seed).uniform(0.01, 0.99, 5 + seed)
    odds = attribute_log_odds(present, 1 - present)
    products = present.prod(), (1 - present).prod()
    assert 1 / (1 + math.exp(-odds)) == pytest.approx(products[0] / sum(products), rel=1e-12)


@pytest.mark.parametrize(
    ("present", "absent", "odds"),
    [([], [], 0.0), ([1, 1], [0, 0], math.inf), ([0], [1], -math.inf), ([1, 0], [0, 1], None)],
)
def test_log_odds_at_the_ends(present, absent, odds):
    assert attribute_log_odds(present, absent) == odds


@pytest.mark.parametrize(("present", "absent"), [([1.2], [0.1]), ([0.5], [0.5, 0.5]), (["a"], [1])])
def test_log_odds_refuse_what_is_no_probability(present, absent):
    with pytest.raises(ValueError, match=r"present|absent|shape"):
        attribute_log_odds(present, absent)


def test_log_odds_are_of_shares():
    with pytest.raises(ValueError, match="present"):
        attribute_log_odds([1.5], [0.5])
