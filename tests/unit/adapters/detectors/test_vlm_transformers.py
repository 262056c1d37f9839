"""Judges with weights here: tiny random models of true classes, in batches."""

from __future__ import annotations

import json

import pytest
from PIL import Image

pytestmark = pytest.mark.slow

tiny = pytest.importorskip("tiny")

from pytest_t2i.adapters.detectors import vlm, vlm_transformers
from pytest_t2i.adapters.detectors.judging import JudgeRun, Reply
from pytest_t2i.errors import ConfigurationError, ModelLoadError
from pytest_t2i.protocols import LoadOptions


@pytest.fixture(scope="module", params=[tiny.write_llava, tiny.write_qwen2_vl])
def weights(request, tmp_path_factory):
    return request.param(tmp_path_factory.mktemp("judge") / "weights")


@pytest.fixture(autouse=True)
def _short(monkeypatch):
    monkeypatch.setattr(vlm_transformers, "TOKENS_OF_ATTRIBUTE", 8)


def judge(weights, attributes="+gender"):
    return vlm.load(LoadOptions(f"transformers/{weights}{attributes}", device="cpu"))


def pictures(count):
    return [Image.new("RGB", (40 + 9 * k, 50), (k * 40, 99, 5)) for k in range(count)]


def test_no_label_outside_of_the_rubric(weights):
    detector = judge(weights)
    said = {str(detection.said) for detection in detector.detect(pictures(3))}
    assert said <= {*detector.rubric.words, "low_confidence"}
    assert detector.needs_device
    assert detector.agreement is None


def test_a_picture_has_the_same_answer_alone_and_in_a_batch(weights, monkeypatch):
    monkeypatch.setattr(vlm_transformers, "TASK", "x")
    panel = judge(weights).panel
    together = panel._answers(pictures(3))
    assert together == [panel._answers([picture])[0] for picture in pictures(3)]
    if "llava" in panel.facts["model"].lower():  # the other one says the same of all pictures
        assert len({reply.text for reply in together}) > 1


def test_answers_are_read_in_batches(weights, monkeypatch):
    good = {"gender": {"label": "female", "evidence": "x"}, "age": {"label": "0-2"}}
    asked = []

    def answers(panel, images):
        asked.append(len(images))
        return [Reply(json.dumps(good)) for _ in images]

    monkeypatch.setattr(vlm_transformers.WeightsPanel, "_answers", answers)
    run = JudgeRun()
    gender, age = judge(weights, "+gender+age"), judge(weights, "+age+gender")
    assert gender.panel._model is age.panel._model
    gender.join(run)
    age.join(run)
    assert [d.label for d in gender.detect(pictures(10))] == ["female"] * 10
    assert asked == [8, 2]
    assert [d.label for d in age.detect(pictures(10))] == ["0-2"] * 10
    assert len(asked) == 2


def test_other_weights_are_another_judge(tmp_path):
    folders = [tiny.write_llava(tmp_path / str(seed), seed) for seed in range(2)]
    assert len({judge(folder).fingerprint for folder in folders}) == 2


def test_a_model_without_a_chat_template_is_refused(tmp_path):
    folder = tiny.write_llava(tmp_path / "weights")
    (folder / "chat_template.jinja").unlink()
    with pytest.raises(ModelLoadError, match="chat template"):
        judge(folder)


@pytest.mark.parametrize("source", ["transformers/", "transformers/./absent"])
def test_absent_weights_are_named(source):
    with pytest.raises((ConfigurationError, ModelLoadError)):
        vlm.load(LoadOptions(source))
