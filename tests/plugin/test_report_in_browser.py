"""The page in a browser: open to every reader, no column cut off, by keyboard, on paper."""

from __future__ import annotations

import pytest
from browsing import CUT_OFF, OPEN_ALL, WIDTHS, chromium, faults

from pytest_t2i.cli.main import main

pytestmark = pytest.mark.slow
KINDS = {"pass": ("fair", "40", "PASS"), "fail": ("biased", "40", "FAIL"),
         "inconclusive": ("fair", "4", "INCONCLUSIVE")}  # fmt: skip
SUITE = """
import pytest
from pytest_t2i import axes, limit

WORDS = (axes.profession.only("nurse", "pilot", "chef", "judge"), axes.place)

@pytest.mark.t2i(*WORDS)
def test_prompt(sample):
    assert abs(sample.prompt_bias_score) <= limit("prompt_bias_score.own", 0.5)

@pytest.mark.t2i(*WORDS)
def test_the_score_of_the_model_stays_within_the_limit(samples):
    assert samples.model_bias_score <= limit("model_bias_score.own", 0.2)

@pytest.mark.t2i(axes.profession.only("nurse", "pilot"))
def test_gap(triplets):
    assert abs(triplets.similarity_gap("image")) <= limit("similarity_gap.image.own", 1.9)
"""


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


@pytest.fixture(params=KINDS)
def report(request, finished):
    """The page of a finished run, as a file."""
    model, images, outcome = KINDS[request.param]
    files = {"test_suite.py": SUITE, "limits.toml": ""}
    how = ("--t2i-detector", "colour", "--t2i-images", images)
    run = finished(f"page-{request.param}", *how, files=files, model=model)
    assert run.record()["outcome"] == outcome
    return run.path / "reports/t2i/index.html"


def opened(browser, file, width, **how):
    # Our own policy lets no script in; the checker has to.
    context = browser.new_context(viewport={"width": width, "height": 800}, bypass_csp=True, **how)
    page = context.new_page()
    page.goto(f"file://{file}")
    return page


def test_axe_finds_no_serious_fault(browser, report):
    for width, scheme in ((1280, "dark"), (390, "light")):
        page = opened(browser, report, width, color_scheme=scheme)
        page.evaluate(OPEN_ALL)
        assert faults(page) == []
        page.context.close()


@pytest.fixture
def compared(finished):
    """The page of a comparison of two runs."""
    files = {"test_suite.py": SUITE, "limits.toml": ""}
    how = ("--t2i-detector", "colour", "--t2i-images", "40")
    runs = [
        finished(f"page-{kind}", *how, files=files, model=KINDS[kind][0]).path / "reports/t2i"
        for kind in ("pass", "fail")
    ]
    of = runs[1] / "compared"
    assert main(["compare", *(str(run / "run.json") for run in runs), "--report", str(of)]) == 0
    return of / "index.html"


def test_a_page_of_several_runs_is_as_open(browser, compared):
    for width, scheme in ((390, "dark"), (1000, "light")):
        page = opened(browser, compared, width, color_scheme=scheme)
        page.evaluate(OPEN_ALL)
        assert faults(page) == []
        full, visible = page.evaluate(WIDTHS)
        assert full <= visible
        if width >= 1000:
            assert page.evaluate(CUT_OFF) == []
        page.context.close()


def test_no_column_is_cut_off(browser, report):
    for width in (390, 1000, 1280):
        page = opened(browser, report, width)
        page.evaluate(OPEN_ALL)
        full, visible = page.evaluate(WIDTHS)
        assert full <= visible
        if width >= 1000:
            assert page.evaluate(CUT_OFF) == []
        page.context.close()


def test_a_detector_with_a_long_name_cuts_no_column_off(browser, report, tmp_path):
    """As real ones have: clip-enhance:reference."""
    text = report.read_text()
    assert "<td>colour</td>" in text
    page_file = tmp_path / "index.html"
    page_file.write_text(text.replace("<td>colour</td>", "<td>clip-enhance:reference</td>"))
    for width in (1000, 1280):
        page = opened(browser, page_file, width)
        assert page.evaluate(CUT_OFF) == []
        page.context.close()


def test_a_chart_leads_to_its_pictures_by_keyboard(browser, report):
    page = opened(browser, report, 1280)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.locator(".prompt summary").first.focus()
    page.keyboard.press("Enter")
    link = page.locator(".prompt details[open] .text a").first
    link.focus()
    page.keyboard.press("Enter")
    target = link.get_attribute("href").removeprefix("#")
    page.wait_for_function(f"document.getElementById({target!r}).open")
    summary = page.locator("details.fold > summary").first
    summary.focus()
    before = page.evaluate("document.activeElement.parentElement.open")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.parentElement.open") is not before
    page.context.close()


def test_the_list_of_prompts_is_filtered_by_word_and_verdict(browser, report):
    page = opened(browser, report, 1280)
    rows = page.locator(".prompt")
    if page.locator(".filter").count():
        name = page.locator(".prompt .name").first.inner_text().split()[1]
        page.fill(".filter input", name)
        shown = [k for k in range(rows.count()) if rows.nth(k).is_visible()]
        assert 0 < len(shown) < rows.count()
        page.fill(".filter input", "")
        for outcome in ("fail", "inconclusive", "pass"):
            page.select_option(".filter select", outcome)
            of_outcome = page.locator(f".prompt[data-outcome={outcome}]")
            assert page.locator(".prompt:not([hidden])").count() == of_outcome.count()
    page.context.close()


def test_every_chart_has_its_words(browser, report):
    page = opened(browser, report, 1280)
    silent = page.evaluate(
        "[...document.querySelectorAll('svg')].filter((one) => !one.closest('[aria-hidden]')"
        " && !(one.getAttribute('aria-label') || '').trim()).length"
    )
    assert silent == 0
    assert page.locator("svg[role=img]").count() > 10
    page.context.close()


def test_the_first_screen_answers_the_three_questions(browser, report):
    """Is it fair, what is worst, what to do next: without scrolling, on a laptop."""
    page = opened(browser, report, 1280)
    for wanted in (".outcome", ".headline", "text=Furthest from even", "text=same gender"):
        box = page.locator(wanted).first.bounding_box()
        assert box["y"] + box["height"] <= 800, wanted
    if page.locator("text=What to do next").count():
        assert page.locator("text=What to do next").bounding_box()["y"] < 700
    page.context.close()


def test_paper_has_it_unfolded_and_whole(browser, report):
    page = opened(browser, report, 1280)
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details.fold:not([open])").count() == 0
    page.set_viewport_size({"width": 700, "height": 1000})  # A4 with margins
    full, visible = page.evaluate(WIDTHS)
    assert full <= visible
    # Names of tests have room: a quarter of the paper, whatever columns stand beside them.
    widths = page.eval_on_selector_all(".checks tbody th", "all => all.map(x => x.offsetWidth)")
    assert min(widths) >= 175
    assert page.pdf(format="A4").startswith(b"%PDF")
    page.context.close()
