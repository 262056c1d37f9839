"""Whatever a text holds, it stays text in every output: the one door is ``support/escaping.py``."""

from __future__ import annotations

import csv
import re
from dataclasses import asdict, replace
from functools import cache
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest
from filled import filled_run, texts
from markdown_it import MarkdownIt

from pytest_t2i.audits.stereotypes.side_by_side import side_by_side
from pytest_t2i.data import Detection, Outcome, Variant
from pytest_t2i.labels import Label, read_labels, write_labels
from pytest_t2i.plugin.checks import note
from pytest_t2i.reporting import failure_text
from pytest_t2i.reporting.comparison import comparison_lines as compared_lines
from pytest_t2i.reporting.comparison import comparison_markdown as compared_markdown
from pytest_t2i.reporting.comparison import comparison_page as compared_page
from pytest_t2i.reporting.exports.cards import card_contents, model_card
from pytest_t2i.reporting.exports.pdf import body_on_paper
from pytest_t2i.reporting.exports.tables import write_tables
from pytest_t2i.reporting.html import render_html
from pytest_t2i.reporting.markdown import render_markdown, whole_lines
from pytest_t2i.reporting.terminal import summarise
from pytest_t2i.runs.compare.compare import compare_models
from pytest_t2i.runs.compare.read_compared_models import of_run
from pytest_t2i.runs.record.build_record import with_blocks
from pytest_t2i.runs.record.images import ImageRecord
from pytest_t2i.runs.record.record import Counts, RunRecord
from pytest_t2i.sections.escaping import cell, code, escape, line, with_code
from pytest_t2i.settings import Settings
from pytest_t2i.verdicts.caveats.how_decided import how_decided
from pytest_t2i.verdicts.caveats.moved_prompts import caveat_of
from pytest_t2i.verdicts.measurement import LabelCounts, MovedPrompt

MARK = "Zq7"
"""Stands in every text: what bears it came from outside."""
HOSTILE = [
    text.replace("X", MARK)
    for text in (
        "<script>alert('X')</script>", "<img src=x onerror=alert('X')>", "</td></tr></table><h1>X",
        "\"><svg onload=alert('X')>", "' onmouseover='X", "<!-- X", "]]>X", "&lt;b&gt;X &#64;a",
        "@X", "a@X.example", "@X/team", "#123 X", "X/X#12", "GH-12 X", "!12 X", "www.X.example",
        "https://X.example", "[X](https://X.example)", "![X](https://X.example/a.png)",
        "<https://X.example>", "a | X | b", "`X", "``X` **X** __X__ ~~X~~ $X$", "# X", "- X\n- X",
        "1. X\n\n    X", "=1+1+X", "-1+X", "\t=X", "\x1b[31mX\x1b]0;X\x07\x00\x9b\r\nX",
        "\u202eX\u202c\u2066X\u2069\u2028X\ufeff",
    )
]  # fmt: skip
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")
MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
REFERS = re.compile(r"[@#!%$][A-Za-z0-9]|://|\bwww\.|\bGH-\d", re.IGNORECASE)


def record_of(say) -> RunRecord:
    """A record with a text in every field, whose checks and prompts lead into every table."""
    record = filled_run(say)
    counts = LabelCounts(1, 2, 3)
    moved = caveat_of(MovedPrompt(say("id"), 0.9, counts, counts))
    one = replace(record.checks[0], caveats=(*record.checks[0].caveats, moved))
    limit = replace(one, against="limit", operator="<=")
    checks = (
        replace(limit, outcome=Outcome.FAIL),
        replace(
            limit,
            metric="model_bias_score",
            subject="model",
            is_of_model=True,
            outcome=Outcome.FAIL,
        ),
        replace(limit, outcome=Outcome.INCONCLUSIVE),
        replace(
            one,
            subject="model",
            is_of_model=True,
            outcome=Outcome.FAIL,
            caveats=(*one.caveats, how_decided("margin")),
        ),
        replace(
            limit, estimate=None, low=None, high=None, level=None, subject="model", is_of_model=True
        ),
    )
    detector = next(iter(record.prompts[0].counts))
    counts = {detector: Counts({"male": 2, "female": 1, say("label"): 1}, {})}
    images = tuple(
        ImageRecord(seed, None, {detector: Detection(label)})
        for seed, label in enumerate(("male", "male", "female", "male"))
    )
    prompt = replace(record.prompts[0], counts=counts, variant=Variant.NEUTRAL.value, images=images)
    return with_blocks(
        replace(
            record,
            checks=checks,
            prompts=(prompt, replace(prompt, id=say("other"), text=f"{prompt.text} ")),
            settings={"images": 2, "detectors": [detector], say("key"): say("value")},
            provenance={say("key"): {say("key"): say("value")}, "command": say("command")},
            work={"planned": 2, "made": 1, "refused": 1, "notes": [say("note")]},
            failed_because=dict.fromkeys(record.failed_otherwise, say("why")),
            is_interrupted=False,
        )
    )


@cache
def said(text: str) -> RunRecord:
    return record_of(lambda _: text)


@cache
def shape_of_plain() -> list[str]:
    return shape(render_markdown(said("plain")))


@pytest.fixture(params=HOSTILE, ids=range(len(HOSTILE)))
def hostile(request) -> RunRecord:
    """A record that says one hostile text wherever it says anything."""
    record = said(request.param)
    assert sum(MARK in text for text in texts(record)) > 200
    return record


def comparison_of(record):
    return compare_models(
        [of_run(record, "a"), of_run(replace(record, model="b"), "b")], level=0.95, seed=0
    )


def check_markdown(text: str) -> None:
    """Nothing but our own headings, tables, lists, code and text."""
    assert not CONTROLS.search(text)
    for token in MARKDOWN.parse(text):
        assert token.type not in ("html_block", "fence", "code_block", "blockquote_open")
        for inner in token.children or ():
            foreign = ("html_inline", "link_open", "image", "strong_open", "em_open", "s_open")
            assert inner.type not in foreign, inner
            if inner.type == "text":
                assert not REFERS.search(inner.content), inner.content


def shape(text: str) -> list[str]:
    return re.findall(r"</?(?:table|tr|td|th|h\d|li|ul|p)>", MARKDOWN.render(text))


def test_markdown(hostile):
    text = render_markdown(hostile)
    check_markdown(text)
    # No text ends a table, a row or a cell: as many as where all texts are a plain word.
    assert shape(text) == shape_of_plain()


def test_other_markdown(hostile, tmp_path):
    check_markdown(compared_markdown(comparison_of(hostile)))
    card = model_card(hostile, "", tmp_path / "README.md")
    check_markdown(
        card.split("---\n", 2)[2]
        .replace("<!-- pytest-t2i -->", "")
        .replace("<!-- pytest-t2i end -->", "")
    )
    assert card.count("<!-- pytest-t2i end -->") == 1
    shown = side_by_side([hostile, replace(hostile, model="b")], None, 0.95, 0)
    check_markdown("\n".join(whole_lines(shown)))


class Elements(HTMLParser):
    """Every element with the names of its attributes, and what leads anywhere."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[tuple[str, ...]] = set()
        self.leads: list[str] = []

    def handle_starttag(self, tag, attributes):
        self.seen.add((tag, *sorted(name for name, _ in attributes)))
        self.leads += [value or "" for name, value in attributes if name in ("href", "src")]


def elements(page: str) -> Elements:
    parser = Elements()
    parser.feed(page)
    return parser


HARMLESS = re.compile(r"#|data:image/jpeg;|$|[\w.%/-]+$")
"""What may stand where a page leads: a place of its own, a picture within, a file beside it."""


def pages(record, folder):
    yield render_html(record, folder)
    yield compared_page(comparison_of(record), folder)
    yield body_on_paper(record, folder)


@pytest.fixture(scope="module")
def plain_pages(tmp_path_factory) -> list[Elements]:
    """The pages of a record that says a plain word wherever it says anything."""
    folder = tmp_path_factory.mktemp("plain")
    return [elements(page) for page in pages(said("plain"), folder)]


def test_pages(hostile, plain_pages, tmp_path):
    for page, ours in zip(pages(hostile, tmp_path), plain_pages, strict=True):
        seen = elements(page)
        # Backticks in advice are code, on the page as in Markdown.
        assert seen.seen <= ours.seen | {("code",)}
        assert not [lead for lead in seen.leads if not HARMLESS.match(lead)]
        assert not CONTROLS.search(page)


class Writer:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def section(self, title, sep="=", **_):
        self.lines.append(title)

    def write_line(self, line, **_):
        self.lines.append(line)


def test_terminal_and_failure_text(hostile):
    writer = Writer()
    summarise(hostile, Settings(), writer, width=80)
    told = [
        *writer.lines,
        *(each for check in hostile.checks for each in failure_text.explained(check)),
    ]
    told += map(line, compared_lines(comparison_of(hostile)))
    assert any(MARK in each for each in told)
    assert not [each for each in told if CONTROLS.search(each) or "\n" in each]


def test_tables(hostile, tmp_path):
    write_tables(hostile, tmp_path, "csv")
    files = sorted(tmp_path.glob("*.csv"))
    assert len(files) >= 9  # those of companions too
    for file in files:
        rows = list(csv.reader(file.read_text().splitlines(keepends=True)))
        assert len({len(row) for row in rows}) == 1
        texts_ = [each for row in rows for each in row if not re.fullmatch(r"-?[\d.e-]*", each)]
        assert not [t for t in texts_ if t.startswith(tuple("=+-@\t\r")) or CONTROLS.search(t)]


def test_the_card(hostile):
    card = card_contents(hostile)
    assert not [text for text in texts(card) if CONTROLS.search(text)]


class Item:
    """What pytest gives of a test."""

    def __init__(self) -> None:
        self.user_properties: list[tuple[str, str]] = []
        self.stash: dict = {}


def test_properties_of_junit(hostile):
    item = Item()
    for check in hostile.checks:
        note(item, check)
    for name, value in item.user_properties:
        assert not CONTROLS.search(name + value)
        element = ET.Element("property", name=name, value=value)
        assert ET.fromstring(ET.tostring(element)).get("name") == name


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_labels_come_back_as_they_went(tmp_path, text):
    shown = line(text).strip()
    label = Label("a.png", "male", shown, prompt=shown, model=shown)
    (tmp_path / "a.png").write_bytes(b"")
    write_labels(tmp_path, [label])
    content = (tmp_path / "labels.csv").read_text()
    assert not re.search(r"(?m)[,\n]\"?[=+@\t-]", content)
    assert [asdict(each) for each in read_labels(tmp_path)] == [asdict(label)]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_every_form_of_a_text_alone(text):
    for told in (escape(text), with_code(text), with_code(f"`{text}` {text}"), code(text)):
        check_markdown(f"{told}\n")
        assert "\n" not in told
    assert not str(cell(text)).startswith(tuple("=+-@\t\r"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", ""),
        ("a nurse", "a nurse"),
        ("0.210 [0.1, 0.3]", "0.210 \\[0.1, 0.3\\]"),
        ("-", "-"),
        ("- a", "\\- a"),
        ("12. a", "12\\. a"),
        ("50 % of #7", "50 % of #&#8203;7"),
        ("\u0632\u0646\u200c\u0647\u0627", "\u0632\u0646\u200c\u0647\u0627"),
        ("a\u00a0b", "a b"),
    ],
)
def test_markdown_of_a_text(text, told):
    assert escape(text) == told
