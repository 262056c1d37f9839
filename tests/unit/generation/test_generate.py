"""The runner: batches, memory, pictures nobody can use, and work that is not done twice."""

from __future__ import annotations

import time
from contextlib import closing
from types import SimpleNamespace

import fakes
import pytest
from PIL import Image

from pytest_t2i.audits.engine.observations import Observations
from pytest_t2i.data import (
    FINAL_LATENT,
    TEXT_EMBEDDING,
    Attribute,
    Detection,
    Generated,
    GenerationSettings,
    Prompt,
    Request,
    Undetected,
    Variation,
)
from pytest_t2i.errors import (
    ConfigurationError,
    GenerationError,
    OutOfDeviceMemoryError,
    StoreError,
)
from pytest_t2i.generation import generate, missing_images
from pytest_t2i.generation.components import Components
from pytest_t2i.generation.generate import Runner
from pytest_t2i.generation.plan import DetectorRef, Need, Plan, RequestSettings
from pytest_t2i.generation.progress import Silent
from pytest_t2i.generation.seeds import seeds_of
from pytest_t2i.generation.store import Store
from pytest_t2i.settings import Settings

COLOUR = DetectorRef("colour")
NURSE, PILOT = Prompt("a nurse", "profession", "nurse"), Prompt("a pilot", "profession", "pilot")


class Model(fakes.FakeModel):
    """Counts batches; holds a few images at most; some pictures come out useless."""

    most = 1000

    def __init__(self):
        super().__init__(0.5, "counted")
        self.batches: list[int] = []

    def generate(self, requests):
        if len(requests) > self.most:
            raise OutOfDeviceMemoryError("too many")
        self.batches.append(len(requests))
        return [self.special(request) or self._one(request) for request in requests]

    def special(self, request):
        if request.seed == 901:
            return Generated(Image.new("RGB", (16, 16)))
        if request.seed == 902:
            return Generated(None, refusal="safety checker")
        if request.seed in (903, 904):
            return Generated(None, refusal="unreadable: a.png (a web page)")
        return None


@pytest.fixture
def rig(tmp_path):
    return Rig(tmp_path)


class Rig:
    def __init__(self, folder):
        self.model = Model()
        self.store = Store(folder)
        settings = Settings(model="mine", store=folder)
        self.components = Components(settings, self.store)
        self.components.registries.models.update({"mine": lambda _: self.model})
        self.components.registries.detectors.update({"colour": fakes.detector})
        self.components.registries.encoders.update({"clip": fakes.encoder})

    def run(self, *needs, batch=None):
        plan = Plan(RequestSettings(GenerationSettings()))
        plan.add_all(needs)
        runner = Runner(self.components, self.store, Silent(), batch)
        work = runner.run(plan)
        return plan, runner.keys(plan), work

    def keys(self, prompt, seeds):
        fingerprint = self.components.model().fingerprint
        return [Request(prompt.text, seed, GenerationSettings()).key(fingerprint) for seed in seeds]

    def said(self, keys):
        fingerprint = self.components.detector(COLOUR).fingerprint
        return self.store.detections(list(keys.values()), fingerprint)


def need(prompt, seeds, detectors=(COLOUR,), **more):
    return Need(prompt, tuple(seeds), frozenset(detectors), **more)


def test_batches_cross_prompts_and_are_full(rig):
    rig.run(need(NURSE, range(5)), need(PILOT, range(5)), batch=4)
    assert rig.model.batches == [4, 4, 2]


def test_equal_requests_are_made_once(rig):
    _, keys, work = rig.run(need(NURSE, range(5)), need(NURSE, range(8)))
    assert work.made == len(keys) == 8


def test_nothing_is_made_twice(rig):
    rig.run(need(NURSE, range(5)))
    _, _, work = rig.run(need(NURSE, range(5)))
    assert (work.made, work.detected) == (0, 0)


def test_pictures_that_vanish_are_not_made_for_ever(rig, monkeypatch):
    monkeypatch.setattr(Store, "images", lambda self, keys: {})
    with pytest.raises(StoreError, match=r"4 images were made .* none is found there"):
        rig.run(need(NURSE, range(4)))
    assert sum(rig.model.batches) == 4


def test_a_new_attribute_looks_but_makes_nothing(rig):
    rig.run(need(NURSE, range(5)))
    beard = DetectorRef("colour", Attribute("beard", "with a beard", "without"))
    _, _, work = rig.run(need(NURSE, range(5), [beard]))
    assert (work.made, work.detected) == (0, 5)


def test_out_of_memory_halves_the_batch_and_says_so(rig):
    rig.model.most = 2
    _, _, work = rig.run(need(NURSE, range(7)), batch=8)
    assert rig.model.batches == [2, 2, 2, 1]
    assert work.notes == [
        "out of device memory: going on with 4 images per batch",
        "out of device memory: going on with 2 images per batch",
    ]


class Breaks(Model):
    """Yields its images; the seventh one fails, once."""

    def __init__(self, error):
        super().__init__()
        self.error = error

    def generate(self, requests):
        for request in requests:
            self.batches.append(request.seed)
            if len(self.batches) == 7:
                raise self.error
            yield self._one(request)


@pytest.mark.parametrize("error", [RuntimeError("HTTP 429"), KeyboardInterrupt()])
def test_images_that_a_model_yielded_before_it_failed_are_kept(rig, error):
    rig.model = Breaks(error)
    told = GenerationError if isinstance(error, RuntimeError) else KeyboardInterrupt
    with pytest.raises(told):
        rig.run(need(NURSE, range(20)), batch=20)
    assert len(rig.store.images(rig.keys(NURSE, range(20)))) == 6
    _, _, work = rig.run(need(NURSE, range(20)), batch=20)
    assert work.made == 14
    assert rig.model.batches == [*range(7), *range(6, 20)]


@pytest.mark.parametrize("error", [RuntimeError("HTTP 429"), KeyboardInterrupt()])
def test_an_error_after_the_last_image_of_a_batch_is_not_lost(rig, error):
    class BreaksAtTheEnd(Model):
        def generate(self, requests):
            yield from map(self._one, requests)
            raise error

    rig.model = BreaksAtTheEnd()
    with pytest.raises(GenerationError if isinstance(error, RuntimeError) else KeyboardInterrupt):
        rig.run(need(NURSE, range(8)), batch=4)
    assert len(rig.store.images(rig.keys(NURSE, range(8)))) == 4


def test_a_batch_that_does_not_fit_keeps_what_was_yielded(rig):
    rig.model = Breaks(OutOfDeviceMemoryError("too many"))
    _, keys, work = rig.run(need(NURSE, range(8)), batch=8)
    assert rig.model.batches == [*range(7), 6, 7]
    assert (work.made, len(keys)) == (8, 8)


def test_images_of_a_batch_that_is_too_short_are_not_taken(rig):
    """Which one is missing, nobody can tell: each might show another request's seed."""

    class Skips(Model):
        def generate(self, requests):
            yield from (self._one(request) for request in requests if request.seed)

    rig.model = Skips()
    with pytest.raises(ConfigurationError, match="expected 8 images for 8 requests, got 7"):
        rig.run(need(NURSE, range(8)), batch=8)
    assert not rig.store.images(rig.keys(NURSE, range(8)))


def test_an_error_names_the_line_of_the_user_and_not_of_a_library(rig, tmp_path):
    code = tmp_path / "mine.py"
    code.write_text("import json\n\ndef ask():\n    return json.loads('{')\n")
    names: dict = {}
    exec(compile(code.read_text(), str(code), "exec"), names)

    class Asks(Model):
        def generate(self, requests):
            return names["ask"]()

    rig.model = Asks()
    with pytest.raises(GenerationError, match=r"mine\.py, line 4\)\. What was made before is kept"):
        rig.run(need(NURSE, [1]))


def test_an_error_names_the_line_that_misused_a_record(rig, tmp_path):
    """The record's own check runs in code that dataclasses wrote, which has no file."""
    code = tmp_path / "mine.py"
    code.write_text("def ask(record):\n    return [record('male', 'female')]\n")
    names: dict = {}
    exec(compile(code.read_text(), str(code), "exec"), names)

    class Asks(Model):
        def generate(self, requests):
            return names["ask"](Detection)

    rig.model = Asks()
    with pytest.raises(GenerationError, match=r"mine\.py, line 2\)"):
        rig.run(need(NURSE, [1]))


OTHERWISE = Variation("otherwise", "1", settings=GenerationSettings(steps=7))


def test_a_variation_is_made_beside_the_plain_image_and_read_apart(rig):
    class Mitigated(Model):
        def takes(self, variation):
            return variation.name == "otherwise"

        def special(self, request):
            if request.variation is None:
                return None
            assert request.settings.steps == 7
            return Generated(Image.new("RGB", (16, 16), fakes.RED))

    rig.model = Mitigated()
    both = (need(NURSE, range(4)), need(NURSE, range(4), variation=OTHERWISE))
    _, keys, work = rig.run(*both)
    assert (work.made, len(keys)) == (8, 8)
    assert rig.run(*both)[2].made == 0
    plain = Observations(rig.components, RequestSettings(GenerationSettings()))
    varied = plain.under(OTHERWISE)
    labels = [d.label for d in varied.detections(NURSE, (0, 1, 2, 3), COLOUR)]
    assert labels == ["female"] * 4
    assert plain.keys(NURSE, range(4)) == rig.keys(NURSE, range(4))
    assert not set(plain.keys(NURSE, range(4))) & set(varied.keys(NURSE, range(4)))
    assert varied.under(None) is plain


def test_a_model_that_does_not_vary_is_refused_before_it_makes_anything(rig):
    with pytest.raises(ConfigurationError, match=r"no images of the variation 'otherwise'"):
        rig.run(need(NURSE, range(4), variation=OTHERWISE))
    assert rig.model.batches == []


def test_one_image_that_does_not_fit_is_an_error(rig):
    rig.model.most = 0
    with pytest.raises(OutOfDeviceMemoryError):
        rig.run(need(NURSE, [1]))
    assert rig.store.claim(["anything"]) == ["anything"]


def test_pictures_that_show_nothing_are_undetected(rig):
    plan, keys, work = rig.run(need(NURSE, [1, 901, 902, 903, 904]))
    said = rig.said(keys)
    reasons = {r.seed: said[keys[r]].undetected for r in plan}
    assert reasons == {
        1: None,
        901: Undetected.BLACK_IMAGE,
        902: Undetected.REFUSED,
        903: Undetected.UNREADABLE,
        904: Undetected.UNREADABLE,
    }
    assert (work.refused, work.unreadable) == (1, 2)


def test_an_image_that_cannot_be_read_is_undetected(rig, monkeypatch):
    rig.run(need(NURSE, [1], []))
    monkeypatch.setattr("PIL.Image.open", lambda *_: (_ for _ in ()).throw(OSError("bad")))
    _, keys, _ = rig.run(need(NURSE, [1]))
    assert [d.undetected for d in rig.said(keys).values()] == [Undetected.UNREADABLE]


def test_traces_and_features_are_kept(rig):
    observe = frozenset({FINAL_LATENT, TEXT_EMBEDDING})
    _, keys, _ = rig.run(need(NURSE, [1, 2], [], encoders=frozenset({"clip"}), observe=observe))
    names = list(keys.values())
    assert len(rig.store.arrays(names, FINAL_LATENT)) == 2
    features = rig.store.arrays(names, rig.components.encoder("clip").fingerprint)
    assert len(features) == 2
    feature = rig.store.open_array(features[names[0]])
    assert feature.shape == (3,)


def test_a_trace_that_is_wanted_later_makes_the_image_again(rig):
    rig.run(need(NURSE, [1]))
    _, keys, work = rig.run(need(NURSE, [1], observe=frozenset({FINAL_LATENT})))
    assert work.made == 1
    assert len(rig.store.arrays(list(keys.values()), FINAL_LATENT)) == 1


def test_a_model_that_shows_no_latents_is_not_asked_for_ever(rig):
    rig.model.special = lambda request: Generated(Image.new("RGB", (16, 16), (1, 1, 200)))
    for made in (1, 0):
        _, _, work = rig.run(need(NURSE, [1], observe=frozenset({FINAL_LATENT})))
        assert work.made == made


def test_too_few_images_from_a_model_are_told(rig):
    rig.model.generate = lambda requests: []
    with pytest.raises(ConfigurationError, match="expected 3 images for 3 requests, got 0"):
        rig.run(need(NURSE, range(3)))


def test_a_detector_without_open_set_is_told(rig):
    class Closed:
        fingerprint, labels = "closed", ("male", "female")

        def detect(self, images):
            return []

    rig.components.registries.detectors.update({"closed": lambda _: Closed()})
    ref = DetectorRef("closed", Attribute("beard", "a", "b"))
    with pytest.raises(ConfigurationError, match="cannot detect the attribute 'beard'"):
        rig.run(need(NURSE, [1], [ref]))


def test_seeds_of_prompts_are_unrelated_and_grow():
    first, second = seeds_of(0, "a nurse", 20), seeds_of(0, "a pilot", 20)
    assert not set(first) & set(second)
    assert seeds_of(0, "a nurse", 40)[:20] == first
    assert seeds_of(1, "a nurse", 20) != first
    assert all(0 <= seed < 2**31 for seed in first)


def test_every_image_is_looked_up_a_few_times_however_many_there_are(rig, monkeypatch):
    looked_up = []
    images = rig.store.images
    monkeypatch.setattr("pytest_t2i.generation.missing_images.CLAIMED", 16)
    monkeypatch.setattr(rig.store, "images", lambda keys: looked_up.extend(keys) or images(keys))
    rig.run(need(NURSE, range(256)), batch=16)
    assert len(looked_up) <= 6 * 256


@pytest.mark.parametrize("mode", ["CMYK", "F", "LAB", "I;16", "RGB"])
def test_what_is_no_picture_names_the_model(rig, mode):
    size = (0, 0) if mode == "RGB" else (4, 4)
    rig.model.special = lambda _: Generated(Image.new(mode, size))
    with pytest.raises(GenerationError, match=rf"model 'mine': expected a picture .* {mode}"):
        rig.run(need(NURSE, [1]))


def test_a_run_that_waits_says_once_for_whom_and_gives_up_after_a_quarter_of_an_hour(
    rig, monkeypatch
):
    seconds, notes, stored = [5000.0], [], {}
    clock = SimpleNamespace(monotonic=lambda: seconds[0], sleep=lambda _: None)
    monkeypatch.setattr(missing_images, "time", clock)
    monkeypatch.setattr(rig.store, "owners", lambda _: ["run 7"])
    monkeypatch.setattr(rig.store, "images", lambda _: stored)
    plan = Plan(RequestSettings(GenerationSettings()))
    plan.add(need(NURSE, [1, 2]))
    keys = list(Runner(rig.components, rig.store).keys(plan).values())
    missing = missing_images.MissingImages(rig.store, plan, notes.append)
    for now, number, notes_so_far in [
        (5000.0, 2, 0), (5009.0, 2, 0), (5011.0, 2, 1),
        (5899.0, 2, 1), (5900.5, 1, 1), (5912.0, 1, 2),
    ]:  # fmt: skip
        seconds[0] = now
        stored.update(dict.fromkeys(keys[number:], SimpleNamespace(file="")))
        missing.look_again(0)
        assert len(notes) == notes_so_far
    assert notes[0] == "waiting for 2 images that other processes make: run 7"
    seconds[0] = 6801.0
    with pytest.raises(StoreError, match="run 7 claimed 1 image, and finished none for 15"):
        missing.look_again(0)


def test_libraries_that_load_slowly_show_a_sign_of_life(rig, monkeypatch):
    told = []

    class Heard(Silent):
        def say(self, line):
            told.append(line)

    def load(_):
        time.sleep(0.2)
        return rig.model

    monkeypatch.setattr(generate, "LOADING_FIRST", 0.02)
    rig.components.registries.models.update({"mine": load})
    plan = Plan(RequestSettings(GenerationSettings()))
    plan.add_all([need(NURSE, range(2))])
    with closing(Runner(rig.components, rig.store, Heard(), 2)) as runner:
        runner.run(plan)
    assert told[0] == f"{generate.LOADING}: 0:00 so far"


class Unfamiliar(Model):
    """A pipeline of which it is not known whether it honours settings."""

    may_ignore_settings = True

    def other_guidance(self, settings):
        return None

    def notes(self, settings):
        return ("runs in bfloat16",)


def test_a_model_is_probed_once_and_the_requests_are_counted(rig, monkeypatch):
    rig.model = Unfamiliar()
    monkeypatch.setattr(generate, "try_seeds", lambda *_: 3)
    monkeypatch.setattr(rig.components.model(), "lists_images", False)  # as of a pipeline
    plan = Plan(RequestSettings(GenerationSettings()))
    plan.add(need(NURSE, [1, 2]))
    runner = Runner(rig.components, rig.store, Silent(), tries_seeds=True)
    work = runner.run(plan)
    assert (work.probed, work.notes[0]) == (3, "runs in bfloat16")
    batches = len(rig.model.batches)
    again = Plan(RequestSettings(GenerationSettings()))
    again.add(need(PILOT, [1, 2]))
    assert Runner(rig.components, rig.store, Silent(), tries_seeds=True).run(again).probed == 3
    # The pictures alone: what the probe showed is kept in the store.
    assert len(rig.model.batches) == batches + 1


def test_features_of_texts_are_kept_and_not_computed_again(rig):
    texts = []

    class Encoder(fakes.FakeTextEncoder):
        def encode_text(self, wanted):
            texts.append(sorted(wanted))
            return super().encode_text(wanted)

    rig.components.registries.encoders.update({"clip": lambda _: Encoder()})
    for words, computed in (
        (frozenset({"red"}), ["red"]),
        (frozenset({"red", "blue"}), ["blue"]),
    ):
        rig.run(need(NURSE, [1], encoders=frozenset({"clip"}), texts=words))
        assert texts[-1] == computed
    rig.run(need(NURSE, [1], encoders=frozenset({"clip"}), texts=words))
    assert len(texts) == 2


def test_a_wording_belongs_to_the_first_prompt_that_draws_it():
    worded = Prompt("a nurse", "profession", "nurse", wordings=("a nurse at work", "a pilot"))
    plan = Plan(RequestSettings(GenerationSettings()))
    plan.add_all([need(worded, [1]), need(PILOT, [1])])
    names = {text: plan.prompt_text(Request(text, 1, GenerationSettings())) for text in
             ("a nurse", "a nurse at work", "a pilot")}  # fmt: skip
    assert names == {"a nurse": "a nurse", "a nurse at work": "a nurse", "a pilot": "a pilot"}
