"""Which variation the pictures of each prompt of a run are made under."""

from __future__ import annotations

import hashlib

import pytest

from pytest_t2i import axes
from pytest_t2i.adapters.mitigations import NamedMitigation
from pytest_t2i.data import PLAIN, GenerationSettings, Prompt, Triplet, Variant, Variation
from pytest_t2i.errors import ConfigurationError
from pytest_t2i.generation.plan import Need, Plan, RequestSettings
from pytest_t2i.generation.run_mitigation import Mitigating, varied

NURSE = axes.profession.only("nurse").triplets()[0]
BUS = Prompt("a red bus", "prompt", "a red bus")


class Drawn:
    name, fingerprint, stage, families, passes = "drawn", "1", "prompt", (), 1.0
    needs_counterparts = True

    def prompt(self, text, seed, counterparts):
        return counterparts[hashlib.sha256(f"{seed}".encode()).digest()[0] % 2]


class Stated(Drawn):
    name, needs_counterparts = "stated", False

    def prompt(self, text, seed, counterparts):
        return f"{text}, whoever it is"


class Looking:
    name, fingerprint, stage, families, passes = "looking", "1", "attention", ("Some",), 2.0
    needs_counterparts = True

    def applied(self, pipeline, requests): ...


def mitigating(kind=Drawn):
    return Mitigating(NamedMitigation("mine", kind()))


def test_a_neutral_prompt_carries_its_counterparts():
    variation = mitigating().variation(NURSE.neutral)
    assert variation.name == "drawn"
    assert variation.texts == (NURSE.feminine.text, NURSE.masculine.text)


@pytest.mark.parametrize(
    "prompt",
    [NURSE.feminine, NURSE.masculine, Prompt("a man with a dog", "prompt", "a man with a dog")],
)
@pytest.mark.parametrize("kind", [Drawn, Stated])
def test_a_prompt_that_names_a_gender_passes_and_is_counted(prompt, kind):
    run = mitigating(kind)
    assert run.variation(prompt) is None
    assert run.made_from(prompt, range(4)) == {prompt.text}
    run.variation(NURSE.neutral)
    run.variation(prompt)
    assert run.notes == ["1 prompt names a gender and is left unchanged by the mitigation"]
    run.variation(Prompt("two boys", "prompt", "two boys"))
    assert run.notes == ["2 prompts name a gender and are left unchanged by the mitigation"]


def test_without_any_there_is_no_note():
    run = mitigating()
    run.variation(NURSE.neutral)
    assert run.notes == []


def test_triplets_of_tests_come_first():
    texts = ("a queue", "a queue of ladies", "a queue of lads")
    own = Triplet(*(Prompt(t, "q", "queue", v) for t, v in zip(texts, Variant, strict=True)))
    run = mitigating()
    with pytest.raises(ConfigurationError, match="'a queue' has none"):
        run.variation(own.neutral)
    run.learn([own])
    assert run.variation(own.neutral).texts == texts[1:]
    assert run.variation(own.masculine) is None


def test_what_was_told_once_stays():
    run = mitigating()
    first = run.variation(NURSE.neutral)
    other = Triplet(NURSE.neutral, Prompt("she", "", ""), Prompt("he", "", ""))
    run.learn([other])
    assert run.variation(NURSE.neutral) is first
    controller = mitigating()
    controller.adopt({text: list(texts) for text, texts in run.known.items()})
    assert controller.variation(NURSE.neutral) == first


def test_one_that_needs_no_counterparts_takes_any_prompt():
    run = mitigating(Stated)
    assert run.variation(BUS).texts == ()
    assert run.made_from(BUS, range(4)) == {"a red bus, whoever it is"}


def test_pictures_are_made_from_the_texts_that_seeds_draw():
    run = mitigating()
    assert run.made_from(NURSE.neutral, range(20)) == {NURSE.feminine.text, NURSE.masculine.text}
    assert mitigating(Looking).named.made_from("a nurse", 0, ()) == "a nurse"


def test_a_need_of_its_own_variation_keeps_it():
    run, own = mitigating(), Variation("halfway", "1")
    assert varied(run, NURSE.neutral, own) is own
    assert varied(None, NURSE.neutral, own) is own
    assert varied(None, NURSE.neutral, None) is None


def test_other_settings_alone_are_mitigated_too():
    steps = GenerationSettings(steps=7)
    both = varied(mitigating(), NURSE.neutral, Variation("", settings=steps))
    assert (both.name, both.settings) == ("drawn", steps)
    alone = Variation("", settings=steps)
    assert varied(mitigating(), NURSE.feminine, alone) is alone


def test_a_plan_asks_under_the_mitigation():
    plan = Plan(RequestSettings(GenerationSettings(), mitigating()))
    plan.add_all(Need(prompt, (1, 2)) for prompt in NURSE)
    names = [request.variation and request.variation.name for request in plan]
    assert names == ["drawn", "drawn", None, None, None, None]
    plain = Plan(RequestSettings(GenerationSettings()))
    plain.add(Need(NURSE.neutral, (1, 2)))
    assert not {r.key("m") for r in plan} & {r.key("m") for r in plain}


def test_traces_that_are_not_those_of_the_picture_are_told():
    told = mitigating().unseen({"attention", "text_embedding", "final_latent"})
    assert [line.partition(" ")[0] for line in told] == ["attention", "prompt"]
    assert mitigating().unseen({"final_latent", "velocity"}) == []


def test_plain_and_mitigated_pictures_may_be_asked_for_in_one_run():
    both = Plan(RequestSettings(GenerationSettings(), mitigating()))
    both.add_all(Need(NURSE.neutral, (1, 2), variation=asked) for asked in (PLAIN, None))
    assert [r.variation and r.variation.name for r in both] == [None, None, "drawn", "drawn"]
    alone = Plan(RequestSettings(GenerationSettings()))
    alone.add(Need(NURSE.neutral, (1, 2)))
    assert [r.key("m") for r in both][:2] == [r.key("m") for r in alone]


def test_plain_pictures_of_a_run_without_a_mitigation_are_its_own():
    plan = Plan(RequestSettings(GenerationSettings()))
    plan.add_all(Need(NURSE.neutral, (1,), variation=asked) for asked in (PLAIN, None))
    assert len(plan) == 1
