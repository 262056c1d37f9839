"""The labelling page killed at any moment: every answer that was acknowledged is kept."""

from __future__ import annotations

import http.client
import json
import re
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest_t2i_labelling.server  # noqa: F401 - loaded before processes are forked
from PIL import Image
from processes import Child, ended, start
from pytest_t2i_labelling.desk import Annotation
from small_project import has_traceback, last_lines, run_t2i
from tally import Tally

from pytest_t2i.labels import named, read_labels

PICTURES = 40
LONGEST = 60.0


def write_pictures(folder: Path) -> Path:
    """A folder of pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(PICTURES):
        Image.new("RGB", (4, 4), (number, 0, 0)).save(folder / f"{number:02}.png")
    return folder


def port_of(child: Child) -> int:
    """Where the page is served, once it is."""
    deadline = time.monotonic() + LONGEST
    while time.monotonic() < deadline and not child.has_ended():
        if told := re.search(r"http://127\.0\.0\.1:(\d+)/", child.told):
            return int(told[1])
        time.sleep(0.02)
    raise RuntimeError(f"the page was not served: {last_lines(child.told)}")


def answer(
    port: int, files: Sequence[str], until: threading.Event, kept: dict[str, str], random: Random
) -> None:
    """Label one picture after the other, and remember what the page acknowledged."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LONGEST)
    headers = {"Content-Type": "application/json"}
    while not until.is_set():
        index, label = random.randrange(PICTURES), random.choice(named("gender").names)
        asked = {"index": index, "label": label, "reason": "seen"}
        try:
            connection.request("POST", "/label", json.dumps(asked), headers)
            reply = connection.getresponse()
            reply.read()
        except (OSError, http.client.HTTPException, ValueError):
            return
        if reply.status == http.client.OK:
            kept[files[index]] = label


def kill_once(folder: Path, random: Random, tally: Tally, seed: str) -> None:
    """Serve, label as fast as it goes, kill, and see what is kept."""
    child = start(run_t2i("label", "page", str(folder), "--annotator", "ada"), folder)
    before = {label.file: label.label for label in read_labels(folder)}
    files = Annotation(folder, "ada").files
    kept: dict[str, str] = {}
    over = threading.Event()
    thread = threading.Thread(target=answer, args=(port_of(child), files, over, kept, random))
    thread.start()
    time.sleep(random.uniform(0.05, 0.6))
    child.kill()
    child.wait(LONGEST)
    over.set()
    thread.join()
    tally.tried("labelling page")
    now = {label.file: label.label for label in read_labels(folder)}
    lost = {file for file, label in (before | kept).items() if now.get(file) != label}
    tally.check(len(lost) <= 1, f"{seed}: {len(lost)} acknowledged labels lost")
    tally.check(not has_traceback(child.told), f"{seed}: {last_lines(child.told)}")


def go(folder: Path, kills: int, tally: Tally, seed: int = 0) -> Tally:
    """So many kills of one page, each going on where the one before was killed."""
    random = Random(seed)
    write_pictures(folder)
    for number in range(kills):
        kill_once(folder, random, tally, f"labelling {number}")
    child = ended(run_t2i("label", "agreement", str(folder)), folder, LONGEST)
    tally.check(not has_traceback(child.told), f"labelling: {last_lines(child.told)}")
    return tally
