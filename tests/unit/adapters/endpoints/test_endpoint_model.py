"""Models behind HTTP: each fault has its outcome, nothing is lost, and no key is shown."""

from __future__ import annotations

import base64
import io
import logging
import subprocess
import sys
import time
import traceback
from collections import Counter
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("openai")
pytest.importorskip("huggingface_hub")

from image_server import POLICY, drawn, serving
from PIL import Image

from pytest_t2i import EndpointModel
from pytest_t2i.adapters.endpoints import endpoint_model, paid_requests
from pytest_t2i.adapters.endpoints.answers import (
    FinalFaultError,
    PassingFaultError,
    RefusedError,
    fault,
    fault_of,
)
from pytest_t2i.adapters.endpoints.counting_factory import load_counted
from pytest_t2i.adapters.endpoints.http_client import Call, HttpClient
from pytest_t2i.adapters.endpoints.parallel_calls import Pace
from pytest_t2i.adapters.endpoints.services import hugging_face, openai_images
from pytest_t2i.adapters.endpoints.spending import RunCounts, Spending
from pytest_t2i.data import Generated, GenerationSettings, Money, Request
from pytest_t2i.errors import (
    BudgetSpentError,
    ConfigurationError,
    GenerationError,
    MissingExtraError,
)
from pytest_t2i.protocols import AnswerLimits, LoadOptions, TextToImage

KEY = "sk-very-secret-0123"
REQUESTS = [Request("a nurse", seed) for seed in range(4)]
# One after the other: what is asked when several are under way is tested in test_concurrency.py.
QUICK = AnswerLimits(seconds=20.0, megabytes=0.5, at_once=1)
SHORT = AnswerLimits(seconds=0.8, megabytes=0.5, at_once=1)


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("HF_TOKEN", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setattr(paid_requests, "FIRST_WAIT", 0.001)


@pytest.fixture(params=["openai", "hf"])
def connect(request):
    """Loads the model of a server by either protocol."""

    def loaded(server, limits=QUICK):
        if request.param == "openai":
            return openai(server, limits)
        return hugging_face.load(LoadOptions(source=f"{server.origin}/hf", answers=limits))

    return loaded


def openai(server, limits=QUICK, model="m"):
    return openai_images.load(LoadOptions(source=f"{model}@{server.url}", answers=limits))


def everything(error):
    """A traceback with the variables of every frame, as ``--showlocals`` prints it."""
    lines = traceback.format_exception(error)
    while error is not None:
        for frame, _ in traceback.walk_tb(error.__traceback__):
            if frame.f_code.co_filename != __file__:
                lines += [f"{name} = {value!r}" for name, value in frame.f_locals.items()]
        error = error.__cause__ or error.__context__
    return "\n".join(lines)


def refused(model, request=REQUESTS[0], kind=GenerationError):
    """The one message that a model ends with."""
    with pytest.raises(kind) as told:
        list(model.generate([request]))
    assert KEY not in everything(told.value)
    return str(told.value)


def pixels(made):
    return [made.tobytes() for made in (one.image for one in made)]


def expected(requests=REQUESTS):
    return [Image.open(io.BytesIO(drawn(r.prompt, r.seed))).tobytes() for r in requests]


def test_pictures_are_made(connect):
    with serving() as server:
        model = connect(server)
        assert isinstance(model, TextToImage)
        assert pixels(model.generate(REQUESTS)) == expected()
        assert list(model.generate([])) == []
    assert {headers["authorization"] for _, headers, _ in server.asked} == {f"Bearer {KEY}"}


# what is sent


def test_openai_is_sent_what_was_given():
    # The pictures of the server are square: the aspect is within a tenth.
    settings = GenerationSettings(steps=7, guidance=3.5, width=34, height=32, negative_prompt="hat")
    with serving() as server:
        model = openai(server)
        list(model.generate([Request("a nurse", 5, settings), REQUESTS[1]]))
    first, second = server.bodies
    assert first == {
        "model": "m", "prompt": "a nurse", "n": 1, "seed": 5, "num_inference_steps": 7, "steps": 7,
        "guidance_scale": 3.5, "negative_prompt": "hat", "size": "34x32",
        "response_format": "b64_json",
    }  # fmt: skip
    assert second == {
        "model": "m", "prompt": "a nurse", "n": 1, "seed": 1, "response_format": "b64_json",
    }  # fmt: skip


def test_hugging_face_is_sent_what_was_given():
    # The pictures of the server are square: the aspect is within a tenth.
    settings = GenerationSettings(steps=7, guidance=3.5, width=34, height=32, negative_prompt="hat")
    with serving() as server:
        model = hugging_face.load(LoadOptions(source=f"{server.origin}/hf", answers=QUICK))
        list(model.generate([Request("a nurse", 5, settings)]))
    assert server.bodies == [
        {
            "inputs": "a nurse",
            "parameters": {
                "negative_prompt": "hat", "height": 32, "width": 34, "num_inference_steps": 7,
                "guidance_scale": 3.5, "seed": 5,
            },
        }
    ]  # fmt: skip


def test_further_fields_are_sent(connect):
    with serving() as server:
        model = connect(server)
        plain = model.fingerprint
        model.take_extra({"quality": "high", "moderation": "low"})
        list(model.generate(REQUESTS[:1]))
        ((_, _, body),) = server.asked
    fields = body.get("parameters", body)
    assert (fields["quality"], fields["moderation"], fields["seed"]) == ("high", "low", 0)
    assert model.fingerprint != plain
    assert model.provenance["extra"] == "moderation=low, quality=high (sent, not confirmed)"


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("prompt", "the run sets it"),
        ("model", "--t2i-model"),
        ("seed", "--t2i-seed"),
        ("steps", "--t2i-steps"),
        ("guidance_scale", "--t2i-guidance"),
        ("negative_prompt", "negative_prompt in the model's table of a catalogue"),
    ],
)
def test_a_further_field_that_the_request_has_is_refused(connect, field, words):
    with serving() as server, pytest.raises(ConfigurationError, match=f"{field}: .*{words}"):
        connect(server).take_extra({field: "x"})


def test_a_further_field_is_never_left_out():
    with serving(always="strict") as server:
        model = openai(server, model="gpt-image-2")
        model.take_extra({"response_format": "b64_json"})
        assert "Unknown parameter: 'response_format'" in refused(model)


def test_a_class_that_names_no_fields_takes_no_further_ones():
    class Grey(EndpointModel):
        service = "grey"

    with pytest.raises(ConfigurationError, match=r"grey:m at .*takes no further arguments, got a"):
        Grey("m", "http://127.0.0.1:1/v1").take_extra({"a": 1})


def test_a_model_of_a_script_has_the_further_fields_of_its_latest_run():
    class Grey(EndpointModel):
        service = "grey"

        def fields(self, request):
            return {"prompt": request.prompt}

    model = Grey("m", "http://127.0.0.1:1/v1")
    factory = partial(load_counted, lambda _: model, RunCounts(Path("none")), None, "grey")
    assert factory(LoadOptions(extra={"call": {"a": 1}})).extra == {"a": 1}
    assert factory(LoadOptions()).extra == {}


def test_gpt_image_is_sent_no_response_format():
    with serving() as server:
        list(openai(server, model="gpt-image-2").generate(REQUESTS[:1]))
    assert "response_format" not in server.bodies[0]


def test_a_server_that_knows_no_seed_is_asked_without_from_then_on(capsys):
    with serving(always="strict") as server:
        made = list(openai(server).generate(REQUESTS))
    assert len(made) == 4
    assert [sorted(body) for body in server.bodies[-4:]] == [["model", "n", "prompt"]] * 4
    assert len(server.bodies) == 6
    assert capsys.readouterr().err.count("does not accept a seed: every picture is drawn anew") == 1


def test_a_setting_that_was_asked_for_is_not_left_out():
    asked = Request("a nurse", 0, GenerationSettings(negative_prompt="hat"))
    with serving(always="strict") as server:
        told = refused(openai(server), asked)
    assert "Unknown parameter: 'negative_prompt'" in told


def test_one_of_two_names_for_steps_may_be_left_out():
    asked = Request("a nurse", 0, GenerationSettings(steps=4))
    with serving(always="strict") as server:
        list(openai(server).generate([asked]))
    assert server.bodies[-1]["num_inference_steps"] == 4
    assert "steps" not in server.bodies[-1]


def test_a_seed_that_is_too_large_is_not_left_out():
    with serving(always="bad_seed") as server:
        assert "must be below 100" in refused(openai(server))
    assert len(server.asked) == 1


# faults that pass


@pytest.mark.parametrize("how", ["busy", "down", "dropped", "broken"])
def test_what_passes_is_asked_again(connect, how):
    with serving(how, how, None, how) as server:
        assert pixels(connect(server).generate(REQUESTS)) == expected()
    assert len(server.asked) == 7


@pytest.mark.parametrize("how", ["no_picture", "null", "no_base64", "cut_json", "url_gone"])
def test_an_answer_without_a_picture_is_asked_for_again(how):
    with serving(how, how) as server:
        assert pixels(openai(server).generate(REQUESTS)) == expected()
    assert len(server.asked) == 6


@pytest.mark.parametrize(
    ("how", "words"), [("busy", "HTTP 429: slow down"), ("down", "HTTP 503: a page of HTML")]
)
def test_what_does_not_pass_ends_in_one_clear_error(connect, how, words):
    with serving(always=how) as server:
        told = refused(connect(server))
        assert f"127.0.0.1:{server.server_port}: {words}" in told
    assert "(after 8 attempts). What was made before is kept. Run again later" in told
    assert len(server.asked) == 8


def test_a_wait_beyond_the_deadline_is_not_waited(connect):
    with serving(always="busy_long") as server:
        started = time.monotonic()
        assert "HTTP 429: later, and demands a wait of 3600 seconds." in refused(connect(server))
    assert len(server.asked) == 1
    assert time.monotonic() - started < 5


def test_a_long_wait_is_said(monkeypatch, capsys):
    monkeypatch.setattr(paid_requests, "SAID_FROM", 0.0)
    with serving("busy") as server:
        list(openai(server).generate(REQUESTS[:1]))
    assert (
        "attempt 1: HTTP 429: slow down, [hidden]; the next one is in 0 seconds"
        in capsys.readouterr().err
    )


def test_no_waiting_helps_against_an_empty_account(connect):
    with serving(always="no_money") as server:
        assert "You exceeded your current quota" in refused(connect(server))
    assert len(server.asked) == 1


@pytest.mark.parametrize("how", ["slow", "dripping"])
def test_what_hangs_is_asked_twice_until_the_deadline(connect, how):
    with serving(always=how) as server:
        started = time.monotonic()
        told = refused(connect(server, SHORT))
        assert time.monotonic() - started < 3
    assert 1 <= len(server.asked) <= 3
    assert "--t2i-answer-deadline" in told


def test_a_connection_that_hangs_is_replaced(connect):
    with serving("dripping") as server:
        limits = AnswerLimits(seconds=2.0)
        assert pixels(connect(server, limits).generate(REQUESTS[:1])) == expected(REQUESTS[:1])


def test_nobody_answers(connect):
    with serving() as server:
        model = connect(server)
    assert "Connect" in refused(model)


# broken pictures


def test_a_picture_that_stays_broken_loses_no_other(connect):
    with serving(None, "broken", "broken", "broken", None, None) as server:
        made = list(connect(server).generate(REQUESTS))
    assert [one.image is None for one in made] == [False, True, False, False]
    assert made[1].refusal.startswith("unreadable: ")
    assert len(server.asked) == 6


def test_an_endpoint_that_never_gave_a_picture_is_given_up(connect):
    with serving(always="broken") as server:
        assert "got none that can be read" in refused(connect(server))
    with serving(always="jpeg_xl") as server:
        assert "got none that can be read: JPEG XL (after 3 attempts)" in refused(connect(server))


def test_what_came_before_an_error_is_kept(connect):
    with serving(None, None, "denied") as server:
        made = []
        with pytest.raises(GenerationError):
            made.extend(connect(server).generate(REQUESTS))
    assert pixels(made) == expected(REQUESTS[:2])


def test_three_in_a_row_without_a_picture_are_too_many(connect):
    with serving(None, always="broken") as server:
        made = []
        with pytest.raises(GenerationError, match="after 3 attempts"):
            made.extend(connect(server).generate(REQUESTS))
    assert [one.image is None for one in made] == [False, True, True]


# refusals


def test_a_refusal_by_policy_is_an_outcome_with_the_providers_words(connect):
    with serving(None, "policy", None, "policy_words") as server:
        made = list(connect(server).generate(REQUESTS))
    assert [one.image is None for one in made] == [False, True, False, True]
    assert made[1].refusal == POLICY
    assert made[3].refusal == "NSFW content detected, [hidden]."
    assert len(server.asked) == 4


# rewritten prompts


def drawn_by(rewrite):
    with serving(rewrite=rewrite) as server:
        (made,) = openai(server).generate(REQUESTS[:1])
    assert made.image is not None
    return made.revised_prompt


def test_what_the_service_drew_is_told():
    assert drawn_by("{}, smiling\n woman".format) == "a nurse, smiling woman"
    assert drawn_by(str) == "a nurse"
    assert drawn_by(None) is None


@pytest.mark.parametrize("told", ["", " ", None, 7, ["a"], {"text": "a"}])
def test_what_is_no_text_tells_nothing(told):
    assert drawn_by(lambda _: told) is None


def test_a_revised_prompt_has_a_bounded_length_and_no_key():
    assert drawn_by(lambda _: "word " * 9999) == ("word " * 9999)[: endpoint_model.LONGEST_PROMPT]
    assert drawn_by(lambda _: f"a nurse with {KEY}") == "a nurse with [hidden]"
    assert drawn_by(lambda _: "a nurse " + KEY.encode().hex()) == "[hidden]"


@pytest.mark.parametrize(
    ("status", "words", "code", "kind"),
    [
        (400, "", "content_policy_violation", RefusedError),
        (403, "x", "ContentFilter", RefusedError),
        (422, "NSFW content was detected", "", RefusedError),
        (403, "blocked by our content filters", "", RefusedError),
        (403, "blocked: you violate our content policy", "", FinalFaultError),
        (401, "blocked by our content filters", "", FinalFaultError),
        (503, "blocked by our content filters", "", PassingFaultError),
        (400, "width must be a multiple of 8", "", FinalFaultError),
        (500, "", "", PassingFaultError),
        (429, "quota", "insufficient_quota", FinalFaultError),
        (404, "no such model", "", FinalFaultError),
    ],
)
def test_what_a_status_means(status, words, code, kind):
    assert type(fault(status, words, code)) is kind


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("7", 7.0), ("0.5", 0.5), ("-3", 0.0), ("soon", None), (None, None),
     ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0)],
)  # fmt: skip
def test_retry_after(header, seconds):
    assert fault(429, "", "", header).after == seconds


def test_an_exception_of_other_code_means_nothing():
    assert fault_of(KeyError("x")) is None
    assert isinstance(fault_of(ConnectionResetError("x")), PassingFaultError)


# answers by URL


@pytest.mark.parametrize("how", ["url", "url_moved"])
def test_a_picture_is_fetched_from_the_endpoints_own_host(how):
    asked = [Request("a", 1)]
    with serving(how) as server:
        assert pixels(openai(server).generate(asked)) == expected(asked)
        assert server.fetched[0][1].get("authorization") is None


def test_a_url_may_hold_the_picture_itself():
    with serving("data_url") as server:
        assert pixels(openai(server).generate(REQUESTS[:1])) == expected(REQUESTS[:1])


@pytest.mark.parametrize(
    ("how", "host"), [("url_inside", "169.254.169.254"), ("url_redirected", "10.0.0.1")]
)
def test_nothing_is_fetched_from_within_the_network(how, host):
    with serving(how) as server:
        told = refused(openai(server))
    assert f"refers to {host}: expected a public host or the endpoint's own" in told
    assert len(server.asked) == 1


def test_a_url_of_a_file_is_not_opened():
    with serving(always="url_of_file") as server:
        assert "expected the address of a picture in the answer" in refused(openai(server))


def test_a_port_that_goes_without_saying_is_the_endpoints_own():
    own = HttpClient("http://LOCALHOST:80/v1", QUICK)
    for url in ("http://localhost/v1/a.png", "http://localhost:80/a.png"):
        with pytest.raises(GenerationError, match="Connect"):
            own.picture(url, 1.0)
    with pytest.raises(GenerationError, match="expected the service's own host"):
        own.answer(Call("http://localhost:81/v1"), 1.0)


@pytest.fixture
def fal(monkeypatch):
    """Loads a model of fal.ai, whose answers name a URL, from a server in its place."""
    from huggingface_hub.hf_api import InferenceProviderMapping
    from huggingface_hub.inference._providers import _common

    monkeypatch.setenv("HF_TOKEN", f"hf_{KEY}")
    mapped = InferenceProviderMapping(
        provider="fal-ai",
        providerId="fal-ai/m",
        hf_model_id="o/m",
        task="text-to-image",
        status="live",
    )
    known = {**_common.HARDCODED_MODEL_INFERENCE_MAPPING, "fal-ai": {"o/m": mapped}}
    monkeypatch.setattr(_common, "HARDCODED_MODEL_INFERENCE_MAPPING", known)

    def loaded(server, limits=QUICK):
        template = f"{server.origin}/{{provider}}"
        monkeypatch.setattr("huggingface_hub.constants.INFERENCE_PROXY_TEMPLATE", template)
        return hugging_face.load(LoadOptions(source="fal-ai/o/m", answers=limits))

    return loaded


def test_a_providers_picture_is_fetched(fal):
    asked = [Request("a", 1)]
    with serving("fal_url") as server:
        assert pixels(fal(server).generate(asked)) == expected(asked)
    (path, headers, body), *_ = server.asked
    assert path == "/fal-ai/fal-ai/m"
    assert body == {"prompt": "a", "seed": 1}
    assert headers["authorization"] == f"Bearer hf_{KEY}"
    assert server.fetched[0][1].get("authorization") is None


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("fal_inside", "refers to 169.254.169.254: expected a public host"),
        ("fal_redirected", "refers to 10.0.0.1: expected a public host"),
        ("fal_endless", "at most 0.5 MiB, got a larger one"),
        ("fal_gone", "HTTP 404 at the picture's address (after 3 attempts)"),
        ("no_picture", "expected a picture in the answer, got none (after 3 attempts)"),
        ("cut_json", "no valid JSON (JSONDecodeError) (after 3 attempts)"),
        ("html", "expected JSON, got text/html"),
        ("dripping", "--t2i-answer-deadline"),
    ],
)
def test_a_providers_faults(fal, monkeypatch, how, words):
    with serving(always=how) as server:
        assert words in refused(fal(server, SHORT if how == "dripping" else QUICK))


# sizes and kinds


@pytest.mark.parametrize("how", ["endless", "url_endless"])
def test_an_endless_answer_is_cut(how):
    with serving(always=how) as server:
        assert "at most 0.5 MiB, got a larger one: ask for smaller pictures" in refused(
            openai(server)
        )
    assert len(server.asked) == paid_requests.TRIES_OF_BROKEN


def test_one_endless_answer_is_asked_for_again(connect):
    with serving(None, "endless") as server:
        assert pixels(connect(server).generate(REQUESTS)) == expected(REQUESTS)
    assert len(server.asked) == 5


def test_an_endless_answer_is_cut_of_hugging_face_too():
    with serving(always="endless") as server:
        model = hugging_face.load(LoadOptions(source=f"{server.origin}/hf", answers=QUICK))
        assert "at most 0.5 MiB, got a larger one" in refused(model)


def test_a_page_in_the_place_of_an_answer():
    with serving(always="html") as server:
        told = refused(openai(server))
    assert "expected JSON, got text/html; check that the base URL" in told
    assert len(server.asked) == 1


def test_a_redirect_to_another_host_is_told():
    with serving(always="elsewhere") as server:
        assert "HTTP 307: expected a picture, got a redirect to example.org" in refused(
            openai(server)
        )


def test_more_pixels_than_pillow_takes(monkeypatch, connect):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    with serving() as server:
        assert "got none that can be read" in refused(connect(server))


# names, addresses, keys


def test_a_model_is_known_by_name_and_plain_address(monkeypatch):
    def loaded(source, address=""):
        monkeypatch.setenv("OPENAI_BASE_URL", address)
        return openai_images.load(LoadOptions(source=source))

    first = loaded("m@http://127.0.0.1:1/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-another-key-99")
    same = loaded("m", "http://me:secret-word-1@127.0.0.1:1/v1/?api-version=secret-word-2")
    assert same.fingerprint == first.fingerprint
    address = {"model": "m", "endpoint": "http://127.0.0.1:1/v1"}
    unsure = {"version": "not told", "settings": "sent, not confirmed"}
    assert same.provenance == {**address, **unsure}
    assert "secret-word" not in repr(same) + str(vars(same))
    others = [loaded("n@http://127.0.0.1:1/v1"), loaded("m@http://127.0.0.1:2/v1"), loaded("m")]
    assert first.fingerprint not in {one.fingerprint for one in others}
    assert others[2].address == openai_images.OPENAI
    assert loaded("@cf/flux-1@http://gpu1/v1").model == "@cf/flux-1"


def test_providers_have_fingerprints_of_their_own():
    loaded = [
        hugging_face.load(LoadOptions(source=f"{provider}/owner/name"))
        for provider in ("fal-ai", "together", "fal-ai")
    ]
    assert len({one.fingerprint for one in loaded}) == 2
    assert loaded[0].model == "owner/name"


@pytest.mark.parametrize("key", ["", "  "])
def test_a_key_is_needed_unless_the_address_is_local(monkeypatch, key):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    monkeypatch.setenv("HF_TOKEN", key)
    with pytest.raises(ConfigurationError, match=r"^openai:m at api\.openai\.com needs a key: set"):
        openai_images.load(LoadOptions(source="m"))
    with pytest.raises(ConfigurationError, match="HF_TOKEN"):
        hugging_face.load(LoadOptions(source="fal-ai/owner/name"))
    with serving() as server:
        assert pixels(openai(server).generate(REQUESTS[:1])) == expected(REQUESTS[:1])


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("", "expected the name of a model"),
        ("m@http://me:secret-word-1@host/v1", "without user"),
        ("m@http://host/v1?key=secret-word-1", "without user"),
        ("m@localhost:8000/v1", "begins with http"),
        ("m@http://", "expected a base URL"),
    ],
)
def test_what_is_no_name_of_a_model(source, words):
    with pytest.raises(ConfigurationError, match=words) as told:
        openai_images.load(LoadOptions(source=source))
    assert "secret-word" not in str(told.value)


@pytest.mark.parametrize(
    "source", ["", "fal-ai", "/x", "fal-ai/", "https://me:secret-word-1@host/x"]
)
def test_what_is_no_name_of_a_providers_model(source):
    with pytest.raises(ConfigurationError) as told:
        hugging_face.load(LoadOptions(source=source))
    assert "secret-word" not in str(told.value)


def test_an_unknown_provider_is_named():
    model = hugging_face.load(LoadOptions(source="nobody/owner/name"))
    assert "nobody" in refused(model)


def test_offline_is_told_at_once(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.is_offline_mode", lambda: True)
    with serving() as server:
        model = hugging_face.load(LoadOptions(source=f"{server.origin}/hf", answers=QUICK))
        assert "unset it to use an endpoint" in refused(model, kind=ConfigurationError)


def test_what_is_no_key_is_refused_without_showing_it(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "schl\u00fcssel-1")
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY: expected printable") as told:
        openai_images.load(LoadOptions(source="m"))
    assert "schl" not in everything(told.value)


@pytest.mark.parametrize("how", ["denied", "busy", "policy_words", "down", "html", "dropped"])
def test_no_key_is_shown_or_logged(connect, how, caplog, capfd):
    with caplog.at_level(logging.DEBUG), serving(None, always=how) as server:
        model = connect(server)
        told = ""
        try:
            told = str([one.refusal for one in model.generate(REQUESTS[:2])])
        except GenerationError as error:
            told = everything(error)
    assert told
    shown = [
        told,
        caplog.text,
        repr(model),
        model.fingerprint,
        str(model.provenance),
        *capfd.readouterr(),
    ]
    assert KEY not in "".join(shown)


# a service of one's own


class Own(EndpointModel):
    """What a user writes."""

    service, key_variable = "own", "OWN_KEY"
    given: object = b""

    def ask(self, request, seconds):
        if isinstance(self.given, Exception):
            raise self.given
        return self.given


def own(given, monkeypatch=None):
    model = Own("m", "http://127.0.0.1:1")
    model.given = given
    return model


def test_one_of_ones_own_may_give_bytes_a_picture_or_a_refusal():
    picture = Image.new("RGB", (2, 2), "red")
    for given in (drawn("a", 1), picture, Generated(picture)):
        (made,) = own(given).generate(REQUESTS[:1])
        assert np.asarray(made.image).ndim == 3
    (made,) = own(Generated(None, refusal="no")).generate(REQUESTS[:1])
    assert made.refusal == "no"
    (made,) = own(Generated(picture, revised_prompt="a  \nwoman")).generate(REQUESTS[:1])
    assert made.revised_prompt == "a woman"
    assert own(b"").picture(drawn("a", 1)).size == (16, 16)


@pytest.mark.parametrize("address", ["", "host", "http://[x", "ftp://host", "http://me:pw@"])
def test_one_of_ones_own_needs_an_address(address):
    with pytest.raises(ConfigurationError, match="own:m: expected a base URL such as") as told:
        Own("m", address)
    assert "pw" not in str(told.value)


def test_a_mistake_in_ones_own_code_is_told_as_it_is():
    with pytest.raises(ZeroDivisionError):
        list(own(ZeroDivisionError("mine")).generate(REQUESTS[:1]))


def test_a_mistake_that_tells_the_key_is_told_without(monkeypatch):
    monkeypatch.setenv("OWN_KEY", KEY)
    assert "RuntimeError: [hidden] is it" in refused(own(RuntimeError(f"{KEY} is it")))


ECHOES = {
    "plain": KEY,
    "capitals": KEY.upper(),
    "percent": "".join(f"%{ord(c):02X}" for c in KEY),
    "json": "".join(f"\\u{ord(c):04x}" for c in KEY),
    "html": "".join(f"&#{ord(c)};" for c in KEY),
    "hex": KEY.encode().hex(),
    "base64": base64.b64encode(f"id:{KEY}".encode()).decode(),
}


@pytest.mark.parametrize("echo", ECHOES.values(), ids=ECHOES)
@pytest.mark.parametrize("status", [400, 401, 503])
def test_an_echo_of_the_key_is_hidden_in_each_form(monkeypatch, capsys, echo, status):
    monkeypatch.setenv("OWN_KEY", KEY)
    monkeypatch.setattr(paid_requests, "SAID_FROM", 0.0)

    class Echoing(Own):
        def ask(self, request, seconds):
            raise self.fault(status, f"NSFW content detected: {echo}")

    model = Echoing("m", "http://127.0.0.1:1")
    try:
        told = str([made.refusal for made in model.generate(REQUESTS[:1])])
    except GenerationError as error:
        told = str(error)
    told += capsys.readouterr().err
    assert "[hidden]" in told
    assert echo not in told


def test_a_fault_of_ones_own_is_asked_again_or_not():
    counted = Counter()

    class Busy(Own):
        def ask(self, request, seconds):
            counted["asked"] += 1
            raise self.fault(503, "later")

    assert "HTTP 503: later (after 8 attempts)" in refused(Busy("m", "http://127.0.0.1:1"))
    assert counted["asked"] == 8


def test_an_answer_of_too_many_bytes_is_refused():
    model = Own("m", "http://127.0.0.1:1", AnswerLimits(megabytes=0.001))
    model.given = bytes(2000)
    assert "at most 0.001 MiB, got a larger one" in refused(model)


# without libraries


@pytest.mark.parametrize("module", ["openai_images", "hugging_face"])
def test_no_torch_is_imported(module):
    code = (
        "import sys\nsys.modules['torch'] = None\n"
        f"from pytest_t2i.adapters.endpoints.services.{module} import load\n"
        "from pytest_t2i import EndpointModel\n"
        "print('diffusers' in sys.modules, 'transformers' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "False"]


@pytest.mark.parametrize(
    ("module", "library"), [("openai_images", "openai"), ("hugging_face", "huggingface_hub")]
)
def test_a_missing_library_is_named_with_its_extra(monkeypatch, module, library):
    import importlib

    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, f"pytest_t2i.adapters.endpoints.services.{module}")
    with pytest.raises(MissingExtraError, match=r"pytest-t2i\[endpoints\]"):
        importlib.import_module(f"pytest_t2i.adapters.endpoints.services.{module}")


@pytest.mark.parametrize(
    ("fault", "charged"),
    [
        ("busy", 0), ("down", 0), ("denied", 0), ("no_money", 0), ("elsewhere", 0), ("bad_seed", 0),
        ("broken", 1), ("policy", 1), ("dropped", 1), (None, 1),
    ],
)  # fmt: skip
def test_what_may_have_been_charged_is_counted(tmp_path, fault, charged):
    with serving(fault) as server:
        model = openai(server)
        model.spending = Spending(tmp_path / "spent", Money.read("0.04 USD"))
        with suppress(GenerationError):
            next(model.generate(REQUESTS))
        answered = len(server.asked) > 1  # by another request, which is charged
    assert model.spending.count.requests == charged + answered


def test_where_nobody_listens_nothing_is_charged(tmp_path, monkeypatch):
    monkeypatch.setattr(paid_requests, "TRIES", 2)
    with serving() as server:
        model = openai(server)
    model.spending = Spending(tmp_path / "spent", Money.read("0.04 USD"))
    assert "Connection" in refused(model)
    assert model.spending.count.requests == 0


BUSY = PassingFaultError("HTTP 503: later")


class Clock:
    """A clock that only waits advance."""

    def __init__(self, monkeypatch):
        self.now = 1000.0
        monkeypatch.setattr(paid_requests, "time", SimpleNamespace(monotonic=lambda: self.now))
        monkeypatch.setattr(paid_requests, "FIRST_WAIT", 1.0)
        monkeypatch.setattr(Pace, "rest", self.rest)
        monkeypatch.setattr(Pace, "turn", lambda *_: True)

    def rest(self, seconds, is_over):
        self.now += seconds


class Scripted(Own):
    """A server whose answers are listed; the last one repeats."""

    answers = ()

    def ask(self, request, seconds):
        answer, *rest = self.answers
        self.answers, self.count = rest or [answer], getattr(self, "count", 0) + 1
        if isinstance(answer, Exception):
            raise answer
        return answer


def connect_error(words="[Errno 111] Connection refused", name="ConnectError"):
    return type(name, (OSError,), {"__module__": "httpx"})(words)


@pytest.mark.parametrize(
    ("answers", "seconds", "attempts"),
    [
        ([connect_error()], 7, 4),  # nobody listens
        ([connect_error("[Errno 113] No route to host")], 7, 4),
        ([connect_error("timed out", "ConnectTimeout")], 7, 4),
        ([BUSY, connect_error()], 91, 8),  # it was there, and may come back
        ([fault(404, "no"), connect_error()], 0, 1),
        ([RefusedError("no"), connect_error()], 0, 1),
        ([connect_error(), BUSY], 91, 8),  # it has just come up
        ([BUSY], 91, 8),
    ],
)
def test_a_server_that_never_answered_is_given_up_soon(
    monkeypatch, capsys, answers, seconds, attempts
):
    monkeypatch.setattr(endpoint_model, "picture_from", lambda given, limits: given)
    clock = Clock(monkeypatch)
    start, model = clock.now, Scripted("m", "http://127.0.0.1:1", AnswerLimits(seconds=300))
    model.answers = answers
    words = ""
    try:
        list(model.generate([REQUESTS[0]]))
    except (GenerationError, ConfigurationError) as error:
        words = str(error)
    assert (model.count, clock.now - start) == (attempts, seconds)
    if attempts > 1:  # the last line that one sees names the attempt before
        assert f"(after {attempts} attempts)" in words
        assert f"attempt {attempts - 1}: " in capsys.readouterr().err.splitlines()[-1]


def test_a_server_that_answered_once_is_waited_for(monkeypatch):
    picture = Image.new("RGB", (8, 8))
    clock = Clock(monkeypatch)
    start, model = clock.now, Scripted("m", "http://127.0.0.1:1", AnswerLimits(seconds=300))
    model.answers = [picture, connect_error()]
    with pytest.raises(GenerationError, match="after 8 attempts"):
        list(model.generate(REQUESTS[:2]))
    assert clock.now - start > 60


def test_no_request_is_sent_that_the_budget_does_not_pay_for(tmp_path):
    with serving() as server:
        model = openai(server)
        budget = Money.read("0.05 USD")
        model.spending = Spending(tmp_path / "spent", Money.read("0.04 USD"), budget)
        given = model.generate(REQUESTS)
        assert next(given).image is not None
        with pytest.raises(BudgetSpentError):
            next(given)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("fault", "requests"), [("busy", 2), ("down", 2), ("broken", 1), ("dropped", 1), ("error", 1)]
)
def test_a_request_with_a_price_is_repeated_only_where_nothing_was_charged(
    tmp_path, connect, fault, requests
):
    with serving(fault) as server:
        model = connect(server)
        model.spending = Spending(tmp_path / "spent", Money.read("0.04 USD"))
        if requests == 2:
            assert next(model.generate(REQUESTS)).image is not None
        else:
            with pytest.raises(GenerationError, match="may have been charged and is not sent aga"):
                next(model.generate(REQUESTS))
        assert len(server.asked) == requests
    assert model.spending.count.requests == 1


def test_a_single_broken_picture_with_a_price_ends_nothing(tmp_path):
    with serving(None, "broken") as server:
        model = openai(server)
        model.spending = Spending(tmp_path / "spent", Money.read("0.04 USD"))
        pictures = list(model.generate(REQUESTS))
    assert [picture.image is None for picture in pictures].count(True) == 1
    assert len(server.asked) == len(REQUESTS)


def test_an_answer_that_names_another_model_is_not_taken():
    with serving(always="written") as server:
        server.answer = 200, {"model": "m-1-mini", "data": [{"b64_json": "x"}]}, {}
        told = refused(openai(server, model="m-1"))
    assert "m-1 was asked for" in told
    assert "with m-1-mini" in told
