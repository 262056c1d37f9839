"""A page as a PDF: by a browser without a window where there is one, else by WeasyPrint."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from shutil import which
from urllib.parse import unquote

from pytest_t2i.errors import ConfigurationError, MissingExtraError, printable
from pytest_t2i.reporting.exports.svg_styles import with_styles_inside

BROWSERS = (
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)  # fmt: skip
"""All understand ``--print-to-pdf``."""
PATIENCE = 300.0
"""Seconds that a browser may take."""
FLAGS = (
    "--headless", "--disable-gpu", "--disable-extensions", "--disable-background-networking",
    "--no-first-run", "--no-pdf-header-footer",
)  # fmt: skip


def browser() -> str | None:
    """The browser that prints; None where there is none."""
    return next((found for name in BROWSERS if (found := which(name))), None)


def printed(page: str, style: str) -> bytes:
    """The page as a PDF; ``style`` is what it has inside.

    Raises:
        MissingExtraError: there is neither a browser nor WeasyPrint.
        ConfigurationError: a browser printed nothing.
    """
    found = browser()
    return (
        _by_weasyprint(with_styles_inside(page, style))
        if found is None
        else _by_browser(found, page)
    )


def _by_browser(found: str, page: str) -> bytes:
    with tempfile.TemporaryDirectory(prefix="t2i-pdf-", ignore_cleanup_errors=True) as folder:
        source, target = Path(folder, "page.html"), Path(folder, "page.pdf")
        source.write_text(page, encoding="utf-8")
        command = [
            found,
            *FLAGS,
            # Chromium refuses to run as root with its sandbox; the page has no script.
            *(["--no-sandbox"] if getattr(os, "geteuid", lambda: 1)() == 0 else []),
            f"--user-data-dir={folder}/profile",
            f"--print-to-pdf={target}",
            source.as_uri(),
        ]
        try:
            told = subprocess.run(  # noqa: S603 - a browser that is installed, with a page of ours
                command,
                capture_output=True,
                stdin=subprocess.DEVNULL,
                timeout=PATIENCE,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise ConfigurationError(f"{found} printed nothing within {PATIENCE:g} s") from None
        except OSError as error:
            raise ConfigurationError(f"{found} cannot be run: {error}") from None
        if not target.is_file():
            words = told.stderr.decode(errors="replace").strip().splitlines()
            last = printable(words[-1]) if words else "it says nothing"
            raise ConfigurationError(f"{found} printed nothing (exit {told.returncode}): {last}")
        return target.read_bytes()


def _by_weasyprint(page: str) -> bytes:
    try:
        import weasyprint
    except (ImportError, OSError) as error:  # OSError: its own libraries are absent
        missing = "weasyprint" if isinstance(error, ImportError) else "libpango"
        raise MissingExtraError("a PDF without a browser", "pdf", missing) from None
    # All that a page needs is in it, pictures as data: nothing is fetched.
    fetcher = weasyprint.URLFetcher(allowed_protocols={"data"})
    return bytes(weasyprint.HTML(string=page, url_fetcher=fetcher).write_pdf())


def pages_of(content: bytes) -> dict[str, int]:
    """Anchor -> number of the page that it stands on; {} without pypdf."""
    try:
        from io import BytesIO

        import pypdf
    except ImportError:
        return {}
    reader = pypdf.PdfReader(BytesIO(content))
    found = {
        unquote(name.lstrip("/")): reader.get_destination_page_number(destination)
        for name, destination in reader.named_destinations.items()
    }
    return {name: number + 1 for name, number in found.items() if number is not None}
