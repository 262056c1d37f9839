"""What ``t2i demo`` of the core ships is what these pipelines make and what the detector says of it."""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np
import pytest
import pytest_t2i as t2i
from PIL import Image

from training.demo import ARCHIVE, DETECTOR, SIZE

pytestmark = pytest.mark.slow
WORD, IMAGES = "nurse", 4


@pytest.mark.parametrize("model", ["reference", "reference-biased"])
def test_shipped_pictures_are_those_of_the_pipeline(model, tmp_path):
    words = t2i.axes.profession.only(WORD)
    audited = t2i.audit(model, words, images=IMAGES, detector=DETECTOR, store=tmp_path, progress=False)
    (prompt,) = audited.record.prompts
    with zipfile.ZipFile(ARCHIVE) as archive:
        manifest = json.loads(archive.read(f"{model}/manifest.json"))
        rows = {row["seed"]: row for row in manifest["images"] if row["prompt"] == prompt.text}
        for image in prompt.images:
            row = rows[image.seed]
            assert image.detections[DETECTOR].label == row["label"]
            shipped = Image.open(io.BytesIO(archive.read(f"{model}/{row['file']}")))
            made = Image.open(image.file).resize((SIZE, SIZE), Image.Resampling.LANCZOS)
            assert np.abs(np.asarray(made, float) - np.asarray(shipped, float)).mean() < 8
