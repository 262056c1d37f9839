"""Training: what is learned, seeds, the schedule, and going on after an interruption."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from pytest_t2i import T2IError, metrics

from pytest_t2i_goya import training as module
from pytest_t2i_goya.encoder import embedded
from pytest_t2i_goya.training import Examples, Schedule, Training

pytestmark = pytest.mark.slow

FAST = Schedule(epochs=40, batch=64, rate=2e-3, width=16, hidden=16)


def silent(_):
    pass


@pytest.fixture
def examples():
    rng = np.random.default_rng(0)
    contents, styles = np.divmod(np.arange(240) // 6, 4)
    of_content, of_style = rng.normal(size=(10, 6)), rng.normal(size=(4, 6))
    rows = np.concatenate([of_content[contents], of_style[styles]], axis=1)
    mixed = (rows + rng.normal(0, 0.2, rows.shape)) @ np.linalg.qr(rng.normal(size=(12, 12)))[0]
    return Examples(
        torch.tensor(mixed, dtype=torch.float32), torch.tensor(contents), torch.tensor(styles),
        torch.eye(10, dtype=torch.bool),
    )  # fmt: skip


def trained(examples, schedule=FAST, checkpoint=None):
    training = Training(examples, schedule, checkpoint)
    training.run(silent)
    return training


@pytest.mark.parametrize("reading", ["means", "sums"])
def test_each_space_learns_its_own_subject(examples, reading):
    heads = trained(examples, replace(FAST, reading=reading)).heads("x", tuple("abcd"), {})
    spaces = embedded(heads, examples.features.numpy())
    content, style = spaces["projected-content"], spaces["projected-style"]
    kinds = [list(map(str, of.tolist())) for of in (examples.contents, examples.styles)]
    for k, (own, other) in enumerate(((content, style), (style, content))):
        precision = [metrics.retrieval_precision(space, kinds[k]) for space in (own, other)]
        assert precision[0] > precision[1] + (0.3 if reading == "means" else 0.05)
    raw = examples.features.numpy()
    assert metrics.corrected_distance_correlation(content, style) < 0.6
    assert metrics.corrected_distance_correlation(raw, raw) == pytest.approx(1.0)


@pytest.mark.parametrize("classifies", [True, False])
@pytest.mark.parametrize("pairs", ["ntxent", "triplet"])
def test_other_losses_teach_each_space_its_own_subject(examples, pairs, classifies):
    schedule = replace(FAST, pairs=pairs, classifies=classifies)
    heads = trained(examples, schedule).heads("x", tuple("abcd"), {})
    spaces = embedded(heads, examples.features.numpy())
    content, style = spaces["projected-content"], spaces["projected-style"]
    kinds = [list(map(str, of.tolist())) for of in (examples.contents, examples.styles)]
    for k, (own, other) in enumerate(((content, style), (style, content))):
        precision = [metrics.retrieval_precision(space, kinds[k]) for space in (own, other)]
        assert precision[0] > precision[1] + 0.1


def test_a_loss_without_its_classifier_leaves_that_untrained(examples):
    short = replace(FAST, epochs=2, classifies=False)
    begun = Training(examples, short, None).goya.state_dict()["classifier_s.weight"].clone()
    training = trained(examples, short)
    assert torch.equal(training.goya.state_dict()["classifier_s.weight"], begun)


def test_a_checkpoint_of_another_loss_is_not_resumed(examples, tmp_path):
    file = tmp_path / "checkpoint.pt"
    trained(examples, replace(FAST, epochs=2), file)
    assert Training(examples, replace(FAST, epochs=2), file).epoch == 2
    for other in ({"pairs": "triplet"}, {"classifies": False}):
        assert Training(examples, replace(FAST, epochs=2, **other), file).epoch == 0


def tensors(training):
    heads = training.heads("x", (), {})
    return heads.digest


def test_the_same_seed_gives_the_same_heads_and_another_one_others(examples):
    short = replace(FAST, epochs=3)
    assert tensors(trained(examples, short)) == tensors(trained(examples, short))
    assert tensors(trained(examples, short)) != tensors(trained(examples, replace(short, seed=1)))


def test_a_stopped_training_goes_on_to_the_same_heads(examples, tmp_path, monkeypatch):
    schedule = replace(FAST, epochs=6)
    whole = tensors(trained(examples, schedule))
    monkeypatch.setattr(module, "PAUSE", -1.0)
    stopped = Training(examples, schedule, tmp_path / "checkpoint.pt")

    def stop(line):
        if line.startswith("epoch 3 "):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped.run(stop)
    again = Training(examples, schedule, tmp_path / "checkpoint.pt")
    assert again.epoch == 3
    again.run(silent)
    assert tensors(again) == whole


@pytest.mark.parametrize("how", ["other settings", "damaged", "absent"])
def test_a_checkpoint_of_something_else_is_not_gone_on_from(examples, tmp_path, how):
    file = tmp_path / "checkpoint.pt"
    if how == "other settings":
        trained(examples, replace(FAST, epochs=2, rate=1e-3), file)
    elif how == "damaged":
        file.write_bytes(b"cut short")
    assert Training(examples, replace(FAST, epochs=2), file).epoch == 0


def test_the_rate_falls_as_the_program_of_the_authors_has_it(examples, monkeypatch):
    rates = []
    step = torch.optim.Adam.step

    def noted(self, *args):
        rates.append(self.param_groups[0]["lr"])
        return step(self, *args)

    monkeypatch.setattr(torch.optim.Adam, "step", noted)
    trained(examples, replace(FAST, epochs=5))
    steps = np.arange(len(rates))
    assert len(rates) == 5 * 4  # 216 pictures of nine contents in batches of 64
    assert rates == pytest.approx(2e-3 * (1 - steps / len(rates)) ** 0.9)


def test_content_and_style_are_taken_from_their_own_best_epochs(examples):
    training = trained(examples, replace(FAST, epochs=4))
    content, style = training.best["content"], training.best["style"]
    made = training.heads("x", (), {})
    state = made.goya.state_dict()
    assert torch.equal(state["projector_c.0.weight"], content.tensors["projector_c.0.weight"])
    assert torch.equal(state["classifier_s.bias"], style.tensors["classifier_s.bias"])
    assert made.facts["best style epoch"] == str(style.epoch)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [({"epochs": 0}, "--epochs: expected at least 1, got 0"), ({"rate": 0.0}, "--rate above 0"),
     ({"batch": 1}, "--pairs-of: expected at least 4"), ({"width": 0}, "--width")],
)  # fmt: skip
def test_schedules_that_are_none(wrong, told):
    with pytest.raises(T2IError, match=told):
        replace(FAST, **wrong)


def test_one_content_is_too_few(examples):
    one = replace(examples, contents=torch.zeros(240, dtype=torch.long))
    with pytest.raises(T2IError, match="at least two contents, got 1"):
        Training(one, FAST, None)
