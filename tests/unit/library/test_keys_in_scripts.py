"""The traceback of a script shows no key, however the service echoes it and whatever fails."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import traceback

import pytest

pytest.importorskip("openai")

from image_server import Handler, serving

from pytest_t2i import Axis, Detection, EndpointModel, audit, load
from pytest_t2i.adapters.endpoints import paid_requests
from pytest_t2i.errors import GenerationError, T2IError

KEY = "sk-very-secret-0123"
WORDS = Axis("word", "a photo of {word}", ("a nurse", "a pilot"))
NO_MODES = ("_answer", "_picture", "_data", "_images", "_redirect", "_json", "_send", "_head")
MODES = sorted(
    name.removeprefix("_")
    for name, member in vars(Handler).items()
    if re.fullmatch(r"_[a-z]\w*", name) and callable(member) and name not in NO_MODES
)
"""Every way in which the server answers."""
ECHOES = [
    (429, {"error": {"message": f"many of {KEY}"}}, {"Retry-After": "Wed, 21 Oct 99999999999 x"}),
    (400, {"error": {"message": f"no {KEY}", "code": KEY, "param": KEY}}, {}),
    (200, {"error": {"message": f"no {KEY}"}}, {}),
    (200, {"data": [{"url": f"http://[{KEY}"}]}, {}),
    (200, {"data": [{"url": f"http://{KEY}.invalid/x.png"}]}, {}),
    (200, {"data": [{"b64_json": KEY}]}, {}),
    (307, "", {"Location": f"http://{KEY}.invalid/"}),
    (307, "", {"Location": f"http://[{KEY}"}),
    (401, f"wrong key {KEY}", {}),
    (401, f"{'x' * 290} {KEY}", {}),
    (200, f"<html>{KEY}</html>", {}),
    (500, KEY * 999, {}),
]  # fmt: skip


class Colour:
    """A detector that costs nothing."""

    fingerprint, labels = "colour-1", ("male", "female")

    def detect(self, images):
        return [Detection("male") for _ in images]


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr(paid_requests, "FIRST_WAIT", 0.001)
    monkeypatch.chdir(tmp_path)


def shown(error):
    """What Python prints of an error, and what tools find that follow its chain."""
    lines = traceback.format_exception(error)
    while error is not None:
        lines.append(repr(error))
        error = error.__cause__ or error.__context__
    return "".join(lines)


def run(call):
    """What the script prints of the call's result or error."""
    error = None
    try:
        return str(call())
    except T2IError as raised:
        error = raised
    assert error.__cause__ is error.__context__ is None
    return shown(error)


OPTIONS = {"probe": "never", "answer_deadline": 1.5, "concurrency": 2}


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_every_fault_of_the_server(mode, capfd, monkeypatch):
    monkeypatch.setattr(paid_requests, "TRIES", 2)
    with serving(None, always=mode, slow=2.0) as server:
        source = f"openai:m@{server.url}"
        told = run(
            lambda: audit(source, WORDS, images=2, detector=Colour(), progress=False, **OPTIONS)
        )
        told += run(lambda: list(load(source, **OPTIONS).pictures(["a chef"], 2, progress=False)))
    assert KEY not in told + "".join(capfd.readouterr())


@pytest.mark.parametrize("answer", ECHOES)
@pytest.mark.parametrize("first", [None, "written"])
def test_every_echo_of_the_key(answer, first, capfd, monkeypatch):
    monkeypatch.setattr(paid_requests, "TRIES", 2)
    with serving(first, always="written") as server:
        server.answer = answer
        source = f"openai:m@{server.url}"
        told = run(
            lambda: audit(source, WORDS, images=2, detector=Colour(), progress=False, **OPTIONS)
        )
    assert "chained" not in told
    assert KEY not in told + "".join(capfd.readouterr())
    assert KEY[:10] not in told


class Careless(EndpointModel):
    """A service of one's own that fails while it handles an error of the library."""

    key_variable = "OPENAI_API_KEY"

    def ask(self, request, seconds):
        try:
            return {KEY: 1}[f"{KEY} of the proxy"]
        except KeyError:
            return {}["picture"]


class Own:
    """A model of one's own that shows the key in its error."""

    fingerprint = "own-1"

    def generate(self, requests):
        raise RuntimeError(f"no such key: {KEY}")


@pytest.mark.parametrize("model", [Own(), Careless("m", "http://127.0.0.1:1")])
def test_a_model_of_one_s_own(model, capfd):
    told = run(lambda: audit(model, WORDS, images=2, detector=Colour(), progress=False, **OPTIONS))
    assert "Error" in told
    assert KEY not in told + "".join(capfd.readouterr())


def test_a_mistake_of_one_s_own_is_named():
    class Wrong:
        fingerprint = "wrong-1"

        def generate(self, requests):
            return 1 / 0

    with pytest.raises(GenerationError, match=r"ZeroDivisionError.*test_keys_in_scripts.py, line"):
        audit(Wrong(), WORDS, images=2, detector=Colour(), progress=False)


@pytest.mark.slow
@pytest.mark.parametrize("answer", ECHOES[:3])
def test_the_stderr_of_a_script(tmp_path, answer):
    code = """
import pytest_t2i as t2i
class Colour:
    fingerprint, labels = "colour-1", ("male", "female")
    def detect(self, images):
        return [t2i.Detection("male") for _ in images]
words = t2i.Axis("word", "a photo of {word}", ("a nurse", "a pilot"))
t2i.audit("openai:m@URL", words, images=2, detector=Colour(), probe="never", answer_deadline=3)
"""
    with serving(always="written") as server:
        server.answer = answer
        script = code.replace("URL", server.url)
        ended = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path,
            env={**os.environ, "OPENAI_API_KEY": KEY}, timeout=60, check=False,
        )  # fmt: skip
    assert ended.returncode == 1
    assert "GenerationError" in ended.stderr
    assert "During handling" not in ended.stderr
    assert KEY not in ended.stdout + ended.stderr
