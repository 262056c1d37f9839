"""A mitigation by name and keys, and the model that it is put around."""

from __future__ import annotations

import hashlib
import pickle
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import fakes
import pytest

from pytest_t2i.adapters.mitigations import Mitigated, load_mitigated, load_mitigation
from pytest_t2i.adapters.registry import Registry
from pytest_t2i.data import Attribute, Request, Variation
from pytest_t2i.errors import ConfigurationError, GenerationError, UnknownNameError
from pytest_t2i.protocols import LoadOptions, TextToImage, Varying

PAIR = ("a female nurse", "a male nurse")


@dataclass(frozen=True)
class Drawn:
    share: float = 0.5
    images: int = 3
    name: ClassVar[str] = "drawn"
    fingerprint: ClassVar[str] = "1"
    stage: ClassVar[str] = "prompt"
    families: ClassVar[tuple[str, ...]] = ()
    passes: ClassVar[float] = 1.0
    needs_counterparts: ClassVar[bool] = True

    def prompt(self, text, seed, counterparts):
        if seed == 404:
            raise LookupError("no such seed")
        draw = hashlib.sha256(f"{seed}".encode()).digest()[0] / 256
        return counterparts[draw >= self.share]


class Inside(Drawn):
    name, stage, families = "inside", "attention", ("FakePipeline",)

    @contextmanager
    def applied(self, pipeline, requests):
        pipeline.asked.append([request.seed for request in requests])
        pipeline.p_male = 0.0
        try:
            yield
        finally:
            pipeline.p_male = 1.0


class FakePipeline:
    def __init__(self):
        self.p_male, self.asked = 1.0, []


class Piped(fakes.FakeModel):
    """Paints as its pipeline says."""

    def __init__(self, pipeline):
        self.pipeline = pipeline
        super().__init__(1.0, "piped")

    def generate(self, requests):
        self.p_male = self.pipeline.p_male
        return super().generate(requests)


class Watched(fakes.FakeModel):
    """Notes what it is asked for."""

    def __init__(self):
        super().__init__(0.95, "watched")
        self.asked = []

    def generate(self, requests):
        self.asked += requests
        return super().generate(requests)


def named(asked="drawn", **factories):
    return load_mitigation(Registry("mitigation", {"drawn": Drawn, **factories}), asked)


def request(seed, mitigation=None, text="a nurse", **more):
    variation = (mitigation or named()).variation(PAIR)
    return Request(text, seed, variation=variation, **more)


def pixels(generated):
    return [one.image.tobytes() for one in generated]


def test_the_same_picture_alone_in_batches_and_in_another_order():
    model = Mitigated(fakes.biased(None), named())
    asked = [request(seed) for seed in range(32)]
    whole = pixels(model.generate(asked))
    assert len(set(whole)) == 32
    assert [pixels(model.generate([one]))[0] for one in asked] == whole
    fives = [asked[k : k + 5] for k in range(0, 32, 5)]
    assert [picture for part in fives for picture in pixels(model.generate(part))] == whole
    assert pixels(model.generate(asked[::-1])) == whole[::-1]


def test_the_model_is_asked_for_plain_pictures_of_the_counterparts():
    inner = Watched()
    Mitigated(inner, named()).generate([request(seed) for seed in range(32)])
    assert {one.prompt for one in inner.asked} == set(PAIR)
    assert [one.seed for one in inner.asked] == list(range(32))
    assert {one.variation for one in inner.asked} == {None}


def test_what_has_no_variation_of_this_mitigation_passes_untouched():
    inner = Watched()
    gendered = Request("a male nurse", 3)
    others = [
        Request("a nurse", 4, variation=v) for v in (named("drawn:share=0.1").variation(PAIR),)
    ]
    Mitigated(inner, named()).generate([gendered, request(3), *others])
    assert inner.asked[0] is gendered
    assert inner.asked[2] is others[0]
    assert inner.asked[1].prompt in PAIR


def test_the_wrapped_model_obeys_the_protocols():
    model = Mitigated(fakes.biased(None), named())
    assert isinstance(model, TextToImage)
    assert isinstance(model, Varying)
    assert model.fingerprint == "fake-biased"
    assert model.takes(named().variation(PAIR))
    assert not model.takes(named("drawn:share=0.1").variation(PAIR))
    assert not model.takes(Variation("drawn", "another"))


def test_attention_is_not_observed_where_words_are_others_and_other_traces_are():
    inner = Watched()
    hat = (Attribute("hat", "a man with a hat", "a man"),)
    seen = frozenset({"attention", "final_latent", "velocity"})
    plain = Request("a male nurse", 1, observe=seen)
    Mitigated(inner, named()).generate([request(0, observe=seen, attributes=hat), plain])
    assert inner.asked[0].observe == {"final_latent", "velocity"}
    assert inner.asked[0].attributes == hat
    assert inner.asked[1].observe == seen


def test_keys_of_requests_differ_by_name_fingerprint_keys_and_counterparts():
    class Newer(Drawn):
        fingerprint = "2"

    keys = [
        Request("a nurse", 0).key("m"),
        request(0).key("m"),
        request(0, named("drawn:share=0.1")).key("m"),
        request(0, named("drawn", drawn=Newer)).key("m"),
        Request("a nurse", 0, variation=named().variation(PAIR[::-1])).key("m"),
    ]
    assert len(set(keys)) == len(keys)
    assert request(0, named("drawn:share=0.5,images=3")).key("m") == keys[1]


def test_keys_are_read_as_what_their_defaults_are():
    mitigation = named("drawn:share=1,images=7").mitigation
    assert (mitigation.share, type(mitigation.share)) == (1.0, float)
    assert (mitigation.images, type(mitigation.images)) == (7, int)


@pytest.mark.parametrize(
    ("asked", "kind", "told"),
    [
        ("drown", UnknownNameError, "unknown mitigation 'drown'"),
        ("drawn:shore=1", UnknownNameError, "Known: images, share"),
        ("drawn:images=1.5", ConfigurationError, "expected a whole number, got '1.5'"),
        ("drawn:,", ConfigurationError, "expected drawn:key=value"),
    ],
)
def test_what_cannot_be_read_is_refused(asked, kind, told):
    with pytest.raises(kind, match=told):
        named(asked)


def test_where_none_is_installed_the_install_line_is_told(monkeypatch):
    monkeypatch.setattr(Registry, "_entry_points", lambda self: {})
    with pytest.raises(UnknownNameError, match=r"Known: none\. Run: pip install pytest-t2i-miti"):
        load_mitigation(Registry("mitigation"), "drawn")


def test_an_error_of_its_own_is_its_fault():
    model = Mitigated(fakes.biased(None), named())
    with pytest.raises(GenerationError, match="mitigation 'drawn' failed: LookupError: no such"):
        model.generate([request(404)])


def test_a_factory_that_breaks_is_named():
    def breaks():
        raise LookupError("no weights")

    with pytest.raises(ConfigurationError, match="mitigation 'drawn' failed: LookupError: no wei"):
        named(drawn=breaks)


def test_a_pipeline_is_changed_for_its_own_pictures_and_restored():
    pipeline = FakePipeline()
    inside = named("inside", inside=Inside)
    model = Mitigated(Piped(pipeline), inside)
    asked = [Request("a nurse", 0), request(1, inside), Request("a nurse", 2), request(3, inside)]
    made = list(model.generate(asked))
    colours = [one.image.getpixel((8, 8)) for one in made]
    assert colours == [fakes.BLUE, fakes.RED, fakes.BLUE, fakes.RED]
    assert (pipeline.asked, pipeline.p_male) == ([[1, 3]], 1.0)
    assert [one.image.getpixel((0, 0))[0] for one in made] == [0, 1, 2, 3]


def test_a_pipeline_is_restored_where_the_model_fails():
    pipeline = FakePipeline()
    inside = named("inside", inside=Inside)
    model = Piped(pipeline)
    model.generate = lambda requests: 1 / 0
    with pytest.raises(ZeroDivisionError):
        list(Mitigated(model, inside).generate([request(1, inside)]))
    assert pipeline.p_male == 1.0


@pytest.mark.parametrize(
    ("model", "given"),
    [(fakes.biased(None), "a model without a pipeline"), (Piped(object()), "a object")],
)
def test_another_family_is_told_what_fits(model, given):
    with pytest.raises(ConfigurationError, match=f"of FakePipeline: it does not fit {given}"):
        Mitigated(model, named("inside", inside=Inside))


def test_a_model_in_another_process_is_mitigated_too():
    recipe = pickle.loads(pickle.dumps(partial(load_mitigated, fakes.biased, named(), None)))
    asked = [request(seed) for seed in range(8)]
    here = Mitigated(fakes.biased(None), named()).generate(asked)
    assert pixels(recipe(LoadOptions()).generate(asked)) == pixels(here)
