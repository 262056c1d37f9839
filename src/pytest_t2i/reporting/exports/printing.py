"""The printing of a page as a PDF, by a headless browser if there is one, else by WeasyPrint."""

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
"""Browsers that support ``--print-to-pdf``."""
PATIENCE = 300.0
"""Longest time for a browser to print, in seconds."""
FLAGS = (
    "--headless", "--disable-gpu", "--disable-extensions", "--disable-background-networking",
    "--no-first-run", "--no-pdf-header-footer",
)  # fmt: skip


def browser() -> str | None:
    """Return the path of the first browser found; None without one."""
    return next((found for name in BROWSERS if (found := which(name))), None)


def printed(page: str, style: str) -> bytes:
    """Return the page as a PDF; ``style`` is the style sheet within the page.

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
            done = subprocess.run(  # noqa: S603 - an installed browser prints a page of ours
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
            words = done.stderr.decode(errors="replace").strip().splitlines()
            last = printable(words[-1]) if words else "no message on stderr"
            raise ConfigurationError(f"{found} printed nothing (exit {done.returncode}): {last}")
        return target.read_bytes()


def _by_weasyprint(page: str) -> bytes:
    try:
        import weasyprint
    except (ImportError, OSError) as error:  # OSError: a system library is absent
        missing = "weasyprint" if isinstance(error, ImportError) else "libpango"
        raise MissingExtraError("a PDF without a browser", "pdf", missing) from None
    # The page contains everything, pictures as data URIs; any other address is refused.
    fetcher = weasyprint.URLFetcher(allowed_protocols={"data"})
    return bytes(weasyprint.HTML(string=page, url_fetcher=fetcher).write_pdf())


def pages_of(content: bytes) -> dict[str, int]:
    """Return the page number of every anchor of a PDF; {} without pypdf."""
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
