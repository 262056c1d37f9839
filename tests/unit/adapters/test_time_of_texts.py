"""What reads the texts of others takes time in proportion to their length, whatever they hold."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from random import Random

import pytest

pytest.importorskip("openai")
pytest.importorskip("httpx")

from pytest_t2i.adapters import picture_files
from pytest_t2i.adapters.detectors import facepp
from pytest_t2i.adapters.endpoints import addresses, answers, http_client, reported_versions
from pytest_t2i.adapters.endpoints.secrets import Secrets, secrets_of
from pytest_t2i.errors import GenerationError, T2IError, printable
from pytest_t2i.sections import escaping

KEY = "sk-very-secret-0123"
SECRETS = Secrets(KEY, "another-secret-4567")
SIZE, TIMES = 12_000, 4
"""Characters of a text, and how many times as many the longer text has."""
MOST_RATIO, SLACK = 10.0, 0.05
"""Time of the longer text at most: so many times that of the shorter one, and some seconds."""
PIECES = (
    "%", "%2", "%41", "\\", "\\\\", "\\u00", "\\u{0", "\\x4", "\\1", "&", "&#", "&#0", "&#x4",
    "&amp;", "<", "<!--", "</", "sk-", KEY[:-1], KEY, KEY.encode().hex(), " ", "\n", "\t ", "-",
    "_", "{", "[", '"', '{"a":', '{"code":"', "[1,", ":", "::", "/", "//", "@", "?", "#", "=",
    ",", ".", ". ", "0", "9", "a", "A-", "\u00e4", "\u202e", "\x00", "http://", "http://[",
    "data:", "base64,", "our the ", "content policy ", "account a ", "violates ", "Wed, ", "GMT",
    "+", "~", "'", "`", "`a", "*", "|", "www.", "GH-1", "1. ", "--",
)  # fmt: skip
SEEDS = 40


def wrapped(text):
    """The text as message of a JSON answer."""
    return json.dumps({"error": {"message": text, "code": text[:90], "detail": [{"msg": text}]}})


FUNCTIONS = {
    "hide_in": SECRETS.hide_in,
    "hide_in a longer text": lambda text: SECRETS.hide_in(text, len(text)),
    "are_in": SECRETS.are_in,
    "secrets_of": lambda text: secrets_of(KEY, f"http://host/{text}"),
    "base_url": lambda text: addresses.base_url(f"http://{text}", "URL", KEY),
    "is_address": addresses.is_address,
    "is_address with a scheme": lambda text: addresses.is_address(f"http://{text}"),
    "plain_address": addresses.plain_address,
    "is_local": addresses.is_local,
    "read_answer": answers.read_answer,
    "read_answer of JSON": lambda text: answers.read_answer(wrapped(text)),
    "read_answer of values": lambda text: answers.read_answer(json.dumps(list(text))),
    "read_answer of JSON within": lambda text: answers.read_answer(wrapped(wrapped(text))),
    "fault": lambda text: answers.fault(429, text, text, text),
    "fault_in": answers.fault_in,
    "fault_of": lambda text: answers.fault_of(ConnectionResetError(text)),
    "a picture": lambda text: picture_files.picture_in(text.encode()),
    "base64": http_client.decoded_body,
    "versions_in": lambda text: reported_versions.versions_in({"id": text}, text, is_local=True),
    "Face++, an answer": lambda text: facepp.read_faces(400, text),
    "Face++, JSON": lambda text: facepp.read_faces(400, json.dumps({"error_message": text})),
    "Face++, an address": lambda text: facepp.checked_address(f"https://{text}"),
    "line": escaping.line,
    "escape": escaping.escape,
    "code": escaping.code,
    "with_code": escaping.with_code,
    "cell": escaping.cell,
    "clean": escaping.clean,
    "printable": printable,
    "an error": GenerationError,
}


def text_of(seed, size):
    """A text of a few pieces, in a random order or one piece again and again."""
    random = Random(seed)
    alphabet = random.sample(PIECES, random.choice([1, 1, 2, 3, 6]))
    pieces = []
    length = 0
    while length < size:
        pieces.append(random.choice(alphabet))
        length += len(pieces[-1])
    return "".join(pieces)[:size]


def seconds(function, text):
    """CPU seconds of this thread, the smaller of two tries; errors of ours may be raised."""
    tries = []
    for _ in range(2):
        began = time.thread_time()
        with suppress(T2IError, ValueError):
            function(text)
        tries.append(time.thread_time() - began)
    return min(tries)


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_time_grows_with_the_length(name):
    function = FUNCTIONS[name]
    function("warm") if name != "base_url" else None
    for seed in range(SEEDS):
        short, long = (seconds(function, text_of(seed, size)) for size in (SIZE, TIMES * SIZE))
        assert long <= MOST_RATIO * short + SLACK, f"{text_of(seed, 40)!r}: {short}, then {long}"


@pytest.mark.parametrize("piece", PIECES)
def test_a_text_of_fifteen_mebibytes_is_cut_first(piece):
    text = piece * (15 * 2**20 // len(piece))
    began = time.thread_time()
    SECRETS.hide_in(text, 300)
    assert time.thread_time() - began < 0.5


@pytest.mark.parametrize("seed", range(SEEDS))
def test_hiding_never_fails_and_never_shows_the_key(seed):
    for size in (10, 300, 5000, 30_000):
        text = text_of(seed, size)
        for shown in (SECRETS.hide_in(text), SECRETS.hide_in(text, 300)):
            assert KEY not in shown


def test_a_number_of_thousands_of_digits_is_read():
    assert SECRETS.hide_in("&#" + "9" * 9999 + ";", 10**6)


@pytest.mark.parametrize("cut", range(1, len(KEY)))
def test_a_part_of_the_key_at_the_end_of_a_cut_text_is_hidden(cut):
    for before in ("x" * (300 - cut), f"{KEY} " * 15 + "x" * 20, f"{KEY} " * 400):
        shown = SECRETS.hide_in(before + KEY + "x" * 9999, 300)
        assert len(shown) <= 300
        assert KEY[:8] not in shown
