from __future__ import annotations

import pytest
from PIL import Image

FILES = ("a.png", "b.jpg", "deep/c.webp", "d.tif", "<e&>.png")


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "set"
    (place / "deep").mkdir(parents=True)
    for shade, name in enumerate(FILES):
        Image.new("RGB", (8, 8), (40 * shade, 90, 90)).save(place / name)
    (place / "manifest.csv").write_text("file,prompt,seed\na.png,a photo of a nurse,0\n")
    return place
