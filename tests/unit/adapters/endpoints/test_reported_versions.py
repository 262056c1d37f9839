"""What ``GET /models`` says of a model's version, by the answers of the servers that there are."""

from __future__ import annotations

import time

import pytest

from pytest_t2i.adapters.endpoints.reported_versions import versions_in

OLD = 1_713_833_628


def of(entry, model="m", *, is_local=False):
    return versions_in({"object": "list", "data": [entry]}, model, is_local=is_local)


def test_openai_says_when_a_model_was_created():
    entry = {"id": "m", "object": "model", "created": OLD, "owned_by": "system"}
    assert of(entry) == {"created": str(OLD)}


@pytest.mark.parametrize("owner", ["vllm", "sglang"])
def test_the_time_of_the_question_is_no_version(owner):
    entry = {"id": "m", "created": int(time.time()), "owned_by": owner, "root": "/weights/a"}
    assert of(entry) == {"root": "/weights/a"}


def test_a_server_of_ones_own_writes_there_when_it_was_started():
    assert of({"id": "m", "created": OLD}, is_local=True) == {}


def test_sglang_says_how_a_model_is_run():
    entry = {"id": "m", "pipeline_class": "FluxPipeline", "dit_precision": "bf16", "num_gpus": 4}
    assert of(entry) == {"dit_precision": "bf16", "pipeline_class": "FluxPipeline"}


def test_sglang_answers_without_a_list_outside_of_v1():
    body = {"model_path": "m", "dit_precision": "bf16"}
    assert versions_in(body, "m", is_local=True) == {"dit_precision": "bf16"}


def test_xinference_says_the_revision():
    entry = {"id": "m", "created": 0, "model_revision": "ffac8d62", "replica": 1}
    assert of(entry) == {"model_revision": "ffac8d62"}


def test_localai_says_nothing():
    assert of({"id": "m", "object": "model"}) == {}


def test_another_models_version_is_not_taken():
    body = {"data": [{"id": "a", "revision": "1"}, {"id": "b", "revision": "2"}]}
    assert versions_in(body, "m", is_local=True) == {}
    assert versions_in({"data": body["data"][:1]}, "m", is_local=True) == {"revision": "1"}


@pytest.mark.parametrize(
    "body",
    [
        None, 3, "m", [], {}, {"data": None}, {"data": "m"}, {"data": [None, "m"]},
        {"data": [{"id": "m", "revision": {"a": 1}, "created": True, "sha": None}]},
        {"data": [{"id": "m", "created": -5, "digest": ["x"], "version": ""}]},
    ],
)  # fmt: skip
def test_what_is_no_version_tells_none(body):
    assert versions_in(body, "m", is_local=False) == {}


def test_a_long_value_is_cut():
    assert len(of({"id": "m", "version": "9" * 5000})["version"]) == 200
