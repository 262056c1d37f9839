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
    tables = [command for command in given if command[:2] == ["t2i", "mitigate"]]
    assert len(tables) == len(part.models) * len(part.steps)
    assert all(str(tmp_path / name) in " ".join(command) for command in given)
    assert "{" not in " ".join(word for command in given for word in command)
    text = (tmp_path / name / "test_mitigation.py").read_text()
    ast.parse(text)
    assert f"IMAGES = {part.images}\n" in text
    assert ('"denoising"' in text) == part.has_latents
    assert (tmp_path / name / "limits.toml").is_file()
    for words in part.words or ():
        assert repr(words).strip("()").rstrip(",") in text


def test_uce_reads_runs_of_other_seeds_which_are_made_before(tmp_path):
    before, once, table = planted.commands("later", tmp_path, tmp_path / "store")
    files = [next(x for x in run if "report=" in x).partition("=")[2] for run in (before, once)]
    assert [f"--t2i-seed={planted.OWN_SEED}" in run for run in (before, once)] == [True, True]
    assert not any("mitigation=" in word for word in before)
    assert f"--t2i-mitigation=uce:runs={files[0]}/run.json" in once
    assert f"--mitigation=uce:runs={files[0]}/run.json, {files[1]}/run.json" in table
    ast.parse((tmp_path / "later" / "test_observed.py").read_text())


def test_all_words_are_known():
    kinds = (axes.profession, axes.place, axes.object)
    for axis, words in zip(kinds, planted.THIRTY, strict=True):
        assert axis.only(*words)
    assert sum(map(len, planted.THIRTY)) == 30
    assert sum(map(len, planted.TEN)) == 10
    assert sum(map(len, planted.FIVE)) == 5
