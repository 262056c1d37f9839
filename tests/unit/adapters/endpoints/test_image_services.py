"""Every service, against a server on this machine that speaks and fails as it does."""

import base64
import json
import pickle
from importlib import import_module
from pathlib import Path

import pytest
from image_server import drawn
from service_server import KEYS, RATES, SOURCES, WORKFLOW, serving, source_of

from pytest_t2i.adapters.endpoints import paid_requests
from pytest_t2i.adapters.endpoints.http_client import Call
from pytest_t2i.adapters.endpoints.services import model as service_model
from pytest_t2i.adapters.endpoints.services import openai_images
from pytest_t2i.adapters.endpoints.services.service import Picture
from pytest_t2i.adapters.endpoints.spending import Spending
from pytest_t2i.data import GenerationSettings, Money, Request
from pytest_t2i.errors import ConfigurationError, GenerationError
from pytest_t2i.protocols import AnswerLimits, LoadOptions
from pytest_t2i.settings import merged

FACTORIES = {
    name: openai_images.load_azure
    if name == "azure"
    else import_module(f"pytest_t2i.adapters.endpoints.services.{name.replace('-', '_')}").load
    for name in SOURCES
}


@pytest.mark.parametrize("name", FACTORIES)
def test_another_process_loads_the_same_service(name):
    """A factory that held a service could not be sent to the processes of an executor."""
    assert pickle.loads(pickle.dumps(FACTORIES[name])) is FACTORIES[name]


@pytest.fixture(autouse=True)
def _keys(monkeypatch):
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(service_model, "FIRST_LOOK", 0.01)
    monkeypatch.setattr(paid_requests, "FIRST_WAIT", 0.002)


def model_of(name: str, address: str, folder: Path, seconds: float = 20.0):
    source = source_of(name, address, folder)
    return FACTORIES[name](LoadOptions(source=source, answers=AnswerLimits(seconds=seconds)))


def pixels(image):
    return image.convert("RGB").tobytes()


def expected(prompt: str, seed: int):
    import io

    from PIL import Image

    with Image.open(io.BytesIO(drawn(prompt, seed))) as picture:
        return pixels(picture)


@pytest.mark.parametrize("name", SOURCES)
def test_pictures_are_those_of_prompt_and_seed(name, tmp_path):
    requests = [Request(f"a {word}", seed) for word in ("nurse", "pilot") for seed in (3, 4)]
    with serving() as server:
        made = list(model_of(name, server.address, tmp_path).generate(requests))
    shift = 1 if name == "stability" else 0
    assert [pixels(m.image) for m in made] == [
        expected(request.prompt, request.seed + shift) for request in requests
    ]


@pytest.mark.parametrize("name", SOURCES)
def test_the_key_goes_to_the_service_alone_and_is_never_shown(name, tmp_path, capsys):
    with serving() as server:
        model = model_of(name, server.address, tmp_path)
        list(model.generate([Request("a nurse", 1)]))
        sent = [(path, str(headers)) for path, headers in server.headers]
    key = model.key
    if key:
        assert any(key in headers for _, headers in sent)
        assert not [path for path, headers in sent if key in headers and "/files/" in path]
    shown = f"{model} {model!r} {model.provenance} {capsys.readouterr()}"
    assert not key or key not in shown


@pytest.mark.slow
@pytest.mark.parametrize("name", SOURCES)
def test_two_hundred_requests_to_a_server_that_misbehaves(name, tmp_path):
    requests = [Request(f"a nurse {index}", index) for index in range(200)]
    with serving(RATES, seed=len(name)) as server:
        model = model_of(name, server.address, tmp_path, seconds=60.0)
        made = list(model.generate(requests))
        drawn_twice = [place for place, count in server.drawn.items() if count > 1]
    shift = 1 if name == "stability" else 0
    assert len(made) == len(requests)
    assert not drawn_twice
    refused = 0
    for request, picture in zip(requests, made, strict=True):
        if picture.image is None:
            refused += 1
            assert not picture.refusal.startswith("unreadable"), picture.refusal
            assert (request.prompt, request.seed + shift) not in server.drawn
        else:
            assert pixels(picture.image) == expected(request.prompt, request.seed + shift)
    assert refused == len(requests) - len(server.drawn)
    assert refused > 5


@pytest.mark.parametrize("name", SOURCES)
def test_broken_answers_cost_no_more_than_one_more_picture_each(name, tmp_path):
    requests = [Request(f"a nurse {index}", index) for index in range(40)]
    with serving({"broken": 0.15, "busy": 0.1}, seed=3) as server:
        model = model_of(name, server.address, tmp_path, seconds=60.0)
        made = list(model.generate(requests))
        broken = server.broken
    assert sum(server.drawn.values()) <= len(requests) + broken
    lost = [picture.refusal for picture in made if picture.image is None]
    assert all(words.startswith("unreadable") for words in lost)
    assert len(lost) <= 2


FURTHER = {
    "azure": {"quality": "hd"},
    "together": {"style": "vivid"},
    "chat-image": {"image_config": {"image_size": "2K"}},
    "gemini": {"imageConfig": {"imageSize": "2K"}},
    "fal": {"enable_safety_checker": False},
    "replicate": {"go_fast": True},
    "stability": {"style_preset": "anime", "strength": 0.5},
    "bedrock": {"quality": "premium"},
    "a1111": {"sampler_name": "Euler", "override_settings": {"CLIP_stop_at_last_layers": 2}},
}
"""Fields that a service takes and the tool does not set."""
HELD_IN = {
    "gemini": "generationConfig",
    "replicate": "input",
    "bedrock": "imageGenerationConfig",
}
"""Field of a body that holds those of a picture."""


@pytest.mark.parametrize("name", FURTHER)
def test_further_fields_are_sent_beside_the_requests_own(name, tmp_path):
    request = Request("a nurse", 3, GenerationSettings(width=512, height=512))
    plain, further = [], []
    with serving() as server:
        server.inputs += ("go_fast", "width", "height")
        for bodies, extra in ((plain, {}), (further, FURTHER[name])):
            model = model_of(name, server.address, tmp_path)
            before = model.fingerprint
            model.take_extra(extra)
            settings = request.settings if "width" in model.kind.settings else GenerationSettings()
            list(model.generate([Request(request.prompt, request.seed, settings)]))
            (bodies[:],) = ([body for _, body in server.bodies[len(plain) :]],)
            assert (model.fingerprint == before) is not bool(extra)
    fields = [body[-1].get(HELD_IN.get(name), body[-1]) for body in (plain, further)]
    expected = {
        key: str(value) if name == "stability" else value for key, value in FURTHER[name].items()
    }
    assert fields[1] == merged(fields[0], expected)
    assert str(model.settings_words) in model.provenance["extra"]


OWN = [
    ("azure", "n", 2, "got n: the run sets it"),
    ("azure", "size", "auto", "--t2i-size"),
    ("together", "model", "x", "--t2i-model"),
    ("together", "num_inference_steps", 3, "--t2i-steps"),
    ("chat-image", "seed", 1, "--t2i-seed"),
    ("gemini", "imageConfig", {"aspectRatio": "1:1"}, "--t2i-size"),
    ("fal", "image_size", "square_hd", "--t2i-size"),
    ("fal", "cfg_scale", 2, "--t2i-guidance"),
    ("replicate", "num_steps", 3, "--t2i-steps"),
    ("stability", "aspect_ratio", "1:1", "--t2i-size"),
    ("stability", "negative_prompt", "a hat", "negative_prompt in the model's table"),
    ("bedrock", "cfgScale", 3, "--t2i-guidance"),
    ("a1111", "prompt", "a hat", "the run sets it"),
    ("comfy", "steps", 3, "takes no further arguments, got steps"),
]


@pytest.mark.parametrize(("name", "field", "value", "words"), OWN)
def test_a_further_field_that_the_request_has_is_refused(name, field, value, words, tmp_path):
    with serving() as server:
        model = model_of(name, server.address, tmp_path)
        with pytest.raises(ConfigurationError, match=words):
            model.take_extra({field: value})
        assert not server.bodies


def test_a_checkpoint_is_named_by_the_model_alone(tmp_path):
    with serving() as server:
        load = FACTORIES["a1111"]
        model = load(LoadOptions(source=f"xl@{server.address}"))
        with pytest.raises(ConfigurationError, match=r"override_settings\.sd_model.*--t2i-model"):
            model.take_extra({"override_settings": {"sd_model_checkpoint": "tuned"}})


def test_an_input_that_the_model_lacks_is_refused_before_a_picture_is_paid(tmp_path):
    with serving() as server:
        model = model_of("replicate", server.address, tmp_path)
        model.take_extra({"go_fst": True})
        with pytest.raises(ConfigurationError, match="the model has no input go_fst"):
            list(model.generate([Request("a nurse", 1)]))
        assert not server.bodies


NAMED = {
    "together": {"model": "another"},
    "chat-image": {"model": "google/another"},
    "gemini": {"modelVersion": "gemini-flash"},
    "replicate": {"model": "owner/another", "version": "5c7d"},
    "fal": {"model": "fal-ai/another"},
    "stability": {"model": "sd3.5-large"},
    "a1111": {"sd_model_name": "xl-2", "sd_model_hash": "cd"},
}


@pytest.mark.parametrize("name", NAMED)
def test_a_picture_of_another_model_ends_the_run(name, tmp_path):
    with serving() as server:
        server.named = NAMED[name]
        model = model_of(name, server.address, tmp_path)
        model.versions = model.versions_told(5.0)
        used = next(iter(NAMED[name].values()))
        with pytest.raises(GenerationError, match=f"was asked for.*picture with {used}"):
            list(model.generate([Request("a nurse", 1)]))


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("together", {"model": "black-forest/FLUX"}),
        ("chat-image", {"model": "gemini-image-2026-04-15"}),
        ("gemini", {"modelVersion": "models/gemini-flash-image-preview"}),
        ("replicate", {"model": "owner/flux", "version": "5c7d"}),
        ("a1111", {"sd_model_name": "XL", "sd_model_hash": "ab"}),
    ],
)
def test_folder_and_date_make_no_other_model(name, named, tmp_path):
    with serving() as server:
        server.named = named
        model = model_of(name, server.address, tmp_path)
        model.versions = model.versions_told(5.0)
        (made,) = model.generate([Request("a nurse", 1)])
    assert made.image is not None


@pytest.mark.parametrize("asked", ["tuned", "sd/tuned.safetensors [cd]", "cd", "tuned-v7", "tun"])
def test_the_version_is_that_of_the_checkpoint_that_was_asked_for(asked):
    with serving() as server:
        model = FACTORIES["a1111"](LoadOptions(source=f"{asked}@{server.address}"))
        versions = model.ask_versions(5.0)
        server.named = {"sd_model_name": "tuned", "sd_model_hash": "cd"}
        if asked in {"tuned-v7", "tun"}:
            assert versions == {}
            with pytest.raises(GenerationError, match="was asked for"):
                list(model.generate([Request("a nurse", 1)]))
        else:
            assert versions["sd_model_checkpoint"] == "sd/tuned.safetensors [cd]"
            assert versions["sd_checkpoint_hash"] == "cd" * 32
            (made,) = model.generate([Request("a nurse", 1)])
            assert made.image is not None


def test_imagen_is_asked_by_predict(tmp_path):
    with serving() as server:
        source = f"imagen-4@{server.address}/v1beta"
        model = FACTORIES["gemini"](LoadOptions(source=source))
        (made,) = model.generate([Request("a nurse", 1)])
    assert made.revised_prompt == "a nurse, smiling"
    assert [path for path, _ in server.bodies] == ["/v1beta/models/imagen-4:predict"]


def answering(model, *answers):
    """The model with these answers in turn; the bodies that are sent."""
    waiting, sent = list(answers), []

    def answer(call, until):
        sent.append(call.body)
        return waiting.pop(0)

    model.answer = answer
    return sent


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({}, "gives no reason"),
        ({"predictions": []}, "gives no reason"),
        ({"predictions": [{"mimeType": "image/png"}]}, "gives no reason"),
        ({"predictions": [{"raiFilteredReason": "Support codes: 1"}]}, "Support codes: 1"),
    ],
)
def test_what_imagen_filters_is_refused_and_asked_for_once(answer, words):
    model = FACTORIES["gemini"](LoadOptions(source="models/imagen-4@http://127.0.0.1:9/v1beta"))
    sent = answering(model, answer)
    (made,) = model.generate([Request("a nurse", 1)])
    assert words in made.refusal
    assert not made.refusal.startswith("unreadable")
    assert [body["parameters"]["includeRaiReason"] for body in sent] == [True]


def test_an_empty_answer_that_no_documentation_explains_is_no_refusal(tmp_path):
    model = model_of("together", "http://127.0.0.1:9", tmp_path)
    answering(model, *[{"data": []}] * 3)
    with pytest.raises(GenerationError, match="expected a picture in the answer, got none"):
        list(model.generate([Request("a nurse", 1)]))


def test_an_empty_output_whose_log_names_the_filter_is_refused(tmp_path):
    log = "Running prediction...\nNSFW content detected in image 0\n"
    answer = {"status": "succeeded", "output": [], "error": None, "logs": log}
    model = model_of("replicate", "http://127.0.0.1:9", tmp_path)
    sent = answering(model, {}, answer)
    (made,) = model.generate([Request("a nurse", 1)])
    assert "NSFW content detected" in made.refusal
    assert len(sent) == 2  # the first asks for the description


@pytest.mark.parametrize("name", SOURCES)
def test_settings_that_no_description_confirms_are_said_to_be_sent(name, tmp_path):
    with serving() as server:
        words = model_of(name, server.address, tmp_path).provenance["settings"]
    is_described = name == "replicate"
    assert words.startswith("checked" if is_described else "sent, not confirmed")


def test_seeds_stay_within_the_range_of_a_service(tmp_path):
    model = model_of("together", "http://127.0.0.1:9", tmp_path)
    model.most_seed = 999
    drawing = {"data": [{"b64_json": base64.b64encode(drawn("a", 1)).decode()}]}
    sent = answering(model, drawing, drawing)
    list(model.generate([Request("a nurse", seed) for seed in (7, 20261)]))
    assert {body["seed"] for body in sent} == {7, 261}


def test_a_seed_that_is_refused_says_how_to_state_its_range(tmp_path):
    model = model_of("together", "http://127.0.0.1:9", tmp_path)
    error = model.failure("HTTP 400: seed must be below 1000", "")
    assert "most_seed = 999" in str(error)
    assert "[models.NAME] with adapter = 'together', path = what follows together:" in str(error)
    model.most_seed = 5
    assert "most_seed" not in str(model.failure("HTTP 400: seed must be below 3", ""))


@pytest.mark.parametrize(
    ("model", "path"), [("stability.sd3-5-large-v1:0", "stability"), ("amazon.titan:1", "amazon")]
)
def test_bedrock_has_two_shapes(model, path):
    with serving() as server:
        service = FACTORIES["bedrock"](LoadOptions(source=f"{model}@{server.address}"))
        (made,) = service.generate([Request("a nurse", 1)])
        ((asked, body),) = server.bodies
    assert made.image is not None
    assert asked == f"/model/{model}/invoke"
    assert ("textToImageParams" in body) == (path == "amazon")


def test_bedrock_is_signed_where_there_is_no_bearer_key(monkeypatch):
    monkeypatch.delenv("AWS_BEARER_TOKEN_BEDROCK")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a secret of aws")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    pytest.importorskip("botocore")
    with serving() as server:
        source = f"amazon.nova-canvas-v1:0@{server.address}"
        (made,) = FACTORIES["bedrock"](LoadOptions(source=source)).generate([Request("a nurse", 1)])
        ((_, headers),) = server.headers
    assert made.image is not None
    assert "Credential=AKIAEXAMPLE/" in headers["Authorization"]
    assert "/eu-west-1/bedrock/aws4_request" in headers["Authorization"]
    assert "a secret of aws" not in str(headers)


def test_bedrock_without_credentials_says_what_to_set(monkeypatch, tmp_path):
    pytest.importorskip("botocore")
    monkeypatch.delenv("AWS_BEARER_TOKEN_BEDROCK")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(ConfigurationError, match="AWS_BEARER_TOKEN_BEDROCK"):
        FACTORIES["bedrock"](LoadOptions(source="amazon.nova-canvas-v1:0@us-east-1"))


def test_settings_are_sent_under_the_names_of_the_service(tmp_path):
    settings = GenerationSettings(
        steps=12, guidance=3.5, width=64, height=64, negative_prompt="a hat"
    )
    wanted = {
        "together": {"steps": 12, "guidance_scale": 3.5, "width": 64, "negative_prompt": "a hat"},
        "fal": {"num_inference_steps": 12, "image_size": {"width": 64, "height": 64}},
        "a1111": {"steps": 12, "cfg_scale": 3.5, "height": 64},
    }
    with serving() as server:
        for name, fields in wanted.items():
            server.bodies.clear()
            list(
                model_of(name, server.address, tmp_path).generate([Request("a nurse", 1, settings)])
            )
            ((_, body),) = server.bodies
            assert {field: body[field] for field in fields} == fields


def test_replicate_sends_the_inputs_that_the_model_has(tmp_path):
    with serving() as server:
        model = model_of("replicate", server.address, tmp_path)
        settings = GenerationSettings(steps=9, guidance=2.0)
        list(model.generate([Request("a nurse", 1, settings)]))
        ((_, body),) = server.bodies
        assert body["input"] == {
            "prompt": "a nurse", "seed": 1, "output_format": "png", "num_inference_steps": 9,
            "guidance": 2.0,
        }  # fmt: skip
        other = Request("a nurse", 1, GenerationSettings(width=64, height=64))
        with pytest.raises(ConfigurationError, match="no input for size"):
            list(model.generate([other]))
    assert model_of("replicate", server.address, tmp_path).may_ignore_seeds


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("azure", GenerationSettings(steps=3), "takes no steps"),
        ("chat-image", GenerationSettings(guidance=3.0), "takes no guidance"),
        ("gemini", GenerationSettings(negative_prompt="x"), "takes no negative prompt"),
        ("stability", GenerationSettings(guidance=3.0), "takes no guidance"),
        ("bedrock", GenerationSettings(steps=3), "takes no steps"),
        ("comfy", GenerationSettings(guidance=3.0), "takes no guidance"),
    ],
)
def test_a_setting_that_a_service_does_not_take_is_refused(name, settings, words, tmp_path):
    with serving() as server:
        model = model_of(name, server.address, tmp_path)
        with pytest.raises(ConfigurationError, match=words):
            list(model.generate([Request("a nurse", 1, settings)]))
        assert not server.bodies


def test_a_workflow_is_filled(tmp_path):
    with serving() as server:
        model = model_of("comfy", server.address, tmp_path)
        list(model.generate([Request('a "nurse"', 7)]))
        list(model.generate([Request('a "nurse"', 7, GenerationSettings(steps=4))]))
        first, second = (body["prompt"] for _, body in server.bodies)
    assert first["6"]["inputs"]["text"] == 'a "nurse"'
    assert (first["3"]["inputs"]["seed"], first["3"]["inputs"]["steps"]) == (7, 20)
    assert second["3"]["inputs"]["steps"] == 4
    prefixes = {body["9"]["inputs"]["filename_prefix"] for body in (first, second)}
    assert len(prefixes) == 2


def test_a_workflow_that_only_shows_its_picture_is_not_asked_again(tmp_path):
    with serving() as server:
        server.place = "temp"
        model = model_of("comfy", server.address, tmp_path)
        with pytest.raises(ConfigurationError, match=r"PreviewImage\): put a node SaveImage"):
            list(model.generate([Request("a nurse", 7)]))
        assert len(server.bodies) == 1


@pytest.mark.parametrize(
    ("workflow", "words"),
    [
        ("{", "JSON"),
        ('{"nodes": [], "links": []}', "API format"),
        (json.dumps({"6": {"class_type": "X", "inputs": {"text": "{prompt}"}}}), "seed"),
        (json.dumps({"6": {"class_type": "X", "inputs": {}}}), "prompt and seed"),
        (json.dumps({**WORKFLOW, "9": {"class_type": "PreviewImage"}}), "put a node SaveImage"),
    ],
)
def test_a_workflow_that_cannot_be_used_says_why(workflow, words, tmp_path):
    file = tmp_path / "w.json"
    file.write_text(workflow, "utf-8")
    with pytest.raises(Exception, match=words):
        FACTORIES["comfy"](LoadOptions(source=str(file)))


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (("together", ""), "expected the name of a model"),
        (("azure", "images"), "expected a base URL"),
        (("fal", "m@http://me:secret@127.0.0.1/"), "without user"),
        (("bedrock", "m"), "AWS region"),
        (("bedrock", "@us-east-1"), "id of a model"),
    ],
)
def test_an_address_that_cannot_be_used_says_why(source, words, monkeypatch):
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AZURE_OPENAI_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    name, text = source
    with pytest.raises(ConfigurationError, match=words):
        FACTORIES[name](LoadOptions(source=text))


def test_a_public_service_needs_its_key(monkeypatch):
    monkeypatch.delenv("TOGETHER_API_KEY")
    with pytest.raises(ConfigurationError, match="TOGETHER_API_KEY"):
        FACTORIES["together"](LoadOptions(source="flux"))


def test_the_key_of_one_host_is_not_sent_to_another(monkeypatch):
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-or-0123456789")
    with serving() as server:
        model = FACTORIES["chat-image"](LoadOptions(source=f"m@{server.address}"))
        assert model.key == "chat-key-0"
    assert FACTORIES["chat-image"](LoadOptions(source="m")).key == "sk-or-0123456789"


def test_a_price_that_differs_is_said_once(tmp_path, capsys):
    with serving() as server:
        model = model_of("chat-image", server.address, tmp_path)
        model.spending = Spending(tmp_path / "spent", Money.read("0.02 USD"))
        list(model.generate([Request("a nurse", seed) for seed in range(4)]))
    lines = [line for line in capsys.readouterr().err.splitlines() if "charged" in line]
    assert len(lines) == 1
    assert "charged 0.039 USD for a picture; the run counts 0.02 USD" in lines[0]


@pytest.mark.parametrize("name", ["fal", "replicate", "comfy"])
def test_a_file_that_comes_late_is_paid_once_and_not_lost(name, tmp_path):
    with serving({"late_file": 1.0}) as server:
        model = model_of(name, server.address, tmp_path)
        model.spending = Spending(tmp_path / "spent", Money.read("1 USD"), Money.read("1 USD"))
        (made,) = model.generate([Request("a nurse", 1)])
        assert made.image is not None
        assert model.spending.count.requests == sum(server.drawn.values()) == 1


def test_a_picture_that_is_gone_was_paid(tmp_path):
    with serving({"late_file": 1.0}) as server:
        model = model_of("comfy", server.address, tmp_path)
        model.spending = Spending(tmp_path / "spent", Money.read("1 USD"))
        read = model.kind.read

        def gone(model, answer):
            told = read(model, answer)
            pictures = [Picture(Call("nowhere", method="GET"))] if told.pictures else []
            return told._replace(pictures=pictures)

        model.kind = model.kind._replace(read=gone)
        with pytest.raises(GenerationError, match="HTTP 404"):
            list(model.generate([Request("a nurse", 1)]))
        assert model.spending.count.requests == 1


def test_a_job_is_gone_on_with_and_not_begun_again(tmp_path, monkeypatch):
    monkeypatch.setattr(service_model, "FIRST_LOOK", 0.3)
    with serving() as server:
        # Half of the time is for one attempt: the job outlives the first.
        model = model_of("replicate", server.address, tmp_path, seconds=1.6)
        try:
            (made,) = model.generate([Request("a nurse", 1)])
        except GenerationError:
            made = None
        assert server.drawn["a nurse", 1] == 1
        if made is None:
            (made,) = model.generate([Request("a nurse", 1)])
    assert made.image is not None
    assert server.drawn["a nurse", 1] == 1
