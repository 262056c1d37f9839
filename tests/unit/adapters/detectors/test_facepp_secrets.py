"""No form of the key or the secret of Face++ leaves its client, whatever raises or echoes."""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import json
import logging
import os
import subprocess
import sys
import traceback
import zlib
from urllib.parse import quote

import httpx
import numpy as np
import pytest
from facepp_server import ENVIRONMENT, KEY, SECRET, Fault, Script, Server, face
from PIL import Image

from pytest_t2i.adapters.detectors import facepp
from pytest_t2i.adapters.detectors.facepp import Client, Credentials
from pytest_t2i.adapters.endpoints import paid_requests
from pytest_t2i.adapters.endpoints.secrets import HIDDEN
from pytest_t2i.errors import ConfigurationError, DetectorError
from pytest_t2i.protocols import LoadOptions


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch):
    monkeypatch.setattr(paid_requests, "FIRST_WAIT", 0.001)


ENCODINGS = {
    "plain": lambda word: word,
    "percent": lambda word: "".join(f"%{ord(c):02X}" for c in word),
    "json": lambda word: "".join(f"\\u{ord(c):04x}" for c in word),
    "html": lambda word: "".join(f"&#{ord(c)};" for c in word),
    "base64": lambda word: base64.b64encode(f"id:{word}".encode()).decode(),
    "hex": lambda word: word.encode().hex(),
}
MIXTURES = {
    "capitals": str.upper,
    "half": lambda word: word[:4] + ENCODINGS["percent"](word[4:]),
    "python": lambda word: "".join(f"\\x{ord(c):02x}" for c in word),
    "html in hexadecimal": lambda word: "".join(f"&#x{ord(c):x};" for c in word),
    "base64 for URLs": lambda word: base64.urlsafe_b64encode(f"??>{word}".encode()).decode(),
    "percent in base64": lambda word: quote(ENCODINGS["base64"](word)),
}


def forms(word: str) -> set[str]:
    """What a search looks for: each encoding at every alignment."""
    encoded = word.encode()
    whole = {encode(word) for encode in ENCODINGS.values()} | {html.escape(word), quote(word)}
    for before in range(3):
        letters = base64.b64encode(b"x" * before + encoded + b"x" * 3).decode()
        whole.add(letters[(0, 2, 3)[before] :][: len(word) * 4 // 3 - 3])
    return {form.lower() for form in whole}


FORMS = forms(KEY) | forms(SECRET)


def leaks(content: str | bytes) -> set[str]:
    text = content.decode("latin-1") if isinstance(content, bytes) else content
    return {form for form in FORMS if form in text.lower()}


@pytest.mark.parametrize("word", [KEY, SECRET])
@pytest.mark.parametrize("encode", [*ENCODINGS.values(), *MIXTURES.values()],
                         ids=[*ENCODINGS, *MIXTURES])  # fmt: skip
def test_an_echo_is_recognised_in_every_form(encode, word):
    told = Credentials(KEY, SECRET).hide_in(f"no such key: {encode(word)}, sorry")
    assert HIDDEN in told
    assert not leaks(told)
    assert encode(word) not in told


def test_what_is_no_secret_is_shown():
    credentials = Credentials(KEY, SECRET)
    for text in ("BAD_ARGUMENTS:return_attributes", "100 %", "key-3f and 1c", "secret", r"\u00e9"):
        assert credentials.hide_in(text) == text
        assert not credentials.are_in(text)


def test_a_message_is_cleared_before_it_is_cut():
    long = Fault(400, "x" * (200 - len(KEY) // 2) + KEY, plain=True)
    with Server(Script(always=long)) as server, pytest.raises(DetectorError) as stopped:
        detector(server.url).detect([picture()])
    assert KEY[: len(KEY) // 2] not in str(stopped.value)


def picture() -> Image.Image:
    pixels = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    return Image.fromarray(pixels)


def detector(address: str) -> facepp.FacePlusPlus:
    return facepp.FacePlusPlus(Client(address, Credentials(KEY, SECRET)))


def everything(error: BaseException | None) -> str:
    """A traceback with the variables of every frame, as ``--showlocals`` prints it."""
    lines = traceback.format_exception(error)
    while error is not None:
        for frame, _ in traceback.walk_tb(error.__traceback__):
            if frame.f_code.co_filename != __file__:
                lines += [f"{name} = {value!r}" for name, value in frame.f_locals.items()]
        error = error.__cause__ or error.__context__
    return "\n".join(lines)


BAD = (
    *(
        "https://[x",
        "https://a b",
        "https://host:99999",
        "https://host:port",
        "https://",
        "nowhere",
    ),
    *("ftp://host", "http://host", "https://h\u2028st", "https://\x00", "https://x" + "y" * 70_000),
    *("https://user:word@host", "https://host/?q=1", "https://host/#f", "https://\ud800"),
    *(f"https://host/{encode(KEY)}" for encode in ENCODINGS.values()),
    *(f"https://{encode(SECRET)}@host" for encode in ENCODINGS.values()),
)


@pytest.mark.parametrize("address", BAD, ids=range(len(BAD)))
def test_a_malformed_address_is_refused_before_anything_is_sent(monkeypatch, address):
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError, match="FACEPP_API_URL") as refused:
        facepp.load(LoadOptions(source=address))
    assert not leaks(str(refused.value))


@pytest.mark.parametrize("value", ["a\nb", "a\x00", "schl\u00fcssel", "\udcff"])
def test_what_is_no_key_is_refused_without_showing_it(monkeypatch, value):
    monkeypatch.setattr(os, "environ", {**ENVIRONMENT, "FACEPP_API_KEY": value})
    with pytest.raises(ConfigurationError, match="FACEPP_API_KEY: expected printable") as refused:
        Credentials.from_environment()
    text = everything(refused.value)
    assert value not in text
    assert not leaks(text)


def test_an_address_with_the_key_in_it_is_in_no_frame(monkeypatch):
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("FACEPP_API_URL", f"https://{KEY}:{SECRET}@host")
    with pytest.raises(ConfigurationError, match="FACEPP_API_URL contains the key") as refused:
        facepp.load(LoadOptions())
    assert not leaks(everything(refused.value))


class OddError(Exception):
    """Nothing that httpx documents."""


@pytest.mark.parametrize("raised", [httpx.ReadTimeout, httpx.InvalidURL, UnicodeError, OddError,
                                    MemoryError, KeyboardInterrupt, SystemExit])  # fmt: skip
def test_whatever_raises_carries_nothing_out(monkeypatch, raised):
    def request(*arguments, **named):
        form = {name: value for name, (_, value) in named["files"].items()}
        raise raised(f"{form} {ENCODINGS['json'](form['api_key'])}") from ValueError(str(form))

    monkeypatch.setattr(httpx.Client, "request", request)
    expected = raised if not issubclass(raised, Exception) else DetectorError
    with pytest.raises(expected) as told:
        detector("https://host").detect([picture()])
    text = everything(told.value)
    assert raised.__name__ in repr(told.value)
    assert not leaks(text), leaks(text)


@pytest.mark.parametrize("encode", ENCODINGS.values(), ids=ENCODINGS)
@pytest.mark.parametrize("where", ["message", "page", "gender", "faces", "raw"])
def test_an_echo_of_the_service_goes_nowhere(encode, where, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    echo = f"{encode(KEY)} {encode(SECRET)}"
    scripts = {
        "message": Script(always=Fault(400, f"AUTHENTICATION_ERROR: {echo}")),
        "page": Script(always=Fault(502, f"<html>{echo}", plain=True)),
        "gender": Script(faces=[face(echo)]),
        "faces": Script(always=Fault(200, json.dumps({"faces": echo}), plain=True)),
        # The escapes are the document's own.
        "raw": Script(always=Fault(400, f'{{"error_message": "{echo}"}}', plain=True)),
    }
    with Server(scripts[where]) as server:
        asked = detector(server.url)
        try:
            told = repr(asked.detect([picture()]))
        except DetectorError as error:
            told = everything(error)
    for text in (told, caplog.text, *capfd.readouterr(), repr(vars(asked._client))):
        assert not leaks(text), text


UNSEARCHED = {
    "base32": lambda word: base64.b32encode(word.encode()).decode(),
    "quoted printable": lambda word: "".join(f"={ord(c):02X}" for c in word),
    "backwards": lambda word: word[::-1],
    "UTF-16 in base64": lambda word: base64.b64encode(word.encode("utf-16-le")).decode(),
    "base64 of base64": lambda word: base64.b64encode(base64.b64encode(word.encode())).decode(),
    "numbers": lambda word: str(list(word.encode())),
    "dots between": ".".join,
    "percent, five times": lambda word: quote(quote(quote(quote(ENCODINGS["percent"](word))))),
    "base85": lambda word: base64.b85encode(word.encode()).decode(),
    "uuencode": lambda word: binascii.b2a_uu(word.encode()[:45]).decode().strip(),
    "every letter 13 further": lambda word: codecs.encode(word, "rot13"),
    "packed": lambda word: base64.b64encode(zlib.compress(word.encode())).decode(),
    "wide letters": lambda word: "".join(chr(ord(c) + 0xFEE0) for c in word),
    "unseen joiners": "\u200b".join,
    "combining marks": "\u0301".join,
    "from right to left": lambda word: f"\u202e{word[::-1]}\u202c",
    "percent u": lambda word: "".join(f"%u{ord(c):04x}" for c in word),
    "entities without end": lambda word: "".join(f"&#{ord(c)} " for c in word),
    "octal with spaces": lambda word: " ".join(f"{ord(c):o}" for c in word),
    "bits": lambda word: "".join(f"{ord(c):08b}" for c in word),
    "two lines": lambda word: f"{word[: len(word) // 2]}\r\n{word[len(word) // 2 :]}",
    "a URL's user": lambda word: f"https://{word[:-1]}%{ord(word[-1]):02X}@host/",
    "its half": lambda word: word[: len(word) // 2 + 2],
}


@pytest.mark.parametrize("encode", UNSEARCHED.values(), ids=UNSEARCHED)
@pytest.mark.parametrize("where", ["message", "detail", "page", "gender"])
@pytest.mark.slow
def test_forms_that_nobody_looks_for_do_not_come_back_either(encode, where):
    echo = encode(SECRET)
    scripts = {
        "message": Script(always=Fault(400, f"no such secret: {echo}")),
        "detail": Script(always=Fault(400, f"BAD_ARGUMENTS:{echo}")),
        "page": Script(always=Fault(502, f"<html>{echo}", plain=True)),
        "gender": Script(faces=[face(echo)]),
    }
    with Server(scripts[where]) as server:
        try:
            told = repr(detector(server.url).detect([picture()]))
        except DetectorError as error:
            told = everything(error)
    assert echo not in told


SUITE = """
import pytest

@pytest.mark.t2i("a photo of a nurse", images=2)
def test_it(sample):
    assert abs(sample.prompt_bias_score) <= 0.5
"""
CONFTEST = """
import logging, warnings
logging.getLogger("httpcore").setLevel(logging.DEBUG)
"""


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["echo", "malformed"])
def test_a_whole_run_leaves_nothing(tmp_path, fault):
    echo = " ".join(encode(word) for encode in ENCODINGS.values() for word in (KEY, SECRET))
    (tmp_path / "images").mkdir()
    rows = ["file,prompt"]
    for place in range(2):
        picture().save(tmp_path / "images" / f"{place}.png")
        rows.append(f"{place}.png,a photo of a nurse")
    (tmp_path / "images" / "manifest.csv").write_text("\n".join(rows))
    (tmp_path / "test_suite.py").write_text(SUITE)
    (tmp_path / "conftest.py").write_text(CONFTEST)
    with Server(Script(faces=[face(echo)])) as server:
        address = "https://[x" if fault == "malformed" else server.url
        run = subprocess.run(
            [sys.executable, "-m", "pytest", "-vv", "--showlocals", "--full-trace", "--tb=long",
             "--junitxml=junit.xml", "--log-level=DEBUG", "-p", "no:cacheprovider",
             "-o", "junit_logging=all", "--t2i-model", "images:images", "--t2i-detector",
             "face++", "-o", "log_file=log.txt", "-o", "log_file_level=DEBUG"],
            cwd=tmp_path, capture_output=True, check=False, timeout=120,
            env={**os.environ, **ENVIRONMENT, "FACEPP_API_URL": address},
        )  # fmt: skip
    assert not leaks(run.stdout + run.stderr), run.stdout.decode()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.suffix == ".sqlite" for path in files)
    for path in files:
        content = path.read_bytes()
        assert not leaks(content), path
    if fault == "echo":
        assert (tmp_path / "reports/t2i/run.json").is_file(), run.stdout.decode()
