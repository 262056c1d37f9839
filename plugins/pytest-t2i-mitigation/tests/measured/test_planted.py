"""What is tried on the reference models can be tried."""

from __future__ import annotations

import ast

import planted
import pytest
from pytest_t2i import axes


@pytest.mark.parametrize("name", planted.PARTS)
def test_each_part_writes_a_suite_with_its_words_and_images(name, tmp_path):
    part = planted.PARTS[name]
    given = list(planted.commands(name, tmp_path, tmp_path / "store"))
    assert len(given) == len(part.models) * len(part.steps)
    assert all(command[:2] == ["t2i", "mitigate"] for command in given)
    assert all(str(tmp_path / name) in " ".join(command) for command in given)
    text = (tmp_path / name / "test_mitigation.py").read_text()
    ast.parse(text)
    assert f"IMAGES = {part.images}\n" in text
    assert ('"denoising"' in text) == part.has_latents
    assert (tmp_path / name / "limits.toml").is_file()
    for words in part.words or ():
        assert repr(words).strip("()").rstrip(",") in text


def test_all_words_are_known():
    kinds = (axes.profession, axes.place, axes.object)
    for axis, words in zip(kinds, planted.THIRTY, strict=True):
        assert axis.only(*words)
    assert sum(map(len, planted.THIRTY)) == 30
    assert sum(map(len, planted.TEN)) == 10
    assert sum(map(len, planted.FIVE)) == 5
