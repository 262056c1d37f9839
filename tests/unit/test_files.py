"""Reading: what is refused, and how it is told. Writing: whole or not at all."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
from typing import Literal

import msgspec
import pytest

from pytest_t2i import files, read_files
from pytest_t2i.adapters.tables import read_csv
from pytest_t2i.errors import FileFormatError, StoreError, T2IError
from pytest_t2i.read_files import convert, parse_json, read_json, read_text, read_toml


class Record(msgspec.Struct, forbid_unknown_fields=True):
    steps: int
    words: list[str] = []
    shares: dict[str, float] = {}
    seeds: dict[str, dict[str, list[int]]] = {}
    batch: int | None = None
    kind: Literal["a", "b"] = "a"


@pytest.mark.parametrize(
    ("plain", "told"),
    [
        ({}, "x.toml: [t]: no key 'steps'."),
        ({"steps": "ten"}, "x.toml: [t]: expected a whole number, got steps='ten'."),
        ({"steps": True}, "expected a whole number, got steps=True."),
        ({"steps": 1.0}, "expected a whole number, got steps=1.0."),
        ({"steps": 1, "words": ["a", 3]}, "expected a text, got words[1]=3."),
        ({"steps": 1, "words": {"a": 1}}, "expected a list, got words={'a': 1}."),
        ({"steps": 1, "shares": {"a": 1.0, "b": "x"}}, "expected a number, got shares.b='x'."),
        (
            {"steps": 1, "seeds": {"a": {"b": [1], "c": [1, 2, None]}}},
            "expected a whole number, got seeds.a.c[2]=None.",
        ),
        ({"steps": 1, "batch": "x"}, "expected a whole number or nothing, got batch='x'."),
        ({"steps": 1, "kind": "c"}, "expected one of the known words, got kind='c'."),
        (
            {"steps": 1, "step": 2},
            "x.toml: [t] step: unknown key; known are batch, kind, seeds, shares, steps, words.",
        ),
        ([], "x.toml: [t]: expected a table, got []."),
        ({"steps": "x" * 999}, f"got steps='{'x' * 79}..."),
    ],
)
def test_a_wrong_value_is_named_by_its_key(tmp_path, plain, told):
    with pytest.raises(FileFormatError) as refused:
        convert("x.toml", plain, Record, where="[t]")
    assert told in str(refused.value)


def test_what_fits_is_converted():
    assert convert("x", {"steps": 3, "shares": {"a": 1}}, Record).shares == {"a": 1.0}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[1,", "line 1 column 4: is not valid JSON"),
        ("[NaN]", "it holds NaN"),
        ("-Infinity", "it holds -Infinity"),
        ('"\\uD800"', "surrogates not allowed"),
        ("[" * 100_000, "nested too deeply"),
        ("[" * 70 + "]" * 70, "nested deeper than 64 levels"),
        ("1" * 5000, "is not valid JSON"),
        (f"[{2**64}]", "more than 64 bits"),
    ],
)
def test_what_is_no_json_of_ours(tmp_path, text, told):
    with pytest.raises(FileFormatError, match=r"a\.json") as refused:
        parse_json(tmp_path / "a.json", text)
    assert told in str(refused.value)


def test_json_at_its_limits_is_read(tmp_path):
    assert parse_json(tmp_path, f'["\\ud83d\\ude00", {2**64 - 1}]') == ["\U0001f600", 2**64 - 1]
    assert parse_json(tmp_path, "[" * 64 + "]" * 64)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a = ", "is not valid TOML"),
        ("a = 1\na = 2", "is not valid TOML"),
        ("a = " + "[" * 5000, "nested too deeply"),
        ("a = " + "[" * 70 + "]" * 70, "nested deeper than"),
        (f"a = 0x{'f' * 5000}", "more than 64 bits"),
    ],
)
def test_what_is_no_toml_of_ours(tmp_path, text, told):
    (tmp_path / "a.toml").write_text(text)
    with pytest.raises(FileFormatError, match=r"a\.toml") as refused:
        read_toml(tmp_path / "a.toml")
    assert told in str(refused.value)


def test_a_schema_is_asked_for(tmp_path):
    (tmp_path / "a.json").write_text('\ufeff{"schema": "other/1"}')
    with pytest.raises(FileFormatError, match="expected schema 'ours/1', got 'other/1'"):
        read_json(tmp_path / "a.json", "ours/1", kind="run")
    (tmp_path / "a.json").write_text("[]")
    with pytest.raises(FileFormatError, match="got 'list'"):
        read_json(tmp_path / "a.json", "ours/1", kind="run")


def test_files_that_are_none(tmp_path, monkeypatch):
    with pytest.raises(FileFormatError, match=r"no such baseline\. Record one"):
        read_text(tmp_path / "a", kind="baseline", remedy="Record one.")
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(FileFormatError, match="this is not a regular file"):
            read_text(tmp_path / path)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(FileFormatError, match=r"expected a file in UTF-8: .* Save it as UTF-8"):
        read_text(tmp_path / "bytes")
    with pytest.raises(FileFormatError, match="cannot be read"):
        read_text(tmp_path / "a\0b")
    monkeypatch.setattr(read_files, "MOST_BYTES", 1)
    with pytest.raises(FileFormatError, match="at most 0 MiB"):
        read_text(tmp_path / "bytes")


PARTS = ".".join(["a"] * 100_000)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"{PARTS} = 1", 1),
        (f"[{PARTS}]", 1),
        (f"x = 1\n[[ {PARTS.replace('.', ' . ')} ]]", 2),
        (f"x = {{ {PARTS} = 1 }}", 1),
        (PARTS.replace("a", '"a"') + " = 1", 1),
        (PARTS.replace("a", "'a'") + " = 1", 1),
        (f'x = """\\""" # "a\n"""\n{PARTS} = 1', 3),
        (f"x = '''a\\''''\n{PARTS} = 1", 2),
        (f'x = """a""""\n{PARTS} = 1', 2),
        (f'x = "a # b"\n{PARTS} = 1', 2),
        (f"{PARTS}", 1),
    ],
)
def test_a_key_of_many_parts_is_refused_at_once(tmp_path, text, line):
    """The time of tomllib grows with their square: minutes here."""
    (tmp_path / "a.toml").write_text(text)
    with pytest.raises(FileFormatError, match=f"line {line}: expected keys of at most 64 parts"):
        read_toml(tmp_path / "a.toml")


@pytest.mark.parametrize(
    "text",
    [
        f'a = "{PARTS[:999]}"',
        f"a = '{PARTS[:999]}'",
        f'a = """\n{PARTS[:999]}"""',
        f"a = 1 # {PARTS[:999]}",
        f"{PARTS[:101]} = 1",
    ],
)
def test_a_text_with_many_dots_is_no_key(tmp_path, text):
    (tmp_path / "a.toml").write_text(text)
    assert read_toml(tmp_path / "a.toml")


@pytest.mark.parametrize(
    "text",
    ['"' * 4_000_000, '"a' * 2_000_000, "'" * 4_000_000, "a" * 4_000_000, "a " * 2_000_000,
     '"\\' * 2_000_000, '"""' + '\\"' * 1_000_000, "[" * 4_000_000, "a." * 60 + "b " * 1_000_000],
)  # fmt: skip
def test_what_no_toml_is_is_refused_in_seconds(tmp_path, text):
    (tmp_path / "a.toml").write_text(text)
    with pytest.raises(FileFormatError, match=r"TOML|parts"):
        read_toml(tmp_path / "a.toml")


LONG = "x" * (read_files.MOST_TEXT + 1)


@pytest.mark.parametrize("text", [f'["{LONG}"]', f'{{"a": ["{LONG}"]}}', f'{{"{LONG}": 1}}'])
def test_a_text_without_an_end_is_refused(tmp_path, text):
    with pytest.raises(FileFormatError, match="a text of at most 131072 characters, got 131073"):
        parse_json(tmp_path / "a.json", text)
    assert parse_json(tmp_path / "a.json", text.replace(LONG, LONG[1:]))


def test_a_large_toml_file_is_refused_before_it_is_parsed(tmp_path):
    (tmp_path / "a.toml").write_text("#" * (read_files.MOST_TOML + 1))
    with pytest.raises(FileFormatError, match="at most 4 MiB"):
        read_toml(tmp_path / "a.toml")


@pytest.mark.parametrize("cell", ['"' * 400_001, '"a" ' * 100_000, '"a"' * 200_000 + " ;"])
def test_a_table_of_quotes_is_refused_in_seconds(tmp_path, cell):
    with pytest.raises(FileFormatError, match="line 2"):
        rows(tmp_path, f"a,b\n{cell},1\n", "a")


def test_a_message_about_columns_is_short(tmp_path):
    with pytest.raises(FileFormatError, match=r"there are: b0, .* and \d+ more\.") as refused:
        rows(tmp_path, ",".join(f"b{k}" for k in range(200_000)) + "\n", "a")
    assert len(str(refused.value)) < 1000


def rows(tmp_path, text, *needed):
    (tmp_path / "a.csv").write_text(text)
    return list(read_csv(tmp_path / "a.csv", needed, remedy="See docs."))


def test_rows_of_csv(tmp_path):
    (first, second) = rows(tmp_path, '\ufeffa,b\n" x ",2\n\n"y\nz"\n', "a")
    assert (first.where, first.values) == ("line 2", {"a": "x", "b": "2"})
    assert (second.where, second.values) == ("line 5", {"a": "y\nz", "b": ""})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", r"line 1: no column 'a'; there are: none\. Save .* See docs\."),
        ("b,c\n", r"line 1: no column 'a'; there are: b, c\. Save .* See docs\."),
        ("a,a\n", "line 1: expected distinct names of columns, got: a, a"),
        ("a\n1\n1,2\n", r"line 3: more values than columns\. Quote"),
        ('a\n"x\n', "line 2: unexpected end of data"),
        ("a\n" + "x" * 200_000, "line 2: field larger than field limit"),
    ],
)
def test_what_is_no_table(tmp_path, text, told):
    with pytest.raises(FileFormatError, match=told):
        rows(tmp_path, text, "a")


def test_a_message_steers_no_terminal():
    assert str(T2IError("a\x1b[31m\n\x9bb\u202e\ud800")) == "a\\x1b[31m\n\\x9bb\\u202e\\ud800"


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EROFS, "no permission to write"),
        (errno.EIO, "cannot"),
    ],
)
def test_a_failed_write_says_what_to_do_and_leaves_nothing(tmp_path, monkeypatch, number, told):
    def fail(*_):
        raise OSError(number, "no")

    (tmp_path / "a").write_text("before")
    monkeypatch.setattr("pathlib.Path.replace", fail)
    with pytest.raises(StoreError, match=told):
        files.write_whole(tmp_path / "a", b"after")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_text() == "before"


@pytest.mark.parametrize(
    "name",
    ["../a", "a/../../b", "/etc/passwd", "..", "C:a", "C:\\a", "..\\a", "\\\\host\\a", "a\0b"],
)
def test_names_that_leave_their_folder(tmp_path, name):
    assert not files.is_relative(name)
    assert files.outside(tmp_path, ["a", name]) == [name]


def test_links_out_of_a_folder_are_not_followed(tmp_path):
    folder = tmp_path / "in"
    (folder / "below").mkdir(parents=True)
    (tmp_path / "secret").write_text("x")
    (folder / "a").write_text("x")
    (folder / "near").symlink_to(folder / "a")
    (folder / "far").symlink_to(tmp_path / "secret")
    (folder / "below" / "up").symlink_to(tmp_path)
    (folder / "circle").symlink_to(folder / "circle")
    names = ["a", "near", "far", "below/up/secret", "circle", "absent", "x" * 5000]
    assert files.outside(folder, names) == ["far", "below/up/secret"]
    there = [name for name in names if files.inside(folder, name)]
    assert there == ["a", "near"]
    assert files.inside(folder, "a") == (folder / "a").resolve()
    # A folder that is itself reached by a link is no way out of it.
    (tmp_path / "link").symlink_to(folder)
    assert files.inside(tmp_path / "link", "a") == (folder / "a").resolve()
    assert files.outside(tmp_path / "link", ["a", "near"]) == []


def test_a_key_that_stands_twice_is_no_json_of_ours(tmp_path):
    with pytest.raises(FileFormatError, match="the key 'file' stands twice in one table"):
        parse_json(tmp_path / "a.json", '[{"file": "a.png", "file": "b.png"}]')


RACE = """
import dataclasses, sys, threading
from pathlib import Path
from pytest_t2i.read_files import convert

sys.setswitchinterval(1e-6)
PLAIN = {f"f{k}": [{"x": 1}] for k in range(20)}

def go(kind, start):
    start.wait()
    convert(Path("f"), PLAIN, kind)

for n in range(200):
    inner = dataclasses.make_dataclass(f"Inner{n}", [("x", int)])
    kind = dataclasses.make_dataclass(f"Kind{n}", [(name, list[inner]) for name in PLAIN])
    start = threading.Barrier(6)
    threads = [threading.Thread(target=go, args=(kind, start)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def test_threads_that_convert_to_a_new_type_at_once_do_not_end_the_process():
    assert subprocess.run([sys.executable, "-c", RACE], check=False).returncode == 0


READERS = {
    "read_csv": lambda path: list(read_csv(path, ("file",))),
    "read_toml": read_toml,
    "read_json": lambda path: read_json(path, "ours", kind="baseline"),
}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"PK\x03\x04" + bytes(26) + b"xl/workbook.xml", "an Excel workbook (.xlsx)"),
        (b"PK\x03\x04" + bytes(26) + b"mimetypeapplication/vnd.oasis.opendocument", "OpenDocument"),
        (b"PAR1\x15\x04\xae", "a Parquet file. Save it as"),
        (b"version https://git-lfs.github.com/spec/v1\n", "`git lfs pull` fetches the file"),
        (b"\x89PNG\r\n\x1a\n\xff", "PNG"),
    ],
)
def test_another_kind_of_file_is_named(tmp_path, reader, content, name):
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(FileFormatError, match=rf"of text, got .*{re.escape(name)}"):
        reader(tmp_path / "a")


@pytest.mark.parametrize(
    ("text", "name"), [("<?xml version='1.0'?>\n<image/>", "XML"), ('{"error": 1}', "JSON")]
)
def test_a_text_that_is_no_table_is_named(tmp_path, text, name):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(FileFormatError, match=f"expected a table, got {name}"):
        list(read_csv(tmp_path / "a.csv", ("file",)))
