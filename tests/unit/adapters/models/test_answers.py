"""Refusals of services are known in the shapes that they have, and nothing else is a refusal."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("openai")
pytest.importorskip("huggingface_hub")

from image_server import serving

from pytest_t2i.adapters.endpoints import answers, paid_requests
from pytest_t2i.adapters.endpoints.answers import (
    BrokenPictureError,
    FinalFaultError,
    PassingFaultError,
    RefusedError,
    fault_in,
)
from pytest_t2i.adapters.endpoints.endpoint_model import EndpointModel
from pytest_t2i.adapters.endpoints.services import hugging_face, openai_images
from pytest_t2i.data import Request
from pytest_t2i.errors import GenerationError
from pytest_t2i.protocols import AnswerLimits, LoadOptions

KEY = "sk-very-secret-0123"
REQUESTS = [Request("a nurse", seed) for seed in range(4)]
QUICK = AnswerLimits(seconds=20.0, at_once=1)

REFUSALS = {
    "fal": {
        "detail": [
            {
                "loc": ["body", "prompt"],
                "msg": "The content could not be processed because it contained material "
                "flagged by a content checker.",
                "type": "content_policy_violation",
            }
        ]
    },
    "Imagen on Vertex AI": [
        {
            "error": {
                "code": 400,
                "message": "The prompt could not be submitted. This prompt "
                "contains sensitive words that violate Google's "
                "Responsible AI practices.",
                "status": "INVALID_ARGUMENT",
            }
        }
    ],
    "Stability AI": {
        "name": "content_moderation",
        "errors": ["Your request was flagged by our content moderation system"],
    },
    "OpenRouter": {
        "error": {
            "code": 403,
            "message": "Your chosen model requires moderation and your input was flagged",
            "metadata": {"reasons": ["sexual"], "flagged_input": "..."},
        }
    },
    "xAI": {
        "code": "The caller does not have permission to execute the specified operation",
        "error": "Content violates usage guidelines. Failed check: SAFETY_CHECK",
    },
    "Azure, inner_error": {
        "error": {
            "code": "contentFilter",
            "message": "This request has been blocked by our content filters.",
            "inner_error": {"code": "ResponsibleAIPolicyViolation"},
        }
    },
    "Azure, innererror": {
        "error": {
            "code": "400",
            "message": "The request could not be completed.",
            "innererror": {
                "code": "ResponsibleAIPolicyViolation",
                "content_filter_result": {"sexual": {"filtered": True}},
            },
        }
    },
    "Imagen, usage guidelines": {
        "error": {
            "code": 400,
            "status": "INVALID_ARGUMENT",
            "message": "Unable to show generated images. All "
            "images were filtered out because they "
            "violated the usage guidelines.",
        }
    },
    "Azure, filter results": {
        "created": 0,
        "data": [
            {
                "b64_json": None,
                "url": None,
                "revised_prompt": None,
                "content_filter_results": {"sexual": {"filtered": True, "severity": "medium"}},
                "prompt_filter_results": {},
            }
        ],
    },
    "Gemini, block reason": {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}},
    "Gemini, finish reason": {"candidates": [{"finishReason": "IMAGE_SAFETY"}]},
    "Gemini, finish_reason": {"candidates": [{"finish_reason": "SAFETY"}]},
    "Imagen, filtered reason": {
        "predictions": [{"raiFilteredReason": "ERROR_MESSAGE. Support codes: 56562880"}]
    },
    "Imagen, policies": {
        "error": {
            "code": 400,
            "message": "Image generation failed with the following error: "
            "The response is blocked, as it may violate our "
            "policies. If you believe this is an error, please "
            "send feedback to your account team. Error Code: "
            "58061214",
        }
    },
    "Google Flow": {
        "error": {
            "code": 400,
            "message": "Request contains an invalid argument.",
            "status": "INVALID_ARGUMENT",
            "details": [{"@type": "x", "reason": "PUBLIC_ERROR_UNSAFE_GENERATION"}],
        }
    },
    "Nova Canvas, prompt": {
        "message": "This request has been blocked by our content filters. "
        "Please adjust your text prompt to submit a new request."
    },
    "Nova Canvas, pictures": {
        "images": [],
        "error": "All of the generated images have been blocked by our content filters.",
    },
    "BFL, request": {"id": "x", "status": "Request Moderated", "result": None},
    "BFL, content": {"status": "Content Moderated"},
    "Ideogram, message": {"error": "Prompt or provided image failed the safety checks"},
    "Ideogram, unsafe picture": {"data": [{"is_image_safe": False, "url": ""}]},
    "Replicate": {
        "status": "failed",
        "error": "NSFW content detected. Try running it again, or try a different prompt.",
    },
    "the word NSFW": {"detail": "NSFW"},
    "Runware": {"errors": [{"code": "sensitiveContentDetected", "message": "x"}]},
    "Ark": {
        "error": {
            "code": "OutputImageSensitiveContentDetected",
            "message": "The request failed because the output image may contain "
            "sensitive information.",
        }
    },
    "Ark, a code in two parts": {
        "error": {"code": "AudioSensitiveContentDetected.PolicyViolation"}
    },
    "DashScope": {
        "code": "InternalError.Algo.DataInspectionFailed",
        "message": "Input text data may contain inappropriate content.",
    },
    "DashScope, message alone": {
        "error_message": "<400> InternalError.Algo.DataInspectionFailed: "
        "Input text data may contain inappropriate "
        "content."
    },
    "new-api": {
        "error": {
            "message": "input contains sensitive words: [test] (request id: 1)",
            "type": "new_api_error",
            "param": "",
            "code": "sensitive_words_detected",
        }
    },
    "MiniMax": {"base_resp": {"status_code": 1026, "status_msg": "input new_sensitive"}},
    "OpenAI": {
        "error": {
            "message": "Your request was rejected by the safety system. If you "
            "believe this is an error, contact us at help.openai.com and "
            "include the request ID. safety_violations=[sexual].",
            "type": "user_error",
            "param": None,
            "code": "moderation_blocked",
        }
    },
    "OpenAI without a code": {
        "error": {
            "message": "Your request was rejected as a result of our safety system.",
            "type": "invalid_request_error",
            "param": None,
            "code": None,
        }
    },
    "hyphens and capitals": {"ERROR": {"CODE": "CONTENT-POLICY-VIOLATION"}},
    "blanks": {"error": {"Type": "content policy violation"}},
    "JSON within a text": {
        "error": {
            "message": "upstream",
            "metadata": {"raw": '{"error":{"code":"content_policy_violation"}}'},
        }
    },
    "JSON behind a text": {
        "error": {
            "message": "litellm.BadRequestError: OpenAIException - "
            '{"error":{"code":"moderation_blocked"}}',
            "code": "400",
        }
    },
    "plain text": "Sorry: NSFW content was detected.",
    "a code in the depth": {"a": {"b": {"c": {"d": [{"e": {"code": "content_filter"}}]}}}},
    "a field refusal": {"choices": [{"message": {"refusal": "I can't help with that."}}]},
    "a curly apostrophe": {"message": "words that violate Google\u2019s Responsible AI practices"},
}
"""Service -> the body of its refusal."""

ERRORS = {
    "a wrong key": {
        "error": {
            "message": "Incorrect API key provided: sk-x.",
            "type": "invalid_request_error",
            "param": None,
            "code": "invalid_api_key",
        }
    },
    "a size": {
        "detail": [
            {"loc": ["body", "size"], "msg": "must be a multiple of 8", "type": "value_error"}
        ]
    },
    "a seed": {"detail": [{"loc": ["body", "seed"], "msg": "must be below 100"}]},
    "quota": {"error": "forbidden: quota"},
    "an extra field": {
        "detail": [
            {
                "loc": ["body", "safety_checker"],
                "msg": "extra fields not permitted",
                "type": "value_error.extra",
            }
        ]
    },
    "an unknown parameter": {
        "error": {"message": "Unknown parameter: 'safety_checker'.", "code": "unknown_parameter"}
    },
    "an extra input": {
        "detail": [
            {
                "type": "extra_forbidden",
                "loc": ["body", "enable_safety_checker"],
                "msg": "Extra inputs are not permitted",
                "input": True,
                "url": "https://errors.pydantic.dev/2/v/extra_forbidden",
            }
        ]
    },
    "a checker that may not be disabled": {
        "error": "Disabling the safety checker is not allowed on your plan"
    },
    "a tolerance": {"error": "safety_tolerance must be between 0 and 2"},
    "a value of moderation": {
        "error": {
            "message": "Invalid value: 'off'. Supported values are: 'low' and 'auto'.",
            "param": "moderation",
            "code": "invalid_value",
        }
    },
    "a suspended account": {
        "error": {
            "message": "Your account has been suspended for violating our usage policies.",
            "code": None,
        }
    },
    "a banned organization": {
        "error": {
            "message": "Your organization was banned: it violated our terms of service.",
            "code": "account_deactivated",
        }
    },
    "an unverified organization": {
        "error": {
            "message": "Your organization must be verified to use the model `gpt-image-1`.",
            "type": "invalid_request_error",
        }
    },
    "an empty account": {
        "error": {
            "message": "You exceeded your current quota, please check your "
            "plan and billing details.",
            "code": "insufficient_quota",
        }
    },
    "IAM": {
        "message": "User: arn:aws:iam::1:user/x is not authorized to perform: "
        "bedrock:InvokeModel because no identity-based policy allows the "
        "bedrock:InvokeModel action"
    },
    "a service control policy": {
        "message": "Access denied with an explicit deny in a service control policy"
    },
    "a virtual network": {
        "error": {"code": "403", "message": "Access denied due to Virtual Network/Firewall rules."}
    },
    "a long prompt": {"error": {"message": "The prompt is too long: at most 1000 characters."}},
    "a model with a telling name": {
        "error": {
            "message": "The model 'content-filter-1' does not exist",
            "code": "model_not_found",
        }
    },
    "no such model": {"error": "Model nsfw-gen not found"},
    "a width": {"error": "width must be a multiple of 8"},
    "terms of use": {
        "error": "You must accept the terms of use of this model before you can use it"
    },
    "a gated model": {
        "error": "Access to model black-forest-labs/FLUX.1-dev is restricted. You "
        "must have access to it and be authenticated. Please accept the "
        "license agreement."
    },
    "a checker that does not load": {"error": "The safety checker could not be loaded"},
    "no JSON": {"error": "failed to parse the JSON body: invalid field"},
    "a hint at the policy": {
        "error": {"message": "Size is not allowed. See our content policy for details."}
    },
    "an echoed prompt": {
        "error": {
            "message": "n must be 1",
            "request": {"prompt": "content policy violation, blocked"},
        }
    },
    "an echoed input": {
        "detail": [
            {
                "loc": ["body", "n"],
                "msg": "ensure this value is at least 1",
                "input": "content_policy_violation",
            }
        ]
    },
    "flags that are false": {
        "error": "steps out of range",
        "content_filter_results": {"sexual": {"filtered": False}},
        "flagged": False,
    },
    "a method": {"detail": "Method Not Allowed"},
    "a missing field": {
        "detail": [{"loc": ["body", "prompt"], "msg": "Field required", "type": "missing"}]
    },
    "a country": {"error": "Image generation is not available in your country"},
    "an unsupported parameter": {
        "error": {
            "message": "The moderation parameter is not supported with this model.",
            "code": "unsupported_parameter",
        }
    },
    "a content security policy": "Refused to load the page because of the Content-Security-Policy "
    "directive",
    "a firewall": {"error": "Request blocked by the firewall"},
    "a boolean": {
        "detail": [
            {
                "type": "bool_parsing",
                "loc": ["body", "enable_safety_checker"],
                "msg": "Input should be a valid boolean, unable to interpret input",
                "input": "maybe",
            }
        ]
    },
    "a finish reason that is none": {"candidates": [{"finishReason": "STOP"}]},
    "a rate limit policy": {"error": {"message": "Rate limit policy violated: too many requests"}},
    "a page of HTML": "<html><body>Our content policy: requests are blocked</body></html>",
}
"""Name -> the body of an error that is none."""


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("HF_TOKEN", KEY)
    monkeypatch.setattr(paid_requests, "FIRST_WAIT", 0.001)


class Own(EndpointModel):
    """What a user writes, whose service answers with HTTP 200 whatever happens."""

    def ask(self, request, seconds):
        import httpx

        answer = httpx.post(f"{self.address}/paint", json={"prompt": request.prompt, "seed": 1})
        return answer.raise_for_status().content


@pytest.fixture(params=["openai", "hf", "own"])
def connect(request):
    """Loads the model of a server in three ways."""

    def loaded(server):
        if request.param == "openai":
            return openai_images.load(LoadOptions(source=f"m@{server.url}", answers=QUICK))
        if request.param == "hf":
            return hugging_face.load(LoadOptions(source=f"{server.origin}/hf", answers=QUICK))
        return Own("m", server.origin, QUICK)

    return loaded


def text_of(body):
    return body if isinstance(body, str) else json.dumps(body)


@pytest.mark.parametrize("body", REFUSALS.values(), ids=REFUSALS)
def test_a_refusal(body):
    assert answers.read_answer(text_of(body)).refusal
    assert isinstance(fault_in(text_of(body)), RefusedError)


@pytest.mark.parametrize("body", ERRORS.values(), ids=ERRORS)
def test_an_error_that_is_no_refusal(body):
    assert answers.read_answer(text_of(body)).refusal == ""


@pytest.mark.parametrize("status", [200, 400, 403, 422])
@pytest.mark.parametrize(
    "name", ["fal", "Imagen on Vertex AI", "Stability AI", "Azure, innererror"]
)
def test_a_refusal_has_one_outcome_whatever_its_status(connect, name, status):
    with serving(None, "written", "written", "written") as server:
        server.answer = status, REFUSALS[name], {}
        made = list(connect(server).generate(REQUESTS))
    assert [one.image is None for one in made] == [False, True, True, True]
    assert all(one.refusal for one in made[1:])
    assert len(server.asked) == 4


@pytest.mark.parametrize("name", ["a wrong key", "a size", "quota", "a suspended account"])
@pytest.mark.parametrize("status", [200, 400, 403, 422])
def test_an_error_ends_the_run_whatever_its_status(connect, name, status):
    with serving(None, always="written") as server:
        server.answer = status, ERRORS[name], {}
        with pytest.raises(GenerationError, match=f"HTTP {status}") as told:
            list(connect(server).generate(REQUESTS))
    assert len(server.asked) == 2
    assert "What was made before is kept." in str(told.value)


@pytest.mark.parametrize(
    ("body", "kind", "is_busy"),
    [
        ({"error": {"code": 429, "message": "slow down"}}, PassingFaultError, True),
        ({"error": {"code": "rate_limit_exceeded"}}, PassingFaultError, True),
        ({"error": "Model too busy"}, PassingFaultError, True),
        ({"error": {"code": "502", "message": "upstream"}}, PassingFaultError, False),
        ({"error": {"message": "x", "type": "server_error"}}, PassingFaultError, False),
        ({"success": False, "errors": ["width"]}, FinalFaultError, False),
        ({"status": "failed"}, FinalFaultError, False),
        ([{"error": {"code": 403, "status": "PERMISSION_DENIED"}}], FinalFaultError, False),
    ],
)
def test_an_error_in_an_answer_with_status_200(body, kind, is_busy):
    error = fault_in(json.dumps(body))
    assert type(error) is kind
    assert getattr(error, "is_busy", False) is is_busy
    assert not error.is_free


@pytest.mark.parametrize("body", [{"data": []}, {"error": None}, {"errors": [], "data": []}, [], 7])
def test_an_answer_with_neither(body):
    assert fault_in(json.dumps(body)) is None


@pytest.mark.parametrize("field", [{"is_image_safe": False}, {"finish_reason": "CONTENT_FILTERED"}])
def test_a_picture_in_the_place_of_a_refused_one(field):
    import base64

    from image_server import drawn

    entry = {"b64_json": base64.b64encode(drawn("a", 1)).decode(), **field}
    with serving("written") as server:
        server.answer = 200, {"data": [entry]}, {}
        model = openai_images.load(LoadOptions(source=f"m@{server.url}", answers=QUICK))
        made = list(model.generate(REQUESTS[:2]))
    assert [one.image is None for one in made] == [True, False]
    assert made[0].refusal == "the service has replaced the picture that it refuses"


@pytest.mark.parametrize(
    "field",
    [{"is_image_safe": True}, {"finish_reason": "SUCCESS"}, {"content_filter_results": {}},
     {"content_filter_results": {"sexual": {"filtered": False, "severity": "safe"}}}],
)  # fmt: skip
def test_a_picture_that_passed_the_filter(field):
    import base64

    from image_server import drawn

    entry = {"b64_json": base64.b64encode(drawn("a", 1)).decode(), **field}
    with serving("written") as server:
        server.answer = 200, {"data": [entry]}, {}
        model = openai_images.load(LoadOptions(source=f"m@{server.url}", answers=QUICK))
        (made,) = model.generate(REQUESTS[:1])
    assert made.image is not None


def test_refusals_are_not_counted_among_broken_pictures():
    refusal = "written"
    with serving(None, "broken", "broken", "broken", refusal, refusal, refusal) as server:
        server.answer = 200, REFUSALS["OpenAI"], {}
        model = openai_images.load(LoadOptions(source=f"m@{server.url}", answers=QUICK))
        made = list(model.generate([Request("a nurse", seed) for seed in range(6)]))
    assert [(one.refusal or "made")[:4] for one in made] == [
        "made", "unre", "Your", "Your", "Your", "made",
    ]  # fmt: skip


def deep(depth):
    return "[" * depth + '{"code": "content_filter"}' + "]" * depth


@pytest.mark.parametrize(
    ("text", "is_refused"),
    [
        (deep(5), True),
        (deep(answers.MOST_DEPTH + 1), False),
        (deep(100_000), False),
        (json.dumps([0] * answers.MOST_VALUES + [{"code": "content_filter"}]), False),
        (json.dumps({str(k): {"x": [k]} for k in range(9999)}), False),
        ('{"code": "content_filter"}' + " " * answers.MOST_TEXT, True),
        ("", False), ("null", False), ("7", False), ('"content_filter"', True), ("NaN", False),
        ("\ufeff{}", False), ('{"code": 1' + "0" * 5000 + "}", False),
    ],
)  # fmt: skip
def test_a_body_is_read_within_bounds(text, is_refused):
    assert bool(answers.read_answer(text).refusal) is is_refused


def test_every_shape_has_a_source_and_a_test():
    """A shape that was found in no document says so."""
    content = answers.convert(answers.FILE, answers.read_toml(answers.FILE), answers._File)
    for shape in content.shape:
        assert shape.source
        assert shape.checked or shape.service.startswith(("xAI", "Together", "Stability"))
        assert shape.codes or shape.fields or shape.sentences
    for code in (code for shape in content.shape for code in shape.codes):
        for form in (code, code.upper(), code.replace("_", " "), code.replace("_", "-")):
            assert answers.read_answer(json.dumps({"error": {"type": form}})).refusal
    for sentence in (sentence for shape in content.shape for sentence in shape.sentences):
        assert answers.read_answer(f"Sorry: {sentence}.").refusal


def test_broken_pictures_stay_broken():
    assert fault_in(b"\x89PNG\r\n") is None
    assert issubclass(BrokenPictureError, PassingFaultError)
