"""Manifests in UTF-8, with commas or semicolons; anything else is one clear message."""

from __future__ import annotations

import csv
import io
import json
import random
import unicodedata

import pytest
from PIL import Image, features

from pytest_t2i.adapters.models.folder import load
from pytest_t2i.adapters.models.manifest import read_manifest
from pytest_t2i.cli.listing import Wanted, _manifest
from pytest_t2i.data import Request
from pytest_t2i.errors import FileFormatError, ModelLoadError
from pytest_t2i.protocols import LoadOptions

NURSE, CHEF = "a photo of a nurse", "a photo of a chef, café"
ROWS = [("a.png", NURSE, "0"), ("b.png", NURSE, "1"), ("sub/é.png", CHEF, "0")]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "sub").mkdir()
    for number, (file, *_) in enumerate(ROWS):
        Image.new("RGB", (4, 4), (number, 0, 0)).save(tmp_path / file)
    return tmp_path


def table(rows=ROWS, *, header=("file", "prompt", "seed"), **form):
    text = io.StringIO(newline="")
    csv.writer(text, **form).writerows([header, *rows])
    return text.getvalue()


def read(folder, content, name="manifest.csv"):
    content = content.encode() if isinstance(content, str) else content
    (folder / name).write_bytes(content)
    manifest = read_manifest(folder)
    rows = [(entry.file, entry.prompt, str(entry.seed)) for entry in manifest.entries]
    return rows, " ".join(manifest.notes)


BLANK = [("", "", "")]


@pytest.mark.parametrize(
    ("content", "note"),
    [
        pytest.param(table(), "", id="as expected"),
        pytest.param(table(delimiter=";"), "", id="semicolons"),
        pytest.param("\ufeff" + table(delimiter=";"), "", id="with a mark"),
        pytest.param(table([*ROWS, *BLANK, *BLANK]), "", id="rows of commas"),
        pytest.param(table([*BLANK, *ROWS[:1], *BLANK, *ROWS[1:]]), "", id="rows between"),
        pytest.param("\n,,\n" + table(), "", id="rows before"),
        pytest.param(table() + "\n \n\t\n", "", id="blank lines"),
        pytest.param(table().replace("\r\n", "\r"), "", id="old line breaks"),
        pytest.param(table([(*row, "", "") for row in ROWS]), "", id="cells without a column"),
        pytest.param(
            table([(*row, "", "") for row in ROWS], header=("file", "prompt", "seed", "", "")),
            "", id="columns without a name",
        ),
        pytest.param(table([(f, p, f" {s} ") for f, p, s in ROWS]), "", id="blanks of seeds"),
        pytest.param(table(header=(" file", "prompt ", "seed")), "", id="blanks of names"),
        pytest.param(table([(f" {f} ", p, s) for f, p, s in ROWS]), "", id="blanks of files"),
        pytest.param(
            table([(f.replace("/", "\\"), p, s) for f, p, s in ROWS]),
            r"on another system: 'sub\\é.png' as 'sub/é.png'", id="backslashes",
        ),
        pytest.param(table([(f".\\{f}", p, s) for f, p, s in ROWS]), "3 of 3", id="from here"),
        pytest.param(table([(f"./{f}", p, s) for f, p, s in ROWS[:2]] + ROWS[2:]), "", id="./"),
        pytest.param(
            table([(unicodedata.normalize("NFD", f), p, s) for f, p, s in ROWS]),
            "1 of 3", id="composition",
        ),
        pytest.param(table([(f.upper(), p, s) for f, p, s in ROWS]), "3 of 3", id="capitals"),
    ],
)  # fmt: skip
def test_a_table_is_read_and_how_its_files_are_spelled_is_told(folder, content, note):
    rows, notes = read(folder, content)
    assert [(file.removeprefix("./"), *more) for file, *more in rows] == ROWS
    assert note in notes
    assert bool(note) == bool(notes)


def test_how_files_are_spelled_stands_in_the_provenance(folder):
    read(folder, table([(f.upper(), p, s) for f, p, s in ROWS]))
    model = load(LoadOptions(source=str(folder)))
    assert "3 of 3 files are spelled as on another system" in model.provenance["manifest"]


@pytest.mark.parametrize("compose", ["NFC", "NFD"])
def test_a_prompt_is_found_however_its_letters_are_composed(folder, compose):
    read(folder, table([(f, unicodedata.normalize(compose, p), s) for f, p, s in ROWS]))
    model = load(LoadOptions(source=str(folder)))
    other = unicodedata.normalize("NFD" if compose == "NFC" else "NFC", CHEF)
    assert model.available(other.replace(" ", "  ")) == (0,)
    assert model.generate([Request(other, 0)])[0].image.getpixel((0, 0)) == (2, 0, 0)


A, B = "a.png,x,0\n", "b.png,x,1\n"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("File,prompt\na.png,x\n", "no column 'file'; there are: File, prompt. Is it 'File'?"),
        ("file_name,text\na.png,x\n", "no column 'file'; there are: file_name, text"),
        ("a.png,a nurse,0\n", "no column 'file'; there are: a.png, a nurse, 0"),
        ("name;words\na.png;x\n", "no column 'file'; there are: name, words"),
        (f"file,prompt,\n{A}", "line 2: more values than columns"),
        ("file,prompt,seed\na.png,a nurse, smiling,0\n", "line 2: .*Quote texts that hold a comma"),
        (
            "file;prompt\na.png;a nurse; smiling\n",
            "line 2: .*Quote texts that hold a comma or a sem",
        ),
        ('file,prompt,seed\na.png,x,"1,000"\n', "line 2, column seed: .*'1,000'"),
        ("file;prompt;seed\na.png;x;1.000\n", "line 2, column seed: .*'1.000'"),
        ("file,prompt,seed\na.png,x,1E+09\n", r"line 2, column seed: .*'1E\+09'"),
        ("file,prompt,seed\na.png,x,nan\n", "line 2, column seed"),
        ("file,prompt,seed\na.png,x,1.0\n", "line 2, column seed: expected a whole number.*'1.0'"),
        (table(delimiter="\t"), r"no column 'file'; .*Save it as \"CSV UTF-8\", with commas or"),
        (table(delimiter="|"), 'Save it as "CSV UTF-8"'),
        (table().encode("utf-16"), "expected a table in UTF-8: .*Save it as UTF-8"),
        (table().encode("utf-16-le"), "Save it as"),
        (table().encode("cp1252"), "expected a table in UTF-8: .*Save it as UTF-8"),
        (",,\n,,\n", "no column 'file'"),
        ("file,prompt\n,,\n", "expected at least one picture"),
        (f"file,prompt,seed\n,,\n{A}b.png,x,0\n", "lines? 3 and line 4: a.png and b.png both"),
    ],
)
def test_what_is_uncertain_is_refused_with_its_cause(folder, content, told):
    with pytest.raises(FileFormatError, match=told):
        read(folder, content)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("a.png,x,0\nb.png,x,1\na.png,x,2\n", "line 2 and line 4: a.png is one picture, listed"),
        ("a.png,x,0\na.png,x,0\n", "line 2 and line 3: a.png .* seeds 0 and 0 of 'x'"),
        ("a.png,x,\n\na.png,x,\n", "line 2 and line 4: a.png .* seeds 0 and 1 of 'x'"),
        ("a.png,x,0\na.png,y,0\n", "line 2 and line 3: a.png .* the prompts 'x' and 'y'"),
        ("a.png,x,0\n./a.png,y,0\n", "a.png and ./a.png is one"),
        ("sub/é.png,x,0\nsub\\é.png,x,1\n", "line 2 and line 3"),
        ("a.png,x,0\nA.png,x,1\n", "a.png and A.png is one"),
        ("a.png,x,0\nsub/../a.png,x,1\n", "lie outside of"),
        ("a.png,x,0\nlink.png,x,1\n", "line 2 and line 3: a.png and link.png is one"),
        ("sub/é.png,x,0\nsub/e\u0301.png,x,1\n", "line 2 and line 3"),
    ],
)
def test_a_picture_that_is_listed_twice_is_refused(folder, rows, told):
    (folder / "link.png").symlink_to(folder / "a.png")
    with pytest.raises(FileFormatError, match=told):
        read(folder, f"file,prompt,seed\n{rows}")


def test_a_picture_that_is_listed_twice_in_json_is_refused(folder):
    plain = [{"file": "a.png", "prompt": prompt} for prompt in "xyx"]
    with pytest.raises(FileFormatError, match=r"\[0\] and \[1\]: a.png is one picture"):
        read(folder, json.dumps(plain), "manifest.json")


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ("c.png", "Add them; paths are relative to the folder"),
        ("pictures/a.png", "There is a.png: give paths relative to the folder of the manifest"),
        ("é.png", "There is sub/é.png: give paths"),
        ("a.jpg", "There is a.png: write names with their endings"),
        ("a", "There is a.png: write names with their endings"),
        ("twin.png", "'twin.png' may mean TWIN.png, Twin.png"),
    ],
)
def test_the_cause_of_an_absent_file_is_named(folder, file, told):
    for name in ("TWIN.png", "Twin.png"):
        Image.new("RGB", (4, 4)).save(folder / name)
    with pytest.raises(ModelLoadError, match=told):
        read(folder, f"file,prompt\n{file},x\n")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("manifest.xlsx", "There is manifest.xlsx: save it as manifest.csv"),
        ("manifest.csv.txt", "There is manifest.csv.txt: save it as manifest.csv"),
        ("Manifest.CSV", "There is Manifest.CSV: save it as manifest.csv"),
        ("metadata.jsonl", "There is metadata.jsonl: save it as manifest.csv"),
        ("train/manifest.json", "There is one in train: use images:.*train"),
    ],
)
def test_a_folder_without_a_manifest_says_what_is_near(folder, name, told):
    (folder / "train").mkdir()
    (folder / name).write_text("{}")
    with pytest.raises(ModelLoadError, match=told):
        read_manifest(folder)


def test_line_of_broken_json(folder):
    with pytest.raises(FileFormatError, match=r"manifest.json: line 2 column 1: is not valid"):
        read(folder, '[{"file": "a.png"},\noops]', "manifest.json")


HOSTILE = (
    *("=1+1", "+1", "-1", "@SUM(A1)", "'=1", "''=1", "'tis", " a", "a ", "\ta", "a\r\nb", "a\nb"),
    *(
        "a\u0085b",
        "a\u2028b",
        "\x1b[31m",
        "a\u202eb",
        "\ufeffa",
        "a,b",
        'a "b"',
        "a;b",
        "\\x1b",
        "é",
    ),
    *("literal:'x'", "literal: x", "e\u0301", "\U0001f469\u200d\u2695", "a\xa0", "\\", "a\\nb"),
)


def round_trip(folder, prompts):
    for place in range(len(prompts)):
        Image.new("RGB", (2, 2), (place % 256, place // 256, 1)).save(folder / f"p-{place}-0.png")
    wanted = [Wanted(f"p-{place}", prompt, 1, [prompt]) for place, prompt in enumerate(prompts)]
    text = "\n".join(_manifest(wanted))
    assert all(sign.isprintable() or sign in "\n\u200d\xa0" for sign in text)
    cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    (folder / "manifest.csv").write_text(text + "\n", encoding="utf-8")
    return [entry.prompt for entry in read_manifest(folder).entries]


def test_every_prompt_passes_through_a_manifest(tmp_path):
    assert round_trip(tmp_path, HOSTILE) == list(HOSTILE)


def test_a_thousand_prompts_pass_through_a_manifest(tmp_path):
    draw = random.Random(7)
    signs = ("=+-@'\"`,;|\t\r\n\\ \x00\x1b\x7f\x85\xa0\u2028\u202e\ufeff\U0001f600ab"
             "\u0301xu0{}$")  # fmt: skip
    prompts = {"".join(draw.choices(signs, k=draw.randrange(1, 9))) for _ in range(1000)}
    prompts = sorted(prompt for prompt in prompts if prompt.strip())
    assert round_trip(tmp_path, prompts) == prompts


AVIF = features.check("avif")


@pytest.mark.skipif(not AVIF, reason="Pillow without AVIF")
@pytest.mark.parametrize("damage", ["cut", "flipped", "zeros"])
def test_a_damaged_avif_is_unreadable(tmp_path, damage):
    Image.effect_noise((32, 32), 90).convert("RGB").save(tmp_path / "whole.avif")
    whole = (tmp_path / "whole.avif").read_bytes()
    rows = ["file,prompt", "whole.avif,whole"]
    for place in range(0, min(len(whole), 400), 7):
        content = {
            "cut": whole[:place],
            "flipped": whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :],
            "zeros": whole[:place] + bytes(9) + whole[place + 9 :],
        }[damage]
        (tmp_path / f"{place}.avif").write_bytes(content)
        rows.append(f"{place}.avif,x")
    (tmp_path / "manifest.csv").write_text("\n".join(rows) + "\n")
    model = load(LoadOptions(source=str(tmp_path)))
    made = model.generate([Request("x", seed) for seed in model.available("x")])
    refused = [each.refusal for each in made if each.image is None]
    assert refused
    assert all(told.startswith("unreadable: ") and ".avif" in told for told in refused)


@pytest.mark.parametrize("brand", ["heic", "mif1", "hevc"])
def test_heic_is_named(tmp_path, brand):
    (tmp_path / "a.heic").write_bytes(b"\0\0\0\x18ftyp" + brand.encode() + b"\0" * 40)
    (tmp_path / "manifest.csv").write_text("file,prompt\na.heic,x\n")
    assert "HEIC is not read, convert a.heic to PNG" in read_manifest(tmp_path).notes[0]
    (made,) = load(LoadOptions(source=str(tmp_path))).generate([Request("x", 0)])
    assert made.refusal.startswith("unreadable: a.heic (HEIC, convert it to PNG")
