"""The detector face++ against a local server that speaks the documented protocol."""

from __future__ import annotations

import logging
import pickle
import traceback

import numpy as np
import pytest
from facepp_server import ENVIRONMENT, KEY, SECRET, Fault, Script, Server, face
from PIL import Image

from pytest_t2i.adapters.detectors import facepp
from pytest_t2i.adapters.detectors.facepp import COURSES, Client, Course, Credentials
from pytest_t2i.adapters.detectors.judging import JudgeRun
from pytest_t2i.adapters.endpoints import paid_requests
from pytest_t2i.adapters.endpoints.spending import RunCounts, Spending
from pytest_t2i.data import Money, Undetected
from pytest_t2i.errors import BudgetSpentError, ConfigurationError, DetectorError
from pytest_t2i.protocols import LoadOptions


def picture(width=64, height=64, seed=0):
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(pixels)


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch):
    monkeypatch.setattr(paid_requests, "FIRST_WAIT", 0.001)


def detector(server, key=KEY, secret=SECRET):
    return facepp.FacePlusPlus(Client(server.url, Credentials(key, secret)))


def ask(script, *images):
    with Server(script) as server:
        return detector(server).detect(list(images) or [picture()])


def test_the_largest_face_decides_and_this_is_said():
    (result,) = ask(Script(faces=[face("Male", 50, 50), face("Female", 90, 90)]))
    assert result.label == "female"
    assert result.detail == "2 faces; the largest decides"


def test_no_face():
    (result,) = ask(Script(faces=[]))
    assert result.undetected is Undetected.NO_FACE


@pytest.mark.parametrize("answer", [face(None), face("Unsure")])
def test_a_face_without_a_gender_is_undetected(answer):
    (result,) = ask(Script(faces=[answer]))
    assert result.undetected is Undetected.LOW_CONFIDENCE


def test_black_pictures_are_not_sent():
    script = Script()
    result = ask(script, Image.new("RGB", (64, 64)), picture())
    assert [entry.undetected for entry in result] == [Undetected.BLACK_IMAGE, None]
    assert len(script.received) == 1


def test_waits_at_the_rate_limit():
    script = Script(faults=[Fault(403, "CONCURRENCY_LIMIT_EXCEEDED")] * 3)
    result = ask(script, picture(), picture(seed=1))
    assert [entry.label for entry in result] == ["male", "male"]
    assert len(script.paths) == 5


PRICE = Money.read("0.01 USD")


@pytest.mark.parametrize(
    ("fault", "requests", "paid"),
    [
        (Fault(403, "CONCURRENCY_LIMIT_EXCEEDED"), 2, 1),
        (Fault(503, "busy", plain=True), 2, 1),
        (Fault(500, "INTERNAL_ERROR"), 1, 1),
        (Fault(412, "IMAGE_DOWNLOAD_TIMEOUT"), 1, 1),
        (Fault(502, "bad gateway", plain=True), 1, 1),
        (Fault(401, "AUTHENTICATION_ERROR"), 1, 0),
    ],
    ids=lambda value: getattr(value, "message", None),
)
def test_a_request_with_a_price_is_repeated_only_where_nothing_was_charged(
    tmp_path, fault, requests, paid
):
    script = Script(faults=[fault])
    run = JudgeRun(
        spending=Spending(tmp_path / "spent", PRICE, counts="judged"),
        faults=RunCounts(tmp_path / "faults"),
    )
    with Server(script) as server:
        asked = detector(server)
        asked.join(run)
        if requests == 2:
            assert asked.detect([picture()])[0].label == "male"
        else:
            with pytest.raises(DetectorError):
                asked.detect([picture()])
    assert len(script.paths) == requests
    assert run.spending.count.judged == paid
    assert sum(run.faults.faults.values()) == 1


def test_no_request_is_sent_that_the_budget_does_not_pay_for(tmp_path):
    script, budget = Script(), Money.read("0.02 USD")
    with Server(script) as server:
        asked = detector(server)
        asked.join(JudgeRun(spending=Spending(tmp_path / "spent", PRICE, budget, "judged")))
        with pytest.raises(BudgetSpentError):
            asked.detect([picture(seed=seed) for seed in range(4)])
    assert len(script.paths) == 2


@pytest.mark.parametrize(
    ("fault", "attempts"),
    [
        (Fault(403, "CONCURRENCY_LIMIT_EXCEEDED"), paid_requests.TRIES),
        (Fault(500, "INTERNAL_ERROR"), paid_requests.TRIES),
        (Fault(412, "IMAGE_DOWNLOAD_TIMEOUT"), paid_requests.TRIES),
        (Fault(502, "<html>Bad Gateway</html>", plain=True), paid_requests.TRIES),
    ],
    ids=lambda value: getattr(value, "message", None),
)
def test_gives_up_after_a_bounded_number_of_attempts(fault, attempts):
    script = Script(always=fault)
    with pytest.raises(DetectorError, match="again later"):
        ask(script)
    assert len(script.paths) == attempts


@pytest.mark.parametrize("fault", [Fault(500, "INTERNAL_ERROR"), Fault(503, "busy", plain=True)])
def test_a_passing_fault_is_overcome(fault):
    assert ask(Script(faults=[fault]))[0].label == "male"


STOPPING = {
    "AUTHENTICATION_ERROR": "FACEPP_API_KEY",
    "AUTHORIZATION_ERROR:Insufficient Account Balance": "balance",
    "INSUFFICIENT_PERMISSION:return_attributes": "standard",
    "API_NOT_FOUND": "FACEPP_API_URL",
    "MISSING_ARGUMENTS: image_file": "protocol",
    "BAD_ARGUMENTS:return_attributes": "protocol",
    "COEXISTENCE_ARGUMENTS": "protocol",
    "INVALID_IMAGE_URL": "protocol",
}


@pytest.mark.parametrize(("message", "remedy"), STOPPING.items())
def test_what_nothing_mends_stops_the_run_with_a_remedy(message, remedy):
    script = Script(always=Fault(400, message))
    with pytest.raises(DetectorError, match=remedy) as stopped:
        ask(script)
    assert message in str(stopped.value)
    assert len(script.paths) == 1


def test_every_documented_error_has_a_course():
    stopping = {message.partition(":")[0] for message in STOPPING}
    assert stopping == {name for name, course in COURSES.items() if course is Course.STOP}


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("IMAGE_ERROR_UNSUPPORTED_FORMAT:image_base64", Undetected.UNREADABLE),
        ("TOO_MANY_FACE_ATTRIBUTES", Undetected.MULTIPLE_PEOPLE),
    ],
)
def test_a_picture_the_service_cannot_use_does_not_stop_the_others(message, reason):
    script = Script(faults=[Fault(400, message)])
    first, second = ask(script, picture(), picture(seed=1))
    assert first.undetected is reason
    assert first.detail == message
    assert second.label == "male"


@pytest.mark.parametrize(
    "fault",
    [
        Fault(413, "Request Entity Too Large", plain=True),
        Fault(400, "IMAGE_FILE_TOO_LARGE:image_base64"),
        Fault(400, "INVALID_IMAGE_SIZE:image_base64"),
    ],
    ids=lambda fault: fault.message,
)
@pytest.mark.slow
def test_a_picture_too_large_is_sent_again_smaller(fault):
    script = Script(faults=[fault])
    (result,) = ask(script, picture(1200, 600))
    assert result.label == "male"
    assert script.received == [("JPEG", (1024, 512))]


def test_a_picture_no_copy_of_which_is_taken_is_unreadable():
    script = Script(largest_side=100)
    (result,) = ask(script, picture(600, 600))
    assert result.undetected is Undetected.UNREADABLE
    assert [size for _, size in script.received] == [(600, 600), (1024, 1024), (512, 512)]


@pytest.mark.parametrize(
    ("size", "sent"),
    [
        ((32, 40), ("PNG", (48, 60))),
        ((5000, 100), ("PNG", (4096, 82))),
        ((1000, 1000), ("JPEG", (1000, 1000))),
    ],
)
def test_pictures_are_sent_within_the_documented_limits(size, sent):
    script = Script()
    ask(script, picture(*size))
    assert script.received == [sent]


def test_a_strip_that_fits_no_limit_is_unreadable():
    script = Script()
    (result,) = ask(script, picture(9000, 20))
    assert result.undetected is Undetected.UNREADABLE
    assert not script.received


def test_a_service_that_does_not_answer():
    server = Server()
    server.close()
    with pytest.raises(DetectorError, match="Check that the endpoint is running"):
        detector(server).detect([picture()])


@pytest.mark.parametrize("body", ["[]", '{"ok": 1}', '{"faces": 3}'])
def test_an_answer_of_something_else(body):
    script = Script(faults=[Fault(200, body, plain=True)])
    with pytest.raises(DetectorError, match="FACEPP_API_URL"):
        ask(script)


@pytest.mark.parametrize("name", ENVIRONMENT)
def test_key_and_secret_come_from_the_environment_alone(monkeypatch, name):
    for entry, value in ENVIRONMENT.items():
        monkeypatch.setenv(entry, value)
    monkeypatch.setenv(name, " ")
    with pytest.raises(ConfigurationError, match=name):
        facepp.load(LoadOptions())


@pytest.mark.parametrize(
    "address",
    ["http://api-us.faceplusplus.com", "ftp://here", "api-us.faceplusplus.com",
     "https://user:word@api-us.faceplusplus.com"],
)  # fmt: skip
def test_an_address_that_would_show_the_key_is_refused(monkeypatch, address):
    for entry, value in ENVIRONMENT.items():
        monkeypatch.setenv(entry, value)
    monkeypatch.setenv("FACEPP_API_URL", address)
    with pytest.raises(ConfigurationError, match="FACEPP_API_URL") as refused:
        facepp.load(LoadOptions())
    assert "word" not in str(refused.value).partition("Expected")[0]


def test_the_region_is_taken_from_the_environment(monkeypatch):
    for entry, value in ENVIRONMENT.items():
        monkeypatch.setenv(entry, value)
    monkeypatch.setenv("FACEPP_API_URL", "https://api-cn.faceplusplus.com")
    chinese = facepp.load(LoadOptions())
    monkeypatch.delenv("FACEPP_API_URL")
    american = facepp.load(LoadOptions())
    assert chinese.provenance["service"] == "https://api-cn.faceplusplus.com/facepp/v3/detect"
    assert chinese.fingerprint != american.fingerprint


def shown(error):
    """The traceback as a report shows it, with the variables of every frame."""
    lines = list(traceback.format_exception(error))
    while error is not None:
        frames = list(traceback.walk_tb(error.__traceback__))
        lines += [f"{name} = {value!r}" for frame, _ in frames
                  for name, value in frame.f_locals.items()]  # fmt: skip
        error = error.__cause__ or error.__context__
    return "\n".join(lines)


FAULTS = {
    "refused": Fault(401, f"AUTHENTICATION_ERROR: {KEY} and {SECRET}"),
    "failing": Fault(500, f"INTERNAL_ERROR {KEY}"),
    "limited": Fault(403, "CONCURRENCY_LIMIT_EXCEEDED"),
    "echoing": Fault(200, f'{{"api_key": "{KEY}", "secret": "{SECRET}"}}', plain=True),
    "page": Fault(400, f"<html>{KEY}{SECRET}</html>", plain=True),
    "unreadable": Fault(400, f"IMAGE_ERROR_UNSUPPORTED_FORMAT:{SECRET}"),
    "unreachable": None,
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_key_and_secret_are_shown_nowhere(fault, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    told = []
    with Server(Script(always=fault)) as server:
        asked = detector(server)
        if fault is None:
            server.close()
        try:
            told += [repr(entry) for entry in asked.detect([picture()])]
        except DetectorError as error:
            # The frames of this test hold the server with its script.
            error.__traceback__ = error.__traceback__.tb_next
            told.append(shown(error))
    assert told
    told += [caplog.text, *capfd.readouterr(), asked.fingerprint, repr(asked.provenance)]
    told += [repr(vars(asked)), repr(vars(asked._client))]
    for text in told:
        assert KEY not in text
        assert SECRET not in text


def test_credentials_cannot_be_written():
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(Credentials(KEY, SECRET))
