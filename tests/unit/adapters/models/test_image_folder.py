"""``images:DIR``."""

from __future__ import annotations

import json

import pytest
from PIL import Image

from pytest_t2i.adapters.models.folder import load
from pytest_t2i.data import Request
from pytest_t2i.errors import ConfigurationError, FileFormatError, ModelLoadError
from pytest_t2i.protocols import LoadOptions, TextToImage


def paint(folder, *names):
    for place, name in enumerate(names):
        Image.new("RGB", (4, 4), (10 * place, 0, 1)).save(folder / name)


def opened(folder):
    return load(LoadOptions(source=str(folder)))


def test_reads_pictures_by_prompt_and_seed(tmp_path):
    paint(tmp_path, "a.png", "b.png")
    (tmp_path / "manifest.csv").write_text(
        "file,prompt,seed,note\na.png,a nurse,7,x\nb.png,a cook,7,\n"
    )
    model = opened(tmp_path)
    cook, nurse = model.generate([Request("a cook", 7), Request("a nurse", 7)])
    assert (nurse.image.getpixel((0, 0)), cook.image.getpixel((0, 0))) == ((0, 0, 1), (10, 0, 1))
    assert isinstance(model, TextToImage)
    assert model.available("a nurse") == (7,)
    assert model.available("a pilot") == ()


def test_without_seeds_pictures_are_numbered(tmp_path):
    paint(tmp_path, "a.png", "b.png", "c.png")
    rows = [{"file": f"{n}.png", "prompt": p} for n, p in (("a", "x"), ("b", "y"), ("c", "x"))]
    (tmp_path / "manifest.json").write_text(json.dumps({"images": rows}))
    model = opened(tmp_path)
    assert model.available("x") == (0, 1)
    assert model.generate([Request("x", 1)])[0].image.getpixel((0, 0)) == (20, 0, 1)


def test_shortage_is_counted_at_once(tmp_path):
    paint(tmp_path, "a.png", "b.png")
    (tmp_path / "manifest.csv").write_text("file,prompt\na.png,x\nb.png,x\n")
    asked = [Request("x", k) for k in range(5)] + [Request("y", 0)]
    with pytest.raises(ConfigurationError) as caught:
        opened(tmp_path).generate(asked)
    assert "expected 6 pictures, 4 of them are missing" in str(caught.value)
    assert "Lower --t2i-images to 2" in str(caught.value)
    assert "'y'" in str(caught.value)


def test_fingerprint_follows_contents(tmp_path):
    paint(tmp_path, "a.png")
    (tmp_path / "manifest.csv").write_text("file,prompt\na.png,x\n")
    before = opened(tmp_path).fingerprint
    assert opened(tmp_path).fingerprint == before
    Image.new("RGB", (4, 4), "red").save(tmp_path / "a.png")
    assert opened(tmp_path).fingerprint != before


def test_broken_picture_is_unreadable_and_no_crash(tmp_path):
    paint(tmp_path, "a.png", "b.png")
    data = (tmp_path / "a.png").read_bytes()
    (tmp_path / "a.png").write_bytes(data[: len(data) // 2])
    (tmp_path / "c.png").write_text("text")
    (tmp_path / "manifest.csv").write_text("file,prompt\na.png,x\nb.png,x\nc.png,x\n")
    made = opened(tmp_path).generate([Request("x", k) for k in range(3)])
    assert [entry.image is None for entry in made] == [True, False, True]
    assert made[0].refusal == "unreadable: a.png (PNG that cannot be decoded)"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("manifest.csv", "file,seed\na.png,1\n", "line 1: no column 'prompt'"),
        ("manifest.csv", "file,prompt,seed\na.png,x,one\n", "line 2, column seed: .*'one'"),
        ("manifest.csv", "file,prompt\na.png,x,y,z\n", "line 2: more values"),
        ("manifest.csv", "file,prompt\na.png,\n", "line 2, column prompt"),
        ("manifest.csv", 'file,prompt\na.png,"x\n', "line 2"),
        ("manifest.csv", "file,prompt\n", "expected at least one picture"),
        ("manifest.csv", "", "no column 'file'"),
        ("manifest.json", '[{"file": "a.png",]', "line 1 column"),
        ("manifest.json", "{}", "expected a list"),
        ("manifest.json", "[1]", r"\[0\]: expected a table, got 1"),
        ("manifest.csv", "file,prompt,seed\na.png,x,1\nb.png,x,1\n", "both have seed 1"),
    ],
)
def test_malformed_manifest(tmp_path, name, text, said):
    paint(tmp_path, "a.png", "b.png")
    (tmp_path / name).write_text(text)
    with pytest.raises(FileFormatError, match=said):
        opened(tmp_path)


def test_absent_files_are_counted(tmp_path):
    rows = "".join(f"{k}.png,x\n" for k in range(9))
    (tmp_path / "manifest.csv").write_text(f"file,prompt\n{rows}")
    with pytest.raises(ModelLoadError, match=r"9 of 9 are missing: 0.png, 1.png, 2.png and 6 more"):
        opened(tmp_path)


def test_folders_that_are_none(tmp_path):
    with pytest.raises(ModelLoadError, match="does not exist"):
        opened(tmp_path / "no")
    with pytest.raises(ModelLoadError, match=r"is empty.*Expected manifest.csv"):
        opened(tmp_path)
    paint(tmp_path, "a.png")
    with pytest.raises(ModelLoadError, match=r"expected manifest.csv or manifest.json"):
        opened(tmp_path)
    with pytest.raises(ConfigurationError, match="expected a folder, got none"):
        load(LoadOptions())


@pytest.mark.parametrize("name", ["../secret.png", "{outside}", "link.png", "below/secret.png"])
@pytest.mark.parametrize("manifest", ["manifest.csv", "manifest.json"])
def test_pictures_outside_of_the_folder_are_refused(tmp_path, name, manifest):
    folder = tmp_path / "in"
    folder.mkdir()
    paint(tmp_path, "secret.png")
    paint(folder, "a.png")
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    (folder / "below").symlink_to(tmp_path)
    name = name.format(outside=tmp_path / "secret.png")
    rows = [{"file": "a.png", "prompt": "x"}, {"file": name, "prompt": "y"}]
    text = json.dumps(rows) if manifest.endswith("json") else f"file,prompt\na.png,x\n{name},y\n"
    (folder / manifest).write_text(text)
    with pytest.raises(FileFormatError, match=r"1 of 2 pictures lie outside of .*secret|link"):
        opened(folder)


def test_a_picture_that_becomes_a_link_later_is_not_followed(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    paint(tmp_path, "secret.png")
    paint(folder, "a.png")
    (folder / "manifest.csv").write_text("file,prompt\na.png,x\n")
    model = opened(folder)
    (folder / "a.png").unlink()
    (folder / "a.png").symlink_to(tmp_path / "secret.png")
    (made,) = model.generate([Request("x", 0)])
    assert (made.image, made.refusal) == (None, "unreadable: a.png")


@pytest.mark.parametrize("seed", ["9223372036854775808", "1.5", "1e3", "0x10"])
def test_seeds_that_are_none(tmp_path, seed):
    paint(tmp_path, "a.png")
    (tmp_path / "manifest.csv").write_text(f"file,prompt,seed\na.png,x,{seed}\n")
    with pytest.raises(FileFormatError, match=r"line 2, column seed: .*at most 63 bits"):
        opened(tmp_path)


@pytest.mark.parametrize("name", ["manifest.csv", "manifest.json"])
def test_what_a_service_drew_is_read_where_it_stands(tmp_path, name):
    rows = [("0.png", "a nurse", "a smiling  nurse"), ("1.png", "a nurse", "")]
    for number, (file, *_) in enumerate(rows):
        Image.new("RGB", (8, 8), (number, 0, 0)).save(tmp_path / file)
    as_json = [{"file": f, "prompt": p, "revised_prompt": r or None} for f, p, r in rows]
    as_csv = "file,prompt,revised_prompt\n" + "".join(f"{f},{p},{r}\n" for f, p, r in rows)
    (tmp_path / name).write_text(json.dumps(as_json) if name.endswith("json") else as_csv)
    model = load(LoadOptions(source=str(tmp_path)))
    made = model.generate([Request("a nurse", 0), Request("a nurse", 1)])
    assert [one.revised_prompt for one in made] == ["a smiling nurse", None]
    before = model.fingerprint
    (tmp_path / name).write_text((tmp_path / name).read_text().replace("smiling", "young"))
    assert load(LoadOptions(source=str(tmp_path))).fingerprint != before


def test_a_folder_without_that_column_is_what_it_was(tmp_path):
    Image.new("RGB", (8, 8)).save(tmp_path / "0.png")
    prints = set()
    for text in ("file,prompt\n0.png,a nurse\n", "file,prompt,revised_prompt\n0.png,a nurse,\n"):
        (tmp_path / "manifest.csv").write_text(text)
        prints.add(load(LoadOptions(source=str(tmp_path))).fingerprint)
    assert len(prints) == 1


def test_a_drawn_text_that_is_none_is_refused(tmp_path):
    Image.new("RGB", (8, 8)).save(tmp_path / "0.png")
    plain = [{"file": "0.png", "prompt": "a nurse", "revised_prompt": 3}]
    (tmp_path / "manifest.json").write_text(json.dumps(plain))
    with pytest.raises(
        FileFormatError, match=r"\[0\].*expected a text or nothing, got revised_prompt=3"
    ):
        load(LoadOptions(source=str(tmp_path)))
