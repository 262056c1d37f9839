"""Thousands of hostile answers by a seeded generator: each has its one outcome, and shows no key.

Each answer is met once by a model behind HTTP, whose next request is answered well. A refusal is
an outcome, a broken picture and a passing fault are requested again, a harmless variant is taken,
and any other error ends the run with one message.
"""

from __future__ import annotations

import base64
import io
import json
import os
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from image_server import drawn, serving
from leaks import leaks
from PIL import Image
from tally import Tally

from pytest_t2i.adapters.endpoints import paid_requests
from pytest_t2i.adapters.endpoints.answers import FILE
from pytest_t2i.adapters.endpoints.services import hugging_face, openai_images
from pytest_t2i.adapters.endpoints.spending import Spending
from pytest_t2i.data import Money, Request
from pytest_t2i.errors import GenerationError
from pytest_t2i.protocols import AnswerLimits, LoadOptions
from pytest_t2i.read_files import read_toml

WANTED = (
    "each answer has its one outcome, none takes longer than its deadline, what was answered with "
    "HTTP 200 is counted as paid, no key, no exception but GenerationError"
)
KEY = "sk-very-secret-0123"
LIMITS = AnswerLimits(seconds=10.0, megabytes=2.0, at_once=1)
LONGEST = 12.0
"""Seconds within which each answer has its outcome."""
MADE, AGAIN, REFUSED, ENDED, ANY = "made", "made at the second request", "refused", "ended", "any"
SHAPES = read_toml(FILE)["shape"]
CODES = [code for shape in SHAPES for code in shape.get("codes", ())]
SENTENCES = [sentence for shape in SHAPES for sentence in shape.get("sentences", ())]
FIELDS = [
    (name, "flagged words" if value == "*" else value)
    for shape in SHAPES
    for name, values in shape.get("fields", {}).items()
    for value in values
]
ERRORS = (
    "width must be a multiple of 8", "Unknown parameter: 'safety_checker'.", "Field required",
    "Incorrect API key provided", "You exceeded your current quota", "no such model",
    "Disabling the safety checker is not allowed", "Your account has been suspended for violating "
    "our usage policies.", "Your organization must be verified to use this model.", "steps > 50",
    "the safety checker could not be loaded", "safety_tolerance must be between 0 and 2",
)  # fmt: skip
"""Messages of errors that no other attempt mends and that are no refusals."""
NO_ADDRESSES = (
    "http://[::1", "http://", "//", "http://host:port/x", "http://a b/x.png", "ftp://host/x.png",
    "file:///etc/passwd", "data:", "data:image/png;base64,?", " ", "http://%zz/x.png", "\x00",
    f"http://[{KEY}", "{origin}/gone", "https://127.0.0.1:{port}/x.png",
)  # fmt: skip
NO_WAITS = (
    "nan", "inf", "-1", "0", "9" * 400, "Wed, 21 Oct 99999999999999999999 07:28:00 GMT", "soon",
    "Wed, 99 Oct 2015 07:28:00 GMT", "Wed, 21 Oct 2015 07:28:00 GMT", "", ",", "0, 0", "1e999",
)  # fmt: skip
NOISE = (
    "%",
    "\\",
    "&#",
    "<",
    "sk-",
    KEY[:-1],
    KEY,
    " ",
    "{",
    "[",
    '"',
    "\n",
    "\u202e",
    "x",
    "\\u00",
)


@dataclass(frozen=True)
class Told:
    """An answer, and the outcome that it must have."""

    kind: str
    status: int
    body: Any
    outcome: str
    headers: dict[str, str]


def written(random: Random, code: str) -> str:
    """A code as some service writes it."""
    forms: list[Callable[[str], str]] = [
        str, str.upper, str.lower, lambda text: text.replace("_", "-"),
        lambda text: text.replace("_", " "),
        lambda text: text if " " in text else f"Error.{text}",
    ]  # fmt: skip
    return random.choice(forms)(code)


def wrapped(random: Random, plain: Any) -> Any:
    """The body of an error, in one of the forms that services use."""
    for _ in range(random.randrange(4)):
        form = random.randrange(7)
        if form == 0:
            plain = {"error": plain}
        elif form == 1:
            plain = {"error": {"code": "400", "message": "x", "innererror": plain}}
        elif form == 2:
            plain = {"detail": [plain]}
        elif form == 3:
            plain = {"errors": [plain], "id": random.randrange(99)}
        elif form == 4:
            plain = [{"error": plain}]
        elif form == 5:
            plain = {"error": {"message": f"upstream: {json.dumps(plain)}"}}
        else:
            plain = {"success": False, "error": plain, "request_id": KEY}
    return plain if isinstance(plain, dict | list) and plain else {"error": plain}


def refusal(random: Random) -> Told:
    status = random.choice([200, 400, 403, 422])
    kind = random.randrange(3)
    if kind == 0:
        name = random.choice(["code", "type", "name", "status", "reason", "Code", "error_code"])
        plain: Any = {name: written(random, random.choice(CODES)), "message": f"no {KEY}"}
    elif kind == 1:
        plain = {random.choice(["message", "msg", "detail", "error"]): random.choice(SENTENCES)}
    else:
        name, value = random.choice(FIELDS)
        plain = {name: value}
        plain = {"data": [{"b64_json": None, **plain}]} if random.random() < 0.3 else plain
    return Told("refusals", status, wrapped(random, plain), REFUSED, {})


def error(random: Random) -> Told:
    status = random.choice([400, 401, 403, 404, 422, 200])
    words = random.choice(ERRORS) + random.choice(["", f" {KEY}", f" ({KEY.encode().hex()})"])
    if status == 200:
        return Told("errors", 200, {"error": {"message": words}}, ENDED, {})
    return Told("errors", status, wrapped(random, {"message": words}), ENDED, {})


def passing(random: Random) -> Told:
    status = random.choice([429, 429, 500, 502, 503, 408])
    body = random.choice([{}, "", f"<html>{KEY}</html>", {"error": {"message": f"later, {KEY}"}}])
    return Told("passing faults", status, body, AGAIN, {"Retry-After": random.choice(NO_WAITS)})


def passing_in_200(random: Random) -> Told:
    body = random.choice(
        [
            {"error": {"code": 429}},
            {"error": {"code": "rate_limit_exceeded"}},
            {"error": "too busy"},
        ]
    )
    return Told("passing faults in 200", 200, body, AGAIN, {})


def broken(random: Random) -> Told:
    kind = random.randrange(4)
    if kind == 0:
        body: Any = {"data": [{"url": random.choice(NO_ADDRESSES)}]}
    elif kind == 1:
        body = {
            "data": [
                {"b64_json": random.choice(["?", "A", "\u00e4", KEY, "!" * 9, "iVBORw0KGgo="])}
            ]
        }
    elif kind == 2:
        body = random.choice(
            [{"data": []}, {"data": None}, {"data": [None]}, {"data": [7]}, {}, []]
        )
    else:
        body = "{" * random.randrange(1, 2000)
        return Told("broken answers", 200, body, ANY, {})
    return Told("broken answers", 200, body, AGAIN, {})


def harmless(random: Random) -> Told:
    plain = base64.b64encode(drawn("a", 1)).decode()
    texts = [
        plain, plain.rstrip("="), plain.replace("+", "-").replace("/", "_"), f" {plain}\n",
        "\n".join(plain[k : k + 60] for k in range(0, len(plain), 60)),
        f"data:image/png;base64,{plain}",
    ]  # fmt: skip
    field: dict[str, Any] = {"b64_json": random.choice(texts)}
    if random.random() < 0.4:
        urls = ["/pictures/a/1", "{origin}/pictures/a/1", "../../pictures/a/1", texts[-1]]
        field = {"url": random.choice(urls)}
    beside = random.choice(
        [{}, {"is_image_safe": True}, {"content_filter_results": {"sexual": {"filtered": False}}}]
    )
    return Told("harmless variants", 200, {"data": [{**field, **beside}]}, MADE, {})


def redirect(random: Random) -> Told:
    if random.random() < 0.5:
        where = random.choice(["{path}", "{origin}{path}"])
        return Told("redirects", random.choice([307, 308]), "", AGAIN, {"Location": where})
    where = random.choice(
        ["http://localhost:1/x", "http://[::1", f"http://{KEY}.invalid/", "/login"]
    )
    status = random.choice([301, 302, 303, 307, 308]) if where != "/login" else 302
    return Told("redirects", status, "", ENDED, {"Location": where})


def noise(random: Random) -> Told:
    text = "".join(random.choice(NOISE) for _ in range(random.choice([9, 99, 9999])))
    status = random.choice([200, 400, 403, 422, 429, 500])
    body: Any = text if random.random() < 0.5 else {random.choice(["error", "message", "a"]): text}
    return Told("noise", status, body, ANY, {"Retry-After": "0"})


KINDS = (refusal, refusal, error, passing, passing_in_200, broken, harmless, redirect, noise)


def filled(value: Any, words: dict[str, str]) -> Any:
    """The answer with the address of the server."""
    if isinstance(value, str):
        for name, word in words.items():
            value = value.replace("{" + name + "}", word)
    elif isinstance(value, dict):
        value = {name: filled(one, words) for name, one in value.items()}
    elif isinstance(value, list):
        value = [filled(one, words) for one in value]
    return value


def is_free(status: int) -> bool:
    """Whether an answer proves that nothing was charged."""
    return 300 <= status < 500 or status == 503


def outcome(model: Any, asked: list[Any]) -> tuple[str, str]:
    """What came of one request, and what was said."""
    try:
        (made,) = model.generate([Request("a", 1)])
    except GenerationError as raised:
        return ENDED, str(raised)
    if made.image is None:
        return REFUSED, str(made.refusal)
    with Image.open(io.BytesIO(drawn("a", 1))) as picture:
        if made.image.tobytes() != picture.convert("RGB").tobytes():
            return "another picture", ""
    return (MADE if len(asked) == 1 else AGAIN), ""


def go(folder: Path, count: int, seed: int = 0) -> Tally:
    """Meet so many answers."""
    tally, random = Tally("hostile answers", WANTED), Random(seed)
    os.environ |= {"OPENAI_API_KEY": KEY, "HF_TOKEN": KEY}
    waits, paid_requests.FIRST_WAIT = paid_requests.FIRST_WAIT, 0.0
    outcomes: Counter[str] = Counter()
    texts = []
    try:
        with serving() as server:
            models = {
                "openai": openai_images.load(LoadOptions(source=f"m@{server.url}", answers=LIMITS)),
                "hf": hugging_face.load(LoadOptions(source=f"{server.origin}/hf", answers=LIMITS)),
            }
            for number in range(count):
                told = random.choice(KINDS)(random)
                name = "openai"
                if told.kind in ("refusals", "errors", "passing faults", "redirects", "noise"):
                    name = random.choice(["openai", "hf"])
                path = "/hf" if name == "hf" else "/v1/images/generations"
                words = {"origin": server.origin, "port": str(server.server_port), "path": path}
                server.asked.clear()
                server.faults = ["written"]
                server.answer = told.status, filled(told.body, words), filled(told.headers, words)
                model = models[name]
                has_price = random.random() < 0.5
                model.spending = (
                    Spending(folder / "spent" / str(number), Money.read("1 USD"))
                    if has_price
                    else None
                )
                wanted = told.outcome
                if has_price and wanted == AGAIN and not is_free(told.status):
                    # It may have been charged, and is not sent again.
                    wanted = REFUSED if told.kind == "broken answers" else ENDED
                # A picture came before: one broken picture does not end the run.
                model._requests._broken = 0
                began = time.monotonic()
                came, said = outcome(model, server.asked)
                took = time.monotonic() - began
                tally.tried(told.kind)
                outcomes[came] += 1
                texts.append(said)
                where = f"{seed}:{number} {name} {told.status} {json.dumps(server.answer[1])[:200]}"
                tally.check(took < LONGEST, f"{took:.0f} s: {where}")
                tally.check(wanted in (came, ANY), f"{came}, not {wanted}: {where}")
                if model.spending is None:
                    continue
                charged = (told.status == 200) + (came in (MADE, AGAIN) and len(server.asked) > 1)
                paid = model.spending.count.requests
                tally.check(paid >= charged, f"{paid} of {charged} paid: {where}")
                model.spending.clear()
    finally:
        paid_requests.FIRST_WAIT = waits
    left = leaks(folder, KEY, *texts)
    tally.check(not left, f"the key is left: {left[:3]}")
    listed = ", ".join(f"{times} {name}" for name, times in sorted(outcomes.items()))
    tally.facts["outcomes"] = listed
    return tally
