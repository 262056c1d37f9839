"""The log beside labels.csv: fast, whole after a kill, gone when the table holds it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from pytest_t2i import labels
from pytest_t2i.errors import FileFormatError
from pytest_t2i.labels import Label
from pytest_t2i.labels.labels_csv import LOG_NAME

ENDLESS = """
import sys
from pathlib import Path
from pytest_t2i import labels
from pytest_t2i.labels import Label

folder, k = Path(sys.argv[1]), 0
while True:
    labels.record(folder, Label(f"{k}.png", "male", "ada"))
    print(k, flush=True)
    if k % 7 == 6:
        labels.compact(folder)
    k += 1
"""


def test_the_table_is_not_written_for_a_word(tmp_path):
    labels.write_labels(tmp_path, [Label("a.png", "male", "ada")])
    table = (tmp_path / "labels.csv").read_bytes()
    labels.record(tmp_path, Label("a.png", "female", "ada"))
    assert (tmp_path / "labels.csv").read_bytes() == table
    assert labels.read_labels(tmp_path) == [Label("a.png", "female", "ada")]
    labels.compact(tmp_path)
    assert b"a.png,female,ada" in (tmp_path / "labels.csv").read_bytes()
    assert not (tmp_path / LOG_NAME).exists()


def test_words_in_both_are_taken_once(tmp_path):
    labels.record(tmp_path, Label("a.png", "male", "ada"))
    labels.record(tmp_path, Label("b.png", "male", "ada"))
    labels.forget(tmp_path, "b.png", "ada")
    log = (tmp_path / LOG_NAME).read_bytes()
    labels.compact(tmp_path)
    (tmp_path / LOG_NAME).write_bytes(log)
    assert labels.read_labels(tmp_path) == [Label("a.png", "male", "ada")]


def test_a_line_that_a_full_disk_cut_short_is_left_out_and_swallows_none(tmp_path):
    labels.record(tmp_path, Label("a.png", "male", "ada"))
    with (tmp_path / LOG_NAME).open("ab") as file:
        file.write(b'{"file":"b.png","annot')
    assert [label.file for label in labels.read_labels(tmp_path)] == ["a.png"]
    labels.record(tmp_path, Label("c.png", "male", "ada"))
    assert [label.file for label in labels.read_labels(tmp_path)] == ["a.png", "c.png"]


@pytest.mark.parametrize("line", ["nonsense}", '{"file": 3, "annotator": "ada", "label": "male"}'])
def test_a_line_that_is_none_is_told(tmp_path, line):
    (tmp_path / LOG_NAME).write_text(f"{line}\n")
    with pytest.raises(FileFormatError, match=r"\.labels\.log: line 1"):
        labels.read_labels(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("after", [3, 20, 41])
def test_nothing_confirmed_is_lost_when_the_process_is_killed(tmp_path, after):
    with subprocess.Popen(
        [sys.executable, "-c", ENDLESS, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as process:
        confirmed = -1
        deadline = time.monotonic() + 60
        while confirmed < after and time.monotonic() < deadline:
            confirmed = int(process.stdout.readline())
        os.kill(process.pid, signal.SIGKILL)
        confirmed = max([confirmed, *map(int, process.stdout.read().split())])
    kept = {label.file for label in labels.read_labels(tmp_path)}
    assert kept >= {f"{k}.png" for k in range(confirmed + 1)}


@pytest.mark.parametrize(
    ("file", "label"), [("../a.png", "male"), ("/a.png", "male"), ("a.png", "boy")]
)
def test_what_no_label_can_be_names_the_log(tmp_path, file, label):
    line = {"file": file, "annotator": "ada", "label": label}
    (tmp_path / LOG_NAME).write_text(json.dumps(line) + "\n")
    with pytest.raises(FileFormatError, match=rf"{LOG_NAME}: (file|label) must"):
        labels.read_labels(tmp_path)
