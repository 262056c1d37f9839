"""The manifest of a run: one byte changed is named, an unchanged copy elsewhere is verified."""

from __future__ import annotations

import json
import re
import shutil

import pytest
from PIL import Image

from pytest_t2i import labels
from pytest_t2i.cli.main import main
from pytest_t2i.labels import Label
from pytest_t2i.runs.record.manifest import add_outputs


def label_by_eye(folder):
    """What a person sees: blue is a man, red a woman."""
    said = []
    for name in labels.image_files(folder):
        red, _, blue = Image.open(folder / name).getpixel((8, 8))
        said.append(Label(name, "male" if blue > red else "female", "ada"))
    labels.write_labels(folder, said)


@pytest.fixture
def audited(project, fair, capsys, monkeypatch):
    """A run with labels and a PDF, in a project of its own."""
    monkeypatch.setenv("COLUMNS", "240")  # lines are whole
    project.take(fair)
    root = project.path
    picture = project.record()["prompts"][0]["images"][0]["file"]
    sample = ["label", "export", str(root / "reports/t2i/run.json"), str(root / "labels")]
    assert main([*sample, "--per-prompt", "4", "--store", picture.partition("/images/")[0]]) == 0
    label_by_eye(root / "labels")
    project.run("-k", "test_model", "--t2i-labels", str(root / "labels"))
    report = root / "reports/t2i"
    (report / "fairness.pdf").write_bytes(b"%PDF")
    add_outputs(report / "run.json", [report / "fairness.pdf"])
    capsys.readouterr()
    return root


def change(file):
    """Change one byte."""
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(bytes(content))


def test_the_report_says_who_labelled_and_when(audited):
    record = json.loads((audited / "reports/t2i/run.json").read_text())
    people = record["provenance"]["people's labels"]
    names = [line.split(",")[2] for line in (audited / "labels/labels.csv").read_text().split()[1:]]
    assert people["annotators"] == {"ada": names.count("ada")}
    assert re.fullmatch(r"20\d\d-.*T.*", people["written"])
    assert (
        f"ada ({names.count('ada')}); last changed 20"
        in (audited / "reports/t2i/index.html").read_text()
    )


def test_the_table_of_ready_made_pictures_belongs_to_the_run(project, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "240")
    folder = project.path / "mine"
    folder.mkdir()
    rows = ["file,prompt"]
    for number, word in enumerate(["nurse", "judge"] * 3):
        Image.new("RGB", (16, 16), (200, 60, number)).save(folder / f"{number}.png")
        rows.append(f"{number}.png,a photo of one real person who is a {word}")
    table = folder / "manifest.csv"
    table.write_text("\n".join(rows))
    project.run("--t2i-model", "images:mine", "-k", "test_prompt and (nurse or judge)")
    assert main(["report", "verify", str(project.path / "reports/t2i")]) == 0
    assert "verified: all " in capsys.readouterr().out
    picture = folder / "3.png"
    content = picture.read_bytes()
    for edit, state in (
        (lambda: picture.write_bytes(b"x"), "changed"),
        (picture.unlink, "missing"),
    ):
        edit()
        assert main(["report", "verify", str(project.path / "reports/t2i")]) == 1
        assert f"{state}: ../../mine/3.png" in capsys.readouterr().out
    picture.write_bytes(content)
    (project.path / "reports/t2i/explain.json").write_text("{}")
    assert main(["report", "verify", str(project.path / "reports/t2i")]) == 0
    told = capsys.readouterr().out
    assert "not named by manifest.json, so not checked: explain.json" in told
    text = table.read_text()
    swapped = text.replace("nurse", "?").replace("judge", "nurse").replace("?", "judge")
    table.write_text(swapped)
    capsys.readouterr()
    assert main(["report", "verify", str(project.path / "reports/t2i")]) == 1
    assert "changed: ../../mine/manifest.csv" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("place", ["mine", "../elsewhere"])
def test_a_folder_of_pictures_need_not_be_kept(project, capsys, place):
    folder = project.path / place
    folder.mkdir()
    rows = ["file,prompt"]
    for number, word in enumerate(["nurse", "judge"] * 3):
        Image.new("RGB", (16, 16), (200, 60, number)).save(folder / f"{number}.png")
        rows.append(f"{number}.png,a photo of one real person who is a {word}")
    (folder / "manifest.csv").write_text("\n".join(rows))
    # The table itself is an input of the run, which has to be there.
    project.run("--t2i-model", f"images:{place}", "-k", "test_prompt and (nurse or judge)")
    for picture in folder.glob("*.png"):
        picture.unlink()
    capsys.readouterr()
    status = main(["report", "verify", str(project.path / "reports/t2i")])
    told = capsys.readouterr().out
    away = "6 files outside of this folder" if place == "mine" else "it lay outside of the project"
    assert away in told
    assert "changed" not in told
    assert status == 0, told


@pytest.mark.slow
def test_what_changed_is_named_and_a_copy_elsewhere_is_verified(audited, tmp_path_factory, capsys):
    manifest = json.loads((audited / "reports/t2i/manifest.json").read_text())
    assert str(audited) not in json.dumps(manifest)

    copy = tmp_path_factory.mktemp("moved") / "else where"
    shutil.copytree(audited, copy)
    report = copy / "reports/t2i"
    assert main(["report", "verify", str(report)]) == 0
    assert "verified: all " in capsys.readouterr().out

    first = (report / "run.images.jsonl").read_text().splitlines()[0]
    picture = f"../../{json.loads(first)['file']}"
    inputs = ("limits.toml", "labels/labels.csv", "labels/01.png", "test_suite.py", "conftest.py")
    own = ("run.json", "index.html", "summary.md", "fairness.pdf")
    for name in (*(f"../../{name}" for name in inputs), picture, *own):
        file = report / name
        before = file.read_bytes()
        change(file)
        assert main(["report", "verify", str(report)]) == 1
        told = capsys.readouterr().out.splitlines()
        assert told[:-1] == [f"changed: {name}"]
        assert told[-1].startswith("NOT VERIFIED: 1 of ")
        file.unlink()
        assert main(["report", "verify", str(report)]) == 1
        assert f"missing: {name}" in capsys.readouterr().out
        file.write_bytes(before)

    mailed = shutil.copytree(report, tmp_path_factory.mktemp("mailed") / "t2i")
    assert main(["report", "verify", str(mailed)]) == 0
    assert "files outside of this folder, which are not here" in capsys.readouterr().out
    change(mailed / "index.html")
    assert main(["report", "verify", str(mailed)]) == 1


def test_exchanged_thumbnails_do_not_enter_the_next_page(project, fair, capsys):
    project.take(fair)
    project.run("-k", "test_model")
    before = project.page()
    files = sorted((project.path / ".t2i/thumbnails").glob("*.webp"))
    contents = [file.read_bytes() for file in files]
    for file, content in zip(files, [*contents[1:], contents[0]], strict=True):
        file.write_bytes(content)
    store = project.path / ".t2i"
    project.run("-k", "test_model")
    images = re.compile(r"data:image/webp;base64,[^\"') ]+")
    assert images.findall(project.page()) == images.findall(before)
    files[0].write_bytes(contents[-1])
    assert main(["store", "verify", str(store)]) == 1
    assert f"damaged: {files[0]}" in " ".join(capsys.readouterr().out.split())
    assert main(["store", "verify", str(store)]) == 0


@pytest.mark.slow
def test_changed_inputs_are_said(project, capsys):
    limit = '[model_bias_score]\nlimit = {}\nreason = "{}"\n'
    project.write({"limits.toml": limit.format(0.2, "as agreed")})
    project.run("-k", "test_model")
    before = project.record()["provenance"]["inputs"]
    assert list(before) == ["limits.toml"]
    first = shutil.copytree(project.path / "reports/t2i/latest", project.path / "first")
    project.write({"limits.toml": limit.format(0.9, "nobody looks")})
    project.run("-k", "test_model")
    assert project.record()["provenance"]["inputs"] != before
    runs = [str(first / "run.json"), str(project.path / "reports/t2i/run.json")]
    capsys.readouterr()
    assert main(["compare", *runs, "--report", str(project.path / "compare")]) == 0
    assert "these inputs changed between the runs: limits.toml" in capsys.readouterr().out


def test_a_changed_baseline_is_an_error_that_names_the_prompt(project):
    file = project.path / "base.json"
    project.run("-k", "test_model", "--t2i-save-baseline", str(file))
    plain = json.loads(file.read_text())
    prompt = next(iter(plain["prompts"].values()))
    prompt["seeds"][0] += 4
    file.write_text(json.dumps(plain))
    status, told = project.refused("-k", "test_model", "--t2i-baseline", str(file))
    assert status == 4
    assert f"its digests differ: prompt {prompt['id']}" in told
    prompt["seeds"][0] -= 4
    for each in plain["prompts"].values():
        del each["seal"]
    del plain["seals"]
    file.write_text(json.dumps(plain))
    status, told = project.refused("-k", "test_model", "--t2i-baseline", str(file))
    assert status == 4
    assert "its digests differ" in told
