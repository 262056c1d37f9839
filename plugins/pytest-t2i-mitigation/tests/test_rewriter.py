"""Words that services append to prompts, and rewriting by a function of the user's."""

from __future__ import annotations

import pickle
import sys

import pytest
from pytest_t2i.adapters.mitigations import load_mitigation
from pytest_t2i.adapters.registry import Registry
from pytest_t2i.errors import ConfigurationError, GenerationError

from pytest_t2i_mitigation.rewriter import KINDS, Rewriter, alternatives

NURSE = "a photo of a nurse"


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Writes a module with this code, which can be imported."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(code, name="rewrites"):
        (tmp_path / f"{name}.py").write_text(code)
        monkeypatch.delitem(sys.modules, name, raising=False)
        return name

    yield write
    sys.modules.pop("rewrites", None)


def named(asked):
    return load_mitigation(Registry("mitigation", {"rewriter": Rewriter}), asked)


def appended(rewriter, images=3000, text=NURSE):
    made = [rewriter.prompt(text, seed, ()) for seed in range(images)]
    assert all(one.startswith(f"{text}, ") for one in made)
    return [one.removeprefix(f"{text}, ") for one in made]


def test_words_of_both_kinds_are_drawn_alike_and_for_themselves():
    pairs = appended(Rewriter())
    assert set(pairs) == {f"{e} {g}" for e in KINDS["ethnicity"] for g in KINDS["gender"]}
    for pair in set(pairs):
        assert pairs.count(pair) / 3000 == pytest.approx(1 / 12, abs=0.02)


@pytest.mark.parametrize(
    ("words", "shares"),
    [
        ("gender", {"female": 1 / 2, "male": 1 / 2}),
        ("age", {"young": 1 / 3, "middle-aged": 1 / 3, "elderly": 1 / 3}),
        ("woman/man/somebody old", dict.fromkeys(("woman", "man", "somebody old"), 1 / 3)),
        ("female / female / male", {"female": 2 / 3, "male": 1 / 3}),
    ],
)  # fmt: skip
def test_words_are_drawn_from_what_was_asked_for(words, shares):
    made = appended(Rewriter(words=words))
    assert set(made) == set(shares)
    for word, share in shares.items():
        assert made.count(word) / 3000 == pytest.approx(share, abs=0.03)


def test_a_rewritten_prompt_is_the_same_each_time_and_prompts_draw_for_themselves():
    rewriter = Rewriter(words="gender")
    assert appended(rewriter, 50) == appended(rewriter, 50)
    assert appended(rewriter, 50) != appended(rewriter, 50, "a photo of a pilot")


def test_a_full_stop_is_no_end_of_words():
    assert Rewriter(words="old/aged").prompt("A nurse. ", 0, ()).startswith("A nurse, ")


def test_several_parts_go_through_the_option():
    rewriter = named("rewriter:words=age, young/old, gender").mitigation
    assert len(alternatives(rewriter.words)) == 3


def test_a_function_rewrites_instead(own):
    own("def shout(prompt, seed):\n    return f'{prompt.upper()} {seed}'\n")
    mitigation = named("rewriter:function=rewrites:shout")
    assert mitigation.made_from(NURSE, 3, ()) == "A PHOTO OF A NURSE 3"
    assert mitigation.facts["key function"] == "rewrites:shout"
    copy = pickle.loads(pickle.dumps(mitigation))
    assert copy.fingerprint == mitigation.fingerprint
    assert copy.made_from(NURSE, 3, ()) == "A PHOTO OF A NURSE 3"


def test_another_version_of_a_function_makes_other_pictures(own):
    own("def shout(prompt, seed):\n    return prompt.upper()\n")
    first = named("rewriter:function=rewrites:shout").fingerprint
    own("def shout(prompt, seed):\n    return prompt.title()\n")
    second = named("rewriter:function=rewrites:shout").fingerprint
    own("def shout(prompt, seed):\n    return prompt.title()\nshout.fingerprint = 'v2'\n")
    assert len({first, second, named("rewriter:function=rewrites:shout").fingerprint}) == 3


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("def shout(prompt):\n    return prompt\n", "failed: TypeError"),
        ("def shout(prompt, seed):\n    return ''\n", "expected a non-empty text"),
        ("def shout(prompt, seed):\n    return None\n", "expected a non-empty text"),
        ("def shout(prompt, seed):\n    raise OSError('offline')\n", "failed: OSError: offline"),
    ],
)
def test_what_a_function_does_wrong_is_one_line(own, code, message):
    own(code)
    mitigation = named("rewriter:function=rewrites:shout")
    with pytest.raises((ConfigurationError, GenerationError), match=message) as caught:
        mitigation.made_from(NURSE, 0, ())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("words=hair", "words: expected gender, ethnicity, age or words with / between"),
        ("words=", "words: expected gender, ethnicity, age or words with / between"),
        ("words=gender,", "words: expected gender, ethnicity, age or words with / between"),
        ("words=female/", "words: expected gender, ethnicity, age or words with / between"),
        ("function=nowhere:shout", "function: .*'nowhere' cannot be imported"),
        ("function=math", "function: expected module:name of a function, got 'math'"),
        ("function=math:pi", "function: expected module:name of a function, got 'math:pi'"),
        ("function=math:floor,words=age", "words: goes without function"),
        ("model=gpt", "unknown key of mitigation 'rewriter' 'model'"),
    ],
)
def test_keys_that_make_no_sense_are_one_line(asked, message):
    with pytest.raises(ConfigurationError, match=message) as caught:
        named(f"rewriter:{asked}")
    assert "\n" not in str(caught.value)
