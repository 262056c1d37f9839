"""A headless Chromium for tests and scripts, where playwright and a Chromium are there."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from importlib.resources import files

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")
OPEN_ALL = "() => { for (const one of document.querySelectorAll('details')) one.open = true; }"
WIDTHS = "() => [document.documentElement.scrollWidth, window.innerWidth]"
CUT_OFF = """() => [...document.querySelectorAll('.scroll')]
    .filter((one) => one.checkVisibility() && one.scrollWidth > one.clientWidth)
    .map((one) => one.getAttribute('aria-label'))"""
"""Tables of which a part has to be scrolled into view."""


@contextmanager
def chromium():
    """A browser; the test is skipped where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    with playwright.sync_playwright() as play:
        opened = play.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield opened
        opened.close()


def faults(page):
    """What axe-core calls serious or critical on an open page: kind and first element of each."""
    pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
    axe = files("axe_playwright_python") / "axe.min.js"
    page.add_script_tag(content=axe.read_text(encoding="utf-8"))
    result = page.evaluate("async () => await axe.run(document, {resultTypes: ['violations']})")
    return [
        (fault["id"], fault["nodes"][0]["html"][:200], fault["nodes"][0]["failureSummary"])
        for fault in result["violations"]
        if fault["impact"] in ("serious", "critical")
    ]
