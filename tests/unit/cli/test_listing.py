"""t2i list prompts: the prompts of suites and axes, and a manifest that the image folder reads."""

from __future__ import annotations

import csv

import pytest
from PIL import Image

from pytest_t2i import axes
from pytest_t2i.adapters.models.manifest import Entry, read_manifest
from pytest_t2i.cli.main import main
from pytest_t2i.generation.seeds import seeds_of

SUITE = """
import pytest
from pytest_t2i import axes, limit

@pytest.mark.t2i(axes.profession.only("nurse", "pilot"), images=2)
def test_prompt(sample):
    assert abs(sample.prompt_bias_score) <= limit("prompt_bias_score")

@pytest.mark.t2i(axes.profession.only("nurse"))
def test_again(sample):
    assert abs(sample.prompt_bias_score) <= limit("prompt_bias_score")

@pytest.mark.t2i("a photo of a person, smiling", images=1)
def test_text(sample):
    assert abs(sample.prompt_bias_score) <= limit("prompt_bias_score")

def test_of_nobody():
    pass
"""
NURSE, PILOT = (axes.profession.only(word).prompts()[0].text for word in ("nurse", "pilot"))

SMILING = "a photo of a person, smiling"


@pytest.fixture
def suite(tmp_path, monkeypatch):
    (tmp_path / "test_words.py").write_text(SUITE)
    (tmp_path / "pytest.ini").write_text("[pytest]\nt2i_images = 3\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def listed(capsys, *arguments):
    assert main(["list", "prompts", *arguments]) == 0
    return capsys.readouterr().out.splitlines()


def test_without_a_suite_the_built_in_axes_are_listed(capsys):
    lines = listed(capsys)
    assert f"profession-nurse: {NURSE}" in lines
    assert len(lines) == sum(len(axis.concepts) for axis in axes)
    rows = list(csv.DictReader(listed(capsys, "--manifest", "--images", "2")))
    assert len(rows) == 2 * len(lines)


@pytest.mark.slow
def test_prompts_of_a_suite_are_listed_once(suite, capsys):
    lines = listed(capsys, "test_words.py")
    assert lines[:2] == [f"profession-nurse: {NURSE}", f"profession-pilot: {PILOT}"]
    assert lines[2].endswith(": a photo of a person, smiling")
    assert listed(capsys, "test_words.py", "-k", "pilot") == lines[1:2]
    assert listed(capsys, "-k", "pilot") == lines[1:2]
    left = {path.name for path in suite.iterdir()} - {"__pycache__"}
    assert left == {"test_words.py", "pytest.ini"}, "nothing is run, nothing is written"


@pytest.mark.slow
def test_settings_that_switch_the_plugin_off_do_not_switch_the_command_off(suite, capsys):
    (suite / "pytest.ini").write_text("[pytest]\naddopts = -p no:t2i\n")
    assert listed(capsys, "test_words.py", "-k", "pilot") == [f"profession-pilot: {PILOT}"]


@pytest.mark.slow
def test_the_manifest_is_what_the_folder_of_images_reads(suite, capsys):
    text = "\n".join(listed(capsys, "test_words.py", "--manifest"))
    folder = suite / "pictures"
    folder.mkdir()
    (folder / "manifest.csv").write_text(text)
    for row in csv.DictReader(text.splitlines()):
        Image.new("RGB", (8, 8), "red").save(folder / row["file"])
    entries = read_manifest(folder).entries
    assert [entry.prompt for entry in entries] == [*3 * [NURSE], *2 * [PILOT], SMILING]
    seeds = [*seeds_of(0, NURSE, 3), *seeds_of(0, PILOT, 2), *seeds_of(0, SMILING, 1)]
    assert [entry.seed for entry in entries] == seeds, "those that a run gives, no two alike"
    assert entries[0] == Entry("profession-nurse-0.png", NURSE, seeds[0])
    assert len({entry.file for entry in entries}) == len(entries)


@pytest.mark.slow
def test_variants_of_a_triplet_are_listed_with_its_seeds(suite, capsys):
    (suite / "test_words.py").write_text(
        "import pytest\nfrom pytest_t2i import triplet\n"
        "@pytest.mark.t2i(triplet('a person, smiling'), images=2)\ndef test_gap(triplets): pass\n"
        "@pytest.mark.t2i('a person, smiling')\ndef test_prompt(sample): pass\n"
    )
    rows = list(csv.DictReader(listed(capsys, "test_words.py", "--manifest")))
    texts = ("a person, smiling", "a woman, smiling", "a man, smiling")
    neutral, *others = ([row["seed"] for row in rows if row["prompt"] == text] for text in texts)
    assert neutral == [str(seed) for seed in seeds_of(0, texts[0], 3)]
    assert others == [neutral[:2], neutral[:2]], "the first images of a prompt have its first seeds"


@pytest.mark.slow
def test_prompts_of_one_name_have_files_of_their_own(suite, capsys):
    (suite / "test_words.py").write_text(
        "import pytest\nfrom pytest_t2i import axes\nfrom dataclasses import replace\n"
        "jobs = axes.profession.only('nurse')\n"
        "@pytest.mark.t2i(jobs, replace(jobs, template='a person who works as {a word}'))\n"
        "def test_prompt(sample): pass\n"
    )
    rows = list(csv.DictReader(listed(capsys, "test_words.py", "--manifest", "--images", "1")))
    assert len(rows) == len({row["file"] for row in rows}) == 2


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("prompts", "nowhere"), "pytest could not collect: ERROR: file or directory not found"),
        (("prompts", "test_words.py", "-k", "nobody"), "no test with prompts in test_words.py"),
        (("prompts", "broken.py"), "No module named 'no_such_module'"),
        (("models", "--manifest"), "go with t2i list prompts, not t2i list models"),
        (("axes", "test_words.py"), "go with t2i list prompts, not t2i list axes"),
    ],
)
def test_what_cannot_be_listed_is_told(suite, capsys, arguments, expected):
    (suite / "broken.py").write_text("import no_such_module\n")
    assert main(["list", *arguments]) == 2
    told = capsys.readouterr().err
    assert expected in told
    assert "Traceback (most" not in told


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("metrics", "prompt_bias_score: -1 to 1, away from zero is worse (Lyu eq. 2)"),
        ("metrics", "group_distance: 0 to 1, higher is worse (half the L1 distance of shares"),
        ("audits", "parity: sample, samples"),
        ("audits", "neutrality: triplets, triplet"),
        ("tables", "checks: model, created, test, metric, subject, outcome"),
        ("tables", "refusals: model, created, metric, about, subject"),
    ],
)
def test_what_a_researcher_looks_up_is_listed(capsys, kind, expected):
    assert main(["list", kind]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith(expected) for line in lines)
    assert len(lines) > 10


def test_every_audit_says_what_a_test_receives(capsys):
    main(["list", "audits"])
    lines = capsys.readouterr().out.splitlines()
    assert all(line.partition(": ")[2] for line in lines)
    assert next(line for line in lines if line.startswith("emergence: ")) != "emergence: none"
