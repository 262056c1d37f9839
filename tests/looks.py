"""Looks at reports: a screenshot of every kind of run, on every screen and on paper.

python tests/looks.py FOLDER [KIND ...]

Kinds: pass, fail, inconclusive, corrected, endpoint. Each is a run of suites by fakes, with a
detector of a long name; beside the page stands what axe calls serious, what is wider than the
screen, and what has to be scrolled sideways. Needs playwright, axe-playwright-python and a
Chromium. The exit status is 1 where something is found.
"""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from browsing import CUT_OFF, OPEN_ALL, WIDTHS, chromium, faults
from image_server import serving
from PIL import Image
from project_files import FAKES

SUITES = Path(__file__).parents[1] / "suites"
WIDE = {"390": 390, "1000": 1000, "1440": 1440}
"""Name of a screenshot -> width of the screen in CSS pixels."""
PHONE = 600
"""CSS pixels up to which a wide table may scroll within itself."""
PAPER = 794
"""A4 at 96 dpi."""
TALLEST = 16_000
"""CSS pixels of a picture: a browser paints no more."""
PARTS = ("parity", "stereotypes", "neutrality", "objects")
"""Suites that need no more than fakes."""
CONFTEST = """
import fakes

def pytest_t2i_models():
    return {"fair": fakes.fair, "biased": fakes.biased}

def pytest_t2i_detectors():
    return {"clip-enhance": fakes.detector, "second": fakes.hazy}

def pytest_t2i_encoders():
    return {"clip": fakes.encoder}

def pytest_t2i_objects():
    return {"things": fakes.finder}
"""
KINDS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "pass": ("fair", "40", ("parity",)),
    "fail": ("biased", "20", PARTS),
    "inconclusive": ("fair", "4", ("parity",)),
    "corrected": ("biased", "20", ("parity",)),
    "endpoint": ("", "12", ("parity",)),
}
"""Kind -> model, images and suites."""


def project(folder: Path) -> Path:
    """Suites and fakes in a folder."""
    shutil.copytree(SUITES, folder / "suites", ignore=shutil.ignore_patterns("conftest.py"))
    shutil.copy(FAKES, folder)
    (folder / "conftest.py").write_text(CONFTEST)
    return folder


def run(folder: Path, model: str, images: str, parts: tuple[str, ...], *more: str) -> Path:
    """The page of a run."""
    command = [
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=no",
        "--t2i-model", model, "--t2i-detector", "clip-enhance:reference,second",
        "--t2i-objects", "things", "--t2i-images", images, *more,
        *(f"suites/{part}" for part in parts),
    ]  # fmt: skip
    environment = {**os.environ, "OPENAI_API_KEY": "sk-none"}
    done = subprocess.run(command, cwd=folder, env=environment, check=False, capture_output=True)
    page = folder / "reports/t2i/index.html"
    if not page.is_file():
        raise SystemExit(done.stdout.decode() + done.stderr.decode())
    return page


def page_of(kind: str, folder: Path) -> Path:
    """The page of a run of this kind."""
    model, images, parts = KINDS[kind]
    if kind == "endpoint":
        with serving() as server:
            address = f"openai:m@http://127.0.0.1:{server.server_port}/v1"
            return run(folder, address, images, parts, "--t2i-price", "0.04 USD")
    page = run(folder, model, images, parts)
    if kind == "corrected":
        label_by_eye(folder)
        return run(folder, model, images, parts, "--t2i-labels", "labels")
    return page


def label_by_eye(folder: Path) -> None:
    """What a person sees in some of the pictures, one of them otherwise than the detector."""
    sample = ["label", "export", "reports/t2i/run.json", "labels", "--per-prompt", "4"]
    code = "import sys; from pytest_t2i.cli.main import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, *sample]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    with (folder / "labels/labels.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("file", "label", "annotator"))
        for number, picture in enumerate(sorted((folder / "labels").glob("*.png"))):
            with Image.open(picture) as opened:
                red, _, blue = opened.convert("RGB").getpixel((8, 8))
            seen = "male" if (blue > red) != (number % 9 == 0) else "female"
            writer.writerow((picture.name, seen, "ada"))


def looked_at(browser: Any, page_file: Path, kind: str, out: Path) -> Iterator[str]:
    """Take every screenshot; what is wrong with the page."""
    for name, width in WIDE.items():
        # Our own policy lets no script in; the checker has to.
        context = browser.new_context(viewport={"width": width, "height": 900}, bypass_csp=True)
        page = context.new_page()
        page.goto(page_file.as_uri())
        page.evaluate(OPEN_ALL)
        full, visible = page.evaluate(WIDTHS)
        if full > visible:
            yield f"{kind} at {name}: {full} CSS pixels wide"
        if width > PHONE:
            cut = page.evaluate(CUT_OFF)
            yield from (f"{kind} at {name}: scrolls sideways: {one}" for one in cut)
        yield from (f"{kind} at {name}: {one}" for one in faults(page))
        shoot(page, out / f"{kind}-{name}.png")
        context.close()
    context = browser.new_context(viewport={"width": PAPER, "height": 1123})
    page = context.new_page()
    page.goto(page_file.as_uri())
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    shoot(page, out / f"{kind}-print.png")
    page.pdf(path=out / f"{kind}.pdf", format="A4")
    context.close()


def shoot(page: Any, file: Path) -> None:
    """The whole page, or as much of it as can be painted."""
    height = min(page.evaluate("document.documentElement.scrollHeight"), TALLEST)
    width = page.viewport_size["width"]
    clip = {"x": 0, "y": 0, "width": width, "height": height}
    page.screenshot(path=file, full_page=True, clip=clip)


def main(arguments: list[str]) -> int:
    """Write the pictures and a PDF of every kind; 1 where something is wrong."""
    out, kinds = Path(arguments[0]), arguments[1:] or list(KINDS)
    out.mkdir(parents=True, exist_ok=True)
    wrong: list[str] = []
    with ExitStack() as stack:
        browser = stack.enter_context(chromium())
        for kind in kinds:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="t2i-looks-")))
            page = page_of(kind, project(folder))
            print(f"{kind}: {page.stat().st_size / 1e6:.2f} MB", flush=True)
            wrong += looked_at(browser, page, kind, out)
    print(*(wrong or ["nothing wrong"]), sep="\n")
    return int(bool(wrong))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
