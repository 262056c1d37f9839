"""An object detector that cannot be had says what is missing, and what to do."""

from __future__ import annotations

import sys

import pytest
from installed import needs

needs("torchvision")
needs("ultralytics")

from pytest_t2i.adapters.registry import Registries
from pytest_t2i.errors import T2IError
from pytest_t2i.protocols import LoadOptions

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("name", "source", "content", "expected"),
    [
        (
            "yolo",
            "absent/best.pt",
            None,
            "the file absent/best.pt does not exist. Give the path of YOLO",
        ),
        ("yolo", "best.bin", None, "weights='best.bin': expected a path that ends"),
        (
            "yolo",
            "mine.pt",
            None,
            "'mine.pt': expected a file or a name of weights that ultralytics",
        ),
        ("yolo", "empty.pt", b"", "got a file that ultralytics cannot read"),
        ("yolo", "text.pt", b"no weights", "got a file that ultralytics cannot read"),
        ("grounded-sam", "RAM", None, "a folder with RAM's files, ram_swin_large_14m.pth"),
        ("grounded-sam", "some/model", None, "expected a vocabulary, a .txt file with one name"),
        ("grounded-sam", "absent.txt", None, "absent.txt: no such vocabulary"),
        ("grounded-sam", "empty.txt", b" \n\n", "expected a vocabulary of at least one name"),
        ("grounded-sam", "names.txt", b"a tie. a hat\n", "expected a name a line, without a full"),
        ("grounded-sam", "picture.txt", b"\x89PNG\xff", "picture.txt"),
    ],
)
def test_weights_and_words_that_are_none(tmp_path, monkeypatch, name, source, content, expected):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    if content is not None:
        (tmp_path / source).write_bytes(content)
    with pytest.raises(T2IError) as told:
        Registries().objects.get(name)(LoadOptions(source=source, device="cpu"))
    assert expected in " ".join(str(told.value).split())


def test_yolo_without_its_extra(monkeypatch):
    for module in [name for name in sys.modules if name.partition(".")[0] == "ultralytics"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "ultralytics", None)
    with pytest.raises(T2IError, match=r'pip install "pytest-t2i\[yolo\]"'):
        Registries().objects.get("yolo")(LoadOptions(source="", device="cpu"))
