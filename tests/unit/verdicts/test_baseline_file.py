"""Baseline files: written, read back, refused."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest

from pytest_t2i.data import Prompt, Undetected
from pytest_t2i.errors import BaselineMismatchError, FileFormatError
from pytest_t2i.verdicts.baseline_file import (
    SCHEMA,
    Baseline,
    ComponentFacts,
    RecordedPrompt,
    check_comparable,
    check_prompts,
    library_differences,
    read_baseline,
    sealed,
)

CONDITIONS = {"detector": "clip", "detector_fingerprint": "f", "generation": {"steps": 4}}
NURSE = Prompt("a nurse", "profession", "nurse")


NURSE_AS_PLAIN = {"id": "profession-nurse", "seeds": [3, 4], "labels": ["male", "female"]}


def whole(**changed):
    """The text of a baseline file, with something else in it."""
    plain = {
        "schema": SCHEMA, "created": "2026-11-21", "model": "m", "model_fingerprint": "mf",
        "seed": 0, "images": 2, "conditions": {}, "environment": {},
        "prompts": {"a nurse": NURSE_AS_PLAIN},
    }  # fmt: skip
    return json.dumps(sealed(plain | changed))


def baseline():
    said = ("male", "female", Undetected.NO_FACE)
    recorded = RecordedPrompt("profession-nurse", (3, 4, 5), said)
    return Baseline(
        "m", "mf", CONDITIONS, {"torch": "2"}, {"a nurse": recorded}, "2026-11-21", 0, 3
    )


def test_a_baseline_comes_back_as_it_was(tmp_path):
    baseline().write(tmp_path / "b.json")
    assert read_baseline(tmp_path / "b.json") == baseline()
    assert '"seeds": [3, 4, 5]' in (tmp_path / "b.json").read_text()


def test_keys_are_sorted_whatever_the_order_of_a_run(tmp_path):
    baseline().write(tmp_path / "b.json")
    plain = json.loads((tmp_path / "b.json").read_text())
    for keys in (list(plain), list(plain["conditions"]), list(plain["prompts"]["a nurse"])):
        assert keys == sorted(keys)
        assert len(keys) > 1


def test_prompts_of_any_language_can_be_read_in_the_file(tmp_path):
    plain = json.loads(whole(prompts={"une infirmière": NURSE_AS_PLAIN}))
    (tmp_path / "b.json").write_text(json.dumps(plain), encoding="utf-8")
    read_baseline(tmp_path / "b.json").write(tmp_path / "c.json")
    assert '"une infirmière"' in (tmp_path / "c.json").read_text(encoding="utf-8")


def test_undetected_is_no_gender():
    assert baseline().prompts["a nurse"].signs == [1, -1, 0]


def test_equal_conditions_are_comparable():
    assert check_comparable(baseline(), CONDITIONS, [NURSE], force=False) == []


def test_what_differs_is_said_exactly():
    now = CONDITIONS | {"generation": {"steps": 5}}
    with pytest.raises(BaselineMismatchError, match=r"steps: baseline 4, now 5"):
        check_comparable(baseline(), now, [NURSE], force=False)
    assert len(check_comparable(baseline(), now, [NURSE], force=True)) == 1


@pytest.mark.parametrize("key", ["detector_fingerprint", "mitigation"])
def test_of_a_fingerprint_the_first_digits_are_said(key):
    now = {**CONDITIONS, key: "ab" * 32}
    with pytest.raises(BaselineMismatchError, match=r"now 'abababababab\.\.\.'") as error:
        check_comparable(baseline(), now, [NURSE], force=False)
    assert "ab" * 7 not in str(error.value)


def test_other_libraries_are_told():
    assert library_differences(baseline(), {"torch": "2"}) == []
    assert library_differences(baseline(), {"torch": "3"}) == ["torch: baseline 2, now 3"]


def test_a_prompt_without_a_record_is_refused_even_when_forced():
    with pytest.raises(BaselineMismatchError, match="no result for 1 prompt: place-gym"):
        check_comparable(baseline(), CONDITIONS, [Prompt("x", "place", "gym")], force=True)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "line 1 column 2"),
        ("[]", "expected schema 'pytest-t2i/baseline/1', got 'list'"),
        ("{}", "expected schema 'pytest-t2i/baseline/1', got None"),
        ('{"schema": "pytest-t2i/baseline/1"}', "no key 'model'"),
        (whole(seed="one"), "expected a whole number, got seed='one'"),
        (
            json.dumps(json.loads(whole()) | {"prompts": {"a nurse": 3}}),
            "prompt 'a nurse'.*expected a table, got 3",
        ),
        (whole(prompts={"a nurse": NURSE_AS_PLAIN | {"seeds": [1]}}), "label for each of 1 seeds"),
        (
            whole(prompts={"a nurse": NURSE_AS_PLAIN | {"labels": ["male", "undetected:away"]}}),
            "expected undetected:REASON with one of no_person,.* got 'undetected:away'",
        ),
    ],
)
def test_bad_baselines(tmp_path, text, problem):
    (tmp_path / "b.json").write_text(text)
    with pytest.raises(FileFormatError, match=problem):
        read_baseline(tmp_path / "b.json")


def test_prompts_that_a_baseline_lacks_are_named_five_at_most():
    others = [Prompt(f"a {name}", "profession", name) for name in "abcdef"]
    with pytest.raises(BaselineMismatchError, match=r"for 5 prompts: [^.]*profession-e\. Record"):
        check_prompts(baseline(), others[:5])
    with pytest.raises(BaselineMismatchError, match=r"for 6 prompts: [^.]*profession-e \.\.\."):
        check_prompts(baseline(), others)


def test_two_images_are_the_fewest_that_are_compared():
    check_prompts(baseline(), [NURSE], images=2)
    with pytest.raises(BaselineMismatchError, match="has 3 in the baseline, 1 are asked for"):
        check_prompts(baseline(), [NURSE], images=1)


def recorded():
    """A baseline with every part that a file may have."""
    return replace(
        baseline(),
        prompts={
            f"a {word}": RecordedPrompt(f"profession-{word}", (3, 4), ("male", "female"))
            for word in ("nurse", "pilot", "cook")
        },
        audits={"any": {"colour": 4, "score": 0.25}},
    )


def edited(file, edit):
    """Change the values of a file and leave its seals."""
    plain = json.loads(file.read_text())
    edit(plain)
    file.write_text(json.dumps(plain))


EDITS = {
    "a seed": (lambda p: p["prompts"]["a pilot"]["seeds"].__setitem__(0, 9), "profession-pilot"),
    "a label": (lambda p: p["prompts"]["a cook"].update(labels=["male"] * 2), "profession-cook"),
    "an id": (lambda p: p["prompts"]["a cook"].update(id="profession-cop"), "profession-cop"),
    "a key of a prompt": (lambda p: p["prompts"]["a cook"].update(more=1), "profession-cook"),
    "exchanged prompts": (
        lambda p: p["prompts"].update({"a cook": p["prompts"]["a nurse"]}),
        "profession-nurse \\('a cook'\\)",
    ),
    "a text": (
        lambda p: p["prompts"].update({"a chef": p["prompts"].pop("a cook")}),
        "profession-cook \\('a chef'\\), the list of prompts",
    ),
    "a removed prompt": (lambda p: p["prompts"].pop("a cook"), "the list of prompts"),
    "a prompt without its seal": (lambda p: p["prompts"]["a cook"].pop("seal"), "profession-cook"),
    "the model": (lambda p: p.update(model="other"), "model"),
    "a condition": (lambda p: p["conditions"]["generation"].update(steps=5), "conditions"),
    "a library": (lambda p: p["environment"].update(torch="3"), "environment"),
    "an audit": (lambda p: p["audits"]["any"].update(score=0.26), "audits.any"),
    "no audit": (lambda p: p.pop("audits"), "audits.any"),
    "an audit more": (lambda p: p["audits"].update(other={}), "audits.other"),
    "the time": (lambda p: p.update(created="2026-11-22"), "created"),
    "no seals of parts": (lambda p: p.pop("seals"), "conditions, created"),
    "seals of another kind": (lambda p: p.update(seals=[1]), "conditions, created"),
}


@pytest.mark.parametrize(("edit", "place"), EDITS.values(), ids=EDITS)
def test_what_was_changed_since_it_was_recorded_is_named(tmp_path, edit, place):
    file = tmp_path / "b.json"
    recorded().write(file)
    edited(file, edit)
    with pytest.raises(FileFormatError, match=f"its digests differ: .*{place}.*version control"):
        read_baseline(file)


@pytest.mark.parametrize("seed", range(4))
def test_no_changed_character_gives_another_baseline(tmp_path, seed):
    file = tmp_path / "b.json"
    recorded().write(file)
    text, draw = file.read_text(), random.Random(seed)
    for _ in range(150):
        place = draw.randrange(len(text))
        other = draw.choice('0123456789abcdefm "{}[],:.\n')
        file.write_text(text[:place] + other + text[place + 1 :])
        try:
            assert read_baseline(file) == recorded()
        except FileFormatError:
            continue


def test_a_file_without_seals_is_refused(tmp_path):
    file = tmp_path / "b.json"
    plain = json.loads(whole())
    del plain["seals"], plain["prompts"]["a nurse"]["seal"]
    file.write_text(json.dumps(plain))
    with pytest.raises(FileFormatError, match=r"digests differ: .*'a nurse'.*record a new"):
        read_baseline(file)


FACTS = ComponentFacts("reference", {"part unet": "sha256:1", "dtype": "float32"}, {"clip": "c"})


def test_components_come_back_and_are_sealed(tmp_path):
    file = tmp_path / "b.json"
    replace(baseline(), components=FACTS).write(file)
    assert read_baseline(file).components == FACTS
    file.write_text(file.read_text().replace("sha256:1", "sha256:2"))
    with pytest.raises(FileFormatError, match="digests differ: components"):
        read_baseline(file)
