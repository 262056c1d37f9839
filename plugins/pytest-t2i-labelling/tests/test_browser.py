"""The labelling page in a browser: by keyboard, over a kill of the server."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys

import pytest
from browsing import WIDTHS, faults
from PIL import Image
from pytest_t2i import labels

playwright = pytest.importorskip("playwright.sync_api")
pytest.importorskip("uvicorn")

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
COMMAND = "import sys; from pytest_t2i.cli.main import main; sys.exit(main(sys.argv[1:]))"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
]


class Sitting:
    """``t2i label page`` in a process of its own."""

    def __init__(self, folder, *arguments):
        self.process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, "label", "page", str(folder), *arguments],
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.url = next(line.strip() for line in self.process.stdout if "http://" in line)

    def end(self, how):
        self.process.send_signal(how)
        said = self.process.communicate(timeout=20)[0]
        return said, self.process.returncode


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as play:
        opened = play.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        yield opened
        opened.close()


@pytest.fixture
def page(browser):
    opened = browser.new_page()
    problems = []
    opened.on("console", lambda told: problems.append(told.text))
    opened.on("pageerror", lambda error: problems.append(str(error)))
    yield opened
    opened.close()
    assert [problem for problem in problems if "ERR_CONNECTION_REFUSED" not in problem] == []


@pytest.fixture
def thirty(tmp_path):
    for shade in range(30):
        Image.new("RGB", (16, 16), (8 * shade, 100, 60)).save(tmp_path / f"{shade}.png")
    return tmp_path


@pytest.mark.parametrize("what", ["gender", "monk", "review"])
@pytest.mark.parametrize("size", [(390, 844), (1024, 768)], ids=["phone", "tablet"])
def test_the_page_is_open_to_every_reader_and_cuts_nothing_off(browser, thirty, what, size):
    """All is on the first screen, and axe-core finds no serious fault, on a phone and a tablet."""
    how = ["--annotator", "ann", "--labels", what]
    if what == "review":
        long_name = "an-annotator-of-a-long-name@university.example"
        for who, label in ((long_name, "male"), ("zoe", "female")):
            labels.record(thirty, labels.Label("0.png", label, who, "", "a photo of a nurse"))
        how = ["--review"]
    sitting = Sitting(thirty, *how)
    for scheme in ("light", "dark"):
        # Our own policy lets no script in; the checker has to.
        width, height = size
        view = {"width": width, "height": height}
        context = browser.new_context(viewport=view, bypass_csp=True, color_scheme=scheme)
        opened = context.new_page()
        opened.goto(sitting.url)
        opened.locator("#count").wait_for()
        full, visible = opened.evaluate(WIDTHS)
        assert full <= visible
        for button in opened.locator("button:visible").all():
            box = button.bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
            assert box["y"] + box["height"] <= height
        assert faults(opened) == []
        context.close()
    sitting.end(signal.SIGINT)


def counted(page, text):
    page.locator("#count", has_text=re.compile(f"^{text}$")).wait_for(timeout=10_000)


def type_keys(page, keys):
    for key in keys:
        page.keyboard.press(key)


def test_thirty_pictures_by_keyboard_over_a_kill(page, thirty):
    first = Sitting(thirty, "--annotator", "ada")
    page.goto(first.url)
    type_keys(page, "mfmlmffmfmfm")
    page.keyboard.press("o")
    page.locator("#reason-box[open]").wait_for()
    type_keys(page, "mfl")
    page.keyboard.press("Enter")
    counted(page, "13 of 30 labelled")
    page.keyboard.press("Shift+L")
    page.locator("#reason-box[open]").wait_for()
    page.keyboard.press("2")
    counted(page, "14 of 30 labelled")
    page.keyboard.press("u")
    counted(page, "13 of 30 labelled")
    page.keyboard.press("m")
    counted(page, "14 of 30 labelled")
    first.end(signal.SIGKILL)
    kept = labels.read_labels(thirty)
    assert len(kept) == 14
    assert [entry.reason for entry in kept if entry.label == "others"] == ["mfl"]

    page.keyboard.press("f")
    page.locator("#status.bad", has_text="Not saved").wait_for()
    assert labels.read_labels(thirty) == kept

    second = Sitting(thirty, "--annotator", "ada")
    page.goto(second.url)
    counted(page, "14 of 30 labelled")
    assert page.inner_text("#place") == "15 / 30"
    type_keys(page, "mfmlmffmfmfmlmff")
    page.locator("#done-title", has_text="Every picture is labelled").wait_for()
    said, code = second.end(signal.SIGINT)
    assert (code, "30 of 30 images labelled" in said) == (0, True)
    after = labels.read_labels(thirty)
    assert len(after) == 30
    assert set(kept) <= set(after)


def test_back_change_and_undo(page, thirty):
    sitting = Sitting(thirty, "--annotator", "ada")
    page.goto(sitting.url)
    type_keys(page, "mmm")
    counted(page, "3 of 30 labelled")
    page.keyboard.press("ArrowLeft")
    page.locator(".labels [aria-pressed=true][data-label=male]").wait_for()
    page.keyboard.press("f")
    page.locator("#place", has_text="4 / 30").wait_for()
    assert sorted(read_label.label for read_label in labels.read_labels(thirty)) == [
        "female",
        "male",
        "male",
    ]
    page.keyboard.press("Backspace")
    page.locator("#place", has_text="3 / 30").wait_for()
    page.get_by_role("button", name="undo").click()
    counted(page, "2 of 30 labelled")
    assert [read_label.label for read_label in labels.read_labels(thirty)] == ["male", "male"]
    page.reload()
    page.keyboard.press("u")
    counted(page, "1 of 30 labelled")
    sitting.end(signal.SIGINT)


def test_review_by_clicking(page, thirty):
    for who, word in (("ada", "male"), ("bo", "female")):
        for file in ("1.png", "2.png"):
            labels.record(thirty, labels.Label(file, word, who))
    before = labels.read_labels(thirty)
    sitting = Sitting(thirty, "--review")
    page.goto(sitting.url)
    assert page.locator("#said li").all_inner_texts() == ["male\nada", "female\nbo"]
    page.locator("#overview button").nth(1).click()
    page.locator("#file", has_text="2.png").wait_for()
    page.get_by_role("button", name="low quality").click()
    counted(page, "1 of 2 settled")
    after = labels.read_labels(thirty)
    assert set(after) - set(before) == {labels.Label("2.png", "low_quality", labels.ADJUDICATED)}
    sitting.end(signal.SIGINT)
