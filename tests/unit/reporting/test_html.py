"""The page: what it shows, that it is whole by itself, and that nothing in it can be injected."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from PIL import Image

from pytest_t2i.data import Detection, Outcome
from pytest_t2i.reporting import formatting, html, pictures
from pytest_t2i.reporting.html import render_html
from pytest_t2i.runs.record.build_record import with_blocks
from pytest_t2i.runs.record.record import RunRecord

VOID = {"meta", "img", "br", "rect", "line", "circle"}
SHOWN = ("id", "class", "href", "alt", "aria-label", "scope", "open")
ATTACK = "<script>alert(1)</script>"


class Page(HTMLParser):
    """A page as its tags, their attributes and texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.stack: list[str] = []
        self.lines: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.tags.append((tag, given))
        shown = "".join(f" {k}={given[k]}" for k in SHOWN if given.get(k, "") != "" and k in given)
        self.lines.append(f"{'  ' * len(self.stack)}<{tag}{shown}>")
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.stack.pop()

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag, "\n".join(self.lines[-5:])

    def handle_data(self, data):
        if data.strip() and self.stack[-1] not in {"style", "script", "title"}:
            self.lines.append(f"{'  ' * len(self.stack)}{' '.join(data.split())}")

    def attributes(self, name: str) -> list[str]:
        return [given[name] for _, given in self.tags if given.get(name)]


@pytest.fixture
def text(record, tmp_path) -> str:
    return render_html(record, tmp_path / "reports")


@pytest.fixture
def page(text) -> Page:
    return Page(text)


def test_structure(page, golden):
    drawn = {"<rect", "<line", "<circle"}
    lines = [line for line in page.lines if line.split()[0].rstrip(">") not in drawn]
    golden("index.txt", "\n".join(lines) + "\n")
    assert page.stack == []


def test_the_same_record_gives_the_same_page(record, text, tmp_path):
    assert render_html(record, tmp_path / "reports") == text


def test_nothing_is_fetched(page, text):
    assert all(src.startswith("data:image/webp;base64,") for src in page.attributes("src"))
    assert not {"link", "iframe", "object", "embed"} & {tag for tag, _ in page.tags}
    assert not re.search(r"url\(|@import|https?://", text)
    assert all(not href.startswith(("http", "//")) for href in page.attributes("href"))


def test_the_policy_allows_only_our_own_style_and_script(page, text):
    policy = next(
        given["content"]
        for _, given in page.tags
        if given.get("http-equiv") == "Content-Security-Policy"
    )
    assert "default-src 'none'" in policy
    for tag in ("style", "script"):
        (inside,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert page.attributes("style") == []


def test_every_link_within_the_page_has_a_target(page):
    ids = page.attributes("id")
    targets = {href[1:] for href in page.attributes("href") if href.startswith("#")}
    assert len(ids) == len(set(ids))
    assert targets <= set(ids)
    assert {"profession-nurse", "profession-pilot", "profession-chef"} <= targets


def test_charts_and_tables_are_labelled(page):
    assert all(given.get("aria-label") for tag, given in page.tags if tag == "svg")
    assert all(given.get("scope") for tag, given in page.tags if tag == "th")
    assert all(given.get("alt") for tag, given in page.tags if tag == "img")


def test_text_from_outside_is_escaped(record, tmp_path):
    nurse = record.prompts[0]
    file = tmp_path / f"{ATTACK.replace('/', '_')}.png"
    Image.new("RGB", (8, 8)).save(file)
    image = replace(
        nurse.images[0], file=str(file), detections={ATTACK: Detection(ATTACK, detail=ATTACK)}
    )
    hostile = replace(
        record,
        model=ATTACK,
        prompts=(replace(nurse, concept=ATTACK, text=ATTACK, id=ATTACK, images=(image,)),),
        checks=tuple(
            replace(check, subject=ATTACK, reason=ATTACK, message=ATTACK) for check in record.checks
        ),
        provenance={ATTACK: {ATTACK: ATTACK}},
        work=record.work | {"notes": [ATTACK]},
    )  # fmt: skip
    text = render_html(hostile, tmp_path)
    assert text.count("<script") == 1
    assert "alert(1)<" not in text
    assert "&lt;script&gt;alert(1)" in text
    assert "&lt;script&gt;alert(1)&lt;_script&gt;.png" in text
    Page(text)


def test_what_a_judge_saw_stands_beside_its_answer_and_of_no_other_detector(record, tmp_path):
    nurse = record.prompts[0]
    seen = {
        "vlm:judge+gender": Detection("female", detail="long hair and a dress"),
        "vlm:silent+gender": Detection("female"),
        "colour": Detection("female", detail="mean of the middle pixels"),
    }
    image = replace(nurse.images[0], detections=seen)
    prompts = (replace(nurse, images=(image,)), *record.prompts[1:])
    page = render_html(replace(record, prompts=prompts), tmp_path)
    assert "gender: long hair and a dress" in page
    assert "gender: None" not in page
    assert "mean of the middle pixels" not in page


def test_undetected_looks_unlike_any_gender(page):
    figures = [given["class"] for tag, given in page.tags if tag == "figure"]
    assert figures.count("undetected") == 3
    assert figures.count("male") == 5
    assert figures.count("female") == 2


def test_a_picture_that_is_gone_or_broken_has_a_placeholder(record, tmp_path):
    pilot = next(prompt for prompt in record.prompts if prompt.concept == "pilot")
    (tmp_path / ".t2i/images/ab/pilot0.png").unlink()
    (tmp_path / ".t2i/images/ab/pilot1.png").write_bytes(b"\x89PNG\r\n\x1a\nno")
    text = render_html(replace(record, prompts=(pilot,)), tmp_path)
    album = text.partition('id="images"')[2]
    assert album.count("file gone or unreadable") == 2
    assert album.count("<img") == 2


def test_pictures_link_to_the_file_beside_the_report(page, tmp_path):
    links = [href for href in page.attributes("href") if href.endswith(".png")]
    assert "../.t2i/images/ab/pilot0.png" in links
    assert all((tmp_path / "reports" / link).resolve().is_file() for link in links)


def test_a_large_run_shows_the_first_pictures_of_every_prompt(record, tmp_path, monkeypatch):
    monkeypatch.setattr(pictures, "MOST_PICTURES", 9)  # there are ten
    shown = {prompt.id for prompt in record.prompts}
    albums = pictures.albums(record, tmp_path / "reports", shown)
    grids = [g for album in albums for g in album.grids]

    assert {(g.concept, len(g.pictures), g.left_out) for g in grids} == {
        ("nurse", 3, 1), ("pilot", 3, 1), ("chef", 2, 0),
    }  # fmt: skip
    said = "and 1 more, counted above and kept in the store"
    assert render_html(record, tmp_path / "reports").count(said) == 2


def test_every_prompt_keeps_a_picture_however_large_the_run(record, monkeypatch):
    monkeypatch.setattr(pictures, "MOST_PICTURES", 0)
    assert pictures.pictures_of_each(record.prompts) == 1


def test_sections_without_data_are_left_out(tmp_path):
    empty = RunRecord("2026-11-20T17:07:52+00:00", 1.0, "fair", {}, {}, {})
    page = Page(render_html(empty, tmp_path))
    assert set(page.attributes("id")) == {"verdict", "facts", "meaning"}
    assert "this run only measured" in "\n".join(page.lines)


@pytest.mark.parametrize("outcome", [Outcome.PASS, Outcome.FAIL, Outcome.INCONCLUSIVE])
def test_the_verdict_comes_first(record, tmp_path, outcome):
    checks = tuple(replace(check, outcome=outcome) for check in record.checks)
    page = Page(render_html(replace(record, checks=checks), tmp_path))
    header = next(given for tag, given in page.tags if tag == "header")
    assert header["class"] == f"verdict {outcome.lower()}"
    assert ("failed" in page.attributes("id")) is (outcome is Outcome.FAIL)


def test_a_run_that_was_stopped_is_no_verdict(record, tmp_path):
    page = Page(render_html(replace(record, is_interrupted=True), tmp_path))
    header = next(given for tag, given in page.tags if tag == "header")
    assert header["class"] == "verdict interrupted"


def test_what_to_do_next_is_told(record, tmp_path):
    page = Page(render_html(record, tmp_path))
    assert any(formatting.step(record.next_steps[0]) in line for line in page.lines)


def test_a_regression_is_told_from_a_limit(record, tmp_path):
    checks = tuple(replace(check, against="baseline") for check in record.checks)
    text = render_html(with_blocks(replace(record, checks=checks)), tmp_path)
    assert "more than the baseline" in text
    # Limit lines belong to limits: a margin is no place on the score's own scale.
    assert 'class="limit"' not in text


def test_beyond_two_hundred_prompts_a_page_has_plain_rows(record, tmp_path, monkeypatch):
    monkeypatch.setattr(html, "MOST_GRIDS", 1)
    monkeypatch.setattr(html, "OPEN_ROWS", 1)
    text = render_html(record, tmp_path)
    assert text.count('class="prompt plain"') == len(record.prompts) - 1
    assert len(Page(text).attributes("data-words")) == len(record.prompts)
    assert text.count('<details class="grid') == 1
    assert "the pictures of the 1 that need a look first" in text
