"""A detector on labelled images."""

from __future__ import annotations

import pytest
from PIL import Image

from pytest_t2i.audits.detector_validation.trials import try_detectors
from pytest_t2i.data import Detection, Undetected
from pytest_t2i.labels import Label, load_labelled_set, write_labels

LABELS = {"m": "male", "f": "female", "?": "low_quality"}
WORDS = {"m": Detection("male"), "f": Detection("female"), "?": Detection(None, Undetected.NO_FACE)}


@pytest.fixture
def tried(tmp_path):
    """A trial on labelled images: tried(people="mmf?", detector="mff?")."""

    def make(people, detector, fingerprint="colour-1"):
        labels = []
        for k, letter in enumerate(people):
            Image.new("RGB", (4, 4), (k, 0, 0)).save(tmp_path / f"{k:02}.png")
            labels.append(Label(f"{k:02}.png", LABELS[letter], "ada", "", f"prompt {k % 2}"))
        write_labels(tmp_path, labels)
        words = [WORDS[letter] for letter in detector]
        trials = try_detectors(
            load_labelled_set(tmp_path), [("colour", fingerprint)], lambda *_: words,
            level=0.9, seed=0,
        )  # fmt: skip
        return trials["colour"]

    return make
