"""Requests against the labelling page: it gives its own pictures and takes labels, nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from label_kills import PICTURES, write_pictures
from pytest_t2i_labelling.desk import Annotation
from pytest_t2i_labelling.server import application
from starlette.testclient import TestClient
from tally import Tally

from pytest_t2i.labels import read_labels

WANTED = "0 beyond what is meant"
OURS = "http://127.0.0.1:8000"
SECRET = "nobody outside of the folder sees this"
HOSTS = ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "", "0.0.0.0", "[::2]")
ORIGINS = ("http://evil.example", "null", "https://127.0.0.1:8000.evil.example", "file://", "x:[")
PATHS = (
    "/image/-1", "/image/9999999", "/image/1e3", "/image/../labels.csv", "/image/%2e%2e/secret.txt",
    "/image/0/../../secret.txt", "/../secret.txt", "/labels.csv", "/.git/config",
    "/image/" + "9" * 5000, "/image/0%00", "/static/../secret.txt", "/docs", "/openapi.json",
)  # fmt: skip
VALUES = (
    None,
    True,
    -1,
    PICTURES + 1,
    2**70,
    1.5,
    "0",
    "",
    "../secret.txt",
    [],
    {},
    [0],
    "x" * 5000,
)
BODIES = (b"", b"{", b"[" * 100_000, b"\xff\xfe", b"null", b"[]", b"1", b'"x"', b"NaN")
METHODS = ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "GET", "HEAD")


class Attack(NamedTuple):
    """One request that must change nothing and tell nothing."""

    kind: str
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


def attacks(random: Random) -> Iterator[Attack]:
    """Requests without end."""
    good = {"index": 0, "label": "male", "reason": ""}
    as_json = {"content-type": "application/json"}
    while True:
        path = random.choice(("/label", "/undo"))
        content = json.dumps(good).encode()
        yield Attack("host", "POST", path, {**as_json, "host": random.choice(HOSTS)}, content)
        yield Attack("origin", "POST", path, {**as_json, "origin": random.choice(ORIGINS)}, content)
        yield Attack("path", "GET", random.choice(PATHS), {}, b"")
        yield Attack("method", random.choice(METHODS), path, as_json, content)
        yield Attack("no JSON", "POST", path, as_json, random.choice(BODIES))
        yield Attack("as a form", "POST", path, {"content-type": "text/plain"}, content)
        key = random.choice(("index", "label"))
        wrong: dict[str, Any] = {**good, key: random.choice(VALUES)}
        yield Attack("value", "POST", "/label", as_json, json.dumps(wrong).encode())


def go(folder: Path, times: int, seed: int = 0) -> Tally:
    """So many requests; a label that stands there before stands there afterwards."""
    tally = Tally("requests to the labelling page", WANTED)
    pictures = write_pictures(folder / "people")
    (folder / "secret.txt").write_text(SECRET)
    (pictures / "labels.csv").write_text("file,label,annotator\n00.png,female,ada\n")
    (pictures / "link.png").symlink_to(folder / "secret.txt")
    before = read_labels(pictures)
    client = TestClient(
        application(Annotation(pictures, "ada")), base_url=OURS, raise_server_exceptions=True
    )
    for number, attack in enumerate(attacks(Random(seed))):
        if number == times:
            break
        tally.tried(attack.kind)
        words = f"{attack.kind} {attack.method} {attack.path[:60]} {attack.headers}"
        try:
            reply = client.request(
                attack.method, attack.path, headers=attack.headers, content=attack.body
            )
        except Exception as error:  # noqa: BLE001 - that is the question
            tally.check(False, f"{words}: {type(error).__name__}: {error}")
            continue
        tally.check(reply.status_code >= 400, f"{words}: {reply.status_code}")
        tally.check(SECRET not in reply.text, f"{words}: tells a file beyond the folder")
        tally.check(read_labels(pictures) == before, f"{words}: changed a label")
    for index in range(PICTURES + 1):
        tally.check(SECRET not in client.get(f"/image/{index}").text, f"/image/{index}: a link")
    return tally
