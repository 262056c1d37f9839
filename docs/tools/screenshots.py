"""Makes the pictures of the report in docs/images: on a phone, on a laptop, on paper.

python docs/tools/screenshots.py INDEX.HTML [FOLDER]

Needs playwright and a Chromium. The page shown in the docs is of the biased reference:
pytest --t2i-model reference-biased --t2i-images 30 suites/quick
"""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

FOLDER = Path(__file__).parents[1] / "images"
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
SCREENS = {"phone": (390, 844), "laptop": (1280, 800), "print": (794, 1123)}
"""Width and height in CSS pixels; print is A4 at 96 dpi."""
COLOURS = 64
"""Colours of the palette, so that the pictures stay small."""
LARGEST = 150_000
"""Bytes."""


def shots(page: Any, report: Path) -> dict[str, bytes]:
    """A PNG of each screen."""
    made = {}
    for name, (width, height) in SCREENS.items():
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(media="print" if name == "print" else "screen", color_scheme="light")
        page.goto(report.absolute().as_uri())
        if name == "print":
            page.evaluate("dispatchEvent(new Event('beforeprint'))")
        made[name] = page.screenshot()
    return made


def small(content: bytes) -> bytes:
    """The same PNG with a palette."""
    buffer = io.BytesIO()
    with Image.open(io.BytesIO(content)) as opened:
        opened.convert("RGB").quantize(COLOURS).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def main(arguments: list[str]) -> int:
    """Write report-phone.png, report-laptop.png and report-print.png; 1 where one is too large."""
    report = Path(arguments[0])
    folder = Path(arguments[1]) if len(arguments) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        made = {name: small(png) for name, png in shots(browser.new_page(), report).items()}
        browser.close()
    for name, content in made.items():
        (folder / f"report-{name}.png").write_bytes(content)
        print(f"{folder / f'report-{name}.png'}: {len(content)} bytes")
    return int(max(map(len, made.values())) > LARGEST)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
