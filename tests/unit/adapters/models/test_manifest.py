"""Manifests as programs, people and their spreadsheets write them."""

from __future__ import annotations

import codecs
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
        pytest.param(table(delimiter=";"), "separated by semicolons", id="semicolons"),
        pytest.param("\ufeff" + table(delimiter=";"), "separated by semicolons", id="with a mark"),
        pytest.param(table(delimiter="\t"), "separated by tabs", id="tabs"),
        pytest.param(table(delimiter="|"), "separated by vertical bars", id="bars"),
        pytest.param("sep=;\r\n" + table(delimiter=";"), "semicolons", id="says its separator"),
        pytest.param(table().encode("utf-16"), "in UTF-16", id="UTF-16"),
        pytest.param(table(delimiter="\t").encode("utf-16"), "in UTF-16, separated", id="Unicode"),
        pytest.param(codecs.BOM_UTF16_BE + table().encode("utf-16-be"), "UTF-16", id="big endian"),
        pytest.param(table().encode("utf-16-le"), "in UTF-16", id="without a mark"),
        pytest.param(table().encode("utf-32"), "in UTF-32", id="UTF-32"),
        pytest.param(table().encode("cp1252"), "in Windows-1252", id="Western"),
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
        pytest.param(table([(f, p, f"{s}.0") for f, p, s in ROWS]), "", id="0.0"),
        pytest.param(table([(f, p, f"{s},0") for f, p, s in ROWS]), "", id="0,0"),
        pytest.param(table([(f, p, f" {s} ") for f, p, s in ROWS]), "", id="blanks of seeds"),
        pytest.param(table(header=("File", "PROMPT", "Seed")), "'File' as 'file'", id="case"),
        pytest.param(table(header=(" file", "prompt ", "seed")), "", id="blanks of names"),
        pytest.param(table(header=("File Name", "Text", "seed")), "as 'prompt'", id="synonyms"),
        pytest.param(table().replace(",a", ", a").replace(",", ", ", 2), "", id="blanks after"),
        pytest.param(table(quoting=csv.QUOTE_ALL).replace('","', '" , "'), "", id="and before"),
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
def test_a_spreadsheet_is_read_and_what_was_recognised_is_told(folder, content, note):
    rows, notes = read(folder, content)
    assert [(file.removeprefix("./"), *more) for file, *more in rows] == ROWS
    assert note in notes
    assert bool(note) == bool(notes)


def test_what_was_recognised_stands_in_the_provenance(folder):
    read(folder, table(delimiter=";"))
    model = load(LoadOptions(source=str(folder)))
    assert model.provenance["manifest"] == "manifest.csv: read separated by semicolons"


@pytest.mark.parametrize("compose", ["NFC", "NFD"])
def test_a_prompt_is_found_however_its_letters_are_composed(folder, compose):
    read(folder, table([(f, unicodedata.normalize(compose, p), s) for f, p, s in ROWS]))
    model = load(LoadOptions(source=str(folder)))
    other = unicodedata.normalize("NFD" if compose == "NFC" else "NFC", CHEF)
    assert model.available(other.replace(" ", "  ")) == (0,)
    assert model.generate([Request(other, 0)])[0].image.getpixel((0, 0)) == (2, 0, 0)


def lines(rows=ROWS, file="file_name", prompt="text"):
    return "".join(
        json.dumps({file: f, prompt: p, "seed": int(s), "width": 4}) + "\n" for f, p, s in rows
    )


@pytest.mark.parametrize("prompt", ["text", "prompt", "caption"])
@pytest.mark.parametrize("name", ["metadata.jsonl", "manifest.jsonl"])
def test_the_layout_of_image_folders_is_read(folder, name, prompt):
    assert read(folder, lines(prompt=prompt), name)[0] == ROWS


def test_seeds_of_pandas_are_read(folder):
    plain = [{"file": f, "prompt": p, "seed": float(s)} for f, p, s in ROWS]
    assert read(folder, json.dumps(plain), "manifest.json")[0] == ROWS


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("manifest.tsv", table(delimiter="\t")),
        ("Manifest.CSV", table()),
        ("metadata.csv", table(header=("file_name", "text", "seed"))),
    ],
)
def test_other_names_of_a_manifest(folder, name, content):
    assert read(folder, content, name)[0] == ROWS


A, B = "a.png,x,0\n", "b.png,x,1\n"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("file,text,caption\na.png,x,y\n", "the columns 'text' and 'caption' may both be 'prompt'"),
        ("File,FILE,prompt\na.png,b.png,x\n", "'File' and 'FILE' may both be 'file'"),
        ("a.png,a nurse,0\n", "no column 'file'; there are: a.png, a nurse, 0"),
        ("name;words\na.png;x\n", "no column 'file'; there are: name, words"),
        (f"file,prompt,\n{A}", "line 2: more values than columns"),
        ("file,prompt,seed\na.png,a nurse, smiling,0\n", "line 2: .*Quote texts with commas"),
        ("file;prompt\na.png;a nurse; smiling\n", "line 2: .*Quote texts with semicolons"),
        ('file,prompt,seed\na.png,x,"1,000"\n', "line 2, column seed: .*'1,000'"),
        ("file;prompt;seed\na.png;x;1.000\n", "line 2, column seed: .*'1.000'"),
        ("file,prompt,seed\na.png,x,1E+09\n", r"line 2, column seed: .*'1E\+09'"),
        ("file,prompt,seed\na.png,x,nan\n", "line 2, column seed"),
        (b"file,prompt\na.png,\x81\n", "neither Unicode nor Windows-1252"),
        (b"\xff\xfef\0i\0", "no column 'file'"),
        (b"\xff\xfef\0i\0l", "cannot be read"),
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
    (folder / "manifest.json").unlink()
    with pytest.raises(FileFormatError, match=r"line 1 and line 3: a\.png is one"):
        read(folder, lines([ROWS[0], ROWS[1], ROWS[0]]), "manifest.jsonl")


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
        ("train/metadata.jsonl", "There is one in train: use images:.*train"),
    ],
)
def test_a_folder_without_a_manifest_says_what_is_near(folder, name, told):
    (folder / "train").mkdir()
    (folder / name).write_text("{}")
    with pytest.raises(ModelLoadError, match=told):
        read_manifest(folder)


def test_line_of_broken_json(folder):
    with pytest.raises(FileFormatError, match=r"metadata.jsonl: line 2 column 1: is not valid"):
        read(folder, lines(ROWS[:1]) + "oops\n", "metadata.jsonl")


@pytest.mark.slow
def test_a_thousand_spreadsheets(folder):
    draw = random.Random(4)
    for _ in range(1000):
        delimiter = draw.choice(",;\t|")
        rows = [(f, p, s + draw.choice(("", ".0", ".00"))) for f, p, s in ROWS]
        for _ in range(draw.randrange(4)):
            rows.insert(draw.randrange(len(rows) + 1), ("", "", ""))
        rows = [(*row, *draw.choice(((), ("",), ("", " ")))) for row in rows]
        header = [draw.choice((name, name.upper(), f" {name}")) for name in ("file", "prompt")]
        text = table(
            rows, header=(*header, "seed"), delimiter=delimiter,
            lineterminator=draw.choice(("\n", "\r\n", "\r")),
            quoting=draw.choice((csv.QUOTE_ALL, csv.QUOTE_MINIMAL)),
        )  # fmt: skip
        encoding = draw.choice(("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"))
        assert read(folder, text.encode(encoding))[0] == ROWS


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
