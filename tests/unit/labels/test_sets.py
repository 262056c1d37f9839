"""probabilities.csv: written, read, and refused where it cannot be right."""

from __future__ import annotations

import pytest

from pytest_t2i.errors import FileFormatError
from pytest_t2i.labels import Draw, draw_of, write_draw


def test_what_is_written_is_read(tmp_path):
    write_draw(tmp_path, [("aa", 0.1 + 0.2, True), ("bb", 1.0, False)])
    assert draw_of(tmp_path) == Draw({"aa": 0.1 + 0.2, "bb": 1.0}, frozenset({"aa"}))


def test_without_a_file_all_are_alike(tmp_path):
    assert draw_of(tmp_path) == Draw({}, frozenset())


def test_pictures_of_one_content_are_one(tmp_path):
    write_draw(tmp_path, [("aa", 0.3, False), ("aa", 0.3, True), ("bb", 0.8, False)] * 2)
    known = draw_of(tmp_path)
    assert known.probabilities == {"aa": pytest.approx(1.0), "bb": 1.0}
    assert known.drawn == {"aa"}


@pytest.mark.parametrize("given", ["0", "-0.5", "1.5", "nan", "often"])
def test_what_is_no_probability_is_named(tmp_path, given):
    (tmp_path / "probabilities.csv").write_text(f"sha256,probability,drawn\naa,{given},yes\n")
    with pytest.raises(FileFormatError, match=f"line 2.*above 0 and up to 1, got '{given}'"):
        draw_of(tmp_path)


def test_an_absent_column_is_named(tmp_path):
    (tmp_path / "probabilities.csv").write_text("sha256,drawn\naa,yes\n")
    with pytest.raises(FileFormatError, match="probability"):
        draw_of(tmp_path)
