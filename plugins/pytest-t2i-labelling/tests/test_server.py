"""The labelling page over HTTP, without a browser."""

from __future__ import annotations

import json
import os
import re

import pytest

pytest.importorskip("starlette")

from PIL import Image
from pytest_t2i import T2IError, labels
from pytest_t2i.files import inside
from pytest_t2i.labels import Label
from starlette.testclient import TestClient

from pytest_t2i_labelling.desk import Annotation, Review
from pytest_t2i_labelling.server import address, application, listening

HOME = "http://127.0.0.1:8000"


@pytest.fixture
def client(folder):
    with TestClient(application(Annotation(folder, "ada")), base_url=HOME) as open_client:
        yield open_client


def state_of(html):
    return json.loads(re.search(r'id="state">(.*?)</script>', html, re.DOTALL)[1])


def test_the_page_is_self_contained_and_allows_nothing_else(client):
    reply = client.get("/")
    assert reply.status_code == 200
    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"(src|href)=|https?://", reply.text.partition("<script>")[0])


def test_the_page_is_blind(client, folder):
    labels.record(folder, Label("a.png", "female", "bo", "clearly-a-woman"))
    html = client.get("/").text
    for hidden in ("a.png", "b.jpg", "nurse", "clearly-a-woman", '"bo"'):
        assert hidden not in html
    assert state_of(html)["entries"] == [{"label": "", "reason": "", "question": ""}] * 5


def test_names_are_escaped(folder):
    desk = Annotation(folder, "<b>&\"'</script><script>alert(1)</script>")
    html = TestClient(application(desk), base_url=HOME).get("/").text
    assert "<script>alert" not in html
    assert state_of(html)["who"] == desk.annotator


def test_the_guide_says_what_an_unsettled_picture_is_worth(folder):
    for who, word in (("ada", "male"), ("bo", "female")):
        labels.record(folder, Label("a.png", word, who))
    html = TestClient(application(Review(folder)), base_url=HOME).get("/").text
    assert "labels correct no run and decide on no detector" in html
    assert "counts as low quality" not in html


def test_review_escapes_file_names(folder):
    for who, word in (("ada", "male"), ("bo", "female")):
        labels.record(folder, Label("<e&>.png", word, who, "<i>why</i>"))
    html = TestClient(application(Review(folder)), base_url=HOME).get("/").text
    assert "<e&>" not in html
    assert "<i>why" not in html
    assert state_of(html)["entries"][0]["file"] == "<e&>.png"


def test_every_picture_is_served(client):
    kinds = [client.get(f"/image/{index}").headers["content-type"] for index in range(5)]
    # Browsers show no TIFF: it is sent as PNG.
    assert sorted(kinds) == ["image/jpeg", "image/png", "image/png", "image/png", "image/webp"]


@pytest.mark.parametrize(
    "path",
    ["/image/5", "/image/-1", "/image/a.png", "/image/../labels.csv", "/image/%2e%2e%2fsecret",
     "/labels.csv", "/a.png", pytest.param("/image/" + "9" * 5000, id="a long number")],
)  # fmt: skip
def test_nothing_but_pictures_is_served(client, path):
    assert client.get(path).status_code == 404


def test_a_link_out_of_the_folder_is_not_followed(folder, tmp_path):
    (tmp_path / "secret.png").write_bytes(b"secret")
    (folder / "link.png").write_bytes(b"")
    desk = Annotation(folder, "ada")
    (folder / "link.png").unlink()
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    assert "link.png" not in Annotation(folder, "ada").files
    client = TestClient(application(desk), base_url=HOME)
    assert client.get(f"/image/{desk.files.index('link.png')}").status_code == 404
    assert inside(folder, "../secret.png") is None
    assert inside(folder, "a.png") == (folder / "a.png").resolve()


def test_a_picture_that_went_away(client, folder):
    (folder / "a.png").unlink()
    index = Annotation(folder, "ada").files
    assert "a.png" not in index
    statuses = [client.get(f"/image/{at}").status_code for at in range(5)]
    assert sorted(statuses) == [200, 200, 200, 200, 404]


def test_a_broken_tiff(folder):
    (folder / "d.tif").write_bytes(b"no picture")
    desk = Annotation(folder, "ada")
    client = TestClient(application(desk), base_url=HOME)
    assert client.get(f"/image/{desk.files.index('d.tif')}").status_code == 404


def test_label_and_undo(client, folder):
    reply = client.post("/label", json={"index": 2, "label": "others", "reason": "a robot"})
    assert reply.json() == {"label": "others", "reason": "a robot", "question": ""}
    (kept,) = labels.read_labels(folder)
    assert (kept.file, kept.annotator) == (Annotation(folder, "ada").files[2], "ada")
    assert client.post("/undo", json={"index": 2}).json() == {
        "label": "",
        "reason": "",
        "question": "",
    }
    assert labels.read_labels(folder) == []


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ({"index": 9, "label": "male"}, "index=9"),
        ({"index": -1, "label": "male"}, "index=-1"),
        ({"index": "0", "label": "male"}, "index='0'"),
        ({"index": True, "label": "male"}, "index=True"),
        ({"index": 0, "label": "man"}, "label"),
        ({"index": 0, "label": "others"}, "reason"),
        ({"index": 0, "label": 3}, "texts"),
        ([], "index=None"),
    ],
)
def test_what_cannot_be_kept_is_told(client, folder, asked, problem):
    reply = client.post("/label", json=asked)
    assert reply.status_code == 400
    assert problem in reply.json()["problem"]
    assert labels.read_labels(folder) == []


def test_a_file_of_labels_that_broke_meanwhile_is_told(client, folder):
    (folder / "labels.csv").write_text("nonsense")
    reply = client.post("/label", json={"index": 0, "label": "male"})
    assert reply.status_code == 500
    assert "labels.csv" in reply.json()["problem"]


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "192.168.0.3:80", ""])
def test_another_host_is_refused(client, host):
    assert client.get("/", headers={"host": host}).status_code == 400


@pytest.mark.parametrize("host", ["localhost:81", "127.0.0.1:81", "[::1]:81", "LOCALHOST"])
def test_loopback_is_served(client, host):
    assert client.get("/", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "http://127.0.0.1:9", "null"])
def test_pages_of_another_origin_change_nothing(client, folder, origin):
    asked = {"index": 0, "label": "male"}
    assert client.post("/label", json=asked, headers={"origin": origin}).status_code == 403
    assert labels.read_labels(folder) == []
    assert client.post("/label", json=asked, headers={"origin": HOME}).status_code == 200


def test_a_form_of_another_page_changes_nothing(client, folder):
    reply = client.post("/label", content=b'{"index":0,"label":"male"}',
                        headers={"content-type": "text/plain"})  # fmt: skip
    assert reply.status_code == 415
    assert labels.read_labels(folder) == []


def test_a_free_port_is_taken_and_a_taken_one_is_told():
    with listening() as bound:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address(bound))
        with pytest.raises(T2IError, match="--port"):
            listening(bound.getsockname()[1])


@pytest.mark.parametrize("port", [-1, 70000])
def test_a_port_that_is_none(port):
    with pytest.raises(T2IError, match="--port"):
        listening(port)


@pytest.mark.parametrize("size", [1 << 16, 1 << 22])
def test_more_than_any_label_takes_is_not_read(client, folder, size):
    asked = {"index": 0, "label": "others", "reason": "x" * size}
    reply = client.post("/label", json=asked)
    assert reply.status_code == 400
    assert "at most 65536 bytes" in reply.json()["problem"]
    assert labels.read_labels(folder) == []


ODD_NAMES = [
    "plain.png",
    "\u200f\u05e9\u05dc.png",
    "a\u202eb.png",
    "\u00a0a.png",
    "a\u0085b.png",
    "a\nb.png",
    "=1+1.png",
    "'=1.png",
    " a .png",
    os.fsdecode(b"\xff.png"),
]


@pytest.mark.parametrize("who", [("ada",), ("ada", "bo")])
def test_pictures_of_any_name_are_labelled_once_and_for_all(tmp_path, who):
    for name in ODD_NAMES:
        with (tmp_path / name).open("wb") as file:
            Image.new("RGB", (8, 8)).save(file, "PNG")
    for annotator in who:
        client = TestClient(application(Annotation(tmp_path, annotator)), base_url=HOME)
        label = "female" if annotator == "ada" else "male"
        for index in range(len(ODD_NAMES)):
            asked = json.dumps({"index": index, "label": label, "reason": "\ud83d"})
            headers = {"content-type": "application/json"}
            reply = client.post("/label", content=asked, headers=headers)
            assert (reply.status_code, reply.json()["label"]) == (200, label)
        labels.compact(tmp_path)
        assert not (tmp_path / ".labels.log").exists()
        again = Annotation(tmp_path, annotator)
        assert [entry["label"] for entry in again.entries()] == [label] * len(ODD_NAMES)
        assert TestClient(application(again), base_url=HOME).get("/").status_code == 200
    assert {label.file for label in labels.read_labels(tmp_path)} == set(ODD_NAMES)
    if len(who) > 1:
        client = TestClient(application(Review(tmp_path)), base_url=HOME)
        files = [entry["file"] for entry in state_of(client.get("/").text)["entries"]]
        assert set(files) == set(ODD_NAMES)
